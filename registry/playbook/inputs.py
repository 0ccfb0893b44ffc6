"""Whether `inputs` is a JSON Schema that this registry can promise to check: one object, offline, bounded.

Nothing is fetched: references other than `#…` are refused, and the validator is built offline. Patterns run on a
linear engine with a size limit, so that no input can make one hang.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

import jsonschema_rs

from registry.digest import Json
from registry.playbook.limits import DEFAULT_LIMITS, Limits, nodes_and_levels
from registry.playbook.patterns import PAIR_CHECKS_MAX, WEIGHT_MAX, judge
from registry.playbook.spelling import quoted
from registry.playbook.text import Path

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_KEYS = frozenset(
    [
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
SCHEMA_LIST_KEYS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAP_KEYS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})

_REFERENCES = ("$ref", "$dynamicRef")
_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})
# Schemas that apply to the same value: how many are followed for names, and how many may apply in all.
_PARTS_MAX = 16
_APPLIED_MAX = 2_000


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """What is wrong with an input schema; `path` leads there from the schema's root."""

    path: Path
    message: str


def schema_fault(schema: Mapping[str, Json], *, limits: Limits = DEFAULT_LIMITS) -> SchemaFault | None:
    """The first fault of an input schema, or None for one that can be used."""
    if schema.get("type") != "object":
        return SchemaFault(("type",), "inputs must be the schema of an object: write type: object.")
    if nodes_and_levels(schema)[0] > limits.schema_nodes:
        message = f"more than {limits.schema_nodes:,} keys and values: shorten the schema."
        return SchemaFault((), message)
    try:
        jsonschema_rs.meta.validate({**schema, "$schema": DIALECT})
    except jsonschema_rs.ValidationError as error:
        return SchemaFault(tuple(error.instance_path), f"no valid JSON Schema 2020-12: {_cut(error.message)}.")
    faults = (_fault_of(path, each) for path, each in subschemas(schema))
    fault = next((each for each in faults if each), None) or _pattern_fault(schema, limits) or _weight_fault(schema)
    if fault is not None:
        return fault
    try:
        jsonschema_rs.validator_for(
            dict(schema),
            offline=True,
            validate_formats=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=limits.pattern_bytes_compiled),
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        return SchemaFault((), f"this schema cannot be used: {_cut(_first_line(error))}.")
    return None


