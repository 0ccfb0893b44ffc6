"""One strict reader for the three spellings of a native document: YAML, JSON, Markdown with front matter."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from registry.playbook.front_matter import split_front_matter
from registry.playbook.json_text import load_json, locate_json
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.text import Data, Fault, Path, Place, Places, line_and_column, newline_normalised
from registry.playbook.yaml_text import load_yaml, locate_yaml

_TAIL_CHARS = 4096


class Syntax(StrEnum):
    """How a file is written, by the end of its name."""

    YAML = "yaml"
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document's fields, with the text they came from so that places can be looked up when one is wanted.

    `body` is the prose behind Markdown's front matter, newline-normalised and without blank lines at its ends; None
    where there is none. Numbers in `data` are still `Numeral`.
    """

    data: Mapping[str, Data]
    syntax: Syntax
    text: str
    fields_text: str
    fields_offset: int = 0
    body: str | None = None
    body_offset: int = 0


class Atlas:
    """Where the values of a loaded document stand in its file; the second reading happens on the first question."""

    def __init__(self, loaded: Loaded, limits: Limits = DEFAULT_LIMITS) -> None:
        self._loaded = loaded
        self._limits = limits
        self._places: Places | None = None

    def value(self, path: Path) -> tuple[int, int]:
        """Line and column of the value at `path`, else of the closest thing around it, else 1:1."""
        return self._line_and_column(self._near(path))

    def key(self, path: Path) -> tuple[int, int]:
        """Line and column of the key that `path` ends with."""
        if len(path) == 1 and (line := self._root_line(str(path[0]))):
            return line, 1
        return self._line_and_column(self._known().keys.get(path) or self._near(path))

    def text_in(self, path: Path, part: str, nth: int = 0) -> tuple[int, int]:
        """Line and column of the `nth` (from 0) `part` inside the text at `path`; of its begin where it is escaped."""
        place = self._near(path)
        source = self._loaded.fields_text
        at = place.offset if place else 0
        for _ in range(nth + 1):
            found = source.find(part, at)
            if found < 0:
                return self._line_and_column(place)
            at = found + len(part)
        return line_and_column(self._loaded.text, self._loaded.fields_offset + at - len(part))

    def body(self, offset: int) -> tuple[int, int]:
        """Line and column of a character of the body."""
        lines = (self._loaded.body or "")[:offset].split("\n")
        first = line_and_column(self._loaded.text, self._loaded.body_offset)[0]
        return first + len(lines) - 1, len(lines[-1]) + 1

    def _root_line(self, key: str) -> int | None:
        """The line of a root key that stands at column 0 of block YAML, which spares a second reading."""
        if self._loaded.syntax is Syntax.JSON:
            return None
        found = re.search(rf"^{re.escape(key)}[ \t]*:", self._loaded.fields_text, re.MULTILINE)
        if found is None:
            return None
        return line_and_column(self._loaded.text, self._loaded.fields_offset + found.start())[0]

    def _known(self) -> Places:
        if self._places is None:
            locate = locate_json if self._loaded.syntax is Syntax.JSON else locate_yaml
            self._places = locate(self._loaded.fields_text, limits=self._limits)
        return self._places

    def _near(self, path: Path) -> Place | None:
        places = self._known()
        while path:
            if place := places.values.get(path) or places.keys.get(path):
                return place
            path = path[:-1]
        return None

    def _line_and_column(self, place: Place | None) -> tuple[int, int]:
        if place is None:
            return 1, 1
        above = line_and_column(self._loaded.text, self._loaded.fields_offset)[0] - 1
        return place.line + above, place.column


def syntax_of(path: str) -> Syntax | None:
    """The syntax that a file's name stands for, in any case of letters; None for other files."""
    ending = path.rpartition(".")[2].lower()
    return {"yaml": Syntax.YAML, "yml": Syntax.YAML, "json": Syntax.JSON, "md": Syntax.MARKDOWN}.get(ending)


def load(text: str, syntax: Syntax, *, limits: Limits = DEFAULT_LIMITS) -> Loaded | Fault:
    """The fields (and body) of a decoded file, or the one fault that stopped it."""
    if syntax is Syntax.MARKDOWN:
        return _load_markdown(text, limits)
    data = load_json(text, limits=limits) if syntax is Syntax.JSON else load_yaml(text, limits=limits)
    if isinstance(data, Fault):
        return data
    if not isinstance(data, dict):
        return _not_a_mapping(data, 1)
    return Loaded(data, syntax, text, text)


def _load_markdown(text: str, limits: Limits) -> Loaded | Fault:
    parts = split_front_matter(text)
    if isinstance(parts, Fault):
        return parts
    data = load_yaml(parts.head, limits=limits)
    if isinstance(data, Fault):
        return Fault(data.code, data.line + 1, data.column, data.message)
    if not isinstance(data, dict):
        return _not_a_mapping(data, 2)
    begin, end = _prose(text, parts.body_offset)
    body = newline_normalised(text[begin:end])
    return Loaded(data, Syntax.MARKDOWN, text, parts.head, parts.head_offset, body or None, begin)


def _prose(text: str, begin: int) -> tuple[int, int]:
    """Where the body begins and ends without blank lines around it; by index, because a copy of it is not cheap."""
    end = len(text)
    while end > begin:
        tail = text[max(begin, end - _TAIL_CHARS) : end]
        kept = len(tail.rstrip())
        end -= len(tail) - kept
        if kept:
            break
    while begin < end and text[begin] in "\r\n":
        begin += 1
    return begin, end


def _not_a_mapping(data: Data, line: int) -> Fault:
    found = "a list" if isinstance(data, list) else "nothing" if data is None else "a single value"
    return Fault("field-type", line, 1, f"the document is {found}: write a mapping of fields, playbook: 1 first.")
