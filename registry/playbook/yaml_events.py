"""YAML's events to data: core scalars, no aliases, no tags, bounded depth and nodes, and where every node stands.

Events were chosen over composed nodes: as strict, faster, and no recursion that depth could hurt. Where nodes stand is
noted while they are read, which costs next to nothing and spares reading a file with a problem again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import yaml
from yaml import AliasEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent, StreamEndEvent
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs hide where it comes from

from registry.playbook.limits import Limits
from registry.playbook.spelling import quoted
from registry.playbook.text import (
    CONTROL,
    Data,
    Fault,
    Faulty,
    Numeral,
    escape_fault,
    line_and_column,
    newline_normalised,
)
from registry.playbook.yaml_faults import fault_of_key, fault_of_property, fault_of_stop
from registry.playbook.yaml_scene import Stop

_NUMBER = re.compile(
    r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?|0o[0-7]++|0x[0-9a-fA-F]++"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_NUMBER_STARTS = frozenset("-+.0123456789")
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True, slots=True)
class Marks:
    """Where the nodes of a document begin.

    `begins` holds the offset in characters of each, in the order of the text: the root, and then of a mapping each key
    and each value, and of a list each item. Its position there is the node's number. Where a collection ends, the
    complement of its number stands: a negative one. `numerals` says how many of the nodes are numerals, if
    they were counted.
    """

    begins: Sequence[int]
    numerals: int | None

    def behind(self) -> Mapping[int, int]:
        """The number that follows each collection's last, by the number of the collection."""
        return {~begin: at + 1 for at, begin in enumerate(self.begins) if begin < 0}


class Mark(Protocol):
    """A place in a text, from 0."""

    line: int
    column: int
    index: int


class Event(Protocol):
    """What is asked of PyYAML's events; its stubs do not say which kind carries what."""

    start_mark: Mark
    end_mark: Mark
    anchor: str | None
    tag: str | None
    tags: Mapping[str, str] | None
    value: str
    style: str | None
    implicit: tuple[bool, bool]


