"""The three tools as plain data: names, descriptions, schemas, and the check of a call's arguments.

Everything here is shared by the endpoint and by the bridge over stdio, whose process may cost next to nothing to
start: the standard library alone, and little of it. Schemas stay flat (no `oneOf`, `anyOf`, `allOf` or `$ref`), since
hosts drop a tool silently whose schema they cannot digest.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

SERVER_NAME: Final = "playbook-registry"
SERVER_TITLE: Final = "Playbook Registry"
SEARCH: Final = "search_playbooks"
GET: Final = "get_playbook"
EXECUTE: Final = "execute_playbook"

TASK_LENGTH_MAX: Final = 8_000
"""Characters of a task; search weighs two dozen words of it."""
NAME_LENGTH_MAX: Final = 256
"""Characters of a name as it is written; its folded form has 64 at most."""
TAGS_MAX: Final = 20
TAG_LENGTH_MAX: Final = 100
RUN_ID_LENGTH_MAX: Final = 64
LIMIT_DEFAULT: Final = 5
LIMIT_MAX: Final = 20
TOOLS_TTL_MS: Final = 3_600_000
"""How long a host may keep the list of tools, which changes with a release alone."""

Json = Any  # whatever json.loads gives: this module checks it, and has no use for a narrower name
Schema = Mapping[str, Any]

INSTRUCTIONS: Final = (
    "Playbooks are this organisation's own reviewed procedures: how this repository is deployed, rolled back, "
    "repaired, migrated, restored, released and looked after here. Before you plan or begin a task of that kind, call "
    "search_playbooks with the task in your own words, even if you believe you know how. If a result fits, read it "
    "with get_playbook and carry it out with execute_playbook instead of improvising; a playbook marked required is "
    "not optional. Check not_for: it names near misses. If nothing fits (results is empty, or weak is true and no "
    "purpose matches), say so and go on without one. Every answer names the snapshot that it comes from, and for "
    "each playbook its source and version: repeat them in your report."
)
"""What a model reads before any tool: Claude Code shows it instead of tools that it defers."""

_DIGEST_PATTERN: Final = "^sha256:[0-9a-f]{64}$"
_META: Final[Mapping[str, Json]] = {"anthropic/alwaysLoad": True}
_NAME: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_LENGTH_MAX,
    "description": "The playbook's name, as a search shows it.",
}

_STATE: Final[Schema] = {
    "type": "object",
    "description": "How current the answer is, and whether the repository is registered.",
    "properties": {
        "freshness": {"type": "string", "enum": ["fresh", "stale", "offline"]},
        "age_s": {"type": "integer", "description": "Seconds since the older of its sources was last checked."},
        "registered": {"type": "boolean", "description": "False: the answer is from the central catalog alone."},
        "repository": {"type": ["string", "null"], "description": "Whose catalog was asked; null is central's own."},
        "note": {"type": "string", "description": "What to know about it, if there is something."},
    },
    "required": ["freshness", "age_s", "registered", "repository"],
}
_SOURCE: Final[Schema] = {
    "type": "object",
    "description": "Where this copy was read: kind is central, local or worktree.",
    "properties": {
        "kind": {"type": "string"},
        "repository": {"type": "string"},
        "commit": {"type": ["string", "null"]},
        "path": {"type": "string"},
    },
}
_ANSWER: Final[Schema] = {
    "snapshot": {"type": "string", "description": "Digest of the catalog that this answer is from."},
    "state": _STATE,
}
_PROBLEM: Final[Schema] = {
    "type": {"type": "string", "description": "Only in an error: which problem it is."},
    "status": {"type": "integer", "description": "Only in an error: the HTTP status it would be."},
    "detail": {"type": "string", "description": "Only in an error: what was found and what to do about it."},
}
_COPY: Final[Schema] = {
    "name": {"type": "string"},
    "version": {"type": "string"},
    "digest": {"type": "string", "description": "Names exactly this copy."},
    "source": _SOURCE,
}


def _output(**properties: Schema) -> dict[str, Json]:
    # Nothing is required at the root, and other members are allowed: some hosts check an error's body against this
    # schema too, and would show the model a complaint about the schema instead of the error.
    return {"type": "object", "properties": {**_ANSWER, **properties, **_PROBLEM}}


TOOLS: Final[tuple[Mapping[str, Json], ...]] = (
    {
        "name": SEARCH,
        "title": "Search playbooks",
        "description": (
            "Find this organisation's own procedure for a task: deploying, rolling back, repairing, migrating, "
            "restoring, releasing, rotating and the like, for the repository at hand. Call it before you begin such "
            "a task. Results are ranked, best first, and hold no steps: read one with get_playbook."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "task": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": TASK_LENGTH_MAX,
                    "description": "What is to be done, in your own words, with what you see (errors, service names).",
                },
                "tags": {
                    "type": "array",
                    "maxItems": TAGS_MAX,
                    "items": {"type": "string", "minLength": 1, "maxLength": TAG_LENGTH_MAX},
                    "description": "Tags that the playbook probably carries. They raise results and drop none.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": LIMIT_MAX,
                    "default": LIMIT_DEFAULT,
                    "description": "Results at most.",
                },
            },
            "required": ["task"],
            "additionalProperties": False,
        },
        "outputSchema": _output(
            results={
                "type": "array",
                "description": "Best first; empty where nothing fits.",
                "items": {
                    "type": "object",
                    "properties": {
                        **_COPY,
                        "purpose": {"type": "string", "description": "What it is for, in one line."},
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "not_for": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Near misses: if one of them is your task, this is not your playbook.",
                        },
                        "required": {"type": "boolean", "description": "No other way of doing this is allowed."},
                        "deprecated": {"type": ["object", "null"], "description": "Since when, and what to use."},
                    },
                    "required": ["name", "version", "digest", "source"],
                },
            },
            weak={"type": "boolean", "description": "True: nothing fits well. Do not force the first result."},
            note={"type": "string", "description": "What to do with this result, if it needs saying."},
        ),
        "annotations": {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": True},
        "_meta": _META,
    },
    {
        "name": GET,
        "title": "Read a playbook",
        "description": (
            "Read one playbook: its inputs with the values they allow, preconditions, ordered steps with their tools, "
            "stop conditions, verification and what it requires, and why this copy serves this repository. Reading "
            "opens no run: carry it out with execute_playbook."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": _NAME,
                "digest": {
                    "type": "string",
                    "pattern": _DIGEST_PATTERN,
                    "description": "Ask for exactly this copy instead of the one that serves.",
                },
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        "outputSchema": _output(
            **_COPY,
            serves={"type": "boolean", "description": "Whether this copy serves this repository now."},
            why={"type": "string", "description": "Why this copy serves and no other."},
            required={"type": "boolean"},
            deprecated={"type": ["object", "null"]},
            allowed_values={
                "type": "object",
                "description": "Input name -> the only values that it takes.",
            },
            prerequisites={
                "type": "array",
                "description": "What must be there before a run; met is null where only the host can tell.",
                "items": {
                    "type": "object",
                    "properties": {
                        "kind": {"type": "string"},
                        "name": {"type": "string"},
                        "met": {"type": ["boolean", "null"]},
                        "note": {"type": "string"},
                    },
                    "required": ["kind", "name", "met"],
                },
            },
            contract={"type": "object", "description": "The playbook itself; digest is the hash of exactly this."},
        ),
        "annotations": {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": True},
        "_meta": _META,
    },
    {
        "name": EXECUTE,
        "title": "Execute a playbook",
        "description": (
            "Open a run of the playbook that serves and get it bound to your inputs: preconditions to check, ordered "
            "steps with the tools that each may use, stop conditions with the one question each hands back, and how "
            "to verify and report. Inputs are checked and your authority is asked first; nothing is run for you."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": _NAME,
                "inputs": {
                    "type": "object",
                    "default": {},
                    "description": "Values for the playbook's inputs, as get_playbook describes them.",
                },
                "digest": {
                    "type": "string",
                    "pattern": _DIGEST_PATTERN,
                    "description": "The copy that you have read; refused if another one serves by now.",
                },
                "task": {
                    "type": "string",
                    "maxLength": TASK_LENGTH_MAX,
                    "description": "The task that this run is for, in your own words. Kept with the run.",
                },
                "run_id": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": RUN_ID_LENGTH_MAX,
                    "description": "Of a run that you have opened: get its procedure again. Give name and this alone.",
                },
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        "outputSchema": _output(
            **_COPY,
            run_id={"type": "string", "description": "Names the open run: repeat it in your report."},
            run={"type": "object", "description": "The run as it is recorded."},
            procedure={"type": "object", "description": "What to do, bound to the inputs."},
        ),
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        "_meta": _META,
    },
)
"""The tools in their fixed order, as `tools/list` shows them (MCP 2026-07-28, Tools)."""

_BY_NAME: Final = {str(tool["name"]): tool for tool in TOOLS}
NAMES: Final = tuple(_BY_NAME)


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault of a call's arguments: where (RFC 6901) and, as a sentence, what was found and what is allowed."""

    pointer: str
    message: str

    def to_json(self) -> dict[str, Json]:
        """The element of a problem's `violations`."""
        return {"pointer": self.pointer, "message": self.message}


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments, checked, with defaults in their place; or what is wrong with them."""

    values: Mapping[str, Json]
    violations: tuple[Violation, ...] = ()


def read_arguments(name: str, arguments: Json) -> Arguments:
    """The arguments of a call of one of NAMES, every violation of its schema told at once.

    An optional argument that is null is taken as absent: models send that for "none". Raises KeyError for another
    name.
    """
    schema = _BY_NAME[name]["inputSchema"]
    properties: Mapping[str, Schema] = schema["properties"]
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping):
        return Arguments({}, (Violation("", f"arguments are {_kind(given)}: send an object."),))
    needed: Sequence[str] = schema["required"]
    present = {key: value for key, value in given.items() if value is not None or key in needed}
    violations: list[Violation] = []
    for key, value in present.items():
        member = properties.get(key)
        if member is None:
            violations.append(Violation(_pointer(key), _unknown(str(key), tuple(properties))))
        else:
            violations += _faults(_pointer(key), value, member)
    violations += [
        Violation(_pointer(key), f"{key} is missing: {properties[key]['description']}")
        for key in needed
        if key not in present
    ]
    if violations:
        return Arguments({}, tuple(violations))
    defaults = {key: member["default"] for key, member in properties.items() if "default" in member}
    return Arguments({**defaults, **{key: _settled(value, properties[key]) for key, value in present.items()}})


def clean(text: str) -> str:
    """The text with `?` for halves of surrogate pairs, which JSON can escape and UTF-8 cannot say."""
    return text.encode("utf-8", "replace").decode()


def unknown_tool(name: str) -> str:
    """The sentence about a tool that is not there."""
    return f"there is no tool {name[:80]!r}: {_unknown(name, NAMES).partition(': ')[2]}"


def _faults(at: str, value: Json, schema: Schema) -> list[Violation]:
    """What is wrong with one value by the few keywords that the schemas above use."""
    kind = schema["type"]
    if not _is(value, kind):
        return [Violation(at, f"is {_kind(value)}: give {_ARTICLE[kind]}.")]
    if kind == "string":
        return _text_faults(at, value, schema)
    if kind == "integer" and not schema["minimum"] <= value <= schema["maximum"]:
        return [Violation(at, f"is {value}: give a number from {schema['minimum']} to {schema['maximum']}.")]
    if kind == "array":
        if len(value) > schema["maxItems"]:
            return [Violation(at, f"has {len(value)} elements: give {schema['maxItems']} at most.")]
        return [fault for place, each in enumerate(value) for fault in _faults(f"{at}/{place}", each, schema["items"])]
    return []


def _text_faults(at: str, value: str, schema: Schema) -> list[Violation]:
    if clean(value) != value:
        return [Violation(at, "has half of a surrogate pair: send text that UTF-8 can say.")]
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if len(value.strip()) < least:
        return [Violation(at, "is empty: give some text.")]
    if most is not None and len(value) > most:
        return [Violation(at, f"has {len(value)} characters: give {most} at most.")]
    if "pattern" in schema and not re.fullmatch(schema["pattern"].strip("^$"), value):
        return [Violation(at, f"is {value[:80]!r}: expected sha256: and 64 hexadecimal digits.")]
    return []


def _is(value: Json, kind: str) -> bool:
    if kind == "integer":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    expected: type = {"string": str, "array": list, "object": dict}[kind]
    return isinstance(value, expected)


def _settled(value: Json, schema: Schema) -> Json:
    """5.0 is an integer in JSON Schema, and 5 is what it means."""
    return int(value) if schema["type"] == "integer" else value


_ARTICLE: Final = {"string": "a text", "integer": "a whole number", "array": "a list", "object": "an object"}


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    named = ((str, "a text"), (int, "a number"), (float, "a number"), (list, "a list"), (dict, "an object"))
    return next((text for kind, text in named if isinstance(value, kind)), "something else")


def _pointer(key: object) -> str:
    return "/" + clean(str(key)[:80]).replace("~", "~0").replace("/", "~1")


def _unknown(name: str, known: Sequence[str]) -> str:
    import difflib  # noqa: PLC0415 - only a mistaken call needs it

    nearest = difflib.get_close_matches(name[:80], known, 1, 0.6)
    return f"is not known: did you mean {nearest[0]}?" if nearest else f"is not known: it takes {', '.join(known)}."
