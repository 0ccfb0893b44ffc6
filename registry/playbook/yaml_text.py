"""YAML 1.2 under strict rules, as data with its places; and the root's keys of YAML that need not be strict."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

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
from registry.playbook.text import Data, Fault, Faulty, control_fault
from registry.playbook.yaml_events import Builder, Event, Marks

_LINE_SEPARATORS = re.compile("[\u0085\u2028\u2029]")
EVENTS_MAX: Final = 50_000
"""How far a file is looked at that says nothing of being a playbook."""


@dataclass(frozen=True, slots=True)
class Yaml:
    """A document's data, and where its nodes stand."""

    data: Data
    marks: Marks


def load_yaml(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Data | Fault:
    """The one document of `text` as `read_yaml` gives it, without its places."""
    read = read_yaml(text, limits=limits)
    return read if isinstance(read, Fault) else read.data


def read_yaml(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Yaml | Fault:
    """The one document of `text` under the YAML 1.2 core rules, with numbers as `Numeral`.

    Refused, each as a fault with its place: syntax, a second document, duplicate keys, keys that are not text,
    aliases and anchors, tags, more depth or nodes than `limits`.
    """
    if found := _LINE_SEPARATORS.search(text):
        # The C parser breaks lines here, YAML 1.2 does not: a key could hide from every other reader.
        return control_fault(text, found.start())
    builder = Builder(text, limits)
    try:
        return Yaml(builder.document(), builder.marks)
    except Faulty as stopped:
        return stopped.fault
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Fault("yaml-syntax", 1, 1, f"not readable as YAML ({type(error).__name__}): check the file's syntax.")


def root_keys_of(text: str) -> frozenset[str] | None:
    """The root keys of the first document of any YAML, strict or not; None where it cannot be parsed.

    A file without the marker may be anything and as long as it likes: what stands behind its first events is not
    looked at.
    """
    keys: set[str] = set()
    depth, documents, is_key = 0, 0, True
    try:
        next_event = cast("Callable[[], Event]", CParser(text).get_event)
        for _ in range(EVENTS_MAX):
            event = next_event()
            kind: type[object] = event.__class__
            if kind is StreamEndEvent:
                break
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
    return frozenset(keys)
