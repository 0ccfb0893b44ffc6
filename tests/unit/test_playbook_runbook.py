import json

import pytest

from registry.playbook.model import Level
from registry.playbook.reading import read_file

PATH = "playbooks/rotate-signing-key.runbook.json"
GOOD = {
    "schema": "runbook.v1",
    "runbook_id": "rotate-signing-key",
    "title": "Rotate",
    "description": "Rotate the signing key.",
    "version": "1.2.0",
    "owner": "security",
    "tags": ["keys"],
    "mode": "required",
    "failure_policy": "fail_closed",
    "allowed_tools": ["keys.rotate", "flags.*"],
    "checkpoints": [{"id": "cp", "kind": "tool_call", "required": True, "match": {"tool": "keys.rotate"}}],
    "completion": {"condition": "final_output", "receipt": True},
}


def read(members, path=PATH, **more):
    return read_file(path, json.dumps(members, indent=1).encode(), **more)


def changed(**members):
    return {key: value for key, value in {**GOOD, **members}.items() if value is not ...}


def codes(reading):
    return [each.code for each in reading.problems]


def test_a_runbook_maps_to_a_playbook_without_steps():
    reading = read(GOOD)
    assert codes(reading) == []
    assert reading.playbook.contract == {
        "document": "runbook/1",
        "name": "rotate-signing-key",
        "version": "1.2.0",
        "owner": "security",
        "tags": ["keys"],
        "purpose": "Rotate the signing key.",
        "runbook": {key: GOOD[key] for key in ("mode", "failure_policy", "allowed_tools", "checkpoints", "completion")},
        "extra": {"schema": "runbook.v1", "title": "Rotate"},
    }


@pytest.mark.parametrize("members", [{"runbook_id": "a-b"}, {"mode": "advisory"}, {"checkpoints": []}])
def test_one_of_its_members_makes_a_runbook_of_the_file(members):
    assert read(members).candidate


@pytest.mark.parametrize("members", [{}, {"name": "x"}, {"inner": {"runbook_id": "x"}}])
def test_a_file_with_none_of_them_is_told_so(members):
    reading = read(members)
    assert not reading.candidate
    assert codes(reading) == ["marker-missing"]


def test_the_members_alone_make_no_runbook_of_another_file():
    assert not read(GOOD, "playbooks/a.json").candidate


@pytest.mark.parametrize("runbook_id", [..., None, "", 7, ["a"]])
def test_without_an_id_it_is_an_error(runbook_id):
    reading = read(changed(runbook_id=runbook_id))
    assert codes(reading) == ["field-missing"]
    assert reading.candidate


def test_an_id_in_another_spelling_is_folded_and_stays_the_title():
    playbook = read(changed(runbook_id="Rotate_Signing.Key")).playbook
    assert (playbook.key, playbook.title) == ("rotate-signing-key", "Rotate_Signing.Key")
    assert playbook.contract["extra"]["runbook_id"] == "Rotate_Signing.Key"


def test_an_id_outside_the_pattern_is_an_error_at_its_place():
    reading = read(changed(runbook_id="a/b"))
    assert [(each.code, each.line, each.column) for each in reading.problems] == [("name-invalid", 3, 16)]


def test_the_title_stands_in_for_a_description_and_the_id_for_both():
    assert read(changed(description=...)).playbook.purpose == "Rotate"
    reading = read(changed(description=..., title=...))
    assert reading.playbook.purpose == "rotate signing key"
    assert codes(reading) == ["no-purpose"]


def test_without_a_version_the_blob_makes_one_outside_the_document():
    playbook = read(changed(version=...)).playbook
    assert playbook.version == "0.0.0+" + playbook.blob[7:19]
    assert "version" not in playbook.contract


def test_a_version_written_as_a_number_is_kept_as_written_with_a_warning():
    reading = read_file(PATH, json.dumps(GOOD).replace('"1.2.0"', "1.20").encode())
    assert reading.playbook.version == "1.20"
    assert codes(reading) == ["version-not-text"]


def test_nothing_is_dropped():
    extra = {"escalation": {"to": ["ops"]}, "x": None, "timeout_s": 1.0}
    assert read(changed(**extra)).playbook.contract["extra"] == {"schema": "runbook.v1", "title": "Rotate", **extra}


@pytest.mark.parametrize(
    "members",
    [
        {"mode": "sometimes"},
        {"checkpoints": {}},
        {"checkpoints": ...},
        {"mode": ...},
        {"allowed_tools": "keys.rotate"},
        {"completion": "done"},
        {"owner": ["security"]},
        {"tags": "keys"},
        {"tags": [1]},
    ],
)
def test_a_known_member_of_the_wrong_kind_is_kept_with_a_warning(members):
    reading = read(changed(**members))
    assert codes(reading) == ["type-mismatch"]
    (name, value), *_ = members.items()
    kept = reading.playbook.contract["runbook"] | reading.playbook.contract["extra"]
    assert value is ... or kept[name] == value


def test_a_misspelt_member_is_kept_with_a_warning():
    reading = read(changed(failure_policy=..., failure_polcy="fail_closed"))
    assert [(each.code, each.level) for each in reading.problems] == [("unknown-key", Level.WARNING)]
    assert reading.playbook.contract["extra"]["failure_polcy"] == "fail_closed"


def test_a_checkpoint_for_a_tool_outside_the_allow_list_is_an_error_at_its_place():
    reading = read(changed(checkpoints=[{"id": "cp", "match": {"tool": "keys.rotat"}}]))
    assert codes(reading) == ["tool-undeclared"]
    assert "did you mean keys.rotate?" in reading.problems[0].message
    assert reading.problems[0].line > 1


@pytest.mark.parametrize("tool", ["keys.rotate", "flags.get"])
def test_an_allow_list_names_tools_or_the_beginning_of_their_names(tool):
    assert codes(read(changed(checkpoints=[{"id": "cp", "match": {"tool": tool}}]))) == []


def test_without_an_allow_list_any_tool_may_be_waited_for():
    assert codes(read(changed(allowed_tools=...))) == []


@pytest.mark.parametrize(
    "requires",
    [
        {"secrets": [{"name": "KEY", "value": "x"}]},
        {"secrets": [{"name": "ghp_" + "a1B2" * 9}]},
        {"mcp_servers": [{"name": "https://flags.acme.example"}]},
    ],
)
def test_a_value_in_requires_is_an_error_that_does_not_repeat_it(requires):
    reading = read(changed(requires=requires))
    assert codes(reading) == ["secret-value"]
    assert "ghp_" not in reading.problems[0].message


def test_required_counts_in_central_alone():
    assert read(changed(required=True), role="central").playbook.required
    assert codes(read(changed(required=True))) == ["required-not-yours"]


def test_a_number_that_json_cannot_carry_is_an_error():
    assert codes(read(changed(limit=1 << 60))) == ["number-out-of-range"]


@pytest.mark.parametrize("text", ['{"runbook_id": "rotate-key", "mode": ', '{"runbook_id": "rotate-key" "x"'])
def test_a_broken_runbook_claims_its_id(text):
    reading = read_file(PATH, text.encode())
    assert (codes(reading), reading.claims) == (["json-syntax"], "rotate-key")


def test_a_broken_file_without_its_members_is_no_runbook():
    assert not read_file(PATH, b"{").candidate
