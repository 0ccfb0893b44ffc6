"""One member put into a JSON text, everything else left byte for byte: somebody wrote it, and somebody reads its diffs.

Parsing and writing anew would lose how it was laid out, and which of two spellings of a number or a text was chosen.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

INDENT: Final = "  "

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENTED: Final = re.compile(r'^([ \t]+)"', re.MULTILINE)
_COMMENT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|(,)\s*([}\]])')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DECODER: Final = json.JSONDecoder()


class NotEditable(ValueError):
    """The text is no JSON object, or holds something else than an object where one is needed."""


@dataclass(frozen=True, slots=True)
class _Member:
    """Where a member stands: its key's first character, and its value."""

    key: str
    key_at: int
    value_at: int
    value_end: int


def read_object(text: str) -> dict[str, Any]:
    """The object that `text` is. Raises NotEditable with where it stops being one."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotEditable(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise NotEditable("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise NotEditable("it is no JSON object")
    return value


def read_relaxed(text: str) -> dict[str, Any]:
    """The object that `text` is for those who allow comments and a comma after the last member. Raises NotEditable."""
    kept = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return read_object(_TRAILING.sub(lambda found: found[0] if found[0].startswith('"') else found[2], kept))


def put(text: str, path: Sequence[str], value: object) -> str:
    """`text` with `value` as the member at `path`; objects on the way are made where there are none.

    What is new is laid out as the text is: its indentation, its line ends, one line where its neighbours stand on one.
    Raises NotEditable.
    """
    layout = _layout_of(text, is_empty=not read_object(text))
    return _put(text, _skip(text, 0), tuple(path), value, layout)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a text is laid out; `newline` is "" for one that stands on a single line."""

    unit: str
    newline: str


def _layout_of(text: str, *, is_empty: bool) -> _Layout:
    found = _INDENTED.search(text)
    newline = "\r\n" if "\r\n" in text else "\n" if is_empty or "\n" in text.strip() else ""
    return _Layout(found[1] if found else INDENT, newline)


def _put(text: str, start: int, path: tuple[str, ...], value: object, layout: _Layout) -> str:
    key, *rest = path
    members, end = _members(text, start)
    # Of two members with one key the last counts, as for everybody who reads the file.
    found = next((member for member in reversed(members) if member.key == key), None)
    if found is None:
        for each in reversed(rest):
            value = {each: value}
        return _added(text, start, members, end, key, value, layout)
    if not rest:
        said = _dumped(value, layout, _base_of(text, found.key_at))
        return text[: found.value_at] + said + text[found.value_end :]
    if text[found.value_at] != "{":
        raise NotEditable(f"{key!r} is no object in it")
    return _put(text, found.value_at, tuple(rest), value, layout)


def _added(
    text: str, start: int, members: Sequence[_Member], end: int, key: str, value: object, layout: _Layout
) -> str:
    """The text with one more member at the end of the object that begins at `start` and ends before `end`."""
    name = json.dumps(key, ensure_ascii=False)
    if not members:
        if not layout.newline:
            return f"{text[:start]}{{{name}: {_dumped(value, layout, '')}}}{text[end:]}"
        outer = _base_of(text, start)
        inner = outer + layout.unit
        said = f"{layout.newline}{inner}{name}: {_dumped(value, layout, inner)}{layout.newline}{outer}"
        return f"{text[:start]}{{{said}}}{text[end:]}"
    last = members[-1]
    before = max(text.rfind(mark, 0, last.key_at) for mark in "{,")
    gap = text[before + 1 : last.key_at]
    if "\n" not in gap:
        inline = _Layout(layout.unit, "")
        return f"{text[: last.value_end]}, {name}: {_dumped(value, inline, '')}{text[last.value_end :]}"
    base = gap.rpartition("\n")[2]
    said = f",{layout.newline}{base}{name}: {_dumped(value, layout, base)}"
    return text[: last.value_end] + said + text[last.value_end :]


def _dumped(value: object, layout: _Layout, base: str) -> str:
    said = json.dumps(value, ensure_ascii=False, indent=layout.unit if layout.newline else None)
    if _SURROGATE.search(said):
        # Half a character cannot be written but as the escape that it was read from.
        said = json.dumps(value, indent=layout.unit if layout.newline else None)
    return said.replace("\n", layout.newline + base)


def _base_of(text: str, at: int) -> str:
    """The indentation of the line on which `at` stands."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _members(text: str, start: int) -> tuple[list[_Member], int]:
    """(the members of the object at `start`, the index after its brace). The text is known to be good JSON."""
    found: list[_Member] = []
    at = _skip(text, start + 1)
    while text[at] != "}":
        member, at = _member(text, at)
        found.append(member)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found, at + 1


def _member(text: str, at: int) -> tuple[_Member, int]:
    key, key_end = _DECODER.raw_decode(text, at)
    value_at = _skip(text, _skip(text, key_end) + 1)
    _, value_end = _DECODER.raw_decode(text, value_at)
    return _Member(key, at, value_at, value_end), value_end


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
