import json

import pytest

from registry.playbook.definitions import tool_definitions
from registry.playbook.reading import read_file

PATH = "playbooks/refund-order.openplaybook.json"
TOOL = {
    "name": "orders.refund",
    "source": "mcp",
    "description": "Refund an order.",
    "permissions": ["orders:write"],
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
    "riskClass": "money",
    "requiresApproval": True,
    "sideEffecting": True,
    "costHint": 3,
}
GOOD = {
    "name": "refund-order",
    "version": "2.0.0",
    "purpose": "Refund an order.",
    "owner": "payments",
    "tags": ["money"],
    "tools": [TOOL],
    "requires": {
        "connections": [{"provider": "shop", "authKind": "oauth", "scopes": ["orders"]}],
        "mcpServers": [{"name": "ledger", "tools": ["ledger.book"]}, {"name": "crm"}],
        "secrets": [{"name": "SHOP_TOKEN", "purpose": "read orders"}],
    },
    "steps": [
        {"id": "refund", "kind": "agent", "prompt": "Refund it.", "allowedTools": ["orders.refund"], "next": "wait"},
        {"id": "wait", "kind": "timer", "delay": "PT5M", "allowedTools": ["anything"]},
    ],
}


def read(members, path=PATH, **more):
    return read_file(path, json.dumps(members, indent=1).encode(), **more)


def changed(**members):
    return {key: value for key, value in {**GOOD, **members}.items() if value is not ...}


def codes(reading):
    return [each.code for each in reading.problems]


def step(**members):
    return changed(steps=[{"id": "a", "kind": "agent", "instruction": "Do it.", **members}])


def tools(*entries):
    return changed(tools=[{**TOOL, **entry} for entry in entries])


def test_an_openplaybook_document_maps_to_a_playbook():
    reading = read(GOOD)
    assert codes(reading) == []
    contract = reading.playbook.contract
    head = ("document", "name", "version", "owner", "tags", "purpose")
    assert [contract[key] for key in head] == [
        "openplaybook/1", "refund-order", "2.0.0", "payments", ["money"], "Refund an order."
    ]  # fmt: skip
    assert contract["tools"] == [
        {
            "name": "orders.refund",
            "source": "mcp",
            "description": "Refund an order.",
            "permissions": ["orders:write"],
            "input_schema": {"type": "object"},
            "output_schema": {"type": "object"},
            "risk": "money",
            "requires_approval": True,
            "side_effecting": True,
            "costHint": 3,
        }
    ]
    assert contract["requires"] == {
        "connections": [{"provider": "shop", "auth_kind": "oauth", "scopes": ["orders"]}],
        "mcp_servers": [{"name": "ledger", "tools": ["ledger.book"]}, {"name": "crm"}],
        "secrets": [{"name": "SHOP_TOKEN", "purpose": "read orders"}],
    }
    assert "extra" not in contract


def test_an_agent_step_gets_its_instruction_and_keeps_what_it_was_read_from():
    assert read(GOOD).playbook.contract["steps"][0] == {
        "id": "refund",
        "kind": "agent",
        "prompt": "Refund it.",
        "instruction": "Refund it.",
        "allowed_tools": ["orders.refund"],
        "next": "wait",
    }


def test_a_step_of_another_kind_is_carried_through_as_it_is():
    assert read(GOOD).playbook.contract["steps"][1] == GOOD["steps"][1]


def test_unknown_members_are_carried_through():
    assert read(changed(budget={"usd": 3})).playbook.contract["extra"] == {"budget": {"usd": 3}}


def test_its_three_members_make_one_of_any_json_file():
    assert read(GOOD, "playbooks/a.json").playbook.document == "openplaybook/1"
    assert not read(changed(requires=...), "playbooks/a.json").candidate


def test_the_native_marker_goes_before_its_members():
    assert (
        codes(read({"playbook": 1, "tools": [], "requires": {}, "steps": []}, "playbooks/a.json"))[0] == "field-missing"
    )


def test_its_file_name_makes_one_of_any_content():
    assert read({}).candidate
    assert read_file(PATH, b"\x00").candidate


@pytest.mark.parametrize("root", [True, False])
def test_name_version_and_purpose_stand_at_the_root_or_in_the_manifest(root):
    head = {"name": "pay-back", "version": "3", "purpose": "Pay back.", "owner": "p", "tags": ["x"]}
    rest = {key: value for key, value in GOOD.items() if key not in head}
    playbook = read({**rest, **head} if root else {**rest, "manifest": head}).playbook
    assert (playbook.key, playbook.version, playbook.purpose) == ("pay-back", "3", "Pay back.")
    assert (playbook.owner, playbook.tags) == ("p", ("x",))


def test_without_a_name_the_files_stem_is_taken():
    assert read(changed(name=...)).playbook.key == "refund-order"
    assert read(changed(name=...), "playbooks/Pay_Back.json").playbook.key == "pay-back"


def test_without_a_purpose_the_name_stands_in_with_a_warning():
    reading = read(changed(purpose=...))
    assert (codes(reading), reading.playbook.purpose) == (["no-purpose"], "refund order")


