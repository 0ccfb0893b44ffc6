"""Canonical JSON is RFC 8785, by whichever of its two ways it is written."""

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


@pytest.mark.parametrize("value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\udfff": 1}, {1: "a"}])
def test_what_the_rfc_cannot_write_is_refused(value):
    with pytest.raises(ValueError):
        canonical([value])


def test_control_characters_are_escaped_as_the_rfc_says():
    every = "".join(map(chr, range(0x20))) + '"\\/\x7f\u2028'
    assert canonical({"text": every}) == rfc8785.dumps({"text": every})
