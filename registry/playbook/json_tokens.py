"""Looking through the text of JSON without reading it: where something stands, and what a broken file still shows.

The standard library's reader gives values without places. Everything here goes through a text once, and over strings
and numbers at the speed of a regular expression; what it says of broken text is a guess.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from registry.playbook.text import Path, newline_normalised

_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_STRUCTURE = re.compile(rf"(?s:{_STRING})|[{{}}\[\]]")
_MEMBER_TOKEN = re.compile(rf"(?s:{_STRING})|[{{}}\[\]:,]|[^\s{{}}\[\]:,\"]+")
_KEY = re.compile(rf"((?s:{_STRING}))([ \t\r\n]*:)?|[{{}}]")
_CONSTANT = re.compile(rf"(?s:{_STRING})|(-?Infinity|NaN)")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_BLANK = re.compile(r"[ \t\r\n]*")
# Builds as little as it can: numbers and objects are only passed over.
_SKIPPER = json.JSONDecoder(object_pairs_hook=len, parse_int=len, parse_float=len, parse_constant=len, strict=False)
MEMBERS_MAX: Final = 10_000
TOKENS_MAX: Final = 50_000
"""How far a broken file is looked through; what is meant to be read has fewer."""


Site = tuple[int | None, int]
"""Where the key stands, if there is one, and where the value begins; offsets in characters."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the root, or of an object in it, as a broken text shows it; `source` is its value's first token."""

    path: Path
    source: str


def separators(text: str, *, at_most: int) -> int:
    """How many commas and colons stand outside of strings; where there are few in all, those inside count too."""
    count = text.count(",") + text.count(":")
    if count <= at_most:
        return count
    bare = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    return bare.count(",") + bare.count(":")


def deep_offset(text: str, levels: int) -> int:
    """Where the first value begins that stands deeper than `levels`; 0 where none does."""
    depth = 0
    for found in _STRUCTURE.finditer(text):
        char = found[0][0]
        if char in "{[":
            depth += 1
            if depth > levels:
                return found.start()
        elif char != '"':
            depth -= 1
    return 0


def constant_offset(text: str) -> int:
    """Where the first word stands that JSON has no number for."""
    return next((found.start(1) for found in _CONSTANT.finditer(text) if found[1]), 0)


def second_key(text: str) -> tuple[str, int, int]:
    """The first key that its object has twice, and where both of them stand."""
    stack: list[dict[str, int]] = [{}]
    for found in _KEY.finditer(text):
        if found[0] == "{":
            stack.append({})
        elif found[0] == "}":
            stack.pop() if len(stack) > 1 else stack
        elif found[2] is not None:
            key = _unquoted(found[1])
            if (first := stack[-1].setdefault(key, found.start())) != found.start():
                return key, first, found.start()
    return "", 0, 0


def locate_json(text: str, paths: Collection[Path]) -> dict[Path, Site]:
    """Where the values at `paths`, and those around them, stand in a text that can be read."""
    wanted: _Wanted = {}
    for path in paths:
        branch = wanted
        for part in path:
            branch = branch.setdefault(part, {})
    found: dict[Path, Site] = {}
    start = _BLANK.match(text).end()  # type: ignore[union-attr]  # it matches nothing too
    found[()] = (None, start)
    _visit(text, start, wanted, (), found, needs_end=False)
    return found


_Wanted = dict[str | int, "_Wanted"]


def _visit(text: str, at: int, wanted: _Wanted, path: Path, found: dict[Path, Site], *, needs_end: bool) -> int:
    """Notes the wanted members of the collection at `at`; where it ends, if that is needed."""
    if not wanted or text[at] not in "{[":
        return _SKIPPER.raw_decode(text, at)[1] if needs_end else at
    left = len(wanted)
    is_object, index = text[at] == "{", 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        key_at = None
        part: str | int = index
        if is_object:
            key_at = at
            key, at = _SKIPPER.raw_decode(text, at)
            part = newline_normalised(key)
            at = _skip(text, _skip(text, at) + 1)
        branch = wanted.get(part)
        if branch is None:
            at = _SKIPPER.raw_decode(text, at)[1]
        else:
            here = (*path, part)
            found[here] = (key_at, at)
            left -= 1
            goes_on = needs_end or left > 0
            at = _visit(text, at, branch, here, found, needs_end=goes_on)
            if not goes_on:
                return at
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1
    return at + 1


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def root_members(text: str, *, inside: Collection[str] = ()) -> Iterator[Member]:
    """The members of a broken text's root in its order, and those of its objects that have a name in `inside`."""
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return
    path: Path = ()
    at, tokens_left = at + 1, TOKENS_MAX
    for _ in range(MEMBERS_MAX):
        found = _MEMBER_TOKEN.search(text, at)
        if found is None or tokens_left <= 0:
            return
        source, at = found[0], found.end()
        if source in "}]":
            if not path:
                return
            path = ()
        elif source in "{[":
            # No member's value, so nothing that has a name.
            at, tokens_left = _behind(text, at, tokens_left)
        elif source[0] == '"' and (colon := _COLON.match(text, at)):
            here = (*path, _unquoted(source))
            at = colon.end()
            value = _MEMBER_TOKEN.match(text, at)
            yield Member(here, value[0] if value else "")
            if value and value[0] == "{" and not path and here[0] in inside:
                path, at = here, value.end()
            elif value and value[0] in "{[":
                at, tokens_left = _behind(text, value.end(), tokens_left)
            elif value and value[0] not in ("}", "]", ","):
                at = value.end()


def _behind(text: str, at: int, tokens_left: int) -> tuple[int, int]:
    """Where a collection ends whose bracket stands before `at`, and how many tokens are left then."""
    depth = 1
    for found in _STRUCTURE.finditer(text, at):
        tokens_left -= 1
        at = found.end()
        char = found[0][0]
        depth += (char in "{[") - (char in "}]")
        if not depth or tokens_left <= 0:
            return at, tokens_left
    return len(text), 0


def _unquoted(source: str) -> str:
    if "\\" not in source:
        return source[1:-1]
    try:
        return newline_normalised(str(json.loads(source, strict=False)))
    except ValueError:
        return source[1:-1]
