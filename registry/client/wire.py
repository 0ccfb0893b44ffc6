"""JSON from elsewhere, read so that it can be written again: the one way in for whatever a registry or a disk gives."""

import json
import math
from typing import Any

Json = Any  # whatever json.loads gives


def read_json(body: bytes) -> Json:
    """The value that the UTF-8 bytes say. Raises ValueError for what is no JSON, numbers beyond all bounds included."""
    try:
        # As text: given bytes, json.loads would guess at other encodings.
        return json.loads(body.decode(), parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("too deep") from None


def read_object(body: bytes) -> dict[str, Json]:
    """The object that the bytes say. Raises ValueError for anything else."""
    value = read_json(body)
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - as for bytes that are no JSON
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text[:40])
    return number
