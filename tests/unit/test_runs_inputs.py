"""Inputs as a run takes them: bounds, every violation with what is allowed, defaults."""

import pytest

from registry.playbook.violations import VIOLATIONS_MAX, InputLimits
from registry.runs.inputs import Given, Unfit, take

KEY = {"type": "string", "pattern": "^[a-z]+$"}


def schema(**properties):
    return {"type": "object", "additionalProperties": False, "properties": properties}


def violations(schema_, inputs) -> list[dict]:
    found = take(schema_, inputs)
    assert isinstance(found, Unfit), found
    return [each.to_json() for each in found.violations]


def only(schema_, inputs) -> dict:
    [found] = violations(schema_, inputs)
    return found


def given(schema_, inputs) -> Given:
    found = take(schema_, inputs)
    assert isinstance(found, Given), found
    return found


# What fits


def test_inputs_that_fit_are_taken_as_they_were_sent():
    assert given(schema(a=KEY), {"a": "x"}) == Given({"a": "x"})


def test_without_a_schema_nothing_is_checked_and_that_is_said():
    assert given(None, {"anything": [1]}) == Given({"anything": [1]}, checked=False)


# Bounds


@pytest.mark.parametrize("inputs", [None, 1, "a", [], True])
def test_inputs_are_an_object(inputs):
    assert only(schema(), inputs)["pointer"] == ""


def test_inputs_that_are_too_large_are_told_their_size():
    assert take(None, {"a": "x" * 100}, limits=InputLimits(bytes=99)) == Unfit(size_bytes=108)


def test_inputs_that_are_too_deep_are_not_looked_at():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert only(None, {"a": deep})["keyword"] == "depth"


def test_inputs_of_too_many_values_are_not_looked_at():
    assert only(None, {"a": [0] * 20_000})["keyword"] == "nodes"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, -(2**53), 10**400, "\ud800", b"x", object()])
def test_what_json_does_not_carry_exactly_is_refused_where_it_stands(value):
    assert only(None, {"a": [value]})["pointer"] == "/a/0"


def test_a_name_that_is_no_text_is_refused():
    assert only(None, {"a": {"\ud800": 1}})["pointer"] == "/a"


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "{{ inputs.x }}", "", "a/b~c", "\0"])
def test_a_strange_name_is_a_name(name):
    assert given(None, {name: 1}).inputs == {name: 1}
    assert name in str(only(schema(a=KEY), {name: 1})["message"]).replace("\\x00", "\0")


# Violations


def test_every_violation_is_said_sorted_by_pointer():
    found = violations(schema(a=KEY, b={"type": "integer", "minimum": 3}, c=KEY), {"b": 1, "a": "A", "c": 1, "x": 1})
    assert [each["pointer"] for each in found] == ["/a", "/b", "/c", "/x"]


@pytest.mark.parametrize(
    ("property_", "value", "keyword", "allowed"),
    [
        ({"type": "string"}, 1, "type", {"type": "string"}),
        ({"type": ["string", "null"]}, 1, "type", {"type": ["string", "null"]}),
        ({"enum": ["a", 1]}, "b", "enum", {"enum": ["a", 1]}),
        ({"const": 3}, 2, "const", {"const": 3}),
        (KEY, "A", "pattern", KEY),
        ({"format": "date"}, "x", "format", {"format": "date"}),
        ({"minimum": 3, "maximum": 5}, 2, "minimum", {"minimum": 3, "maximum": 5}),
        ({"exclusiveMinimum": 3}, 3, "exclusiveMinimum", {"exclusiveMinimum": 3}),
        ({"exclusiveMaximum": 3}, 3, "exclusiveMaximum", {"exclusiveMaximum": 3}),
        ({"maximum": 3}, 4, "maximum", {"maximum": 3}),
        ({"multipleOf": 2}, 3, "multipleOf", {"multipleOf": 2}),
        ({"minLength": 2}, "a", "minLength", {"minLength": 2}),
        ({"maxLength": 2}, "abc", "maxLength", {"maxLength": 2}),
        ({"minItems": 2}, [1], "minItems", {"minItems": 2}),
        ({"maxItems": 2}, [1, 2, 3], "maxItems", {"maxItems": 2}),
        ({"uniqueItems": True}, [1, 1], "uniqueItems", {"uniqueItems": True}),
        ({"minProperties": 2}, {"a": 1}, "minProperties", {"minProperties": 2}),
        ({"maxProperties": 0}, {"a": 1}, "maxProperties", {"maxProperties": 0}),
        ({"contains": {"const": 1}}, [2], "contains", None),
        ({"prefixItems": [True], "items": False}, [1, 2], "false", None),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2], "unevaluatedItems", None),
        ({"not": {"type": "string"}}, "a", "not", {"not": {"type": "string"}}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "anyOf", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, 1, "oneOf", {"oneOf": [{"type": "string"}, {"type": "null"}]}),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 1, "oneOf", {"oneOf": [{"type": "integer"}, {"minimum": 1}]}),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "propertyNames", {"maxLength": 1}),
    ],
)  # fmt: skip
def test_a_violation_says_what_is_allowed(property_, value, keyword, allowed):
    found = only(schema(a=property_), {"a": value})
    assert (found["keyword"], found.get("allowed"), found["message"].endswith(".")) == (keyword, allowed, True)


def test_a_schema_without_a_value_takes_none():
    assert only(schema(a=False), {"a": 1})["keyword"] == "false"


def test_a_missing_input_is_named_with_what_it_would_be():
    found = only({**schema(a={**KEY, "description": "A key."}), "required": ["a"]}, {})
    assert (found["pointer"], found["allowed"]) == ("/a", {**KEY, "description": "A key."})


