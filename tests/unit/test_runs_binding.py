"""A contract bound to inputs (playbook-format.md: one template form, rendered once, types kept)."""

import pytest

from registry.playbook.native import DOCUMENT
from registry.playbook.templates import TEMPLATED_DOCUMENT
from registry.runs.binding import NOT_GIVEN, RENDERED_CHARS_MAX, Oversized, Procedure, bind, report_json
from registry.runs.inputs import Given

X = "{{ inputs.x }}"


def contract(**members):
    return {"document": "playbook/1", "name": "n", "version": "1", "purpose": "p", **members}


def bound(inputs: dict, **members) -> Procedure:
    procedure = bind(contract(**members), Given(inputs))
    assert isinstance(procedure, Procedure)
    return procedure


def arguments(inputs: dict, **with_):
    return bound(inputs, steps=[{"id": "a", "instruction": "i", "with": with_}]).body["steps"][0]["with"]


def instruction(inputs: dict, text: str) -> str:
    return bound(inputs, steps=[{"id": "a", "instruction": text}]).body["steps"][0]["instruction"]


def question(**stop) -> str:
    return bound({}, stop=[stop]).body["stop"][0]["question"]


def test_the_templated_document_is_the_native_one():
    assert TEMPLATED_DOCUMENT == DOCUMENT


@pytest.mark.parametrize("value", ["text", "", 3, 1.5, True, False, None, [1, "a"], {"a": {"b": None}}])
def test_an_argument_that_is_one_template_keeps_the_type(value):
    assert arguments({"x": value}, key=X) == {"key": value}


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (3, "3"), (5.0, "5"), (1.5, "1.5"), (True, "true"), (None, "null"), ([1, "a"], '[1,"a"]'), ({"k": "é"}, '{"k":"é"}')],
)  # fmt: skip
def test_inside_text_a_value_is_rendered_as_text(value, text):
    assert instruction({"x": value}, f"Use {X}, twice {X}.") == f"Use {text}, twice {text}."


def test_a_text_that_is_one_template_stays_text_outside_of_arguments():
    assert instruction({"x": 3}, X) == "3"


@pytest.mark.parametrize(
    "hostile", [X, "{{ inputs.y }}", "{{", "}}", "{{{{ inputs.x }}}}", "${x}", "$(x)", "\\1", "%s"]
)
def test_what_an_input_says_is_never_expanded_again(hostile):
    inputs = {"x": hostile, "y": "SECRET"}
    assert (instruction(inputs, f"Use {X}."), arguments(inputs, a=X, b=f"-{X}-")) == (
        f"Use {hostile}.",
        {"a": hostile, "b": f"-{hostile}-"},
    )


def test_a_path_goes_into_objects_and_lists():
    inputs = {"o": {"l": [{"n": 7}]}}
    assert arguments(inputs, a="{{ inputs.o.l.0.n }}") == {"a": 7}


@pytest.mark.parametrize("name", ["__proto__", "constructor", "__class__", "items", "keys"])
def test_a_name_that_means_something_to_a_language_is_only_a_name(name):
    assert arguments({}, a=f"{{{{ inputs.{name} }}}}", b=1) == {"b": 1}
    assert arguments({name: 3}, a=f"{{{{ inputs.{name} }}}}") == {"a": 3}


def test_a_text_says_that_an_input_has_no_value():
    assert instruction({}, f"Delete {X}.") == f"Delete {NOT_GIVEN}."


@pytest.mark.parametrize("value", [X, f"a {X}", [X, "b"], [["a", f"{X}"]]])
def test_an_argument_without_a_value_is_left_out(value):
    assert arguments({}, a=value, b="kept") == {"b": "kept"}


def test_below_an_argument_only_the_member_without_a_value_is_left_out():
    assert arguments({}, a={"b": X, "c": 1}) == {"a": {"c": 1}}


def test_inputs_without_a_value_are_named():
    assert bound({"y": 1}, steps=[{"instruction": f"{X} {{{{ inputs.y }}}} {{{{ inputs.o.k }}}}"}]).unset == (
        "o.k",
        "x",
    )


def test_null_is_a_value():
    assert (arguments({"x": None}, a=X), bound({"x": None}, steps=[{"instruction": X}]).unset) == ({"a": None}, ())


