"""JSON under the same limits as YAML: no duplicate keys, no NaN, no lone surrogates, bounded depth and nodes."""

import json
import re
from typing import Final

from registry.playbook.json_faults import fault_of_stop
from registry.playbook.json_tokens import constant_offset, deep_offset, second_key, separators
from registry.playbook.limits import DEFAULT_LIMITS, Limits, nodes_and_levels
from registry.playbook.spelling import quoted
from registry.playbook.text import (
    CONTROL,
    Data,
    Fault,
    Numeral,
    escape_fault,
    line_and_column,
    newline_normalised,
)

_SURROGATE = re.compile("[\ud800-\udfff]")
# Only these bring what the decoded file did not have: a control character, half a character, the end of a line.
_ESCAPES: Final = ("\\u", "\\r", "\\b", "\\f")
_BAD_ESCAPE = re.compile(
    r"(?<!\\)(?:\\\\){0,500}+(\\(?:[bf]|u(?:00(?:0[0-8bcef]|1[0-9a-f]|7f|8[0-46-9a-f]|9[0-9a-f])|feff|fff[ef]"
    r"|d[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2}\\u)d[c-f][0-9a-f]{2})))",
    re.IGNORECASE,
)


def load_json(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Data | Fault:
    """The value of `text`, with numbers as `Numeral`, or the fault that stopped it."""
    # Each comma and each colon stands between two nodes.
    count = separators(text, at_most=limits.nodes)
    if count >= limits.nodes:
        return _too_large(limits)
    data = _read(text, limits)
    openers = text.count("[") + text.count("{")
    if not isinstance(data, Fault) and (count + openers >= limits.nodes or openers > limits.depth_levels):
        data = _size_fault(text, data, limits) or data
    if isinstance(data, Fault) or not any(escape in text for escape in _ESCAPES):
        return data
    return _normalised(text, data)


def _read(text: str, limits: Limits) -> Data | Fault:
    try:
        data: Data = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=Numeral,
            parse_float=Numeral,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        return fault_of_stop(text, error.msg, error.pos)
    except _Duplicate:
        return _duplicate(text)
    except _Constant as found:
        message = f"{found} is no JSON number: write a finite number, null, or the word in quotes."
        return _fault_at(text, "number-out-of-range", constant_offset(text), message)
    except RecursionError:
        return _too_deep(text, limits)
    return data


class _Duplicate(Exception):
    pass


class _Constant(Exception):
    pass


class _Unclean(Exception):
    pass


def _unique(pairs: list[tuple[str, Data]]) -> dict[str, Data]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Duplicate
    return members


def _refuse_constant(word: str) -> Data:
    raise _Constant(word)


def _duplicate(text: str) -> Fault:
    key, first, again = second_key(text)
    line = line_and_column(text, first)[0]
    message = f"the key {quoted(key)} stands here twice, first in line {line}: keep one of them."
    return _fault_at(text, "duplicate-key", again, message)


def _fault_at(text: str, code: str, offset: int, message: str) -> Fault:
    line, column = line_and_column(text, offset)
    return Fault(code, line, column, message)


def _too_large(limits: Limits) -> Fault:
    return Fault("too-large", 1, 1, f"more than {limits.nodes:,} keys and values: split the file.")


def _too_deep(text: str, limits: Limits) -> Fault:
    message = f"more than {limits.depth_levels} levels deep: flatten it."
    return _fault_at(text, "too-deep", deep_offset(text, limits.depth_levels), message)


def _size_fault(text: str, data: Data, limits: Limits) -> Fault | None:
    nodes, levels = nodes_and_levels(data)
    if nodes > limits.nodes:
        return _too_large(limits)
    return _too_deep(text, limits) if levels > limits.depth_levels else None


def _normalised(text: str, data: Data) -> Data | Fault:
    """The data with line feeds for the ends of lines that escapes stand for, or the fault of what else they bring."""
    try:
        return _clean(data)
    except _Duplicate:
        return _duplicate(text)
    except _Unclean:
        found = _BAD_ESCAPE.search(text)
    if found is None or found[1][:3].lower() != "\\ud":
        return escape_fault(text, found.start(1) if found else 0, len(text))
    message = f"{found[1]} is half a character and stands alone in this text: write the whole character."
    return _fault_at(text, "text-invalid", found.start(1), message)


def _clean(value: Data) -> Data:
    kind = value.__class__
    if kind is str:
        return _clean_text(str(value))
    if isinstance(value, dict):
        members = {_clean_text(key): _clean(each) for key, each in value.items()}
        if len(members) != len(value):
            raise _Duplicate
        return members
    return [_clean(each) for each in value] if isinstance(value, list) else value


def _clean_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    if _SURROGATE.search(text) or CONTROL.search(text):
        raise _Unclean
    return newline_normalised(text)
