"""What a run is given: the caller's inputs, checked against the playbook's schema, with its defaults filled in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from registry.digest import Json, canonical
from registry.playbook.inputs import resolved
from registry.playbook.violations import (
    DEFAULT_INPUT_LIMITS,
    InputLimits,
    Violation,
    pointer_of,
    unreadable,
    violations_of,
)

_PARTS_MAX: Final = 16
_DEPTH_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class Given:
    """Inputs that fit: as they were sent, with each default that the schema has for what was not.

    `defaulted` are the JSON pointers of the defaults. `checked` is False where the playbook has no schema, so that
    nothing was there to check them against.
    """

    inputs: Mapping[str, Json]
    defaulted: tuple[str, ...] = ()
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why inputs are not taken: their violations, sorted; `size_bytes` where their size alone is too much."""

    violations: tuple[Violation, ...] = ()
    size_bytes: int = 0


def take(
    schema: Mapping[str, Json] | None, inputs: Json, *, limits: InputLimits = DEFAULT_INPUT_LIMITS
) -> Given | Unfit:
    """The inputs as a run keeps them, or what is wrong with them.

    Bounds come first, so that nothing else has to look at what is out of them. Defaults are filled in after the
    caller's own inputs were found right, and have to be right as well.
    """
    unfit = beyond(inputs, limits)
    if unfit is not None:
        return unfit
    sent = cast("Mapping[str, Json]", inputs)
    return Given(sent, checked=False) if schema is None else _checked(schema, sent)


def beyond(inputs: Json, limits: InputLimits = DEFAULT_INPUT_LIMITS) -> Unfit | None:
    """Why inputs are out of bounds, whatever playbook they are for, or None."""
    if found := unreadable(inputs, limits=limits):
        return Unfit(found)
    size_bytes = len(canonical(inputs))
    return Unfit(size_bytes=size_bytes) if size_bytes > limits.bytes else None


def _checked(schema: Mapping[str, Json], sent: Mapping[str, Json]) -> Given | Unfit:
    if found := violations_of(schema, sent):
        return Unfit(found)
    defaulted: list[str] = []
    filled = cast("Mapping[str, Json]", _filled(schema, schema, sent, (), defaulted))
    if not defaulted:
        return Given(sent)
    if found := violations_of(schema, filled):
        return Unfit(tuple(_by_default(each, defaulted) for each in found))
    return Given(filled, tuple(sorted(defaulted)))


def _by_default(violation: Violation, defaulted: list[str]) -> Violation:
    if violation.pointer not in defaulted:
        return violation
    message = f"{violation.message} It was not sent, and the playbook's own default does not fit: send a value."
    return Violation(violation.pointer, violation.keyword, message, violation.allowed, violation.nearest)


def _filled(
    root: Mapping[str, Json],
    schema: Json,
    value: Json,
    at: tuple[str | int, ...],
    defaulted: list[str],
) -> Json:
    """`value` with the defaults of what certainly applies to it; a default itself is taken as it is written."""
    if len(at) > _DEPTH_MAX or not isinstance(schema, Mapping):
        return value
    parts = _certain(root, schema)
    if isinstance(value, list | tuple):
        items = next((part["items"] for part in parts if "items" in part), None)
        return [_filled(root, items, each, (*at, place), defaulted) for place, each in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    made: dict[str, Json] = dict(value)
    for part in parts:
        properties = part.get("properties")
        for name, member in properties.items() if isinstance(properties, Mapping) else ():
            if name in value:
                made[name] = _filled(root, member, made[name], (*at, name), defaulted)
            elif name not in made and isinstance(member, Mapping):
                default = next((each["default"] for each in _certain(root, member) if "default" in each), _NONE)
                if default is not _NONE:
                    made[name] = default  # type: ignore[assignment]  # not the mark
                    defaulted.append(pointer_of((*at, name)))
    return made


_NONE: Final = object()


def _certain(root: Mapping[str, Json], schema: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The schemas that apply to a value whatever it is: the schema itself, through `$ref` and `allOf`.

    What anyOf, oneOf and if choose depends on the value, so that their defaults are nobody's.
    """
    parts: list[Mapping[str, Json]] = []
    waiting: list[Json] = [schema]
    while waiting and len(parts) < _PARTS_MAX:
        part = waiting.pop(0)
        if not isinstance(part, Mapping):
            continue
        parts.append(part)
        if isinstance(reference := part.get("$ref"), str):
            waiting.append(resolved(root, reference))
        branches = part.get("allOf")
        waiting.extend(branches if isinstance(branches, list) else ())
    return parts
