import pytest

from registry.digest import canonical, digest_of
from registry.playbook.companions import Companion
from registry.playbook.model import Level
from registry.playbook.reading import read_file

PATH = "skills/restart-worker/SKILL.md"
HEAD = "name: restart-worker\ndescription: Restart a worker that hangs.\n"


def skill(more="", *, head=HEAD, body="\n# Restart\n\nDo it.\n"):
    return f"---\n{head}{more}---\n{body}"


def read(text, path=PATH, **more):
    return read_file(path, text if isinstance(text, bytes) else text.encode(), **more)


def codes(reading):
    return [(each.code, each.line, each.column) for each in reading.problems]


def levels(reading):
    return {each.level for each in reading.problems}


def contract(text, path=PATH, **more):
    return read(text, path, **more).playbook.contract


def test_name_description_and_body_become_name_purpose_and_instructions():
    reading = read(skill())
    assert codes(reading) == []
    assert reading.playbook.contract == {
        "document": "skill/1",
        "name": "restart-worker",
        "purpose": "Restart a worker that hangs.",
        "instructions": "# Restart\n\nDo it.",
    }


def test_the_digest_is_that_of_the_contract_and_the_blob_that_of_the_bytes():
    text = skill()
    playbook = read(text).playbook
    assert playbook.digest == digest_of(canonical(playbook.contract))
    assert playbook.blob == digest_of(text.encode())


def test_a_skill_is_a_candidate_whatever_it_holds():
    assert read("").candidate
    assert read(b"\xff\xfe").candidate
    assert read("x" * (2 << 20)).candidate


def test_without_a_version_the_blob_makes_one_outside_the_document():
    playbook = read(skill()).playbook
    assert playbook.version == "0.0.0+" + playbook.blob[7:19]
    assert "version" not in playbook.contract
    assert "version" not in playbook.fields


@pytest.mark.parametrize(
    ("more", "version"),
    [
        ("version: 1.2.0\n", "1.2.0"),
        ("metadata: {version: '2'}\n", "2"),
        ("version: '1'\nmetadata: {version: '2'}\n", "1"),
        ("version: 1.10\n", "1.10"),
        ("metadata: {version: 1.0}\n", "1.0"),
    ],
)
def test_a_version_is_kept_as_written(more, version):
    assert read(skill(more)).playbook.version == version


@pytest.mark.parametrize(("more", "at"), [("version: 1.10\n", (4, 10)), ("metadata:\n  version: 1.10\n", (5, 12))])
def test_a_version_written_as_a_number_is_a_warning(more, at):
    assert codes(read(skill(more))) == [("version-not-text", *at)]


@pytest.mark.parametrize(
    ("more", "owner"),
    [
        ("", None),
        ("author: ada\n", "ada"),
        ("metadata: {author: bob}\n", "bob"),
        ("author: ada\nmetadata: {owner: platform}\n", "platform"),
        ("author: [a, b]\n", None),
    ],
)
def test_the_owner_is_what_the_metadata_or_the_author_says(more, owner):
    assert read(skill(more)).playbook.owner == owner


@pytest.mark.parametrize(
    "more", ["tags: [a, b c]\n", "tags: a, b c\n", "metadata: {tags: 'a, b c'}\n", "metadata: {tags: [a, b c]}\n"]
)
def test_tags_are_a_list_or_a_text(more):
    assert read(skill(more)).playbook.tags == ("a", "b c")


@pytest.mark.parametrize(
    "tools", ["Read Bash(git log:*) Grep", "Read, Bash(git log:*), Grep", "Read,Bash(git log:*),Grep",
              "[Read, 'Bash(git log:*)', Grep]"],
)  # fmt: skip
def test_the_spellings_of_allowed_tools_are_one(tools):
    reading = read(skill(f"allowed-tools: {tools}\n"))
    assert reading.playbook.contract["extra"] == {"allowed-tools": ["Read", "Bash(git log:*)", "Grep"]}
    assert codes(reading) == []


def test_a_tool_of_a_list_is_never_split():
    assert contract(skill("allowed-tools: ['Azure MCP/docs']\n"))["extra"]["allowed-tools"] == ["Azure MCP/docs"]


