"""The committed schemas and golden documents against what the code makes today."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.playbook.complaints import complaints
from registry.playbook.document import NativeDocument
from registry.playbook.native import known_at
from registry.playbook.policy_document import PolicyDocument
from registry.playbook.reading import read_file
from registry.playbook.schema import (
    GENERATORS,
    PLAYBOOK_FILE,
    POLICY_FILE,
    main,
    playbook_schema,
    policy_schema,
    schema_text,
)

ROOT = Path(__file__).parents[2]
PLAYBOOK = jsonschema_rs.validator_for(playbook_schema(), offline=True)
POLICY_FILES = jsonschema_rs.validator_for(policy_schema(), offline=True)
GOLDEN = ROOT / "tests/golden"
CENTRAL = ROOT / "examples/central"


@pytest.mark.parametrize("file_name", [PLAYBOOK_FILE, POLICY_FILE])
def test_the_committed_schema_is_the_one_the_models_make(file_name, capsys):
    committed = (ROOT / "registry/playbook/schemas" / file_name).read_text()
    assert committed == schema_text(GENERATORS[file_name]())
    assert main([file_name]) == 0
    assert capsys.readouterr().out == committed


def test_another_file_name_is_refused(capsys):
    assert main(["x.json"]) == 2
    assert PLAYBOOK_FILE in capsys.readouterr().err


@pytest.mark.parametrize("schema", [playbook_schema(), policy_schema()], ids=["playbook", "policy"])
def test_a_published_schema_is_a_valid_schema(schema):
    jsonschema_rs.meta.validate(schema)


FULL = {
    "playbook": 1, "name": "clean-up", "version": "1", "owner": "o", "purpose": "p", "tags": ["a"], "not_for": ["b"],
    "inputs": {"type": "object"},
    "preconditions": [{"id": "a", "state": "b", "check": {"tool": "c", "with": {"d": 1}}}],
    "tools": [{"name": "a.b", "source": "mcp", "side_effecting": False, "risk": "read", "input_schema": {}}],
    "steps": [{"id": "a", "instruction": "b", "tool": "c", "allowed_tools": ["d"], "with": {}, "expect": "e"}],
    "stop": [{"when": "a", "then": "fail", "ask": "b"}],
    "verification": [{"state": "a", "check": {"tool": "b"}}],
    "requires": {"connections": [{"provider": "p", "scopes": ["s"]}], "mcp_servers": [{"name": "n"}], "secrets": [{"name": "n"}]},
    "runbook": {"mode": "required", "failure_policy": "fail_closed", "checkpoints": [{"id": "a", "kind": "b", "match": {}}],
                "completion": {"condition": "c", "receipt": True}},
    "selection": {"should_find": ["a"], "should_not_find": ["b"]}, "required": False,
    "deprecated": {"since": "2026-10-01", "replaced_by": "x"}, "x-own": [1],
}  # fmt: skip
POLICY = {
    "policy": 1, "required": [{"name": "a", "reason": "r"}],
    "waivers": [{"name": "a", "repository": "h/o/n", "until": "2027-01-31", "reason": "r", "approved_by": "p"}],
    "publication": {"owner": "required"},
    "access": [{"allow": {"teams": ["a"]}, "tags": ["t"]}, {"deny": {}, "risk": ["money"], "unless": {"principals": ["p"]}}],
}  # fmt: skip
JUNK = st.sampled_from(
    [None, True, 0, 1, 1.5, "", " ", "a", "A_b", "required", [], [""], ["a"], [{}], {}, {"x-a": 1}, {"a": 1}]
)


def places(value, at=()):
    yield at
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in members:
        yield from places(each, (*at, key))


@st.composite
def damaged(draw, document):
    copy = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.sampled_from([each for each in places(copy) if each]))
        here = copy
        for part in at[:-1]:
            here = here[part]
        how = draw(st.sampled_from(["drop", "junk", "add"]))
        if how == "drop":
            del here[at[-1]]
        elif how == "junk":
            here[at[-1]] = json.loads(json.dumps(draw(JUNK)))
        elif isinstance(here, dict):
            here[draw(st.sampled_from(["x-new", "nam", "with", "tool", "id"]))] = json.loads(json.dumps(draw(JUNK)))
    return copy


@settings(max_examples=150, deadline=None)
@given(damaged(FULL))
def test_the_playbook_schema_and_the_model_accept_the_same(document):
    by_schema = PLAYBOOK.is_valid(document)
    # A version may be written as a number, and an input schema has a check of its own beside the model's.
    data = (
        {**document, "version": str(document["version"])} if type(document.get("version")) in {int, float} else document
    )
    by_model = not complaints(NativeDocument, data, known_at, at_most=5)
    inputs = document.get("inputs", {"type": "object"})
    by_model = by_model and (isinstance(inputs, dict) and inputs.get("type") == "object")
    assert by_schema == by_model


@settings(max_examples=150, deadline=None)
@given(damaged(POLICY))
def test_what_the_policy_schema_refuses_the_model_refuses_or_the_reader_does(document):
    by_schema = POLICY_FILES.is_valid(document)
    by_model = not complaints(PolicyDocument, document, known_at, at_most=5)
    one_of = all(
        isinstance(rules, list) is False
        or all(sum(key in rule for key in keys) == 1 for rule in rules if isinstance(rule, dict))
        for rules, keys in ((document.get("required"), ("name", "tag")), (document.get("access"), ("allow", "deny")))
    )
    assert by_schema == (by_model and one_of)


def test_settled_fields_of_an_example_fit_the_schema():
    for path in sorted(CENTRAL.glob("playbooks/**/*.yaml")):
        contract = dict(read_file(path.name, path.read_bytes(), role="central").playbook.contract)
        del contract["document"]
        assert PLAYBOOK.is_valid({"playbook": 1, **contract}), path


@pytest.mark.parametrize("name", ["full.yaml", "prose.md", "plain.json"])
def test_the_bytes_of_a_document_are_the_golden_ones(name):
    source = GOLDEN / f"playbook-source-{name}"
    playbook = read_file(name, source.read_bytes()).playbook
    assert playbook.contract_bytes == (GOLDEN / f"playbook-{name.partition('.')[0]}.json").read_bytes()