def test_a_missing_input_of_an_object_below_is_named():
    below = {"type": "object", "required": ["k"], "properties": {"k": KEY}}
    assert only(schema(o=below), {"o": {}})["pointer"] == "/o/k"


def test_an_input_that_another_one_needs_is_named():
    found = only({**schema(a=True, b=KEY), "dependentRequired": {"a": ["b"]}}, {"a": 1})
    assert (found["pointer"], found["keyword"]) == ("/b", "required")


def test_an_unexpected_input_is_told_the_nearest_name_and_all_names():
    found = only(schema(experiment_key=KEY, dry_run=True), {"experiment_ky": 1})
    assert (found["pointer"], found["nearest"], found["allowed"]) == (
        "/experiment_ky", "experiment_key", {"names": ["dry_run", "experiment_key"]},
    )  # fmt: skip


def test_an_unexpected_input_that_is_like_none_is_told_all_names():
    found = only(schema(a=KEY), {"something-else": 1})
    assert ("nearest" in found, found["allowed"]) == (False, {"names": ["a"]})


def test_names_are_known_through_what_a_schema_is_composed_of():
    composed = {"type": "object", "allOf": [{"properties": {"a": KEY}}], "unevaluatedProperties": False}
    assert only(composed, {"aa": 1})["allowed"] == {"names": ["a"]}


def test_what_a_reference_allows_is_said():
    referring = {**schema(a={"$ref": "#/$defs/key"}), "$defs": {"key": KEY}}
    assert only(referring, {"a": "A"})["allowed"] == KEY


def test_a_pointer_escapes_what_has_a_meaning_there():
    assert only(schema(**{"a/b~c": KEY}), {"a/b~c": 1})["pointer"] == "/a~1b~0c"


@pytest.mark.parametrize("secret", ["hunter2-hunter2", ["hunter2"], {"k": "hunter2"}])
@pytest.mark.parametrize(
    "property_",
    [{"type": "integer"}, {"enum": [1]}, {"const": 1}, {"pattern": "^x$", "type": "string"}, {"maxLength": 1}, {"not": {}},
     {"anyOf": [{"type": "null"}]}, {"format": "date"}, {"maxItems": 0}, {"items": {"type": "integer"}}, False],
)  # fmt: skip
def test_no_value_of_a_caller_is_quoted(property_, secret):
    found = take(schema(a=property_), {"a": secret})
    assert "hunter2" not in str(found.violations if isinstance(found, Unfit) else "")


def test_a_long_name_is_cut():
    found = only(schema(a=KEY), {"n" * 100_000: 1})
    assert len(str(found)) < 1_000


def test_a_long_list_of_choices_is_cut():
    found = only(schema(a={"enum": [f"choice-{n}" for n in range(10_000)]}), {"a": "x"})
    assert len(str(found)) < 3_000


def test_more_violations_than_are_shown_are_one_more():
    found = take(schema(a={"items": {"type": "string"}}), {"a": list(range(5_000))})
    assert len(found.violations) == VIOLATIONS_MAX + 1


def test_a_pattern_that_would_hang_another_engine_does_not():
    assert only(schema(a={"pattern": "^(a|aa)+$"}), {"a": "a" * 50_000 + "b"})["keyword"] == "pattern"


# Defaults


def test_a_default_is_filled_in_and_named():
    assert given(schema(a=KEY, b={"default": [1]}), {"a": "x"}) == Given({"a": "x", "b": [1]}, ("/b",))


def test_a_default_does_not_replace_what_was_sent():
    assert given(schema(a={"default": 1}), {"a": None}) == Given({"a": None})


def test_null_may_be_a_default():
    assert given(schema(a={"default": None}), {}) == Given({"a": None}, ("/a",))


def test_defaults_below_an_object_that_was_sent_are_filled_in():
    below = {"type": "object", "properties": {"b": {"default": 1}}}
    assert given(schema(o=below), {"o": {}}) == Given({"o": {"b": 1}}, ("/o/b",))


def test_defaults_below_an_object_that_was_not_sent_are_nobodys():
    assert given(schema(o={"properties": {"b": {"default": 1}}}), {}) == Given({})


def test_defaults_in_a_list_are_filled_in():
    items = {"type": "object", "properties": {"b": {"default": 1}}}
    assert given(schema(l={"items": items}), {"l": [{}, {"b": 2}]}) == Given({"l": [{"b": 1}, {"b": 2}]}, ("/l/0/b",))


def test_a_default_itself_is_taken_as_it_is_written():
    node = {"type": "object", "default": {}, "properties": {"n": {"$ref": "#/$defs/n"}}}
    assert given({**schema(n={"$ref": "#/$defs/n"}), "$defs": {"n": node}}, {}) == Given({"n": {}}, ("/n",))


def test_defaults_are_found_through_references_and_all_of():
    referring = {
        "type": "object",
        "allOf": [{"$ref": "#/$defs/b"}],
        "$defs": {"b": {"properties": {"b": {"default": 1}}}},
    }
    assert given(referring, {}) == Given({"b": 1}, ("/b",))


def test_a_default_of_one_form_among_several_is_nobodys():
    assert given({"type": "object", "anyOf": [{"properties": {"b": {"default": 1}}}]}, {}) == Given({})


def test_a_required_input_is_required_though_it_has_a_default():
    assert only({**schema(a={"default": 1}), "required": ["a"]}, {})["keyword"] == "required"


def test_a_default_that_does_not_fit_is_told_as_the_playbooks_own():
    found = only(schema(a={"type": "string", "default": 1}), {})
    assert (found["pointer"], "default does not fit" in found["message"]) == ("/a", True)


def test_what_was_sent_is_not_changed():
    sent = {"o": {}}
    given(schema(o={"properties": {"b": {"default": 1}}}), sent)
    assert sent == {"o": {}}