def test_what_has_no_place_of_its_own_is_kept_as_it_is_written():
    more = "license: MIT\norigin: community\nmetadata: {owner: o, n: 1.50, deep: {a: [1e3]}}\nlast: 2026-01-06\n"
    assert contract(skill(more))["extra"] == {
        "license": "MIT",
        "origin": "community",
        "metadata": {"owner": "o", "n": "1.50", "deep": {"a": ["1e3"]}},
        "last": "2026-01-06",
    }


def test_an_unknown_key_is_a_warning_at_its_place_with_a_suggestion():
    reading = read(skill("desciption: x\nx-team: y\n"))
    assert codes(reading) == [("unknown-key", 4, 1)]
    assert levels(reading) == {Level.WARNING}
    assert "did you mean description?" in reading.problems[0].message


@pytest.mark.parametrize(
    ("more", "at"),
    [
        ("license: [MIT]\n", (4, 10)),
        ("metadata: x\n", (4, 11)),
        ("metadata: {a: [b]}\n", (4, 15)),
        ("metadata: {a: true}\n", (4, 15)),
        ("allowed-tools: {a: b}\n", (4, 16)),
        ("allowed-tools: [[a]]\n", (4, 16)),
        ("user-invocable: sometimes\n", (4, 17)),
        ("argument-hint: [x]\n", (4, 16)),
        ("license:\n", (4, 9)),
    ],
)
def test_a_known_key_of_the_wrong_kind_is_kept_with_a_warning(more, at):
    reading = read(skill(more))
    assert codes(reading) == [("type-mismatch", *at)]
    assert levels(reading) == {Level.WARNING}
    assert more.partition(":")[0] in reading.playbook.contract["extra"]


@pytest.mark.parametrize("name", ["Restart Worker", "restart_worker", "restart.worker", "RESTART-WORKER"])
def test_a_name_in_another_spelling_is_folded_with_a_warning_and_stays_the_title(name):
    reading = read(skill(head=f"name: {name}\ndescription: Do it.\n"))
    assert codes(reading) == [("name-spelling", 2, 7)]
    assert (reading.playbook.key, reading.playbook.title) == ("restart-worker", name)
    assert reading.playbook.contract["extra"] == {"name": name}


@pytest.mark.parametrize("name", ["a/b", "überall", "-x", "a--b", "x" * 65, "re\u202estart"])
def test_a_name_outside_the_pattern_is_an_error(name):
    reading = read(skill(head=f"name: {name}\ndescription: Do it.\n"))
    assert codes(reading)[0] == ("name-invalid", 2, 7)
    assert (reading.playbook, reading.claims) == (None, None)


def test_a_name_that_is_not_the_folders_is_a_warning():
    reading = read(skill(), "skills/other/SKILL.md")
    assert codes(reading) == [("name-not-folder", 2, 7)]
    assert reading.playbook.key == "restart-worker"


def test_a_missing_name_is_taken_from_the_folder_with_a_warning():
    reading = read(skill(head="description: Do it.\n"))
    assert codes(reading) == [("name-not-folder", 1, 1)]
    assert reading.playbook.key == "restart-worker"


@pytest.mark.parametrize("path", ["SKILL.md", "skills/ü/SKILL.md"])
def test_without_a_name_and_a_usable_folder_it_is_an_error(path):
    assert read(skill(head="description: Do it.\n"), path).playbook is None


@pytest.mark.parametrize(
    ("head", "at"),
    [
        ("name: restart-worker\n", (1, 1)),
        ("name: restart-worker\ndescription:\n", (3, 13)),
        ("name: restart-worker\ndescription: ''\n", (3, 14)),
        ("name: restart-worker\ndescription: ' '\n", (3, 14)),
        ("name: restart-worker\ndescription: [x]\n", (3, 14)),
    ],
)
def test_a_skill_without_a_description_is_an_error_and_claims_its_name(head, at):
    reading = read(skill(head=head))
    assert codes(reading) == [("field-missing", *at)]
    assert reading.claims == "restart-worker"


def test_a_description_of_1024_characters_is_fine_and_one_more_a_warning():
    assert codes(read(skill(head=f"name: restart-worker\ndescription: {'x' * 1024}\n"))) == []
    reading = read(skill(head=f"name: restart-worker\ndescription: {'x' * 1025}\n"))
    assert codes(reading) == [("description-long", 3, 14)]
    assert len(reading.playbook.purpose) == 1025


