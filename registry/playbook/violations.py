"""What is wrong with the inputs of a run: every violation of the playbook's schema, with what would have been allowed.

No value of a caller is quoted in a message, because it may be a secret; what was allowed is the author's own schema.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, cast

import jsonschema_rs

from registry.digest import Json
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.spelling import WORDS_COMPARED_MAX, nearest, quoted
from registry.playbook.text import Path

VIOLATIONS_MAX: Final = 50
_COLLECTED_MAX: Final = 2_000
_CHOICES_SHOWN_MAX: Final = 50
_FORMS_SHOWN_MAX: Final = 5
_TEXT_SHOWN_CHARS: Final = 300
_SAFE_INTEGER: Final = 2**53 - 1

# What a schema says of a value by itself, in the order in which a reader wants to hear it.
_SAYING: Final = (
    "type",
    "enum",
    "const",
    "pattern",
    "format",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "description",
)
_SEVERAL: Final = "oneOf, several"
_NAMING: Final = frozenset({"additionalProperties", "unevaluatedProperties"})
_COMPOSING: Final = frozenset({"anyOf", "oneOf", _SEVERAL, "not"})


@dataclass(frozen=True, slots=True)
class InputLimits:
    """How much one run may be given, each bound with its unit."""

    bytes: int = 256 * 1024
    depth_levels: int = 32
    nodes: int = 10_000


DEFAULT_INPUT_LIMITS: Final = InputLimits()


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong: where (RFC 6901, from the root of the inputs), by which keyword, and what is allowed.

    `allowed` holds keywords of JSON Schema with the author's values, or `names`, the names that an object may have.
    """

    pointer: str
    keyword: str
    message: str
    allowed: Mapping[str, Json] | None = None
    nearest: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The wire's violation; `allowed` and `nearest` only where there is something to say."""
        shown: dict[str, Json] = {"pointer": self.pointer, "keyword": self.keyword, "message": self.message}
        if self.allowed:
            shown["allowed"] = self.allowed
        if self.nearest is not None:
            shown["nearest"] = self.nearest
        return shown


def unreadable(inputs: Json, *, limits: InputLimits = DEFAULT_INPUT_LIMITS) -> tuple[Violation, ...]:
    """Why inputs are not even looked at: no object, too deep, too many values, or what JSON cannot carry exactly.

    Their size in bytes is for the caller to measure, once this found nothing.
    """
    if not isinstance(inputs, Mapping):
        return (Violation("", "type", f"inputs are {kind_of(inputs)}: send an object.", {"type": "object"}),)
    found: list[Violation] = []
    nodes_left = limits.nodes - 1
    waiting: list[tuple[Path, Json]] = [((), inputs)]
    while waiting:
        at, value = waiting.pop()
        nodes_left -= len(value) if isinstance(value, Mapping | list | tuple) else 0
        if nodes_left < 0:
            message = f"there are more than {limits.nodes:,} values: send less, or the name of a file that has them."
            return (Violation("", "nodes", message, {"maxNodes": limits.nodes}),)
        if len(at) > limits.depth_levels:
            message = f"this is nested more than {limits.depth_levels} levels deep: flatten it."
            return (Violation(pointer_of(at), "depth", message, {"maxDepth": limits.depth_levels}),)
        if (why := _inexact(value)) and len(found) < VIOLATIONS_MAX:
            found.append(Violation(pointer_of(at), "json", why))
        if isinstance(value, Mapping):
            waiting.extend(((*at, key), each) for key, each in value.items())
            found.extend(
                Violation(pointer_of(at), "json", "a name here is no text that JSON carries: rename it.")
                for key in islice((key for key in value if _inexact(key)), VIOLATIONS_MAX - len(found))
            )
        elif isinstance(value, list | tuple):
            waiting.extend(((*at, place), each) for place, each in enumerate(value))
    return tuple(sorted(found, key=_order))


