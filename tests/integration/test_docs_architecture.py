"""The pages about the inside name modules, folders and functions that exist."""

import ast
import re

import pytest
from shellblocks import ROOT, page

PAGES = [
    "docs/architecture.md",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs/decisions").glob("*.md"))),
]
NAMED = re.compile(r"`((?:registry|indexer|policies|benchmarks|tests)/[\w/.-]*)`")
DEFINED = re.compile(r"`(\w+)`\s+(?:in|\()\s*`((?:registry|indexer|policies)/[\w/]+\.py)`")


def definitions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }
    constants = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return found | constants


@pytest.mark.parametrize("name", PAGES)
def test_every_path_that_a_page_names_exists(name: str):
    assert [path for path in NAMED.findall(page(name)) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_function_and_class_that_a_page_places_is_there(name: str):
    places = DEFINED.findall(page(name))
    assert [(word, path) for word, path in places if word not in definitions(path)] == []


def test_the_walkthroughs_place_what_they_name():
    assert len(DEFINED.findall(page("docs/architecture.md"))) >= 25


def test_every_room_is_in_the_list():
    rooms = set(NAMED.findall(page("docs/architecture.md")))
    folders = {
        f"{path.relative_to(ROOT)}/" for path in (ROOT / "registry").iterdir() if (path / "__init__.py").exists()
    }
    assert folders <= rooms