def test_a_description_that_turns_its_direction_is_an_error():
    reading = read(skill(head="name: restart-worker\ndescription: Restart \u202e.deploy\u202c\n"))
    assert codes(reading) == [("control-character", 3, 14)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# Restart\n", "front-matter-missing"),
        ("", "front-matter-missing"),
        ("\n---\nname: a\n---\n", "front-matter-late"),
        ("```\n---\nname: a\n---\n```\n", "front-matter-late"),
        ("---\nname: a\ndescription: b\n", "front-matter-unclosed"),
        ("---\n---\nbody\n", "yaml-syntax"),
        ("---\n- a\n---\n", "field-type"),
    ],
)
def test_a_skill_without_front_matter_is_an_error(text, code):
    reading = read(text)
    assert [each.code for each in reading.problems] == [code]


def test_a_broken_skill_claims_the_name_that_is_still_readable():
    assert read(skill("x: [\n")).claims == "restart-worker"


def test_a_skill_without_a_readable_name_claims_none():
    assert read("# Restart\n").claims is None


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_another_case_of_the_files_name_is_a_warning(name):
    reading = read(skill(), f"skills/restart-worker/{name}")
    assert codes(reading) == [("name-spelling", 1, 1)]
    assert reading.playbook.document == "skill/1"


def test_only_the_exact_name_makes_a_skill():
    assert not read(skill(), "skills/a/my-SKILL.md").candidate


def test_required_counts_in_central_and_is_a_warning_elsewhere():
    assert read(skill("required: true\n"), role="central").playbook.required
    reading = read(skill("required: true\n"))
    assert not reading.playbook.required
    assert codes(reading) == [("required-not-yours", 4, 1)]


def test_required_is_no_part_of_the_document():
    assert contract(skill("required: true\n"), role="central") == contract(skill())


def test_line_endings_and_a_byte_order_mark_do_not_change_the_document():
    text = skill("license: MIT\n")
    assert contract(text) == contract(text.replace("\n", "\r\n")) == contract("\ufeff" + text)


def test_mixed_line_endings_are_an_info():
    assert codes(read(skill().replace("\n", "\r\n", 3))) == [("mixed-line-endings", 1, 1)]


def test_a_second_document_in_the_body_is_text():
    text = skill(body="name: second\n---\nbody\n")
    assert contract(text)["instructions"] == "name: second\n---\nbody"


def test_a_skill_without_a_body_has_no_instructions():
    assert "instructions" not in contract(skill(body=""))


def test_other_files_are_listed_sorted_and_make_another_digest():
    files = [Companion("b", "sha256:" + "2" * 64, 2), Companion("a", "sha256:" + "1" * 64, 1)]
    playbook = read(skill(), companions=files).playbook
    assert playbook.contract["files"] == [
        {"path": "a", "digest": "sha256:" + "1" * 64, "size": 1},
        {"path": "b", "digest": "sha256:" + "2" * 64, "size": 2},
    ]
    assert playbook.digest != read(skill()).playbook.digest
    assert playbook.digest == read(skill(), companions=files[::-1]).playbook.digest


@pytest.mark.parametrize(
    "files",
    [[Companion(str(number), "sha256:" + "0" * 64, 1) for number in range(513)], [Companion("a", "", (16 << 20) + 1)]],
)
def test_too_many_or_too_large_other_files_are_an_error(files):
    reading = read(skill(), companions=files)
    assert codes(reading) == [("too-large", 1, 1)]
    assert reading.claims == "restart-worker"


def test_templates_of_a_skill_are_text():
    assert read(skill(body="{{ inputs.x }}\n")).playbook is not None


def test_a_file_with_thousands_of_warnings_names_the_first_and_every_error():
    more = "".join(f"k{number}: x\n" for number in range(2_000))
    reading = read(skill(more, head=f"name: restart-worker\nlicense: [x]\n{more[:0]}description: ''\n"))
    assert reading.problems[0].code == "field-missing"
    assert len(reading.problems) == 50


@pytest.mark.parametrize(
    ("more", "tags"),
    [
        ("", ()),
        ("tags: [a]\n", ("a",)),
        ("tags: a, b\n", None),
        ("tagz: [a]\n", None),
        ("metadata: {tags: a}\n", None),
        ("tags: [a]\nmetadata: {tags: b}\n", None),
        ("metadata: {x: a}\n", ()),
    ],
)
def test_a_broken_skill_shows_its_tags_where_they_are_certain(more, tags):
    assert read(skill(more, head="name: restart-worker\n")).tags == tags
