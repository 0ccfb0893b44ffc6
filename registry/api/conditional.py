"""Conditional requests and content codings: RFC 9110, sections 8.8, 12.5.3 and 13.1.2.

One representation has one ETag for each coding, since a strong tag stands for exact bytes; any of them, weak or
strong, in `If-None-Match` means that the caller has the representation (http-api.md, Headers of catalog answers).
"""

import re
from functools import lru_cache
from typing import Literal

Encoding = Literal["gzip", "zstd"]

ENCODABLE_BYTES_MIN = 512
"""Below this a coding saves less than its header costs."""

_PREFERENCE: tuple[Encoding, ...] = ("zstd", "gzip")
_TAG = re.compile(rb'(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_QVALUE = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")
_CODINGS_MAX = 32


def etag_header(etag: str, encoding: Encoding | None) -> bytes:
    """The `ETag` value of a representation in a coding, quoted: `"sha256:…+full+gzip"`."""
    return f'"{etag}+{encoding}"'.encode() if encoding else f'"{etag}"'.encode()


def matches(if_none_match: bytes, etag: str) -> bool:
    """Whether an `If-None-Match` value names the representation `etag` (unquoted), in whatever coding.

    The comparison is weak, as RFC 9110 asks for here. `*` matches; what is not a list of tags matches nothing.
    """
    if if_none_match.strip() == b"*":
        return True
    wanted = etag.encode()
    if wanted not in if_none_match:
        return False
    return any(_without_coding(tag) == wanted for tag in _TAG.findall(if_none_match))


@lru_cache(maxsize=256)
def negotiate(accept_encoding: bytes) -> Encoding | None:
    """The coding to answer with for an `Accept-Encoding` value; None is the identity.

    The highest q wins, at equal q zstd before gzip before identity. Identity is chosen as well where nothing at all is
    acceptable: an answer that a client can refuse helps it more than none.
    """
    quality = _qualities(accept_encoding)
    anything = quality.get("*", 0.0)
    best: Encoding | None = None
    best_quality = quality.get("identity", anything if "*" in quality else 0.0)
    for encoding in reversed(_PREFERENCE):
        offered = quality.get(encoding, anything)
        if offered > 0 and offered >= best_quality:
            best, best_quality = encoding, offered
    return best


def _qualities(accept_encoding: bytes) -> dict[str, float]:
    """The q of each well-formed member of the list, by coding; the others are passed over."""
    found: dict[str, float] = {}
    for member in accept_encoding.decode("latin-1").lower().split(",")[:_CODINGS_MAX]:
        coding, semicolon, parameter = (part.strip() for part in member.partition(";"))
        if not coding:
            continue
        if not semicolon:
            found[_canonical(coding)] = 1.0
            continue
        name, _, value = (part.strip() for part in parameter.partition("="))
        if name == "q" and _QVALUE.fullmatch(value):
            found[_canonical(coding)] = float(value)
    return found


def _canonical(coding: str) -> str:
    return "gzip" if coding == "x-gzip" else coding


def _without_coding(tag: bytes) -> bytes:
    for encoding in _PREFERENCE:
        tag = tag.removesuffix(b"+" + encoding.encode())
    return tag
