"""Texts before any syntax: decoding, places, faults and numbers that keep their source.

The rules are playbook-format.md, Reading hostile or sloppy files. A number is kept as `Numeral`, its source text,
until somebody wants a number: so `version: 1.20` stays "1.20".
"""

import math
import re
from dataclasses import dataclass, field
from typing import Final

INTEGER_MAX: Final = (1 << 53) - 1
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
# How `CONTROL`'s characters begin in UTF-8; looking for these bytes first takes a tenth of the expression's time.
_PLAIN_BYTES = bytes(byte for byte in range(256) if byte in b"\t\n\r" or (byte >= 0x20 and byte != 0x7F))
_WIDE_CONTROL_MARKS = (b"\xef\xbb\xbf", b"\xef\xbf\xbe", b"\xef\xbf\xbf")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_INTEGER_DIGITS_MAX = 400


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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value begins: line and column from 1, and its offset in the text in characters."""

    line: int
    column: int
    offset: int


@dataclass(frozen=True, slots=True)
class Places:
    """Where values and keys stand, by their path from the root; filled while a text is read."""

    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)


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
    if data.translate(None, _PLAIN_BYTES) or b"\xc2" in data:
        return True
    return b"\xef" in data and any(mark in data for mark in _WIDE_CONTROL_MARKS)


def control_fault(text: str, offset: int) -> Fault:
    """The fault of a character that has no business in a text file."""
    line, column = line_and_column(text, offset)
    return Fault(
        "control-character", line, column, f"the invisible character U+{ord(text[offset]):04X} stands here: delete it."
    )


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at `offset`."""
    before = text[:offset].replace("\r\n", " \n").replace("\r", "\n")
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def newline_normalised(text: str) -> str:
    r"""The text with every line ended by \n alone."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def number_of(numeral: str) -> int | float | None:
    """The JSON number that a numeral stands for, or None where JSON has none for it.

    Integers beyond ±(2^53-1), infinities and NaN have none. A float without a fraction is an integer (1.0 is 1).
    """
    if _INTEGER.fullmatch(numeral) or numeral[:2] in {"0o", "0x"}:
        if len(numeral) > _INTEGER_DIGITS_MAX:
            return None
        base = {"0o": 8, "0x": 16}.get(numeral[:2], 10)
        whole = int(numeral[2:] if base != 10 else numeral, base)
        return whole if abs(whole) <= INTEGER_MAX else None
    if numeral[-1:].isalpha():
        return None
    value = float(numeral)
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) <= INTEGER_MAX else value
