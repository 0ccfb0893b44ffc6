"""The native form: YAML, or Markdown with front matter where the steps are prose (playbook-format.md)."""

from collections.abc import Mapping
from typing import Final

from registry.digest import Json
from registry.playbook.document import SHAPES, known_keys
from registry.playbook.export.fields import Fields
from registry.playbook.export.fitting import fitted
from registry.playbook.export.yaml_form import to_yaml
from registry.playbook.native import DOCUMENT

_ROOT_ORDER: Final = (
    "playbook",
    "name",
    "version",
    "owner",
    "tags",
    "purpose",
    "not_for",
    "inputs",
    "preconditions",
    "tools",
    "steps",
    "stop",
    "verification",
    "requires",
    "runbook",
    "selection",
    "deprecated",
)


def render_native(contract: Fields, head: Fields) -> tuple[bytes, bool]:
    """(the document, whether it is Markdown; else it is YAML).

    A native contract comes out as it was read, in the format's own order of keys: reading it again gives the same
    digest. Of other formats it is the nearest native document, with everything that has no place in one under a key
    that begins with `x-`; a comment at its top says so.
    """
    if contract.get("document") == DOCUMENT:
        body = contract.get("instructions")
        return _written(_native_fields(contract), body if isinstance(body, str) else None, ())
    found = fitted(contract, head)
    return _written(found.fields, found.body, found.notes)


def _native_fields(contract: Fields) -> dict[str, Json]:
    fields = {key: value for key, value in contract.items() if key not in {"document", "instructions", "extra"}}
    extra = contract.get("extra")
    return {"playbook": 1, **fields, **(extra if isinstance(extra, Mapping) else {})}


def _written(fields: Fields, body: str | None, notes: tuple[str, ...]) -> tuple[bytes, bool]:
    head = "".join(f"# {note}\n" for note in notes) + to_yaml(_in_order(fields))
    if body is None:
        return head.encode(), False
    return f"---\n{head}---\n\n{body}\n".encode(), True


def _in_order(fields: Fields) -> dict[str, Json]:
    ordered = {key: fields[key] for key in _ROOT_ORDER if key in fields}
    return {key: _arranged(value, (key,)) for key, value in {**ordered, **fields}.items()}


def _arranged(value: Json, at: tuple[str, ...]) -> Json:
    """The value with its mappings' keys in the order of the format; below free keys as they are."""
    if isinstance(value, list):
        return [_arranged(each, at) for each in value]
    shape = SHAPES.get(at)
    if shape is None or not isinstance(value, Mapping):
        return value
    first = {key: value[key] for key in known_keys(shape) if key in value}
    return {key: _arranged(each, (*at, key)) for key, each in {**first, **value}.items()}
