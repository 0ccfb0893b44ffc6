"""docs/playbook-format.md: its examples load without a warning, and its tables are the format's models."""

import re

import pytest
from shellblocks import page, section

from registry.playbook.document import SHAPES, NativeDocument, Shape, known_keys
from registry.playbook.limits import DEFAULT_LIMITS
from registry.playbook.native import _ADVISED, DOCUMENT
from registry.playbook.openplaybook import OPENPLAYBOOK_DOCUMENT
from registry.playbook.reading import read_file
from registry.playbook.roots import DEFAULT_PATTERNS, FOLDERS_NOT_ENTERED
from registry.playbook.runbook import RUNBOOK_DOCUMENT
from registry.playbook.skill import SKILL_DOCUMENT

PAGE = page("docs/playbook-format.md")


def block(language: str) -> bytes:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].encode()


def table(heading: str) -> dict[str, str]:
    """First cell, without its quotes -> the rest of the row."""
    return dict(re.findall(r"^\| `([^`]+)` \|(.*)\|$", section(PAGE, heading), re.MULTILINE))


def needed(shape: type[Shape]) -> set[str]:
    return {field.alias or name for name, field in shape.model_fields.items() if field.is_required()}


@pytest.mark.parametrize(("language", "path"), [("yaml", "playbooks/a.yaml"), ("markdown", "playbooks/a.md")])
def test_an_example_loads_without_any_problem(language: str, path: str):
    reading = read_file(path, block(language), role="central")
    assert [str(problem) for problem in reading.problems] == []
    assert reading.playbook is not None


def test_the_complete_example_has_every_field_but_the_one_that_retires_it():
    reading = read_file("playbooks/a.yaml", block("yaml"), role="central")
    written = set(re.findall(r"^([a-z_]+):", block("yaml").decode(), re.MULTILINE))
    assert set(known_keys(NativeDocument)) - written == {"deprecated"}
    assert reading.playbook is not None
    assert reading.playbook.required


def test_every_field_has_a_row_that_says_whether_it_is_needed_or_advised():
    said = {name: rest.split("|")[0].strip() for name, rest in table("Fields").items()}
    need = needed(NativeDocument)
    assert said == {
        name: "needed" if name in need else "advised" if name in _ADVISED else "" for name in known_keys(NativeDocument)
    }


def test_every_part_has_a_row_and_every_row_a_part():
    assert set(table("Parts")) == {".".join(at) for at in SHAPES if at}


@pytest.mark.parametrize("at", [at for at in SHAPES if at], ids=".".join)
def test_a_row_names_exactly_the_keys_of_its_part(at: tuple[str, ...]):
    keys = re.sub(r"\([^)]*\)", "", table("Parts")[".".join(at)])
    assert set(re.findall(r"`(\w+)`", keys)) == set(known_keys(SHAPES[at]))
    assert set(re.findall(r"\*\*`(\w+)`\*\*", keys)) == needed(SHAPES[at])


def test_the_usual_folders_are_named_in_their_order():
    roots = [re.split(r"/\*", pattern)[0] + "/" for pattern in DEFAULT_PATTERNS]
    assert re.findall(r"^\| `([.\w/]+/)`, at any depth", PAGE, re.MULTILINE) == roots
    assert all(f"`{folder}`" in PAGE for folder in FOLDERS_NOT_ENTERED)


def test_every_format_is_named_with_its_document():
    assert set(re.findall(r"`(\w+/1)` \|$", section(PAGE, "Other formats"), re.MULTILINE)) == {
        DOCUMENT,
        SKILL_DOCUMENT,
        RUNBOOK_DOCUMENT,
        OPENPLAYBOOK_DOCUMENT,
    }


def test_the_skill_of_the_page_loads_without_any_problem():
    found = re.search(r"^```markdown\n(.*?)^```", section(PAGE, "Other formats"), re.DOTALL | re.MULTILINE)
    assert found is not None
    reading = read_file("skills/summarise-incident/SKILL.md", found[1].encode(), role="service")
    assert [str(problem) for problem in reading.problems] == []
    assert reading.playbook is not None
    assert (reading.playbook.owner, reading.playbook.version) == ("support", "1.1.0")


def test_the_bounds_are_those_of_the_reader():
    limits = DEFAULT_LIMITS
    said = re.search(r"A file has (\d+) MiB at most, a repository ([\d,]+) matching files and (\d+) MiB", PAGE)
    assert said is not None
    bounds = (limits.file_bytes >> 20, limits.repository_files, limits.repository_bytes >> 20)
    assert tuple(int(text.replace(",", "")) for text in said.groups()) == bounds
    inside = re.search(
        r"has ([\d,]+) keys and values at most, in (\d+) levels,\s+and an input schema ([\d,]+) of", PAGE
    )
    assert inside is not None
    within = (limits.nodes, limits.depth_levels, limits.schema_nodes)
    assert tuple(int(text.replace(",", "")) for text in inside.groups()) == within
