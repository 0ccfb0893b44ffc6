import re
import time
from pathlib import Path

import pytest
from world import playbook, running

from registry.playbook.problems import PROBLEM_CODES
from registry.playbook.reading import read_file

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/problems.md").read_text()
SECTION = re.compile(r"^### `([a-z0-9-]+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```(yaml|json|markdown)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEP = re.compile(
    r"^(?P<when>In|Then, in) (?P<where>the central repository|a service repository|both repositories), "
    r"`(?P<path>[^`]+)`:\n\n```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
WAIT_S = 20.0
ENDINGS = {"yaml": "yaml", "json": "json", "markdown": "md"}


def examples():
    for code, section in SECTION.findall(PAGE):
        for syntax, text in EXAMPLE.findall(STEP.sub("", section)):
            yield pytest.param(code, f"playbooks/a.{ENDINGS[syntax]}", text, id=code)


def stories():
    """The sections whose example is told in repositories, each with its steps."""
    for code, section in SECTION.findall(PAGE):
        steps = [found.groupdict() for found in STEP.finditer(section)]
        if steps:
            yield pytest.param(code, steps, id=code)


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


@pytest.mark.parametrize(("code", "steps"), list(stories()))
def test_every_story_gives_its_code(code, steps, tmp_path):
    first = [step for step in steps if step["when"] == "In"]
    central = {step["path"]: step["text"] for step in first if step["where"] != "a service repository"}
    service = {step["path"]: step["text"] for step in first if step["where"] != "the central repository"}
    with running(tmp_path, central or {"playbooks/other.yaml": playbook("other")}) as world:
        repositories = {"the central repository": world.central, "a service repository": world.service("pay", service)}
        await_look(world)
        for step in steps[len(first) :]:
            repositories[step["where"]].commit({step["path"]: step["text"]})
        world.sync("pay")
        world.sync_central()
        await_code(world, code)


def test_every_code_of_remarks_has_a_story():
    remarked = {"near-duplicate", "tool-drift", "version-not-bumped", "shadow-drift", "owner-not-in-codeowners"}
    assert {story.id for story in stories()} == remarked


def await_look(world):
    end = time.monotonic() + WAIT_S
    while "github.com/acme/pay" not in world.store.remarked():
        assert time.monotonic() < end
        time.sleep(0.02)


def await_code(world, code):
    end = time.monotonic() + WAIT_S
    while code not in world.codes("pay"):
        assert time.monotonic() < end, world.codes("pay")
        time.sleep(0.02)


MENDED = re.findall(r"^\| `(.+?)` \|[^|]+\| `(.+)` \|$", PAGE, re.MULTILINE)


def purpose_of(value):
    head = f"---\nname: a\ndescription: {value}\n---\n"
    return read_file("skills/a/SKILL.md", head.encode())


@pytest.mark.parametrize(("written", "mended"), [[cell.replace("\\|", "|") for cell in row] for row in MENDED])
def test_what_the_page_says_to_write_loads_and_what_it_says_was_written_does_not(written, mended):
    assert {each.code for each in purpose_of(written).problems} == {"yaml-syntax"}
    assert purpose_of(mended).problems == ()


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
