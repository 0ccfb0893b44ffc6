import json

import pytest

from registry.digest import canonical, digest_of
from registry.playbook.model import Level
from registry.playbook.reading import read_file

GOOD = """\
playbook: 1
name: clean-up-experiment
version: 1.2.0
owner: experimentation
tags: [experimentation, cleanup]
purpose: Remove a concluded experiment's code paths.
not_for: [Pausing a live experiment.]
inputs:
  type: object
  required: [experiment_key]
  properties:
    experiment_key: {type: string, pattern: "^[a-z][a-z0-9_]{2,63}$"}
    settings: {type: object, properties: {depth: {type: integer, default: 1.0}}}
preconditions:
  - id: concluded
    state: The experiment is concluded.
    check: {tool: flags.get, with: {key: "{{ inputs.experiment_key }}"}}
tools:
  - {name: flags.get, source: mcp, side_effecting: false, risk: read}
steps:
  - id: find-usages
    tool: code.search
    instruction: List every use of the key in this repository.
    with: {query: "{{ inputs.experiment_key }}", limit: 010}
    expect: At least one use is found.
stop:
  - {when: The flag still has live traffic., then: escalate, ask: Which variant should win?}
verification:
  - state: No use of the key is left.
requires:
  connections: [{provider: github, auth_kind: oauth, scopes: [repo]}]
  mcp_servers: [{name: flags, tools: [flags.get]}]
  secrets: [{name: FLAGS_TOKEN, purpose: read flags}]
runbook:
  mode: required
  failure_policy: fail_closed
  checkpoints: [{id: cp, kind: tool_call, required: true, match: {tool: code.search}}]
  completion: {condition: final_output, receipt: true}
selection:
  should_find: [the checkout test is over]
"""

MARKDOWN = """\
---
playbook: 1
name: hand-over
version: "1"
owner: platform
purpose: Hand over.
inputs: {type: object, properties: {team: {type: string}}}
---

# Hand over to {{ inputs.team }}

Helm says {{ .Values.x }}.
"""


def read(text, path="playbooks/a.yaml", role="service"):
    return read_file(path, text.encode(), role=role)


def errors(reading):
    return [(each.code, each.line, each.column) for each in reading.problems if each.level is Level.ERROR]


def place(text, part, *, skip=0):
    offset = text.index(part) + skip
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def changed(old, new, **more):
    assert old in GOOD
    return read(GOOD.replace(old, new), **more)


def test_a_full_document_loads_without_any_problem():
    reading = read(GOOD)
    assert reading.problems == ()
    assert reading.playbook.key == "clean-up-experiment"


def test_the_digest_is_that_of_the_canonical_contract_and_the_blob_that_of_the_file():
    reading = read(GOOD)
    assert reading.playbook.contract_bytes == canonical(reading.playbook.contract)
    assert reading.playbook.digest == digest_of(reading.playbook.contract_bytes)
    assert reading.playbook.blob == reading.blob == digest_of(GOOD.encode())


def test_absent_fields_are_absent_from_the_contract():
    contract = read(MARKDOWN, "playbooks/a.md").playbook.contract
    assert set(contract) == {"document", "name", "version", "owner", "purpose", "inputs", "instructions"}


def test_required_is_in_no_contract():
    reading = changed("version: 1.2.0", "version: 1.2.0\nrequired: true", role="central")
    assert reading.playbook.required
    assert reading.playbook.contract == read(GOOD).playbook.contract


def test_required_has_no_effect_in_a_service_repository_and_is_a_warning():
    reading = changed("version: 1.2.0", "version: 1.2.0\nrequired: true")
    assert not reading.playbook.required
    assert [(each.code, each.line) for each in reading.problems] == [("required-not-yours", 4)]


def test_a_version_without_quotes_keeps_its_text_with_a_warning():
    reading = changed("version: 1.2.0", "version: 1.20")
    assert reading.playbook.version == "1.20"
    assert [each.code for each in reading.problems] == ["version-not-text"]


