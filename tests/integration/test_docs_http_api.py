"""docs/http-api.md has a section with an example for every call of the OpenAPI document, and for no other."""

import re

import pytest
from shellblocks import commands, page

from registry.api.openapi import openapi_document

PAGE = page("docs/http-api.md")
SECTIONS = {
    found["call"]: found["text"]
    for found in re.finditer(r"^### `(?P<call>[A-Z]+ /\S+)`\n(?P<text>.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
}
CALLS = {
    f"{method.upper()} {path}": operation
    for path, operations in openapi_document("0")["paths"].items()
    for method, operation in operations.items()
    if method != "head"
}


def parameters(operation: dict) -> set[str]:
    return {item["name"] for item in operation["parameters"] if item["in"] == "query"}


def test_every_call_has_its_section_and_every_section_its_call():
    assert set(SECTIONS) == set(CALLS)


@pytest.mark.parametrize("call", CALLS)
def test_a_section_lists_exactly_the_parameters_of_its_call(call: str):
    assert set(re.findall(r"^- `(\w+)`:", SECTIONS[call], re.MULTILINE)) == parameters(CALLS[call])


@pytest.mark.parametrize("call", CALLS)
def test_a_section_shows_its_call(call: str):
    method, path = call.split(" ", 1)
    pattern = re.sub(r"\\\{\w+\\\}", r"[^\\s?\"]+", re.escape(path))
    shown = [command for command in commands(SECTIONS[call]) if re.search(pattern + r"[\s?\"]", command)]
    assert shown
    assert any(f"-X {method}" in command or method == "GET" or " -d '" in command for command in shown)


@pytest.mark.parametrize("call", CALLS)
def test_a_section_says_where_one_can_wait(call: str):
    waits = any(item["name"] == "Prefer" for item in CALLS[call]["parameters"])
    assert ("Takes `Prefer: wait=`." in SECTIONS[call]) == waits
