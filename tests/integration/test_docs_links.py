"""Every link between the pages leads somewhere, every page can be reached, and no make target or command is made up."""

import re
from pathlib import Path

import pytest
from shellblocks import ROOT, page

from registry.cli.main import COMMANDS

PAGES = [
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(name: str) -> str:
    return re.sub(r"^```.*?^```", "", page(name), flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def targets(name: str) -> list[tuple[Path, str]]:
    """(file, anchor) of every link of a page that leads to another place of this project."""
    found = []
    for link in LINK.findall(prose(name)):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            found.append(((ROOT / name).parent / path if path else ROOT / name, anchor))
    return found


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_place_that_is_there(name: str):
    lost = [
        f"{path.name}#{anchor}"
        for path, anchor in targets(name)
        if not path.exists() or (anchor and anchor not in anchors(path))
    ]
    assert lost == []


def test_every_page_can_be_reached_from_the_readme():
    reached, new = set(), {(ROOT / "README.md").resolve()}
    while new:
        reached |= new
        new = {
            path.resolve()
            for source in new
            if source.suffix == ".md"
            for path, _ in targets(str(source.relative_to(ROOT)))
        } - reached
    assert [name for name in PAGES if (ROOT / name).resolve() not in reached] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_make_target_that_a_page_names_is_one(name: str):
    known = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))
    named = re.findall(r"`make ([a-z-]+)", page(name)) + re.findall(r"^\$? ?make ([a-z-]+)", page(name), re.MULTILINE)
    assert [target for target in named if target not in known] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_command_that_a_page_names_is_one(name: str):
    named = re.findall(r"(?:`|^\$ |^\S*/)registry ([a-z]+)", page(name), re.MULTILINE)
    assert [command for command in named if command not in COMMANDS] == []
