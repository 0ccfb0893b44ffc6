"""What the models find wrong, said as problems: code, place and a sentence that helps."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from registry.names import NAME_LENGTH_MAX, name_key
from registry.playbook.document import DATE_PATTERN, EXTENSION_PREFIX, NAME_SHAPE
from registry.playbook.spelling import quoted, suggestion
from registry.playbook.text import Path

_KINDS = {
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "bool_type": "true or false",
}

_NOTHING: Final = object()


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
    try:
        model.model_validate(data)
    except ValidationError as error:
        return list(islice(_said(error, data, known), at_most))
    return []


def _said(error: ValidationError, data: object, known: Callable[[Path], tuple[str, ...]]) -> Iterator[Complaint]:
    for each in error.errors(include_url=False, include_input=False):
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
        return Complaint("field-type", at, f"{_where(at)} must be {_KINDS[kind]}, not {_kind_of(value)}.")
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


def _about_name(at: Path, value: str) -> Complaint:
    key = name_key(value)
    hint = (
        f"write {key}."
        if key
        else f"use lower-case letters, digits and single hyphens, {NAME_LENGTH_MAX} characters at most."
    )
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
