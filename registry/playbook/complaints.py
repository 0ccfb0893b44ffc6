"""What the models find wrong, said as problems: code, place and a sentence that helps."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from registry.names import name_key
from registry.playbook.document import DATE_PATTERN, EXTENSION_PREFIX, NAME_SHAPE
from registry.playbook.spelling import NAME_RULE, key_like, quoted, suggestion
from registry.playbook.text import Path

_KINDS = {
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "bool_type": "true or false",
}

_SWITCHES: Final = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
_NOTHING: Final = object()
_ERRORS_MAX: Final = 500
_WINDOW: Final = 500


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that a model refuses. `on_key` says that it is about the key, not its value."""

    code: str
    at: Path
    message: str
    on_key: bool = False


def complaints(
    model: type[BaseModel], data: object, known: Callable[[Path], tuple[str, ...]], *, at_most: int
) -> list[Complaint]:
    """The first `at_most` things that `model` refuses in plain `data`; `known` gives the keys of a mapping."""
    if isinstance(data, Mapping):
        # Thousands of these would be thousands of complaints, all but a few of them dropped below.
        keys = known(())
        unknown = (key for key in data if key not in keys and not key.startswith(EXTENSION_PREFIX))
        shown = {*keys, *islice(unknown, at_most)}
        data = {key: value for key, value in data.items() if key in shown}
    return list(islice(_said(_errors(model, data), data, known), at_most))


def _errors(model: type[BaseModel], data: object) -> Iterator[ErrorDetails]:
    """What a model refuses; of a document with thousands of errors, as many as a window of its long lists shows.

    To put one error into words costs ten times as much as to find it.
    """
    error = _refused(model, data)
    if error is None or error.error_count() <= _ERRORS_MAX:
        yield from _details(error)
        return
    shown = 0
    for start in range(0, _longest(data), _WINDOW):
        for each in _details(_refused(model, _windowed(data, start))):
            path, is_in_window = _shifted(each["loc"], data, start)
            if is_in_window or not start:
                shown += 1
                yield {**each, "loc": path}
        if shown:
            return
    yield from _details(error)


def _refused(model: type[BaseModel], data: object) -> ValidationError | None:
    try:
        model.model_validate(data)
    except ValidationError as error:
        return error
    return None


def _details(error: ValidationError | None) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False) if error is not None else []


def _longest(data: object) -> int:
    """How many items the longest list in plain data has."""
    values = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    own = len(data) if isinstance(data, list) else 0
    return max(own, *(_longest(each) for each in values if isinstance(each, dict | list)), 0)


def _windowed(data: object, start: int) -> object:
    """The data with only a window of each list that is longer than one."""
    if isinstance(data, Mapping):
        return {key: _windowed(each, start) for key, each in data.items()}
    if isinstance(data, list):
        shown = data[start : start + _WINDOW] if len(data) > _WINDOW else data
        return [_windowed(each, start) for each in shown]
    return data


def _shifted(path: Path, data: object, start: int) -> tuple[Path, bool]:
    """Where a path into a window leads in the whole data, and whether it leads through a list of which that is one."""
    whole: Path = ()
    is_in_window = False
    for part in path:
        at = part
        if isinstance(part, int) and isinstance(data, list) and len(data) > _WINDOW:
            at, is_in_window = part + start, True
        whole = (*whole, at)
        data = _member(data, at)
    return whole, is_in_window


def _said(
    errors: Iterable[ErrorDetails], data: object, known: Callable[[Path], tuple[str, ...]]
) -> Iterator[Complaint]:
    for each in errors:
        at = _existing(each, data)
        last = at[-1] if at else ""
        if each["type"] == "extra_forbidden":
            if not str(last).startswith(EXTENSION_PREFIX):
                message = f"{quoted(str(last))} is no key of {_where(at[:-1])}: {suggestion(str(last), known(at[:-1]))}"
                yield Complaint("unknown-key", at, message, on_key=True)
        elif each["type"] == "missing":
            yield Complaint("field-missing", at, f"{last} is missing in {_where(at[:-1])}: add it.", on_key=True)
        elif each["type"] == "invalid_key":
            continue
        else:
            yield _about_value(each, at, _value_at(data, at))


def _about_value(each: ErrorDetails, at: Path, value: object) -> Complaint:
    kind, context = each["type"], each.get("ctx", {})
    if value is None:
        return Complaint("field-type", at, f"{_where(at)} is empty: fill it in or leave it out.")
    if kind in _KINDS:
        message = f"{_where(at)} must be {_KINDS[kind]}, not {_kind_of(value)}{_mend(_KINDS[kind], value)}."
        return Complaint("field-type", at, message)
    if kind == "literal_error":
        return Complaint("field-type", at, f"{_where(at)} must be {context.get('expected')}.")
    if kind == "string_too_long" or context.get("pattern") == NAME_SHAPE:
        return _about_name(at, str(value))
    if context.get("pattern") == DATE_PATTERN:
        said = "must be a date such as 2027-01-31."
    elif kind in {"string_pattern_mismatch", "too_short", "string_too_short"}:
        said = "is empty: fill it in or leave it out."
    else:
        said = f"is not right: {each['msg']}."
    return Complaint("field-type", at, f"{_where(at)} {said}")


def _mend(wanted: str, value: object) -> str:
    """How a value of the wrong kind often came about, as the end of a sentence; "" where nothing tells."""
    if wanted == "text" and isinstance(value, Mapping) and len(value) == 1:
        return ": if it is one text that has a colon in it, put the whole text in quotes"
    if wanted == "text" and isinstance(value, list | bool | int | float):
        return ": put it in quotes if it is text"
    if wanted == "a list" and isinstance(value, str):
        return ": write a space behind each -" if value.startswith("-") else ": write [ before it and ] behind it"
    if wanted == "true or false" and isinstance(value, str) and value.casefold() in _SWITCHES:
        return f": write {_SWITCHES[value.casefold()]}"
    return ""


def _about_name(at: Path, value: str) -> Complaint:
    key = name_key(value) or key_like(value)
    hint = f"write {key}." if key else NAME_RULE
    return Complaint("name-invalid", at, f"{quoted(value)} is not how a playbook's name is written: {hint}")


def _existing(each: ErrorDetails, data: object) -> Path:
    """The place of an error, up to the part that pydantic adds for its own branches."""
    path: Path = ()
    here = data
    for part in each["loc"]:
        path = (*path, part)
        here = _member(here, part)
        if here is _NOTHING:
            break
    return path


def _value_at(data: object, at: Path) -> object:
    for part in at:
        data = _member(data, part)
    return data


def _member(data: object, part: str | int) -> object:
    if isinstance(data, Mapping):
        return data.get(part, _NOTHING)
    if isinstance(part, int) and isinstance(data, list) and part < len(data):
        member: object = data[part]
        return member
    return _NOTHING


def _where(at: Path) -> str:
    if not at:
        return "the document"
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in at).removeprefix(".")


def _kind_of(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "text" if isinstance(value, str) else "a number"
