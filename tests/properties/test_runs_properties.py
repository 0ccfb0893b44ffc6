"""Binding and checking inputs, against a plain account of what they should do."""

import json

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from registry.playbook.violations import VIOLATIONS_MAX
from registry.runs.binding import NOT_GIVEN, Procedure, bind
from registry.runs.inputs import Given, Unfit, take

NAMES = st.sampled_from(["a", "b", "c-d", "__proto__", "constructor"])
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | st.sampled_from(["", "x", "{{ inputs.a }}", "{{", "}}"])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
INPUTS = st.dictionaries(NAMES, VALUES, max_size=4)
# Literal pieces cannot end or begin so that a template would arise between two of them.
LITERALS = st.sampled_from(["", "x", " and ", "{ }", "é\n", "$1 \\1 %s"])
PIECES = st.lists(st.tuples(LITERALS, NAMES | st.none()), max_size=5)


def written(value) -> str:
    if isinstance(value, str):
        return value
    return bind({"document": "playbook/1", "steps": ["{{ inputs.v }}"]}, Given({"v": value})).body["steps"][0]


def source(pieces) -> str:
    return "".join(literal + ("" if name is None else f"{{{{ inputs.{name} }}}}") for literal, name in pieces)


def bound(inputs, *, with_=None, instruction="") -> dict:
    step = {"id": "s", "instruction": instruction, **({} if with_ is None else {"with": with_})}
    procedure = bind({"document": "playbook/1", "steps": [step]}, Given(inputs))
    assert isinstance(procedure, Procedure)
    return procedure.body["steps"][0]


@settings(max_examples=300, deadline=None)
@given(PIECES, INPUTS)
def test_a_text_is_its_pieces_with_each_value_in_its_place_once(pieces, inputs):
    expected = "".join(
        literal + ("" if name is None else written(inputs[name]) if name in inputs else NOT_GIVEN)
        for literal, name in pieces
    )
    assert bound(inputs, instruction=source(pieces))["instruction"] == expected


@settings(max_examples=200, deadline=None)
@given(PIECES, INPUTS)
def test_no_template_survives_but_in_a_value(pieces, inputs):
    assume("{{" not in json.dumps(inputs))
    assert "{{" not in json.dumps(bound(inputs, instruction=source(pieces), with_={"k": source(pieces)}))


@settings(max_examples=200, deadline=None)
@given(NAMES, INPUTS)
def test_an_argument_that_is_one_template_is_the_input_itself(name, inputs):
    made = bound(inputs, with_={"k": f"{{{{ inputs.{name} }}}}"})["with"]
    assert made == ({"k": inputs[name]} if name in inputs else {})


@settings(max_examples=200, deadline=None)
@given(PIECES, INPUTS, VALUES)
def test_binding_twice_gives_the_same_and_leaves_the_inputs_alone(pieces, inputs, literal):
    before = json.dumps(inputs)
    once = bound(inputs, with_={"k": source(pieces), "l": literal})
    assert bound(inputs, with_={"k": source(pieces), "l": literal}) == once
    assert json.dumps(inputs) == before


SCALARS = st.sampled_from(
    [
        {"type": "string"}, {"type": "integer"}, {"type": ["boolean", "null"]}, {"enum": ["x", 1, None]}, {"const": "x"},
        {"type": "string", "minLength": 1, "maxLength": 3}, {"minimum": 0, "exclusiveMaximum": 9}, {"multipleOf": 2},
        {"anyOf": [{"type": "string"}, {"minimum": 5}]}, {"oneOf": [{"type": "integer"}, {"minimum": 3}]},
        {"not": {"type": "string"}}, {"items": {"type": "string"}, "maxItems": 2, "uniqueItems": True}, True,
        {"propertyNames": {"maxLength": 2}, "minProperties": 1}, {"$ref": "#/$defs/d"},
    ]
)  # fmt: skip
SCHEMAS = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(NAMES, SCALARS, max_size=4),
        "$defs": st.just({"d": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}}),
    },
    optional={"required": st.lists(NAMES, max_size=2, unique=True), "additionalProperties": st.just(False)},
)


def exists(pointer: str, inputs) -> bool:
    """Whether a pointer leads to something, or to a member that could be in an object that is there."""
    at = inputs
    parts = pointer.split("/")[1:]
    for place, part in enumerate(parts):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(at, dict) and name not in at:
            return place == len(parts) - 1
        at = at[int(name)] if isinstance(at, list) else at[name]
    return True


@settings(max_examples=400, deadline=None)
@given(SCHEMAS, INPUTS)
def test_inputs_are_taken_exactly_where_another_checker_accepts_them(schema, inputs):
    assert isinstance(take(schema, inputs), Given) == Draft202012Validator(schema).is_valid(inputs)


@settings(max_examples=300, deadline=None)
@given(SCHEMAS, INPUTS)
def test_violations_stand_where_something_is_sorted_and_bounded(schema, inputs):
    found = take(schema, inputs)
    assume(isinstance(found, Unfit))
    pointers = [each.pointer for each in found.violations]
    assert pointers == sorted(pointers)
    assert 0 < len(pointers) <= VIOLATIONS_MAX + 1
    assert all(exists(pointer, inputs) for pointer in pointers)


@settings(max_examples=300, deadline=None)
@given(SCHEMAS, INPUTS, st.randoms(use_true_random=False))
def test_the_order_of_inputs_changes_nothing(schema, inputs, random):
    shuffled = list(inputs.items())
    random.shuffle(shuffled)
    assert take(schema, inputs) == take(schema, dict(shuffled))


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=4), INPUTS)
def test_what_was_sent_stays_and_what_was_not_is_the_default(defaults, inputs):
    schema = {"type": "object", "properties": {name: {"default": value} for name, value in defaults.items()}}
    taken = take(schema, inputs)
    assert taken.inputs == {**defaults, **inputs}
    assert taken.defaulted == tuple(sorted(f"/{name}" for name in defaults.keys() - inputs.keys()))


@settings(max_examples=300, deadline=None)
@given(
    VALUES
    | st.binary(max_size=3)
    | st.floats()
    | st.integers()
    | st.dictionaries(st.text(max_size=3), st.text(max_size=3))
)
def test_anything_at_all_is_taken_or_told(inputs):
    assert isinstance(take(None, inputs), Given | Unfit)
