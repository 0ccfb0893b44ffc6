"""Texts before any syntax: decoding, places, faults and numbers that keep their source.

The rules are playbook-format.md, Reading hostile or sloppy files. A number is kept as `Numeral`, its source text,
until somebody wants a number: so `version: 1.20` stays "1.20".
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

INTEGER_MAX: Final = (1 << 53) - 1
_LARGEST: Final = float(INTEGER_MAX)
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
# `CONTROL` in UTF-8; to look for these bytes first takes a tenth of the expression's time.
_PLAIN_BYTES = bytes(byte for byte in range(256) if byte in b"\t\n\r" or (byte >= 0x20 and byte != 0x7F))
_TWO_BYTES = re.compile(rb"\xc2[\x80-\x84\x86-\x9f]")
_THREE_BYTES = re.compile(rb"\xef(?:\xbb\xbf|\xbf[\xbe\xbf])")
_ESCAPED = {"0": 0, "a": 7, "b": 8, "e": 27, "f": 12, "v": 11}
# An escape, of YAML or JSON, that stands for one of `CONTROL`'s characters.
_CONTROL_DIGITS = "(?:0[0-8bcef]|1[0-9a-f]|7f|8[0-46-9a-f]|9[0-9a-f])"
_CONTROL_ESCAPE = re.compile(
    rf"(?<!\\)(?:\\\\){{0,500}}+\\(?:(?:x|u00|U000000)(?i:({_CONTROL_DIGITS}))|(?:u|U0000)(?i:(feff|fff[ef]))|([0abefv]))"
)
_RADIX_DIGITS_MAX = 400


class Numeral(str):
    """A number that still has its source text."""

    __slots__ = ()


Data = dict[str, "Data"] | list["Data"] | str | int | float | bool | None
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text could not be read, and where; `line` and `column` start at 1."""

    code: str
    line: int
    column: int
    message: str


class Faulty(Exception):
    """Carries a fault out of a reader's loop; never leaves this package's readers."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def decode(data: bytes) -> str | Fault:
    """The text of UTF-8 `data` without its one byte order mark, free of control characters."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = line_and_column(before, len(before))
        return Fault(
            "encoding-invalid",
            line,
            column,
            f"byte {error.start} ({data[error.start]:#04x}) is not UTF-8: save the file as UTF-8.",
        )
    text = text.removeprefix("\ufeff")
    if _may_hold_control(data) and (found := CONTROL.search(text)):
        return control_fault(text, found.start())
    return text


def _may_hold_control(data: bytes) -> bool:
    return bool(
        data.translate(None, _PLAIN_BYTES)
        or (b"\xc2" in data and _TWO_BYTES.search(data))
        or (b"\xef" in data and _THREE_BYTES.search(data))
    )


def control_fault(text: str, offset: int) -> Fault:
    """The fault of a character that has no business in a text file."""
    line, column = line_and_column(text, offset)
    return Fault(
        "control-character", line, column, f"the invisible character U+{ord(text[offset]):04X} stands here: delete it."
    )


def escape_fault(text: str, begin: int, end: int) -> Fault:
    """The fault of the first escape between `begin` and `end` that stands for an invisible character."""
    found = _CONTROL_ESCAPE.search(text, begin, end)
    if found is None:
        at, point = begin, 0
    else:
        at = found.start() + (len(found[0]) - len(found[0].lstrip("\\")) - 1) // 2 * 2
        point = _ESCAPED[found[3]] if found[3] else int(found[1] or found[2], 16)
    line, column = line_and_column(text, at)
    message = f"this escape stands for the invisible character U+{point:04X}: remove it."
    return Fault("control-character", line, column, message)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at `offset`."""
    return lines_and_columns(text, (offset,))[offset]


def lines_and_columns(text: str, offsets: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Line and column, from 1, of the character at each of `offsets`; the text is looked through once."""
    found: dict[int, tuple[int, int]] = {}
    has_return = "\r" in text
    line, seen = 1, 0
    for offset in sorted(set(offsets)):
        line += text.count("\n", seen, offset)
        start = text.rfind("\n", 0, offset) + 1
        if has_return:
            # A pair is one break; one that is cut in two by `seen` was counted by its first half.
            line += text.count("\r", seen, offset) - text.count("\r\n", max(seen - 1, 0), offset)
            start = max(start, text.rfind("\r", 0, offset) + 1)
        found[offset] = (line, offset - start + 1)
        seen = offset
    return found


def newline_normalised(text: str) -> str:
    r"""The text with every line ended by \n alone."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def number_of(numeral: str) -> int | float | None:
    """The JSON number that a numeral stands for, or None where JSON has none for it.

    Integers beyond ±(2^53-1), infinities and NaN have none. A float without a fraction is an integer (1.0 is 1).
    """
    try:
        value = float(numeral)
    except ValueError:
        return _radix_number(numeral)
    if -_LARGEST <= value <= _LARGEST:
        return int(value) if value.is_integer() else value
    # Beyond this, digits without a point or an exponent are an integer that is not carried exactly.
    if not math.isfinite(value) or not ("." in numeral or "e" in numeral or "E" in numeral):
        return None
    return value


def _radix_number(numeral: str) -> int | None:
    """The integer of octal or hexadecimal digits; None for the infinities and for what is no number."""
    base = {"0o": 8, "0x": 16}.get(numeral[:2])
    if base is None or len(numeral) > _RADIX_DIGITS_MAX:
        return None
    whole = int(numeral[2:], base)
    return whole if whole <= INTEGER_MAX else None
