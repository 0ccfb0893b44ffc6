"""What the tools answer: the same JSON twice, enough to choose by, and nothing hidden."""

import json

import jsonschema
import pytest

from registry.mcp import answers, tools

STATE = answers.state("fresh", 3, registered=True, repository="github.com/acme/app")
ENTRY = {
    "name": "roll-back",
    "title": "roll-back",
    "version": "1.0.0",
    "digest": "sha256:" + "0" * 64,
    "source": {"kind": "local", "repository": "github.com/acme/app", "commit": "c" * 40, "path": "p.yaml", "blob": "sha256:1"},
    "purpose": "Take a bad\n  release back.",
    "tags": ["release"],
    "not_for": ["A planned\nrelease."],
    "required": False,
    "deprecated": None,
    "held": None,
    "score": 1.5,
}  # fmt: skip
CONTRACT = {
    "inputs": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "enum": ["eu", "us"]},
            "kind": {"const": "full"},
            "dry_run": {"type": "boolean"},
            "reason": {"type": "string"},
        },
    },
    "requires": {
        "connections": [{"provider": "postgres", "purpose": "Compare."}],
        "mcp_servers": [{"name": "backups", "tools": ["backups.list"]}],
        "secrets": [{"name": "BACKUP_KEY"}],
    },
}
PLAYBOOK = {**ENTRY, "contract": CONTRACT, "serves": True, "snapshot": "sha256:" + "1" * 64}


def schema(tool: str) -> dict:
    return next(item["outputSchema"] for item in tools.TOOLS if item["name"] == tool)


def search(*entries: dict, weak: bool = False) -> dict:
    return answers.search_answer(snapshot="sha256:" + "1" * 64, state=STATE, entries=entries, weak=weak)


def test_text_and_structured_content_are_the_same_json():
    result = answers.call_result({"a": [None, True, 1.5, "ü\n"]})
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_a_row_says_where_and_which_and_never_how():
    (row,) = search(ENTRY)["results"]
    assert set(row) == {"name", "purpose", "tags", "not_for", "version", "source", "digest", "required", "deprecated"}
    assert row["source"] == {key: value for key, value in ENTRY["source"].items() if key != "blob"}


def test_a_purpose_is_one_line():
    assert search(ENTRY)["results"][0]["purpose"] == "Take a bad release back."


def test_a_long_purpose_is_cut_at_a_word():
    line = answers.one_line("word " * 200)
    assert line.endswith("word …")
    assert len(line) <= answers.PURPOSE_LENGTH_MAX + 2


def test_an_empty_result_says_so_and_is_weak():
    found = search()
    assert (found["results"], found["weak"], found["note"]) == ([], True, answers.NOTHING_FITS)


def test_a_weak_result_says_what_to_do():
    assert search(ENTRY, weak=True)["note"] == answers.WEAK


def test_a_good_result_needs_no_note():
    assert "note" not in search(ENTRY)


def test_an_unregistered_repository_is_said():
    found = answers.state("fresh", 0, registered=False, repository="github.com/acme/other", note="And more.")
    assert found["note"] == f"{answers.UNREGISTERED} And more."


def test_a_playbook_shows_the_values_that_its_inputs_allow():
    found = answers.playbook_answer(state=STATE, entry=PLAYBOOK, why="It serves.")
    assert found["allowed_values"] == {"region": ["eu", "us"], "kind": ["full"], "dry_run": [False, True]}


@pytest.mark.parametrize("inputs", [None, True, [], {"properties": []}, {"properties": {"a": True}}])
def test_a_schema_that_lists_no_values_shows_none(inputs: object):
    assert answers.allowed_values(inputs) == {}


def test_prerequisites_are_all_there_and_only_the_host_knows_of_them():
    found = answers.playbook_answer(state=STATE, entry=PLAYBOOK, why="It serves.")["prerequisites"]
    assert [(row["kind"], row["name"], row["met"]) for row in found] == [
        ("connection", "postgres", None),
        ("mcp_server", "backups", None),
        ("secret", "BACKUP_KEY", None),
    ]
    assert found[0]["note"].startswith("Compare. ")


def test_a_caller_who_may_not_execute_is_told_before_trying():
    found = answers.playbook_answer(state=STATE, entry=PLAYBOOK, why="", access=(False, "Ask the platform team."))
    assert found["prerequisites"][0] == {
        "kind": "access",
        "name": "execute",
        "met": False,
        "note": "Ask the platform team.",
    }


def test_answers_are_what_the_output_schemas_say():
    jsonschema.validate(search(ENTRY), schema(tools.SEARCH))
    jsonschema.validate(answers.playbook_answer(state=STATE, entry=PLAYBOOK, why="It serves."), schema(tools.GET))


@pytest.mark.parametrize("tool", tools.NAMES)
def test_a_problem_is_no_breach_of_the_output_schema(tool: str):
    found = answers.invalid_arguments(tool, tools.read_arguments(tool, {"x": 1}).violations)
    jsonschema.validate(found, schema(tool))
    assert found["type"] == "/problems/request-invalid"
    assert found["violations"][0]["pointer"] == "/x"