@pytest.mark.parametrize("written", ["no", "0123", "1e3", "2026-01-31"])
def test_scalars_are_text_where_text_is_wanted(written):
    assert changed("owner: experimentation", f"owner: {written}").playbook.owner == written


def test_numbers_are_numbers_in_the_authors_own_json():
    contract = read(GOOD).playbook.contract
    assert contract["steps"][0]["with"]["limit"] == 10
    assert b'"default":1,' in canonical({"x": contract["inputs"]}) or b'"default":1' in canonical(contract["inputs"])


def test_line_endings_change_the_blob_and_not_the_digest():
    dos, unix = read(MARKDOWN.replace("\n", "\r\n"), "a.md"), read(MARKDOWN, "a.md")
    assert dos.playbook.digest == unix.playbook.digest
    assert dos.blob != unix.blob


def test_mixed_line_endings_are_an_info():
    reading = read(MARKDOWN.replace("\n", "\r\n", 3), "a.md")
    assert reading.playbook is not None
    assert ("mixed-line-endings", Level.INFO) in [(each.code, each.level) for each in reading.problems]


def test_yaml_and_json_of_the_same_document_have_the_same_digest():
    contract = dict(read(GOOD).playbook.contract)
    del contract["document"]
    reading = read(json.dumps({"playbook": 1, **contract}), "playbooks/a.json")
    assert reading.playbook.digest == read(GOOD).playbook.digest


def test_extensions_are_kept_and_ignored():
    reading = changed("version: 1.2.0", "version: 1.2.0\nx-cost: 1.0")
    assert reading.playbook.contract["extra"] == {"x-cost": 1}
    nested = changed("    tool: code.search\n    instr", "    x-note: hi\n    tool: code.search\n    instr")
    assert nested.playbook.contract["steps"][0]["x-note"] == "hi"


def test_the_body_of_a_markdown_file_is_its_instructions():
    contract = read(MARKDOWN, "a.md").playbook.contract
    assert contract["instructions"] == "# Hand over to {{ inputs.team }}\n\nHelm says {{ .Values.x }}."


def test_a_yaml_playbook_needs_steps():
    text = "playbook: 1\nname: a-b\nversion: x\nowner: o\npurpose: p\n"
    assert errors(read(text)) == [("field-missing", 1, 1)]
    assert errors(read("---\n" + text + "---\n", "a.md")) == [("field-missing", 1, 1)]


def test_a_mistyped_key_is_an_error_with_a_suggestion():
    reading = changed("preconditions:", "preconditons:")
    assert errors(reading) == [("unknown-key", 14, 1)]
    assert "did you mean preconditions?" in reading.problems[0].message


@pytest.mark.parametrize("written", ["Clean-Up", "clean_up", "clean.up", "clean up", "'clean-up '"])
def test_another_spelling_of_the_name_is_an_error_that_claims_the_folded_key(written):
    reading = changed("name: clean-up-experiment", f"name: {written}")
    assert [each[0] for each in errors(reading)] == ["name-invalid"]
    assert reading.claims == "clean-up"
    assert all(each.name == "clean-up" for each in reading.problems)


@pytest.mark.parametrize("written", ["../x", "'-'", "é", "a" * 65])
def test_a_name_that_does_not_fold_claims_nothing(written):
    reading = changed("name: clean-up-experiment", f"name: {written}")
    assert [each[0] for each in errors(reading)] == ["name-invalid"]
    assert reading.claims is None


@pytest.mark.parametrize(
    ("old", "before", "value", "code"),
    [
        ("owner: experimentation", "owner: ", "[x]", "field-type"),
        ("tags: [experimentation, cleanup]", "tags: ", "x", "field-type"),
        ("then: escalate", "then: ", "panic", "field-type"),
        ("playbook: 1", "playbook: ", "2", "field-type"),
        ("limit: 010", "limit: ", "9007199254740993", "number-out-of-range"),
        ("side_effecting: false", "side_effecting: ", "no", "field-type"),
    ],
)
def test_a_wrong_value_is_shown_where_it_stands(old, before, value, code):
    text = GOOD.replace(old, before + value)
    assert errors(read(text)) == [(code, *place(text, before + value, skip=len(before)))]


