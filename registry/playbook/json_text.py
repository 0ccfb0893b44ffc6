"""JSON under the same limits as YAML: no duplicate keys, no NaN, no lone surrogates, bounded depth and nodes."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.spelling import quoted
from registry.playbook.text import (
    CONTROL,
    Data,
    Fault,
    Numeral,
    Path,
    Place,
    Places,
    line_and_column,
    newline_normalised,
)

_TOKEN = re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+')
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Duplicate(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class _Constant(Exception):
    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


@dataclass(frozen=True, slots=True)
class Member:
    """A key or a value as the tolerant outline meets it; `source` is its first token as written."""

    path: Path
    offset: int
    source: str
    is_key: bool


def load_json(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Data | Fault:
    """The value of `text`, with numbers as `Numeral`, or the fault that stopped it."""
    try:
        data = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=Numeral,
            parse_float=Numeral,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        message = f"JSON stops here: {error.msg}. Check commas, quotes and brackets at and before this place."
        return Fault("json-syntax", error.lineno, error.colno, message)
    except _Duplicate as found:
        message = f"the key {quoted(found.key)} stands here twice: keep one of them."
        return _fault_at(text, "duplicate-key", _second_place(text, found.key, limits), message)
    except _Constant as found:
        message = f"{found.word} is no JSON number: use a finite number or null."
        return _fault_at(text, "number-out-of-range", max(text.find(found.word), 0), message)
    except RecursionError:
        return Fault("too-deep", 1, 1, f"more than {limits.depth_levels} levels deep: flatten it.")
    try:
        return _Settler(limits).settled(data, ())
    except _At as stopped:
        offset = _offset_of(text, stopped.path, limits)
        return _fault_at(text, stopped.code, offset, stopped.message)


def locate_json(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Places:
    """Where everything stands in a JSON text, as far as it can be read."""
    places = Places()
    line, line_start, seen = 1, 0, 0
    for member in outline(text, limits=limits):
        if breaks := text.count("\n", seen, member.offset):
            line, line_start = line + breaks, text.rindex("\n", seen, member.offset) + 1
        seen = member.offset
        place = Place(line, member.offset - line_start + 1, member.offset)
        (places.keys if member.is_key else places.values)[member.path] = place
    return places


def outline(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Iterator[Member]:
    """Keys and values in the order of the text, by a reader that syntax errors do not stop.

    It gives up below the depth limit and after the node limit. What it says of broken text is a guess.
    """
    here = _Open(is_object=False, path=(), is_root=True)
    stack: list[_Open] = []
    nodes_left = limits.nodes
    for found in _TOKEN.finditer(text):
        source = found[0]
        if source in "]}":
            here = stack.pop() if stack else here
        elif source == ",":
            here.index, here.key, here.wants_key = here.index + 1, None, here.is_object
        elif source == ":":
            here.wants_key = False
        elif here.wants_key and source[0] == '"':
            here.key, here.wants_key = _unquoted(source), False
            yield Member((*here.path, here.key), found.start(), source, is_key=True)
        else:
            nodes_left -= 1
            if nodes_left < 0 or len(stack) > limits.depth_levels:
                return
            path = here.child()
            yield Member(path, found.start(), source, is_key=False)
            if source in "[{":
                stack.append(here)
                here = _Open(is_object=source == "{", path=path)


class _Open:
    """A collection that the outline stands in."""

    __slots__ = ("index", "is_object", "is_root", "key", "path", "wants_key")

    def __init__(self, *, is_object: bool, path: Path, is_root: bool = False) -> None:
        self.is_object = self.wants_key = is_object
        self.is_root = is_root
        self.path = path
        self.index = 0
        self.key: str | None = None

    def child(self) -> Path:
        if self.is_root:
            return ()
        return (*self.path, self.key if self.key is not None else self.index)


def _unquoted(source: str) -> str:
    try:
        return str(json.loads(source, strict=False))
    except ValueError:
        return source[1:-1]


def _unique(pairs: list[tuple[str, Data]]) -> dict[str, Data]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Duplicate(key)
            seen.add(key)
    return members


def _refuse_constant(word: str) -> Data:
    raise _Constant(word)


def _second_place(text: str, key: str, limits: Limits) -> int:
    seen: set[Path] = set()
    for member in outline(text, limits=limits):
        if member.is_key and member.path[-1] == key:
            if member.path in seen:
                return member.offset
            seen.add(member.path)
    return 0


def _offset_of(text: str, path: Path, limits: Limits) -> int:
    return next((member.offset for member in outline(text, limits=limits) if member.path == path), 0)


def _fault_at(text: str, code: str, offset: int, message: str) -> Fault:
    line, column = line_and_column(text, offset)
    return Fault(code, line, column, message)


class _At(Exception):
    def __init__(self, code: str, path: Path, message: str) -> None:
        super().__init__(message)
        self.code, self.path, self.message = code, path, message


class _Settler:
    """Checks depth, nodes and texts of what the C reader took, and normalises newlines."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._nodes_left = limits.nodes

    def settled(self, value: Data, path: Path) -> Data:
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise _At("too-large", path, f"more than {self._limits.nodes} values: split the file.")
        kind = value.__class__
        if kind is str:
            return self._text(str(value), path)
        if isinstance(value, dict | list):
            if len(path) >= self._limits.depth_levels:
                raise _At("too-deep", path, f"more than {self._limits.depth_levels} levels deep: flatten it.")
            if isinstance(value, dict):
                # Keys count as values do, as they do in YAML.
                self._nodes_left -= len(value)
                return {self._text(key, (*path, key)): self.settled(each, (*path, key)) for key, each in value.items()}
            return [self.settled(each, (*path, at)) for at, each in enumerate(value)]
        return value

    def _text(self, text: str, path: Path) -> str:
        if text.isascii() and text.isprintable():
            return text
        if found := _SURROGATE.search(text):
            message = f"half a character (\\u{ord(found[0]):04x}) stands alone in this text: write the whole character."
            raise _At("text-invalid", path, message)
        if found := CONTROL.search(text):
            message = f"an escape in this text stands for the invisible U+{ord(found[0]):04X}: remove it."
            raise _At("control-character", path, message)
        return newline_normalised(text)
