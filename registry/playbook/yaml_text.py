"""YAML 1.2 core scalars out of PyYAML's C parser, event by event, refusing what hides or multiplies data.

Data comes back without places: most files are good, and a file with a problem is read a second time to learn where
it stands. Events were chosen over composed nodes: as strict, faster, and no recursion that depth could hurt.
"""

import re
from collections.abc import Callable, Mapping
from typing import Protocol, cast

import yaml
from yaml import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs hide where it comes from

from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.spelling import quoted
from registry.playbook.text import (
    CONTROL,
    Data,
    Fault,
    Faulty,
    Numeral,
    Path,
    Place,
    Places,
    control_fault,
    newline_normalised,
)

_LINE_SEPARATORS = re.compile("[\u0085\u2028\u2029]")
_NUMBER = re.compile(
    r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_NUMBER_STARTS = frozenset("-+.0123456789")
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def load_yaml(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Data | Fault:
    """The one document of `text` under the YAML 1.2 core rules, with numbers as `Numeral`.

    Refused, each as a fault with its place: syntax, a second document, duplicate keys, keys that are not text,
    aliases and anchors, tags, more depth or nodes than `limits`.
    """
    return _attempt(lambda: _compose(text, limits, None))


def locate_yaml(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Places:
    """Where everything stands in a text that `load_yaml` read, as far as it can be read."""
    places = Places()
    _attempt(lambda: _compose(text, limits, places))
    return places


def root_keys_of(text: str) -> frozenset[str] | None:
    """The root keys of the first document of any YAML, strict or not; None where it cannot be parsed."""
    keys: set[str] = set()
    depth, documents, is_key = 0, 0, True
    try:
        next_event = cast("Callable[[], _Event]", CParser(text).get_event)
        while True:
            event = next_event()
            kind: type[object] = event.__class__
            if kind is StreamEndEvent:
                return frozenset(keys)
            documents += kind is DocumentStartEvent
            opens = kind is MappingStartEvent or kind is SequenceStartEvent
            closes = kind is MappingEndEvent or kind is SequenceEndEvent
            if documents == 1 and depth == 0 and kind is SequenceStartEvent:
                documents += 1
            depth -= closes
            if depth == 1 and documents == 1 and (closes or kind is ScalarEvent or kind is AliasEvent):
                if is_key and kind is ScalarEvent:
                    keys.add(event.value)
                is_key = not is_key
            depth += opens
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _attempt(read: Callable[[], Data]) -> Data | Fault:
    try:
        return read()
    except Faulty as stopped:
        return stopped.fault
    except yaml.MarkedYAMLError as error:
        return _syntax_fault(error)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Fault("yaml-syntax", 1, 1, f"not readable as YAML ({type(error).__name__}): check the file's syntax.")


def _syntax_fault(error: yaml.MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    problem = error.problem or "not readable as YAML"
    if "maximum nesting depth" in problem:
        return Fault("too-deep", line, column, "nested far too deep: flatten it.")
    if "Unicode character escape" in problem:
        return Fault("text-invalid", line, column, "this escape is no Unicode character: write the character itself.")
    context = f" {error.context}" if error.context else ""
    return Fault("yaml-syntax", line, column, f"YAML stops here{context}: {problem}. {_hint(problem)}")


def _hint(problem: str) -> str:
    if "mapping values are not allowed" in problem:
        return "Quote a text that has a colon followed by a space."
    if "cannot start any token" in problem:
        return "Indent with spaces, and quote a text that begins with a sign such as @, %, ` or a tab."
    return "Check indentation, quotes and brackets at and before this place."


class _Mark(Protocol):
    line: int
    column: int
    index: int


class _Event(Protocol):
    """What is asked of PyYAML's events; its stubs do not say which kind carries what."""

    start_mark: _Mark
    anchor: str | None
    tag: str | None
    tags: Mapping[str, str] | None
    value: str
    style: str | None
    implicit: tuple[bool, bool]


class _Frame:
    """An open collection: a mapping with the key that waits for its value, or a list."""

    __slots__ = ("items", "key", "members", "path")

    def __init__(self, items: list[Data] | None, members: dict[str, Data], path: Path) -> None:
        self.items = items
        self.members = members
        self.path = path
        self.key: str | None = None


def _compose(text: str, limits: Limits, places: Places | None) -> Data:
    if found := _LINE_SEPARATORS.search(text):
        # The C parser breaks lines here, YAML 1.2 does not: a key could hide from every other reader.
        raise Faulty(control_fault(text, found.start()))
    next_event = cast("Callable[[], _Event]", CParser(text).get_event)
    next_event()
    first = next_event()
    if isinstance(first, StreamEndEvent):
        raise Faulty(Fault("yaml-syntax", 1, 1, "the document is empty: write a mapping of fields."))
    if first.tags:
        raise Faulty(_fault_of(first, "tag-refused", "%TAG is not allowed: remove the line."))
    root = _Builder(text, limits, places).document(next_event)
    next_event()
    last = next_event()
    if not isinstance(last, StreamEndEvent):
        raise Faulty(_fault_of(last, "yaml-syntax", "a second document begins here: one file holds one document."))
    return root


class _Builder:
    """Turns the events of one document into data; a loop with its own stack, so that depth cannot hurt."""

    def __init__(self, text: str, limits: Limits, places: Places | None) -> None:
        self._text = text
        self._limits = limits
        self._places = places
        self._has_bang = "!" in text
        self._has_escape = "\\" in text

    def document(self, next_event: Callable[[], _Event]) -> Data:
        """The root value; `next_event` stands just behind the start of the document."""
        # The root waits for its value as a member does, under a key that no document can reach.
        here = _Frame(None, {}, ())
        here.key = ""
        top = here
        stack: list[_Frame] = []
        nodes_left = self._limits.nodes
        while True:
            event = next_event()
            kind: type[object] = event.__class__
            value: Data
            if kind is ScalarEvent:
                value = self._scalar(event)
            elif kind is MappingStartEvent:
                value = {}
            elif kind is SequenceStartEvent:
                value = []
            elif kind is AliasEvent:
                raise Faulty(_refusal(event))
            else:
                here = stack.pop()
                if here is top:
                    return top.members[""]
                continue
            nodes_left -= 1
            if nodes_left < 0 or event.anchor is not None or event.tag is not None:
                raise Faulty(self._too_many(event) if nodes_left < 0 else _refusal(event))
            opened = self._put(here, event, value)
            if opened is not None:
                stack.append(here)
                if len(stack) > self._limits.depth_levels:
                    raise Faulty(self._too_deep(event))
                here = opened
            elif here is top:
                return value

    def _put(self, here: _Frame, event: _Event, value: Data) -> _Frame | None:
        """Puts a value, or a key, where it belongs; the frame it opens where it is a collection."""
        path = here.path
        if here.items is not None:
            if self._places is not None:
                path = (*path, len(here.items))
            here.items.append(value)
        elif here.key is None:
            here.key = self._text_key(here, event, value)
            return None
        else:
            if self._places is not None:
                path = (*path, here.key)
            here.members[here.key] = value
            here.key = None
        if self._places is not None:
            # The first part of a path is the root's own key.
            self._places.values[path[1:]] = _place(event)
        if isinstance(value, dict):
            return _Frame(None, value, path)
        return _Frame(value, {}, path) if isinstance(value, list) else None

    def _text_key(self, here: _Frame, event: _Event, value: Data) -> str:
        if value.__class__ is not str:
            shown = "(a list or mapping)" if isinstance(value, dict | list) else quoted(event.value)
            raise Faulty(_fault_of(event, "yaml-syntax", f"the key {shown} is not text: put it in quotes."))
        key = str(value)
        if key in here.members:
            message = f"the key {quoted(key)} stands here twice: keep one of them."
            raise Faulty(_fault_of(event, "duplicate-key", message))
        if self._places is not None:
            self._places.keys[(*here.path, key)[1:]] = _place(event)
        return key

    def _scalar(self, event: _Event) -> Data:
        text = event.value
        if event.style:
            if event.implicit[0]:
                raise Faulty(_refusal(event))
            if self._has_escape and event.style == '"':
                return _unescaped(event, text)
            return text
        if self._has_bang and self._text.startswith("!", event.start_mark.index):
            raise Faulty(_refusal(event))
        if text[:1] in _NUMBER_STARTS:
            return Numeral(text) if _NUMBER.fullmatch(text) else text
        return _CONSTANTS.get(text, text)

    def _too_many(self, event: _Event) -> Fault:
        return _fault_of(event, "too-large", f"more than {self._limits.nodes} values: split the file.")

    def _too_deep(self, event: _Event) -> Fault:
        return _fault_of(event, "too-deep", f"more than {self._limits.depth_levels} levels deep: flatten it.")


def _unescaped(event: _Event, text: str) -> str:
    if found := CONTROL.search(text):
        message = f"an escape in this text stands for the invisible U+{ord(found[0]):04X}: remove it."
        raise Faulty(_fault_of(event, "control-character", message))
    return newline_normalised(text)


def _refusal(event: _Event) -> Fault:
    if event.anchor is not None:
        message = "anchors (&) and aliases (*) are not allowed: write the value out, or quote the text."
        return _fault_of(event, "alias-refused", message)
    return _fault_of(event, "tag-refused", "tags (!) are not allowed: remove it, or put the text in quotes.")


def _fault_of(event: _Event, code: str, message: str) -> Fault:
    return Fault(code, event.start_mark.line + 1, event.start_mark.column + 1, message)


def _place(event: _Event) -> Place:
    mark = event.start_mark
    return Place(mark.line + 1, mark.column + 1, mark.index)
