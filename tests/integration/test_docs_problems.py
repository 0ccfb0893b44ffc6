import re
from pathlib import Path

import pytest

from registry.playbook.problems import PROBLEM_CODES
from registry.playbook.reading import read_file

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/problems.md").read_text()
SECTION = re.compile(r"^### `([a-z0-9-]+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```(yaml|json|markdown)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENDINGS = {"yaml": "yaml", "json": "json", "markdown": "md"}


def examples():
    for code, section in SECTION.findall(PAGE):
        for syntax, text in EXAMPLE.findall(section):
            yield pytest.param(code, f"playbooks/a.{ENDINGS[syntax]}", text, id=code)


def test_the_page_has_a_section_for_every_code_and_no_other():
    assert sorted(code for code, _ in SECTION.findall(PAGE)) == sorted(PROBLEM_CODES)


def test_every_section_says_what_to_do_and_stands_under_its_level():
    for code, section in SECTION.findall(PAGE):
        heading = re.findall(r"^## (.*)$", PAGE[: PAGE.index(f"### `{code}`")], re.MULTILINE)[-1]
        assert heading.lower() == f"{PROBLEM_CODES[code].level.value}s"
        assert "What to do: " in section


@pytest.mark.parametrize(("code", "path", "text"), list(examples()))
def test_every_example_gives_its_code(code, path, text):
    assert code in [each.code for each in read_file(path, text.encode()).problems]


def test_every_code_that_the_readers_name_is_in_the_table():
    source = "".join(
        path.read_text() for path in sorted((ROOT / "registry/playbook").glob("*.py")) if path.name != "problems.py"
    )
    named = set(
        re.findall(
            r'(?:Fault|Complaint|_At|_fault_of|problem|_add|_fault_at)\(\s*(?:event, |text, )?"([a-z0-9]+-[a-z0-9-]+)"',
            source,
        )
    )
    assert len(named) >= 20
    assert named <= set(PROBLEM_CODES)
