"""Canonical JSON is RFC 8785, by whichever of its two ways it is written."""

import math
import sys

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.digest import canonical

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LEAVES = TEXTS | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    LEAVES | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_any_value_is_written_as_the_rfc_says(value):
    assert canonical(value) == rfc8785.dumps(value)


@settings(max_examples=300, deadline=None)
@given(st.integers(-324, 307), st.floats(1, 10, exclude_max=True), st.booleans())
def test_a_number_of_any_size_is_written_as_the_rfc_says(exponent, digits, negative):
    number = float(f"{'-' if negative else ''}{digits!r}e{exponent}")
    for each in (number, float(f"1e{exponent}"), round(number, 2)):
        assert canonical([each]) == rfc8785.dumps([each])


@pytest.mark.parametrize("edge", [0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1.0, 1e15, 2.0**53, 1e16, 1e20, 1e21, 1e22, 5e-324])
def test_numbers_about_the_edges_of_a_spelling_are_written_as_the_rfc_says(edge):
    near = [edge, -edge, math.nextafter(edge, math.inf), math.nextafter(edge, -math.inf)]
    assert canonical(near) == rfc8785.dumps(near)


def test_keys_beyond_the_basic_plane_are_ordered_as_the_rfc_says():
    keys = ["\U0001f600", "\uffee", "\ud7ff", "\ue000", "é", "z", ""]
    assert canonical(dict.fromkeys(keys, "ü")) == rfc8785.dumps(dict.fromkeys(keys, "ü"))


def test_writing_leaves_no_second_copy_of_a_text_in_memory():
    text = "ü" * 5_000
    before = sys.getsizeof(text)
    canonical({"text": text, "list": [text]})
    assert sys.getsizeof(text) == before


def test_what_stands_as_deep_as_a_playbook_may_be_is_written():
    value = "x"
    for _ in range(200):
        value = [{"a": value}] if isinstance(value, str) else [value]
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\udfff": 1}, {1: "a"}])
def test_what_the_rfc_cannot_write_is_refused(value):
    with pytest.raises(ValueError):
        canonical([value])


def test_control_characters_are_escaped_as_the_rfc_says():
    every = "".join(map(chr, range(0x20))) + '"\\/\x7f\u2028'
    assert canonical({"text": every}) == rfc8785.dumps({"text": every})
