"""Canonical bytes and their digests.

A digest is `sha256:<64 hex>` of exactly the bytes that are served. Canonical JSON is RFC 8785.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import rfc8785
from pydantic_core import to_json

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | bool | None

_SAFE_INTEGER: Final = 2**53 - 1
# Below these code points, Python's order of texts is that of their UTF-16, which the RFC asks for.
_SURROGATES_FROM: Final = "\ud800"
# Floats that the compiled writer spells as 1e-6, 1e+16 and 1.0 where the RFC has 0.000001, 10000000000000000 and 1.
_SMALL, _LARGE = (1e-6, 1e-5), 1e21
_EXPONENTS = range(-6, 21)
_NUMBER = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?')
DIGEST_PATTERN = re.compile(r"sha256:[0-9a-f]{64}")


class _Unusual(Exception):
    """Something that is left to the exact writer, which also says what the RFC cannot write."""


def canonical(value: Json) -> bytes:
    """RFC 8785 bytes of `value`.

    Raises ValueError for what the RFC cannot write: integers beyond ±(2^53-1), non-finite numbers, lone
    surrogates, keys that are not text. It is pydantic's compiled writer that writes, wherever it is known to agree.
    """
    respelt: list[float] = []
    try:
        usual = _ordered(value, respelt)
    except _Unusual:
        return rfc8785.dumps(cast("dict[str, str]", value))
    written = to_json(usual)
    return _NUMBER.sub(_spelling, written) if respelt else written


def digest_of(data: bytes) -> str:
    """`sha256:<64 hex>` of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Whether `text` has the form of a digest."""
    return DIGEST_PATTERN.fullmatch(text) is not None


def _ordered(value: Any, respelt: list[float]) -> object:  # noqa: ANN401 - the kind is looked at; a cast costs more
    """`value` as the compiled writer has to be given it; itself where nothing has to change.

    Keys in order, and texts beyond ASCII as UTF-8: from a text, the writer would leave a second copy in memory for as
    long as the text lives. Floats that it spells in another way go to `respelt`.
    """
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode()
    if kind is dict:
        return _ordered_members(value, respelt)
    if kind is list or kind is tuple:
        items = None
        for at, item in enumerate(value):
            # The two that lists hold by the thousand, without a call for each.
            kind = type(item)
            if kind is str and item.isascii():
                continue
            if kind is float and _SMALL[1] <= item < math.inf and (item % 1 or item >= _LARGE):
                continue
            new = _ordered(item, respelt)
            if new is not item:
                items = list(value) if items is None else items
                items[at] = new
        return value if items is None else items
    _check_number(value, respelt)
    return value


def _ordered_members(members: dict[Any, Any], respelt: list[float]) -> dict[str, object]:
    is_ordered, before = True, ""
    changed: dict[str, object] = {}
    for key, item in members.items():
        if type(key) is not str or not (key.isascii() or max(key) < _SURROGATES_FROM):
            raise _Unusual
        is_ordered = is_ordered and before <= key
        before = key
        new = _ordered(item, respelt)
        if new is not item:
            changed[key] = new
    if changed:
        members = {**members, **changed}
    return members if is_ordered else {key: members[key] for key in sorted(members)}


def _check_number(value: Any, respelt: list[float]) -> None:  # noqa: ANN401 - as above
    """Raises _Unusual for a number that the RFC cannot write, and for what is no number, true, false or null."""
    kind = type(value)
    if kind is float:
        size = abs(value)
        if not size < math.inf:
            raise _Unusual
        if _SMALL[0] <= size < _SMALL[1] or (size < _LARGE and value.is_integer()):
            respelt.append(value)
    elif kind is int:
        if not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
            raise _Unusual
    elif kind is not bool and value is not None:
        raise _Unusual


def _spelling(found: re.Match[bytes]) -> bytes:
    """A number as the RFC spells it, which is without an exponent from 1e-6 up to 1e21; a text as it is."""
    sign, whole, fraction, power = found.groups()
    if whole is None or (power is None and fraction != b"0"):
        return found[0]
    if power is None:
        return whole if whole == b"0" else sign + whole
    exponent = int(power)
    if exponent not in _EXPONENTS:
        return found[0]
    digits = whole + (fraction or b"")
    return sign + (b"0." + b"0" * (-exponent - 1) + digits if exponent < 0 else digits.ljust(exponent + 1, b"0"))
