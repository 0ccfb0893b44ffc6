"""Whether `inputs` is a JSON Schema that this registry can promise to check: one object, offline, bounded.

Nothing is fetched: references other than `#…` are refused, and the validator is built offline. Patterns run on a
linear engine with a size limit, so that no input can make one hang.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import jsonschema_rs

from registry.digest import Json
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.patterns import refusal_of
from registry.playbook.spelling import quoted
from registry.playbook.text import Path

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_KEYS = frozenset(
    ["additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"]
)
SCHEMA_LIST_KEYS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAP_KEYS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})

_REFERENCES = ("$ref", "$dynamicRef")
_HOPS_MAX = 16


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """What is wrong with an input schema; `path` leads there from the schema's root."""

    path: Path
    message: str


def schema_fault(schema: Mapping[str, Json], *, limits: Limits = DEFAULT_LIMITS) -> SchemaFault | None:
    """The first fault of an input schema, or None for one that can be used."""
    if schema.get("type") != "object":
        return SchemaFault(("type",), "inputs must be the schema of an object: write type: object.")
    try:
        jsonschema_rs.meta.validate({**schema, "$schema": DIALECT})
    except jsonschema_rs.ValidationError as error:
        return SchemaFault(tuple(error.instance_path), f"no valid JSON Schema 2020-12: {_cut(error.message)}.")
    for path, each in subschemas(schema):
        if fault := _fault_of(path, each, limits):
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


def declares(schema: Mapping[str, Json], segments: tuple[str, ...]) -> bool:
    """Whether an input schema declares the value that a template's path leads to.

    A level that lists no properties (a free object, an array, a schema that only says `$ref` to itself) is taken as
    declaring what is asked of it, but never the first one: inputs are named.
    """
    levels = [schema]
    for depth, segment in enumerate(segments):
        expanded = [part for level in levels for part in _parts(schema, level)]
        listed = [cast("Mapping[str, Json]", part["properties"]) for part in expanded if "properties" in part]
        found = [properties[segment] for properties in listed if segment in properties]
        if not found:
            return depth > 0 and not listed and not _is_scalar(expanded)
        levels = [each for each in found if isinstance(each, Mapping)]
    return True


def declared_names(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """The names of the inputs, sorted."""
    names: set[str] = set()
    for part in _parts(schema, schema):
        names.update(cast("Mapping[str, Json]", part.get("properties", {})))
    return tuple(sorted(names))


def _parts(root: Mapping[str, Json], level: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The level itself and what it is composed of, through allOf and the like and local references."""
    parts: list[Mapping[str, Json]] = []
    waiting = [level]
    while waiting and len(parts) < _HOPS_MAX:
        part = waiting.pop()
        parts.append(part)
        for key in ("allOf", "anyOf", "oneOf"):
            waiting.extend(each for each in cast("list[Json]", part.get(key, [])) if isinstance(each, Mapping))
        reference = part.get("$ref")
        if isinstance(reference, str) and (target := _resolved(root, reference)) is not None:
            waiting.append(target)
    return parts


def _resolved(root: Mapping[str, Json], reference: str) -> Mapping[str, Json] | None:
    at: Json = root
    if reference not in {"#", "#/"} and not reference.startswith("#/"):
        return None
    for segment in reference.removeprefix("#").split("/")[1:]:
        key = segment.replace("~1", "/").replace("~0", "~")
        if not isinstance(at, Mapping) or key not in at:
            return None
        at = at[key]
    return at if isinstance(at, Mapping) else None


def _is_scalar(parts: list[Mapping[str, Json]]) -> bool:
    return any(part.get("type") in {"string", "number", "integer", "boolean", "null"} for part in parts)


def _fault_of(path: Path, schema: Mapping[str, Json], limits: Limits) -> SchemaFault | None:
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        return SchemaFault(
            (*path, "$schema"), f"inputs are read as JSON Schema 2020-12: remove $schema or write {DIALECT}."
        )
    for key in _REFERENCES:
        reference = schema.get(key, "#")
        if not isinstance(reference, str) or not reference.startswith("#"):
            message = f"{key} leads out of this file, and nothing is fetched: put the schema under $defs and refer to #/$defs/…."
            return SchemaFault((*path, key), message)
    if "$id" in schema:
        return SchemaFault((*path, "$id"), "$id gives references another base: remove it.")
    patterns = [(("pattern",), schema.get("pattern"))]
    named = schema.get("patternProperties")
    patterns += [(("patternProperties", each), each) for each in named] if isinstance(named, Mapping) else []
    for place, pattern in patterns:
        if isinstance(pattern, str) and (why := refusal_of(pattern, limits=limits)):
            return SchemaFault((*path, *place), f"the pattern {quoted(pattern)} {why}")
    return None


def _first_line(error: Exception) -> str:
    return str(getattr(error, "message", error)).partition("\n")[0]


def _cut(message: str) -> str:
    return message.rstrip(".")[:200]
