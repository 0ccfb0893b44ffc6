import pytest

from registry.playbook.limits import Limits
from registry.playbook.model import Level
from registry.playbook.reading import read_file


def read(text, path="playbooks/a.yaml", **more):
    return read_file(path, text if isinstance(text, bytes) else text.encode(), **more)


def codes(reading):
    return [each.code for each in reading.problems]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "- hosts: all\n  tasks: !vault x\n"),
        ("a.yaml", "a: &x 1\nb: *x\n---\nc: 1\n"),
        ("a.yaml", "x:\n  playbook: 1\n"),
        ("a.json", '{"x": {"playbook": 1}}'),
        ("a.md", "# Playbooks\n\n```yaml\nplaybook: 1\n```\n"),
        ("a.md", "---\ntitle: x\n---\nplaybook: 1\n"),
        ("a.txt", "playbook: 1\n"),
    ],
)
def test_another_tools_file_is_no_playbook_and_no_problem(path, text):
    reading = read(text, path)
    assert not reading.candidate
    assert codes(reading) == []


@pytest.mark.parametrize(("path", "text"), [("a.yaml", "a: ["), ("a.json", "{"), ("a.md", "---\na: [\n---\n")])
def test_a_file_that_is_no_playbook_and_does_not_parse_is_an_info(path, text):
    reading = read(text, path)
    assert not reading.candidate
    assert [(each.code, each.level) for each in reading.problems] == [("unrecognised", Level.INFO)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "playbok: 1\n"),
        ("a.yaml", "playbook : 1\n"),
        ("a.yaml", "{playbook: 1}"),
        ("a.yaml", "name: x\nsteps: []\n"),
        ("a.json", '{"Playbook": 1}'),
        ("a.md", "---\nplaybooks: 1\n---\n"),
    ],
)
def test_what_looks_like_a_playbook_without_the_marker_is_a_warning(path, text):
    reading = read(text, path)
    assert not reading.candidate
    assert [(each.code, each.level) for each in reading.problems] == [("marker-missing", Level.WARNING)]


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("a.yaml", "playbook: 1\nname: Do_It\nx: [", "yaml-syntax"),
        ("a.yaml", "playbook: 1\nname: 'do-it' # x\nname: b", "duplicate-key"),
        ("a.json", '{"playbook": 1, "name": "do-it" "x"', "json-syntax"),
        ("a.md", "---\nplaybook: 1\nname: do-it\n", "front-matter-unclosed"),
        ("a.md", "\n---\nplaybook: 1\nname: do-it\n---\n", "front-matter-late"),
        ("a.md", "playbook: 1\nname: do-it\n", "front-matter-missing"),
        ("a.yaml", b"playbook: 1\nname: do-it\nowner: caf\xe9\n", "encoding-invalid"),
        ("a.yaml", "playbook: 1\nname: do-it\n".encode("utf-16"), "encoding-invalid"),
        ("a.yaml", "playbook: 1\nname: do-it\nx: \x07\n", "control-character"),
        ("a.yaml", b"playbook: 1\nname: do-it\n" + b"#" * (2 << 20), "too-large"),
    ],
)
def test_a_broken_playbook_still_claims_the_name_that_can_be_read(path, text, code):
    reading = read(text, path)
    assert reading.candidate
    assert codes(reading) == [code]
    assert reading.claims == "do-it"
    assert reading.problems[0].name == "do-it"


def test_a_large_file_that_is_no_playbook_is_an_info():
    assert codes(read("x" * 200, limits=Limits(file_bytes=100))) == ["unrecognised"]


def test_an_lfs_pointer_is_named_as_such():
    reading = read("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    assert codes(reading) == ["lfs-pointer"]
    assert reading.candidate


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("playbook: 1\nname: a\nrequired: true\nx: [", True),
        ("playbook: 1\nname: a\nrequired: false\nx: [", False),
        ("playbook: 1\nname: a\nx: [", None),
        ("playbook: 1\nname: a\nrequired: true\n", True),
        ("playbook: 1\nname: a\n", False),
        ("playbook: 1\nname: a\nrequird: true\n", None),
        ("playbook: 1\nname: a\nrequired: yes\n", None),
    ],
)
def test_a_broken_file_says_required_only_where_that_can_be_read(text, says):
    assert read(text, role="central").says_required is says


def test_a_fence_inside_a_block_scalar_or_the_body_is_text():
    text = "---\nplaybook: 1\nname: a-b\nversion: v\nowner: o\npurpose: |\n  x\n  ---\n  y\n---\nbody\n---\n----\n"
    contract = read(text, "a.md").playbook.contract
    assert contract["purpose"] == "x\n---\ny\n"
    assert contract["instructions"] == "body\n---\n----"


def test_a_candidate_that_is_no_mapping_is_told_so():
    reading = read('"x\nplaybook: 1"\n')
    assert reading.candidate
    assert codes(reading) == ["field-type"]
    assert "a single value" in reading.problems[0].message
