"""Canonical bytes and their digests.

A digest is `sha256:<64 hex>` of exactly the bytes that are served. Canonical JSON is RFC 8785.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import cast

import rfc8785

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | bool | None

DIGEST_PATTERN = re.compile(r"sha256:[0-9a-f]{64}")


def canonical(value: Json) -> bytes:
    """RFC 8785 bytes of `value`.

    Raises ValueError for what the RFC cannot write: integers beyond ±(2^53-1), non-finite numbers, lone
    surrogates, keys that are not text.
    """
    return rfc8785.dumps(cast("dict[str, str]", value))


def digest_of(data: bytes) -> str:
    """`sha256:<64 hex>` of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Whether `text` has the form of a digest."""
    return DIGEST_PATTERN.fullmatch(text) is not None