def test_an_empty_field_is_told_to_be_filled_or_left_out():
    reading = changed("owner: experimentation", "owner:")
    assert [(each.code, each.line, each.message) for each in reading.problems] == [
        ("field-type", 4, "owner is empty: fill it in or leave it out.")
    ]


@pytest.mark.parametrize(
    "template",
    ["{{ inputs.experimnt }}", "{{ inputs.experiment_key | upper }}", "{{ key }}", "{{ inputs }}", "{{ inputs.a"],
)
def test_a_template_that_names_no_input_is_an_error_at_its_place(template):
    reading = changed("instruction: List every", f"instruction: 'List {template} ' #")
    assert errors(reading) == [("template-undeclared", 23, 24)]


def test_a_template_below_a_declared_input_is_followed():
    assert changed("{{ inputs.experiment_key }}", "{{ inputs.settings.depth }}").playbook is not None
    assert errors(changed("{{ inputs.experiment_key }}", "{{ inputs.settings.width }}"))
    assert errors(changed("{{ inputs.experiment_key }}", "{{ inputs.experiment_key.x }}"))


def test_a_template_in_a_markdown_body_is_checked_at_its_place():
    reading = read(MARKDOWN.replace("inputs.team }}", "inputs.tem }}"), "a.md")
    assert errors(reading) == [("template-undeclared", 10, 16)]


def test_a_tool_of_a_declared_family_has_to_be_declared():
    reading = changed("    tool: code.search\n", "    tool: flags.gett\n")
    assert ("tool-undeclared", 22, 11) in errors(reading)


def test_a_checkpoint_for_a_tool_that_nobody_uses_is_an_error():
    text = GOOD.replace("match: {tool: code.search}", "match: {tool: code.find}")
    assert errors(read(text)) == [("tool-undeclared", *place(text, "code.find"))]


@pytest.mark.parametrize(
    "value",
    [
        "purpose: https://vault.example/x",
        "purpose: ghp_" + "a1" * 18,
        "purpose: AbCdEf0123456789GhIjKlMnOpQrStUv",
        "value: hunter2",
        "token: x",
    ],
)
def test_a_value_or_an_address_in_requires_is_refused_and_not_repeated(value):
    reading = changed("purpose: read flags", value)
    assert "secret-value" in [each[0] for each in errors(reading)]
    assert all(value.partition(": ")[2] not in each.message for each in reading.problems)


def test_what_is_missing_and_advised_is_a_warning_each():
    text = "playbook: 1\nname: a-b\nversion: x\nowner: o\npurpose: p\nsteps: [{id: a, instruction: b}]\n"
    reading = read(text)
    assert reading.playbook is not None
    assert [each.code for each in reading.problems] == [
        "no-inputs", "no-not-for", "no-preconditions", "no-stop", "no-verification",
    ]  # fmt: skip


def test_a_deprecated_playbook_loads_with_an_info():
    reading = changed("version: 1.2.0", "version: 1.2.0\ndeprecated: {since: 2026-10-01, replaced_by: retire-it}")
    assert reading.playbook.deprecated == {"since": "2026-10-01", "replaced_by": "retire-it"}
    assert [(each.code, each.level, each.line) for each in reading.problems] == [("deprecated", Level.INFO, 4)]


def test_a_file_lists_a_bounded_number_of_problems_errors_first():
    reading = read(GOOD + "".join(f"k{n}: 1\n" for n in range(500)))
    assert len(reading.problems) == 50
    assert reading.problems[0].level is Level.ERROR


def test_fields_are_those_that_carry_something():
    fields = changed("not_for: [Pausing a live experiment.]", "not_for: []").playbook.fields
    assert "not_for" not in fields
    assert {"owner", "stop", "verification"} <= fields
