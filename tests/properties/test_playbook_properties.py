import json

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.digest import canonical, digest_of
from registry.playbook.model import Level, Reading
from registry.playbook.policy_file import read_policy
from registry.playbook.problems import PROBLEM_CODES
from registry.playbook.reading import read_file
from registry.playbook.roots import Roots
from registry.playbook.yaml_text import load_yaml

VALID = b"""\
playbook: 1
name: clean-up
version: "1"
owner: o
purpose: p
inputs: {type: object, properties: {key: {type: string, pattern: "^[a-z]+$"}}}
steps:
  - {id: a, tool: code.search, instruction: "Find {{ inputs.key }}", with: {n: 1.0}}
requires: {secrets: [{name: TOKEN}]}
"""
PIECES = [
    b"&a ",
    b"*a",
    b"!x ",
    b"{{",
    b"}}",
    b"\x00",
    b"\xff",
    b"---\n",
    b": ",
    b"- ",
    b"\t",
    b"'",
    b'"',
    b"1e999",
    b"[",
    b"}",
    b"\r",
]
PATHS = st.sampled_from(["playbooks/a.yaml", "playbooks/a.json", "playbooks/a.md", "a.yml"])
FRONT = st.sampled_from([b"", b"---\n", b"\xef\xbb\xbf", b"playbook: 1\n"])


def holds(reading):
    """What is true of every reading."""
    assert isinstance(reading, Reading)
    assert all(each.line >= 1 and each.column >= 1 for each in reading.problems)
    assert all(PROBLEM_CODES[each.code].level is each.level for each in reading.problems)
    broken = any(each.level is Level.ERROR for each in reading.problems)
    assert (reading.playbook is not None) == (reading.candidate and not broken)
    if reading.playbook is not None:
        assert digest_of(canonical(reading.playbook.contract)) == reading.playbook.digest
    if not reading.candidate:
        assert reading.claims is None


@settings(max_examples=200, deadline=None)
@given(PATHS, FRONT, st.binary(max_size=200))
def test_any_bytes_give_a_reading(path, front, data):
    holds(read_file(path, front + data))


@settings(max_examples=200, deadline=None)
@given(PATHS, FRONT, st.text(max_size=200))
def test_any_text_gives_a_reading(path, front, text):
    holds(read_file(path, front + text.encode("utf-8", "surrogatepass")))


@settings(max_examples=300, deadline=None)
@given(
    PATHS,
    st.lists(
        st.tuples(st.integers(0, len(VALID)), st.integers(0, 12), st.sampled_from([b"", *PIECES])),
        min_size=1,
        max_size=4,
    ),
)
def test_a_damaged_document_gives_a_reading(path, cuts):
    data = VALID
    for at, length, piece in cuts:
        data = data[:at] + piece + data[at + length :]
    holds(read_file(path, b"---\n" + data + b"---\n" if path.endswith("md") else data))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=150))
def test_any_bytes_give_rules_or_problems(data):
    rules, problems = read_policy("policy.yaml", b"policy: 1\n" + data)
    assert (rules is None) == bool(problems)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=100, deadline=None)
@given(_JSON)
def test_the_authors_own_json_comes_back_as_it_was(value):
    steps = [{"id": "a", "instruction": "b", "with": {"v": value}}]
    document = {"playbook": 1, "name": "a", "version": "1", "owner": "o", "purpose": "p", "steps": steps}
    text = json.dumps(document)
    reading = read_file("a.json", text.encode())
    if reading.playbook is not None:
        assert reading.playbook.contract["steps"][0]["with"]["v"] == json.loads(
            json.dumps(value).replace("\\r\\n", "\\n").replace("\\r", "\\n")
        )
    else:
        assert {each.code for each in reading.problems if each.level is Level.ERROR} <= {
            "control-character",
            "template-undeclared",
        }


@settings(max_examples=100)
@given(st.text(max_size=100))
def test_yaml_is_read_the_same_twice(text):
    assert load_yaml(text) == load_yaml(text)


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(["playbooks", ".playbooks", "x", ".x", "_x", "vendor", "a.yaml", "a.md"]),
        min_size=1,
        max_size=5,
    )
)
def test_every_wanted_file_stands_below_entered_folders(parts):
    roots = Roots()
    if roots.wanted("/".join(parts)):
        assert all(roots.enter("/".join(parts[:depth])) for depth in range(len(parts)))
        assert any("/".join(parts).startswith(folder + "/") for folder in roots.folders())