def subschemas(schema: Mapping[str, Json], path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    """Every schema in a schema, itself first, with the path to it; values of enum, default and the like are data."""
    yield path, schema
    for key, value in schema.items():
        if key in SCHEMA_KEYS and isinstance(value, Mapping):
            yield from subschemas(value, (*path, key))
        elif key in SCHEMA_LIST_KEYS and isinstance(value, list):
            for place, each in enumerate(value):
                if isinstance(each, Mapping):
                    yield from subschemas(each, (*path, key, place))
        elif key in SCHEMA_MAP_KEYS and isinstance(value, Mapping):
            for name, each in value.items():
                if isinstance(each, Mapping):
                    yield from subschemas(each, (*path, key, name))


class DeclaredInputs:
    """The names that an input schema declares, level by level; answers are remembered."""

    def __init__(self, schema: Mapping[str, Json]) -> None:
        self._schema = schema
        self._levels: dict[tuple[str, ...], _Level | None] = {(): _Level(_parts(schema, schema))}

    def names(self) -> tuple[str, ...]:
        """The names of the inputs, sorted."""
        top = self._levels[()]
        return tuple(sorted(top.members)) if top else ()

    def declare(self, segments: tuple[str, ...]) -> bool:
        """Whether the value is declared that a template's path leads to.

        A level below the first that lists no properties (a free object, an array) declares whatever is asked of it,
        a text or a number nothing. Inputs themselves have to be named.
        """
        for depth, segment in enumerate(segments):
            level = self._level(segments[:depth])
            if level is None or segment not in level.members:
                return depth > 0 and (level is None or level.is_open)
        return True

    def _level(self, prefix: tuple[str, ...]) -> "_Level | None":
        """The level at a prefix that is declared; None where its schema says nothing (`true`)."""
        if prefix not in self._levels:
            above = self._level(prefix[:-1])
            found = above.members.get(prefix[-1], []) if above else []
            parts = [part for each in found if isinstance(each, Mapping) for part in _parts(self._schema, each)]
            self._levels[prefix] = _Level(parts) if parts else None
        return self._levels[prefix]


class _Level:
    """What stands at one place of an input: its members with their schemas, and whether others may be there."""

    __slots__ = ("is_open", "members")

    def __init__(self, parts: list[Mapping[str, Json]]) -> None:
        self.members: dict[str, list[Json]] = {}
        for part in parts:
            for name, schema in cast("Mapping[str, Json]", part.get("properties", {})).items():
                self.members.setdefault(name, []).append(schema)
        self.is_open = not self.members and not any(str(part.get("type")) in _SCALARS for part in parts)


def _parts(root: Mapping[str, Json], level: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The level itself and what it is composed of, through allOf and the like and local references."""
    parts: list[Mapping[str, Json]] = []
    waiting = [level]
    while waiting and len(parts) < _PARTS_MAX:
        part = waiting.pop()
        parts.append(part)
        for key in ("allOf", "anyOf", "oneOf"):
            branches = cast("list[Json]", part.get(key, []))[:_PARTS_MAX]
            waiting.extend(each for each in branches if isinstance(each, Mapping))
        reference = part.get("$ref")
        if isinstance(reference, str) and (target := resolved(root, reference)) is not None:
            waiting.append(target)
    return parts


def resolved(root: Mapping[str, Json], reference: str) -> Mapping[str, Json] | None:
    """The schema in `root` that a local reference (`#/$defs/…`) leads to, or None."""
    at: Json = root
    if reference not in {"#", "#/"} and not reference.startswith("#/"):
        return None
    for segment in unquote(reference).removeprefix("#").split("/")[1:]:
        key = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list) and key.isdecimal() and int(key[:6]) < len(at):
            at = at[int(key[:6])]
        elif isinstance(at, Mapping) and key in at:
            at = at[key]
        else:
            return None
    return at if isinstance(at, Mapping) else None


def _fault_of(path: Path, schema: Mapping[str, Json]) -> SchemaFault | None:
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        return SchemaFault(
            (*path, "$schema"), f"inputs are read as JSON Schema 2020-12: remove $schema or write {DIALECT}."
        )
    for key in _REFERENCES:
        reference = schema.get(key, "#")
        if reference != "#" and not str(reference).startswith("#/"):
            message = f"{key} must stay in this file, and nothing is fetched: use $defs and #/$defs/…."
            return SchemaFault((*path, key), message)
    if "$id" in schema:
        return SchemaFault((*path, "$id"), "$id gives references another base: remove it.")
    return None


def _pattern_fault(schema: Mapping[str, Json], limits: Limits) -> SchemaFault | None:
    chars_left, weight_left, checks_left = limits.patterns_chars, WEIGHT_MAX, PAIR_CHECKS_MAX
    seen: set[str] = set()
    for path, pattern in _patterns(schema):
        if pattern in seen:
            continue
        seen.add(pattern)
        chars_left -= len(pattern)
        if chars_left < 0:
            return SchemaFault(path, f"all patterns together are longer than {limits.patterns_chars} characters.")
        found = judge(pattern, limits=limits)
        if found.refusal:
            return SchemaFault(path, f"the pattern {quoted(pattern)} {found.refusal}")
        weight_left, checks_left = weight_left - found.weight, checks_left - found.checks
        if weight_left < 0 or checks_left < 0:
            return SchemaFault(
                path, "all patterns together are too large or too intricate: write fewer or simpler ones."
            )
    return None


def _patterns(schema: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    for path, each in subschemas(schema):
        if isinstance(pattern := each.get("pattern"), str):
            yield (*path, "pattern"), pattern
        named = each.get("patternProperties")
        yield from (((*path, "patternProperties", name), name) for name in named) if isinstance(named, Mapping) else ()


def _weight_fault(schema: Mapping[str, Json]) -> SchemaFault | None:
    """Refuses schemas that apply to one value again and again: round a circle, or doubling from level to level."""
    weights: dict[int, int] = {}
    for path, each in subschemas(schema):
        weight = _weight(schema, each, weights)
        if weight is None:
            return SchemaFault(path, "this schema applies itself to the same value without an end: remove the $ref.")
        if weight > _APPLIED_MAX:
            message = f"more than {_APPLIED_MAX} schemas apply to one value: simplify allOf, anyOf, oneOf and $ref."
            return SchemaFault(path, message)
    return None


def _weight(root: Mapping[str, Json], schema: Mapping[str, Json], weights: dict[int, int]) -> int | None:
    """How many schemas one value is checked against through `schema`; None for a circle.

    `weights` is by the identity of a schema object, 0 while it is being weighed. A loop with its own stack: chains of
    references are as long as the file allows.
    """
    stack = [(schema, False)]
    while stack:
        each, is_weighed = stack.pop()
        if is_weighed:
            weights[id(each)] = min(1 + sum(weights[id(part)] for part in _applied(root, each)), _APPLIED_MAX + 1)
        elif id(each) not in weights:
            weights[id(each)] = 0
            applied = _applied(root, each)
            if any(weights.get(id(part)) == 0 for part in applied):
                return None
            stack.append((each, True))
            stack.extend((part, False) for part in applied if id(part) not in weights)
    return weights[id(schema)]


def _applied(root: Mapping[str, Json], schema: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    found: list[Json] = [schema[key] for key in ("not", "if", "then", "else") if key in schema]
    for key in ("allOf", "anyOf", "oneOf"):
        found.extend(cast("list[Json]", schema.get(key, [])))
    found.extend(cast("Mapping[str, Json]", schema.get("dependentSchemas", {})).values())
    if isinstance(reference := schema.get("$ref"), str):
        found.append(resolved(root, reference))
    return [each for each in found if isinstance(each, Mapping)]


def _first_line(error: Exception) -> str:
    return str(getattr(error, "message", error)).partition("\n")[0]


def _cut(message: str) -> str:
    return message.rstrip(".")[:200]