def test_a_version_in_the_manifest_is_kept_as_written():
    text = json.dumps(changed(version=..., manifest={"version": 0})).replace('"version": 0', '"version": 1.20')
    reading = read_file(PATH, text.encode())
    assert (codes(reading), reading.playbook.version) == (["version-not-text"], "1.20")


@pytest.mark.parametrize("steps", [..., [], {}, None])
def test_without_steps_it_is_an_error(steps):
    reading = read(changed(steps=steps))
    assert codes(reading) == ["field-missing"]
    assert reading.claims == "refund-order"


@pytest.mark.parametrize("tool", ["orders.refund", "ledger.book", "crm.find", "crm:find", "mcp__crm__find"])
def test_an_allow_list_may_name_what_tools_or_requires_declares(tool):
    assert codes(read(step(allowedTools=[tool]))) == []


@pytest.mark.parametrize("member", ["allowedTools", "allowed_tools"])
def test_an_allow_list_with_an_undeclared_tool_is_an_error_at_its_place(member):
    reading = read(step(**{member: ["orders.refund", "orders.refunds"]}))
    assert codes(reading) == ["tool-undeclared"]
    assert "did you mean orders.refund?" in reading.problems[0].message
    assert reading.problems[0].line > 1


def test_requirements_without_servers_and_secrets_have_none():
    reading = read({**step(allowedTools=["orders.refund"]), "requires": {"connections": []}})
    assert codes(reading) == []
    assert reading.playbook.contract["requires"] == {"connections": []}


@pytest.mark.parametrize("next_step", ["b", ["a", "b"]])
def test_a_next_step_that_is_not_there_is_a_warning(next_step):
    assert codes(read(step(next=next_step))) == ["next-unknown"]


@pytest.mark.parametrize("next_step", ["a", "end", None])
def test_a_next_step_may_be_any_step_or_the_end(next_step):
    assert codes(read(step(next=next_step))) == []


@pytest.mark.parametrize("claim", ["sideEffecting", "requiresApproval"])
def test_a_read_tool_claims_no_effects_and_asks_no_approval(claim):
    quiet = {"riskClass": "read", "sideEffecting": False, "requiresApproval": False}
    assert codes(read(tools(quiet))) == []
    assert codes(read(tools({**quiet, claim: True}))) == ["read-tool-claims"]


@pytest.mark.parametrize(
    ("entry", "drifts"),
    [
        ({}, False),
        ({"description": "Other words."}, False),
        ({"riskClass": "internal"}, True),
        ({"permissions": []}, True),
        ({"inputSchema": {}}, True),
        ({"sideEffecting": False}, True),
    ],
)
def test_one_tool_with_two_definitions_is_a_warning(entry, drifts):
    assert codes(read(tools({}, entry))) == (["tool-drift"] if drifts else [])


def test_definitions_compare_across_documents_and_names_alone_define_nothing():
    first = tool_definitions(read(GOOD).playbook.contract["tools"])
    assert first == tool_definitions([{**entry, "description": "x"} for entry in read(GOOD).playbook.contract["tools"]])
    assert tool_definitions([{"name": "orders.refund", "description": "x"}]) == {}


@pytest.mark.parametrize(
    "entry",
    [{"riskClass": "harmless"}, {"source": "elsewhere"}, {"sideEffecting": "no"}, {"inputSchema": []}, {"name": 3}],
)
def test_a_tools_member_of_the_wrong_kind_is_kept_with_a_warning(entry):
    reading = read({**tools(entry), "steps": [{"id": "a", "instruction": "x"}]})
    assert codes(reading) == ["type-mismatch"]


@pytest.mark.parametrize("members", [{"tools": {}}, {"requires": []}, {"manifest": "x"}])
def test_an_envelope_of_the_wrong_kind_is_kept_with_a_warning(members):
    reading = read({**changed(**members), "steps": [{"id": "a", "instruction": "x"}]})
    assert codes(reading) == ["type-mismatch"]
    assert members.items() <= reading.playbook.contract["extra"].items()


@pytest.mark.parametrize(
    "requires",
    [
        {"secrets": [{"name": "KEY", "value": "x"}]},
        {"connections": [{"provider": "shop", "apiKey": "x"}]},
        {"mcpServers": [{"name": "flags", "url": "https://flags.acme.example"}]},
    ],
)
def test_a_value_or_an_address_in_requires_is_an_error(requires):
    assert "secret-value" in codes(read(changed(requires=requires, steps=[{"id": "a"}])))


def test_a_broken_document_claims_the_name_it_shows_or_the_files():
    assert read_file(PATH, b'{"name": "pay-back", ').claims == "pay-back"
    assert read_file(PATH, b'{"manifest": {"name": "pay-back"}, ').claims == "pay-back"
    assert read_file(PATH, b"{").claims == "refund-order"


def test_a_broken_json_file_with_its_three_members_is_still_one():
    text = json.dumps(GOOD)[:-1] + ", oops"
    reading = read_file("playbooks/a.json", text.encode())
    assert (reading.candidate, reading.claims) == (True, "refund-order")
