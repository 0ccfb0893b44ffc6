import re
from pathlib import Path

from registry.playbook.companions import COMPANION_BYTES_MAX, COMPANIONS_MAX
from registry.playbook.openplaybook import OPENPLAYBOOK_ENDING, OPENPLAYBOOK_MARKS
from registry.playbook.reading import read_file
from registry.playbook.roots import DEFAULT_PATTERNS, FOLDERS_NOT_ENTERED
from registry.playbook.runbook import RUNBOOK_ENDING, RUNBOOK_MARKS
from registry.playbook.skill import KNOWN_FIELDS
from registry.sync.companions import REPOSITORY_BYTES_MAX

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "other-formats.md").read_text()


def said():
    return set(re.findall(r"`([^`]+)`", PAGE))


def test_the_skills_folders_are_named_in_their_order():
    skills = [pattern for pattern in DEFAULT_PATTERNS if pattern.endswith("SKILL.md")]
    assert re.findall(r"`([^`]*\*\*/SKILL\.md)`", PAGE)[: len(skills)] == skills
    assert said() >= FOLDERS_NOT_ENTERED


def test_endings_and_members_by_which_a_format_is_known_are_named():
    assert said() >= {f"*{OPENPLAYBOOK_ENDING}", f"*{RUNBOOK_ENDING}", *OPENPLAYBOOK_MARKS, *RUNBOOK_MARKS}


def test_every_known_field_of_a_skill_is_named():
    section = PAGE.partition("## Agent Skills")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z-]+)`", section)) >= KNOWN_FIELDS.keys()


def test_the_bounds_are_those_of_the_reader():
    found = re.search(r"has (\d+) of them and (\d+) MiB in them at most, all skills of a repository (\d+) MiB", PAGE)
    bounds = (COMPANIONS_MAX, COMPANION_BYTES_MAX >> 20, REPOSITORY_BYTES_MAX >> 20)
    assert found is not None
    assert tuple(map(int, found.groups())) == bounds


def test_a_skill_of_the_known_fields_has_no_warning():
    values = {"text": "x", "true or false": "false", "a list": "[x]", "a mapping": "{x: y}"}
    fields = {key: values[kinds[0]] for key, kinds in KNOWN_FIELDS.items() if key not in {"name", "required"}}
    text = "".join(f"{key}: {value}\n" for key, value in fields.items())
    assert read_file("skills/a-b/SKILL.md", f"---\nname: a-b\n{text}---\n".encode()).problems == ()