class Builder:
    """Turns the events of one text into data; a loop with its own stack, so that depth cannot hurt."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.begins: list[int] = []
        self.numerals = 0
        self._text = text
        self._limits = limits
        self._has_properties = "!" in text or "&" in text
        self._has_escape = "\\" in text
        self._root_end: Event | None = None

    @property
    def marks(self) -> Marks:
        """Where the nodes of the document stand, once it is read."""
        return Marks(self.begins, self.numerals)

    def document(self) -> Data:
        """The root value of the one document that the text holds; raises Faulty."""
        try:
            return self._stream(cast("Callable[[], Event]", CParser(self._text).get_event))
        except yaml.MarkedYAMLError as error:
            # Before or behind the root value.
            raise Faulty(fault_of_stop(self._text, _stop(error, self.begins[:1], self._root_end, []))) from None

    def _stream(self, next_event: Callable[[], Event]) -> Data:
        next_event()
        first = next_event()
        if isinstance(first, StreamEndEvent):
            raise Faulty(_fault_of(first, "yaml-syntax", "there are no fields here: write each as key: value."))
        if first.tags:
            raise Faulty(_fault_of(first, "tag-refused", "%TAG is not allowed: remove the line."))
        root = self._root(next_event)
        next_event()
        last = next_event()
        if not isinstance(last, StreamEndEvent):
            raise Faulty(_fault_of(last, "yaml-syntax", "a second document begins here: one file holds one document."))
        return root

    def _root(self, next_event: Callable[[], Event]) -> Data:  # noqa: C901, PLR0912, PLR0915 - sees every event of every file
        """The root value."""
        # The root waits for its value as the one item of a list.
        root: list[Data] = []
        items: list[Data] | None = root
        members: dict[str, Data] = {}
        stack: list[tuple[list[Data] | None, dict[str, Data], int]] = []
        # Nodes are known by their number: the open collection, and the last one that was put into it.
        opened, latest = -1, -1
        last: Event | None = None
        key: str | None = None
        numerals = 0
        begins, nodes_left, levels_max = self.begins, self._limits.nodes, self._limits.depth_levels
        has_properties = self._has_properties
        is_literal = not (has_properties or self._has_escape)
        is_number, constant = _NUMBER.fullmatch, _CONSTANTS.get
        try:
            while True:
                event = next_event()
                last = event
                kind: type[object] = event.__class__
                value: Data
                if kind is ScalarEvent:
                    source = event.value
                    if event.style or has_properties:
                        value = source if is_literal else self._scalar(event)
                    elif source[:1] in _NUMBER_STARTS:
                        if is_number(source):
                            value = Numeral(source)
                            numerals += 1
                        else:
                            value = source
                    else:
                        value = constant(source, source)
                elif kind is MappingStartEvent:
                    value = {}
                elif kind is SequenceStartEvent:
                    value = []
                elif kind is AliasEvent:
                    raise Faulty(self._refusal(event))
                else:
                    latest = opened
                    begins.append(~opened)
                    items, members, opened = stack.pop()
                    if not stack:
                        break
                    continue
                nodes_left -= 1
                if nodes_left < 0:
                    raise Faulty(self._too_many(event))
                if has_properties and (event.anchor is not None or event.tag is not None):
                    raise Faulty(self._refusal(event))
                latest = len(begins)
                begins.append(event.start_mark.index)
                if items is not None:
                    items.append(value)
                elif key is None:
                    if value.__class__ is not str or value in members:
                        raise Faulty(self._bad_key(members, opened, event, value))
                    key = value
                    continue
                else:
                    members[key] = value
                    key = None
                if kind is not ScalarEvent:
                    stack.append((items, members, opened))
                    if len(stack) > levels_max:
                        raise Faulty(self._too_deep(event))
                    opened = latest
                    if kind is MappingStartEvent:
                        items, members = None, value  # type: ignore[assignment]  # no cast: it costs for every one
                    else:
                        items = value  # type: ignore[assignment]  # as above
                elif not stack:
                    break
        except yaml.MarkedYAMLError as error:
            begin = begins[latest : latest + 1] if latest != opened else []
            open_at = begins[opened : opened + 1] if opened >= 0 else []
            raise Faulty(fault_of_stop(self._text, _stop(error, begin, last, open_at))) from None
        self._root_end = last
        self.numerals += numerals
        return root[0]

    def _bad_key(self, members: Mapping[str, Data], opened: int, event: Event, value: Data) -> Fault:
        """The fault of a key that is no text, or that stands in the mapping already."""
        if not isinstance(value, str) or isinstance(value, Numeral):
            source = "" if isinstance(value, dict | list) else event.value
            return fault_of_key(self._text, event.start_mark.index, value, source)
        first, behind = opened + 1, self.marks.behind()
        for _ in range(list(members).index(value)):
            first = behind.get(first + 1, first + 2)
        line = line_and_column(self._text, self.begins[first])[0]
        message = f"the key {quoted(value)} stands here twice, first in line {line}: keep one of them."
        return _fault_of(event, "duplicate-key", message)

    def _scalar(self, event: Event) -> Data:
        text = event.value
        if event.style:
            if self._has_properties and event.implicit[0]:
                raise Faulty(self._refusal(event))
            if self._has_escape and event.style == '"':
                return self._unescaped(event, text)
            return text
        if self._has_properties and self._text.startswith("!", event.start_mark.index):
            raise Faulty(self._refusal(event))
        if text[:1] in _NUMBER_STARTS:
            if _NUMBER.fullmatch(text):
                self.numerals += 1
                return Numeral(text)
            return text
        return _CONSTANTS.get(text, text)

    def _unescaped(self, event: Event, text: str) -> str:
        if CONTROL.search(text):
            raise Faulty(escape_fault(self._text, event.start_mark.index, event.end_mark.index))
        return newline_normalised(text)

    def _refusal(self, event: Event) -> Fault:
        return fault_of_property(self._text, event.start_mark.index)

    def _too_many(self, event: Event) -> Fault:
        return _fault_of(event, "too-large", f"more than {self._limits.nodes:,} keys and values: split the file.")

    def _too_deep(self, event: Event) -> Fault:
        return _fault_of(event, "too-deep", f"more than {self._limits.depth_levels} levels deep: flatten it.")


def _stop(error: yaml.MarkedYAMLError, begin: list[int], last: Event | None, opened: list[int]) -> Stop:
    """Where and on what the parser stopped; the value that it had read last goes from `begin` to the end of `last`."""
    value = (begin[0], last.end_mark.index) if begin and last is not None else None
    context, found = error.context_mark, error.problem_mark
    return Stop(
        problem=error.problem or "not readable as YAML",
        context=error.context or "",
        at=found.index if found is not None else 0,
        context_at=context.index if context is not None else None,
        value=value if value and value[0] <= value[1] else None,
        open_at=opened[0] if opened else None,
    )


def _fault_of(event: Event, code: str, message: str) -> Fault:
    return Fault(code, event.start_mark.line + 1, event.start_mark.column + 1, message)
