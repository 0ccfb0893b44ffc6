"""Canonical bytes and their digests.

A digest is `sha256:<64 hex>` of exactly the bytes that are served. Canonical JSON is RFC 8785.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

import rfc8785
from pydantic_core import to_json

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | bool | None

_SAFE_INTEGER: Final = 2**53 - 1
# Where pydantic's writer and the RFC agree on the spelling of a float that has a fraction.
_SMALL_FLOAT: Final = 1e-5
_LARGE_FLOAT: Final = 1e21
# Below these code points, Python's order of texts is that of their UTF-16, which the RFC asks for.
_SURROGATES_FROM: Final = "\ud800"
DIGEST_PATTERN = re.compile(r"sha256:[0-9a-f]{64}")


class _Unusual(Exception):
    """Something that the fast writer may spell in another way than the RFC."""


def canonical(value: Json) -> bytes:
    """RFC 8785 bytes of `value`.

    Raises ValueError for what the RFC cannot write: integers beyond ±(2^53-1), non-finite numbers, lone
    surrogates, keys that are not text.
    """
    try:
        usual = _ordered(value)
    except _Unusual:
        return rfc8785.dumps(cast("dict[str, str]", value))
    return to_json(usual)


def digest_of(data: bytes) -> str:
    """`sha256:<64 hex>` of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Whether `text` has the form of a digest."""
    return DIGEST_PATTERN.fullmatch(text) is not None


def _ordered(value: object) -> object:
    """`value` as pydantic's writer, a compiled one, has to be given it to write what the RFC says.

    Keys in order, and texts beyond ASCII as UTF-8: from a text, the writer would leave a second copy in memory for as
    long as the text lives. Raises _Unusual for floats and keys on which the two do not agree, for subclasses, and for
    everything that the RFC cannot write.
    """
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        return text if text.isascii() else text.encode()
    if kind is dict:
        members = cast("dict[object, object]", value)
        for key in members:
            if type(key) is not str or not (key.isascii() or max(key) < _SURROGATES_FROM):
                raise _Unusual
        return {key: _ordered(members[key]) for key in sorted(cast("dict[str, object]", members))}
    if kind is list or kind is tuple:
        return [_ordered(item) for item in cast("Sequence[object]", value)]
    if kind is float:
        size = abs(cast("float", value))
        if not (size >= _LARGE_FLOAT or (size >= _SMALL_FLOAT and size % 1)) or size == math.inf:
            raise _Unusual
    elif kind is int:
        if not -_SAFE_INTEGER <= cast("int", value) <= _SAFE_INTEGER:
            raise _Unusual
    elif kind is not bool and value is not None:
        raise _Unusual
    return value