def violations_of(
    schema: Mapping[str, Json], inputs: Mapping[str, Json], *, limits: Limits = DEFAULT_LIMITS
) -> tuple[Violation, ...]:
    """Every violation of an input schema that was read before, sorted by pointer; VIOLATIONS_MAX + 1 at most.

    One more than VIOLATIONS_MAX says that there are more. The inputs have to be readable (`unreadable`). Nothing is
    fetched, and patterns run on a linear engine.
    """
    validator = jsonschema_rs.validator_for(
        dict(schema),
        offline=True,
        validate_formats=True,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=limits.pattern_bytes_compiled),
    )
    found: dict[tuple[str, str, str], Violation] = {}
    for error in islice(validator.iter_errors(inputs), _COLLECTED_MAX):
        for each in _violations(schema, error):
            found.setdefault((each.pointer, each.keyword, each.message), each)
    return tuple(sorted(found.values(), key=_order)[: VIOLATIONS_MAX + 1])


def pointer_of(path: Sequence[str | int]) -> str:
    """A path as a JSON pointer; a name that is longer than any schema's is cut."""
    return "".join("/" + str(part)[:_TEXT_SHOWN_CHARS].replace("~", "~0").replace("/", "~1") for part in path)


def kind_of(value: object) -> str:
    """What a value is, as JSON calls it, with an article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return "text" if isinstance(value, str) else "a number"


def _order(each: Violation) -> tuple[str, str, str]:
    return each.pointer, each.keyword, each.message


def _inexact(value: object) -> str | None:
    why = None
    if isinstance(value, str):
        # The cheap test first: a lone surrogate, which an escape in JSON can bring, is no text.
        is_text = value.isascii() or value.encode("utf-8", "ignore").decode() == value
        why = None if is_text else "this is no Unicode text: send it again without lone surrogates."
    elif isinstance(value, int):
        is_exact = -_SAFE_INTEGER <= value <= _SAFE_INTEGER
        why = None if is_exact else "this number is too large for JSON to carry exactly: send it as text."
    elif isinstance(value, float):
        why = None if math.isfinite(value) else "this is no number that JSON has: send a finite one."
    elif value is not None and not isinstance(value, Mapping | list | tuple):
        why = "this is nothing that JSON has."
    return why


def _violations(root: Mapping[str, Json], error: Any) -> Iterator[Violation]:  # noqa: ANN401 - the library's own type has no members
    is_several = type(error.kind).__name__ == "OneOfMultipleValid"
    keyword = _SEVERAL if is_several else str(error.kind.name)
    at: Path = tuple(error.instance_path)
    schema = _schema_at(root, error.schema_path[:-1])
    if keyword == "required":
        yield _missing(schema, at, str(error.kind.value))
    elif keyword in _NAMING:
        for name in error.kind.value:
            yield _unexpected(schema, (*at, str(name)), keyword)
    elif keyword == "propertyNames":
        message = f"the name {quoted(str(error.kind.error.instance), chars=40)} is not one that is allowed here."
        yield Violation(pointer_of(at), keyword, message, _saying(schema) or None)
    elif keyword == "falseSchema":
        yield Violation(pointer_of(at), "false", "nothing may stand here: leave it out.")
    else:
        say = _SENTENCES.get(keyword, lambda _: f"this does not meet {keyword}.")
        allowed = _forms(schema, keyword) if keyword in _COMPOSING else _saying(schema)
        yield Violation(pointer_of(at), "oneOf" if is_several else keyword, say(error), allowed or None)


def _missing(schema: Mapping[str, Json], at: Path, name: str) -> Violation:
    properties = schema.get("properties")
    wanted = properties.get(name) if isinstance(properties, Mapping) else None
    return Violation(
        pointer_of((*at, name)), "required", f"{quoted(name)} is missing: it is required.", _saying(wanted) or None
    )


def _unexpected(schema: Mapping[str, Json], at: Path, keyword: str) -> Violation:
    names = _names(schema)
    name = str(at[-1])
    near = nearest(name, names[:WORDS_COMPARED_MAX], at_most=max(1, min(3, len(name) // 3)))
    hint = f"did you mean {quoted(near)}?" if near else "leave it out, or use a name that is listed."
    message = f"{quoted(name, chars=40)} is not expected here: {hint}"
    return Violation(pointer_of(at), keyword, message, {"names": list(names[:_CHOICES_SHOWN_MAX])}, near)


def _names(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """The names that a schema lists for its object, through what it is composed of at the first level."""
    parts: list[Json] = [schema]
    for key in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(key)
        parts.extend(branches if isinstance(branches, list) else ())
    found: set[str] = set()
    for part in parts:
        properties = part.get("properties") if isinstance(part, Mapping) else None
        found.update(properties if isinstance(properties, Mapping) else ())
    return tuple(sorted(found))


def _forms(schema: Mapping[str, Json], keyword: str) -> dict[str, Json]:
    if keyword == "not":
        return {"not": _saying(schema.get("not"))}
    key = "oneOf" if keyword == _SEVERAL else keyword
    branches = schema.get(key)
    shown = branches[:_FORMS_SHOWN_MAX] if isinstance(branches, list) else []
    return {key: [_saying(branch) for branch in shown]}


def _saying(schema: Json) -> dict[str, Json]:
    """What a schema says of its value by itself, cut to what a reader can take in."""
    if not isinstance(schema, Mapping):
        return {}
    said = {key: _cut(schema[key]) for key in _SAYING if key in schema}
    if names := _names(schema):
        said["names"] = list(names[:_CHOICES_SHOWN_MAX])
    return said


def _cut(value: Json) -> Json:
    if isinstance(value, str):
        return value if len(value) <= _TEXT_SHOWN_CHARS else value[:_TEXT_SHOWN_CHARS] + "…"
    if isinstance(value, list):
        return [_cut(each) for each in value[:_CHOICES_SHOWN_MAX]]
    return value


def _schema_at(root: Mapping[str, Json], path: Sequence[str | int]) -> Mapping[str, Json]:
    at: Json = root
    for part in path:
        if isinstance(at, Mapping) and isinstance(part, str):
            at = at.get(part)
        elif isinstance(at, list) and isinstance(part, int) and part < len(at):
            at = at[part]
        else:
            return {}
    return at if isinstance(at, Mapping) else {}


def _listed(values: Sequence[Json]) -> str:
    return ", ".join(quoted(value) if isinstance(value, str) else str(_cut(value))[:60] for value in values[:10]) + (
        ", …" if len(values) > 10 else ""
    )


def _types(error: Any) -> str:  # noqa: ANN401 - as above
    wanted = " or ".join(str(each) for each in error.kind.value)
    return f"this is {kind_of(error.instance)}: it should be {wanted}."


_Say = Callable[[Any], str]
_SENTENCES: Final[Mapping[str, _Say]] = MappingProxyType(
    {
        "type": _types,
        "enum": lambda error: f"this is none of the values that are allowed: {_listed(error.kind.value)}.",
        "const": lambda error: f"only one value is allowed here: {_listed([error.kind.value])}.",
        "pattern": lambda error: f"this does not match the pattern {quoted(cast('str', error.kind.value), chars=200)}.",
        "format": lambda error: f"this is no {error.kind.value}.",
        "minimum": lambda error: f"this is too small: {error.kind.value} at least.",
        "maximum": lambda error: f"this is too large: {error.kind.value} at most.",
        "exclusiveMinimum": lambda error: f"this is too small: more than {error.kind.value}.",
        "exclusiveMaximum": lambda error: f"this is too large: less than {error.kind.value}.",
        "multipleOf": lambda error: f"this is no multiple of {error.kind.value}.",
        "minLength": lambda error: f"this is too short: {error.kind.value} characters at least.",
        "maxLength": lambda error: f"this is too long: {error.kind.value} characters at most.",
        "minItems": lambda error: f"there are too few: {error.kind.value} at least.",
        "maxItems": lambda error: f"there are too many: {error.kind.value} at most.",
        "uniqueItems": lambda _: "one of these is there twice: each has to be another one.",
        "unevaluatedItems": lambda _: "there are more of these than may be here.",
        "contains": lambda _: "none of these is what one of them has to be.",
        "minProperties": lambda error: f"there are too few members: {error.kind.value} at least.",
        "maxProperties": lambda error: f"there are too many members: {error.kind.value} at most.",
        "not": lambda _: "this is what is not allowed here.",
        "anyOf": lambda error: f"this has none of the {len(error.kind.value)} forms that are allowed.",
        "oneOf": lambda error: f"this has none of the {len(error.kind.value)} forms that are allowed.",
        _SEVERAL: lambda _: "this has more than one of the forms of which it may have one.",
    }
)