@pytest.mark.parametrize("key", ["preconditions", "steps", "stop", "verification"])
def test_every_field_that_is_run_is_rendered(key):
    assert f"{key}: 1" in str(bound({"x": 1}, **{key: [{"state": f"{key}: {X}"}]}).body[key])


def test_checks_are_rendered():
    check = {"tool": "flags.get", "with": {"key": X}}
    body = bound({"x": 1}, preconditions=[{"id": "a", "state": "s", "check": check}]).body
    assert body["preconditions"][0]["check"] == {"tool": "flags.get", "with": {"key": 1}}


@pytest.mark.parametrize("key", ["purpose", "not_for", "tools", "requires", "runbook", "extra"])
def test_what_is_not_run_is_as_it_was_written(key):
    assert bound({"x": 1}, **{key: X}).body[key] == X


def test_steps_stay_in_their_order_with_their_tools():
    steps = [{"id": "b", "tool": "t", "instruction": "i"}, {"id": "a", "allowed_tools": ["u", "v"], "instruction": "i"}]
    assert bound({}, steps=steps).body["steps"] == steps


def test_prose_is_rendered_where_it_means_inputs():
    body = bound({"x": 1}, instructions=f"Do {X}, and show {{{{ .Values.y }}}} {{{{ user.x }}}}.").body
    assert body["instructions"] == "Do 1, and show {{ .Values.y }} {{ user.x }}."


@pytest.mark.parametrize("document", ["skill/1", "runbook/1", "openplaybook/1"])
def test_other_formats_have_no_templates(document):
    members = {"steps": [{"instruction": X}], "instructions": X}
    body = bind({**contract(**members), "document": document}, Given({"x": 1})).body
    assert (body["steps"], body["instructions"]) == (members["steps"], X)


def test_a_contract_is_not_changed_by_being_bound():
    given = contract(steps=[{"with": {"a": X}}], stop=[{"when": X, "then": "fail"}])
    before = str(given)
    bind(given, Given({"x": [1]}))
    assert str(given) == before


def test_a_procedure_is_not_made_larger_than_its_bound():
    steps = [{"instruction": X}] * 100
    assert bind(contract(steps=steps), Given({"x": "a" * (RENDERED_CHARS_MAX // 50)})) == Oversized()


def test_values_that_keep_their_type_count_too():
    steps = [{"with": {"a": X}}] * 100
    assert bind(contract(steps=steps), Given({"x": ["a" * (RENDERED_CHARS_MAX // 50)]})) == Oversized()


def test_a_stop_condition_hands_back_the_authors_question():
    assert question(when="w", then="escalate", ask="Which?") == "Which?"


def test_a_question_is_rendered():
    assert (
        bound({"x": "b"}, stop=[{"when": "w", "then": "fail", "ask": f"Is it {X}?"}]).body["stop"][0]["question"]
        == "Is it b?"
    )


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        ({"when": "Traffic is live.", "then": "escalate"}, "Traffic is live. What should happen now?"),
        ({"when": "A test fails", "then": "fail"}, "A test fails. The run has failed here. What should happen now?"),
        ({"then": "escalate"}, "A stop condition is met. What should happen now?"),
    ],
)
def test_a_stop_condition_without_a_question_has_one_made(stop, said):
    assert question(**stop) == said


def test_a_runbooks_allow_list_is_the_procedures():
    assert bound({}, runbook={"allowed_tools": ["a"]}).body["allowed_tools"] == ["a"]


def test_a_skills_allow_list_is_the_procedures():
    assert bound({}, extra={"allowed-tools": ["Bash"]}).body["allowed_tools"] == ["Bash"]


def test_nothing_is_said_of_tools_where_nothing_lists_them():
    assert "allowed_tools" not in bound({}, extra={"allowed-tools": "Bash"}).body


def test_what_only_search_needs_is_left_out():
    procedure = bind(contract(selection={}, inputs={}), Given({}))
    assert not {"selection", "inputs"} & procedure.body.keys()


def test_a_procedure_shows_its_inputs_and_what_was_not_sent():
    shown = bind(contract(), Given({"x": 1, "d": True}, ("/d",))).to_json()
    assert (shown["inputs"], shown["defaulted"], shown["inputs_checked"]) == ({"x": 1, "d": True}, ["/d"], True)


def test_a_report_names_the_run_and_takes_nothing_yet():
    report = report_json("run_x", "open")
    assert (report["run_id"], report["accepts"], "run_x" in str(report["how"])) == ("run_x", [], True)
