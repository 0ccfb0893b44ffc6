import jsonschema
import pytest
import referencing
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.playbook.inputs import DIALECT, DeclaredInputs, schema_fault
from registry.playbook.patterns import refusal_of


def properties(**schemas):
    return {"type": "object", "properties": schemas}


@pytest.mark.parametrize(
    "schema",
    [
        properties(),
        properties(a={"$ref": "#/$defs/x"}) | {"$defs": {"x": {"type": "string"}}},
        properties(children={"type": "array", "items": {"$ref": "#"}}),
        properties(a={"const": {"$ref": "https://x.example/y"}}),
        properties(**{"$ref": {"type": "string"}}),
        properties(a={"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}),
        {"type": "object", "$schema": DIALECT},
    ],
)
def test_a_usable_schema_has_no_fault(schema):
    assert schema_fault(schema) is None


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({}, ("type",)),
        ({"type": "string"}, ("type",)),
        (properties(a={"type": "strin"}), ("properties", "a", "type")),
        (properties(a=[]), ("properties", "a")),
        (properties(a={"$ref": "https://x.example/y"}), ("properties", "a", "$ref")),
        (properties(a={"$ref": "file:///etc/passwd"}), ("properties", "a", "$ref")),
        (properties(a={"$ref": "other.json#/x"}), ("properties", "a", "$ref")),
        (properties(a={"$dynamicRef": "https://x.example/y"}), ("properties", "a", "$dynamicRef")),
        (properties(a={"$id": "https://x.example/y"}), ("properties", "a", "$id")),
        (properties(a={"$ref": "#/$defs/none"}), ()),
        (properties(a={"pattern": "^(a+)+$"}), ("properties", "a", "pattern")),
        (properties(a={"pattern": "(?=a)b"}), ("properties", "a", "pattern")),
        (properties(a={"pattern": "("}), ("properties", "a", "pattern")),
        ({"type": "object", "patternProperties": {"(a*)*": {}}}, ("patternProperties", "(a*)*")),
        ({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, ("$schema",)),
        ({"type": "object", "$ref": "#"}, ()),
        ({"type": "object", "allOf": [{"anyOf": [{"$ref": "#/allOf/0"}]}]}, ()),
        (properties(a={"$ref": "#/properties/%61"}), ("properties", "a")),
    ],
)
def test_a_schema_that_cannot_be_promised_is_refused_at_its_place(schema, path):
    assert schema_fault(schema).path == path


def test_references_that_double_from_level_to_level_are_refused():
    levels = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {"type": "object", "$ref": "#/$defs/d0", "$defs": levels | {"d60": {}}}
    assert "simplify" in schema_fault(schema).message


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z][a-z0-9_]{2,63}$",
        r"^[a-z0-9]+(-[a-z0-9]+)*$",
        r"^(\d{1,3}\.){3}\d{1,3}$",
        r"(?:foo|bar|baz)*",
        r"^(?P<x>[A-Z]{3})-\d+$",
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        r"^\+?[1-9]\d{1,14}$",
        r"[^\]]+",
    ],
)
def test_a_usual_pattern_is_taken(pattern):
    assert refusal_of(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "(a*)*",
        "(a|aa)+$",
        "(a|a)*",
        "(x+x+)+y",
        "(.*)*",
        "([a-z]+-?)*",
        r"(\s*\w+\s*)+",
        "(a{1,30}){1,30}",
        "a**",
    ],
)
def test_a_pattern_with_two_ways_round_a_loop_is_refused(pattern):
    assert "exponentially" in refusal_of(pattern)


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", "(?<!a)b", "(?!a)", "[", "(", ")", "{", "a{,3}", "[a&&b]", "x" * 1001, "(" * 40 + ")" * 40]
)
def test_a_pattern_that_a_linear_engine_or_a_reader_cannot_take_is_refused(pattern):
    assert refusal_of(pattern)


@settings(max_examples=150)
@given(st.text(alphabet="ab()[]|*+?{}1,9\\^$.-wd&:<=!P", max_size=30))
def test_any_text_is_answered_as_a_pattern(pattern):
    assert refusal_of(pattern) is None or isinstance(refusal_of(pattern), str)


_SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {},
            True,
            {"type": "string"},
            {"type": "strin"},
            {"minimum": 1},
            {"minLength": -1},
            {"required": "a"},
            {"enum": []},
        ]
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=2)}),
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2)}),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(_SCHEMAS)
def test_both_schema_libraries_agree_on_what_is_a_schema(inner):
    schema = properties(a=inner)
    validator = jsonschema.Draft202012Validator(
        jsonschema.Draft202012Validator.META_SCHEMA, registry=referencing.Registry()
    )
    assert (schema_fault(schema) is None) == validator.is_valid(schema)


def test_names_come_through_composition_and_local_references():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x"}, "any": True},
        "allOf": [{"properties": {"b": {"type": "string"}}}],
        "$defs": {"x": {"type": "object", "properties": {"c": {}}}},
    }
    declared = DeclaredInputs(schema)
    assert declared.names() == ("a", "any", "b")
    assert [declared.declare(tuple(path.split("."))) for path in ("a", "a.c", "a.d", "a.c.e", "b.f", "any.g", "h")] == [
        True, True, False, True, False, True, False,
    ]  # fmt: skip
