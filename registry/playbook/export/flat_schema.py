"""An input schema as hosts take it: one object, its members side by side, no references.

Many hosts drop a tool in silence whose schema has `oneOf`, `anyOf`, `allOf` or `$ref` at its root, or a `$ref` at all.
This one tells a caller what to send; the registry checks the inputs of a run against the schema as it is written.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from registry.digest import Json
from registry.playbook.export.fields import Fields, mapping_of, texts_of
from registry.playbook.inputs import SCHEMA_KEYS, SCHEMA_LIST_KEYS, SCHEMA_MAP_KEYS, resolved

PARTS_MAX: Final = 64
NODES_MAX: Final = 5_000
"""Schemas at most in the result; a reference beyond that admits anything."""
DEPTH_MAX: Final = 32

_DROPPED: Final = frozenset(
    [
        "$anchor",
        "$comment",
        "$defs",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$ref",
        "$schema",
        "$vocabulary",
        "definitions",
    ]
)
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_NOTES: Final = frozenset({"default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"})
# What says another thing when a part of it admits too much.
_EXACT: Final = frozenset({"if", "not", "oneOf"})


def flat_schema(inputs: Mapping[str, Json] | None) -> dict[str, Json]:
    """The schema of an object with `properties`, `required` where there are some, and nothing composed at its root."""
    if inputs is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    inliner = _Inliner(inputs)
    members: dict[str, list[Json]] = {}
    for part in _parts(inputs):
        for name, schema in mapping_of(part, "properties").items():
            found = inliner.inlined(schema)
            known = members.setdefault(name, [])
            if found not in known:
                known.append(found)
    flat: dict[str, Json] = {"type": "object"}
    if isinstance(said := inputs.get("description"), str):
        flat["description"] = said
    flat["properties"] = {name: found[0] if len(found) == 1 else {"anyOf": found} for name, found in members.items()}
    needed = {name for part in _parts(inputs, ("allOf",)) for name in texts_of(part, "required")}
    if required := sorted(needed & members.keys()):
        flat["required"] = list(required)
    if inputs.get("additionalProperties") is False and "patternProperties" not in inputs:
        flat["additionalProperties"] = False
    return flat


def _parts(root: Fields, branches: tuple[str, ...] = _BRANCHES) -> Iterator[Fields]:
    """The root and the schemas that apply to the same value, through `branches` and references, each once."""
    waiting: list[Fields] = [root]
    seen: set[int] = set()
    while waiting and len(seen) < PARTS_MAX:
        part = waiting.pop(0)
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        for key in branches:
            value = part.get(key)
            waiting.extend(each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else None
        reference = part.get("$ref")
        target = resolved(root, reference) if isinstance(reference, str) else None
        if target is not None:
            waiting.append(target)


class _Inliner:
    """Puts what references lead to into their place, as long as that ends."""

    def __init__(self, root: Fields) -> None:
        self._root = root
        self._nodes_left = NODES_MAX
        self._given_up = 0

    def inlined(self, schema: Json, trail: tuple[str, ...] = (), depth: int = 0) -> Json:
        """The schema without references; one that leads round a circle, too deep or too far admits anything."""
        self._nodes_left -= 1
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if not isinstance(schema, Mapping) or depth > DEPTH_MAX or self._nodes_left < 0:
            self._given_up += 1
            return {}
        made: dict[str, Json] = {}
        for key, value in schema.items():
            if key not in _DROPPED:
                before = self._given_up
                member = self._member(key, value, trail, depth + 1)
                if key not in _EXACT or self._given_up == before:
                    made[key] = member
        if isinstance(schema.get("$ref"), str):
            return self._joined(str(schema["$ref"]), made, trail, depth)
        return made

    def _joined(self, reference: str, made: dict[str, Json], trail: tuple[str, ...], depth: int) -> Json:
        """What `reference` leads to, with what stands beside it."""
        target = resolved(self._root, reference) if reference not in trail else None
        if target is None:
            self._given_up += 1
            return made
        found = self.inlined(target, (*trail, reference), depth + 1)
        if isinstance(found, Mapping) and made.keys() <= _NOTES:
            return {**found, **made}
        others = made.get("allOf")
        return {**made, "allOf": [found, *(others if isinstance(others, list) else ())]}

    def _member(self, key: str, value: Json, trail: tuple[str, ...], depth: int) -> Json:
        if key in SCHEMA_KEYS:
            # `true` and `false` stay: that is how `additionalProperties` is mostly written.
            return value if isinstance(value, bool) else self.inlined(value, trail, depth)
        if key in SCHEMA_LIST_KEYS and isinstance(value, list):
            return [self.inlined(each, trail, depth) for each in value]
        if key in SCHEMA_MAP_KEYS and isinstance(value, Mapping):
            return {name: self.inlined(each, trail, depth) for name, each in value.items()}
        return value
