"""The tools' definitions are what hosts can digest, and a call's arguments are told all their faults at once."""

import json
import subprocess
import sys
from collections.abc import Iterator

import jsonschema
import pytest

from registry.mcp import tools
from registry.mcp.tools import EXECUTE, GET, SEARCH, TOOLS, read_arguments

DIGEST = "sha256:" + "0" * 64
BY_NAME = {tool["name"]: tool for tool in TOOLS}


def schemas() -> Iterator[tuple[str, dict]]:
    for tool in TOOLS:
        for member in ("inputSchema", "outputSchema"):
            yield f"{tool['name']} {member}", tool[member]


SCHEMAS = dict(schemas())


def pointers(name: str, arguments: object) -> list[str]:
    return [fault.pointer for fault in read_arguments(name, arguments).violations]


def test_the_order_is_the_order_of_use():
    assert tools.NAMES == ("search_playbooks", "get_playbook", "execute_playbook")


@pytest.mark.parametrize("which", SCHEMAS)
def test_a_schema_has_no_keyword_that_hosts_drop_tools_for(which: str):
    text = json.dumps(SCHEMAS[which])
    assert not [word for word in ("oneOf", "anyOf", "allOf", "$ref", "$defs") if f'"{word}"' in text]


@pytest.mark.parametrize("which", SCHEMAS)
def test_a_schema_is_one_of_an_object(which: str):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[which])
    assert SCHEMAS[which]["type"] == "object"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_tool_is_never_deferred(name: str):
    assert BY_NAME[name]["_meta"] == {"anthropic/alwaysLoad": True}


@pytest.mark.parametrize("name", BY_NAME)
def test_no_argument_is_taken_that_is_not_described(name: str):
    schema = BY_NAME[name]["inputSchema"]
    assert schema["additionalProperties"] is False
    assert all(member["description"] for member in schema["properties"].values())


def test_the_instructions_name_every_tool_and_when_to_call():
    assert all(name in tools.INSTRUCTIONS for name in tools.NAMES)
    assert "Before you plan or begin" in tools.INSTRUCTIONS


@pytest.mark.parametrize("name", BY_NAME)
def test_what_the_check_accepts_is_what_the_schema_accepts(name: str):
    candidates = [
        {},
        {"task": "x"},
        {"task": ""},
        {"task": "x" * 8_001},
        {"task": 1},
        {"task": "x", "limit": 0},
        {"task": "x", "limit": 20},
        {"task": "x", "limit": 20.0},
        {"task": "x", "limit": 2.5},
        {"task": "x", "limit": True},
        {"task": "x", "tags": ["a", ""]},
        {"task": "x", "tags": "a"},
        {"task": "x", "tags": ["a"] * 21},
        {"name": "x"},
        {"name": "x" * 257},
        {"name": "x", "digest": DIGEST},
        {"name": "x", "digest": "sha256:0"},
        {"name": "x", "inputs": {"a": {"b": [1]}}},
        {"name": "x", "inputs": []},
        {"name": "x", "run_id": "run_1"},
        {"name": "x", "more": 1},
    ]
    validator = jsonschema.Draft202012Validator(BY_NAME[name]["inputSchema"])
    for candidate in candidates:
        assert (not read_arguments(name, candidate).violations) == validator.is_valid(candidate), candidate


def test_defaults_take_the_place_of_what_is_left_out():
    assert read_arguments(SEARCH, {"task": "x"}).values == {"task": "x", "limit": 5}


def test_null_is_taken_as_left_out():
    assert read_arguments(SEARCH, {"task": "x", "limit": None, "tags": None}).values == {"task": "x", "limit": 5}


def test_a_needed_argument_that_is_null_is_a_fault():
    assert pointers(GET, {"name": None}) == ["/name"]


def test_a_whole_float_becomes_the_number_that_it_is():
    assert read_arguments(SEARCH, {"task": "x", "limit": 3.0}).values["limit"] == 3


def test_every_fault_is_told_at_once():
    assert pointers(SEARCH, {"limit": 99, "tags": [1], "quary": "x"}) == ["/limit", "/tags/0", "/quary", "/task"]


def test_a_misspelt_argument_is_told_its_name():
    (fault, _) = read_arguments(EXECUTE, {"nmae": "x"}).violations
    assert "did you mean name?" in fault.message


@pytest.mark.parametrize("arguments", [[], "task", 1, True])
def test_arguments_that_are_no_object_are_one_fault(arguments: object):
    assert pointers(SEARCH, arguments) == [""]


def test_a_hostile_key_makes_a_short_pointer():
    (found, _) = pointers(GET, {"~/" * 10_000: 1})
    assert found.startswith("/~0~1")
    assert len(found) < 200


def test_blank_text_is_empty():
    assert pointers(SEARCH, {"task": " \n"}) == ["/task"]


def test_importing_the_definitions_costs_the_standard_library_alone():
    code = (
        "import sys, registry.mcp.tools, registry.mcp.answers; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in eval(done.stdout) if not name.startswith(("_", "sitecustomize", "__editable__"))}
    assert loaded <= {"registry", "sphinxcontrib", "google", "mpl_toolkits", "ruamel"}
