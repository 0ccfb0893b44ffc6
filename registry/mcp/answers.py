"""What the tools answer, as plain data; shared by the endpoint and the bridge, and as light as tools.py.

The same JSON goes into the text and into the structured content of a result: some hosts show the model the one, some
the other.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from registry.mcp.tools import Violation, clean

Json = Any
Object = dict[str, Json]

PURPOSE_LENGTH_MAX: Final = 320
"""Characters of a purpose in one line of a search; the whole of it is in the playbook."""
ALLOWED_VALUES_MAX: Final = 50
"""Values that are shown of one input; the schema has all of them."""

NOTHING_FITS: Final = (
    "No playbook of this catalog fits the task. Say so and go on without one; do not take one that is for something "
    "else. Other words may find one: name what is broken, and what you want to do about it."
)
WEAK: Final = "Nothing fits well. Read purpose and not_for before you take one; if none is meant, go on without."
UNREGISTERED: Final = "This repository is not registered: the answer is from the central catalog alone."
_SOURCE_MEMBERS: Final = ("kind", "repository", "commit", "path")
_REQUIREMENTS: Final = (("connections", "connection", "provider"), ("mcp_servers", "mcp_server", "name"),
                        ("secrets", "secret", "name"))  # fmt: skip
_ONLY_THE_HOST: Final = "Only the host can tell whether this is there."


def state(freshness: str, age_s: int, *, registered: bool, repository: str | None, note: str = "") -> Object:
    """The `state` of every answer; `freshness` is fresh, stale or offline, `repository` whose catalog was asked."""
    notes = [*([] if registered or repository is None else [UNREGISTERED]), *([note] if note else [])]
    return {
        "freshness": freshness,
        "age_s": age_s,
        "registered": registered,
        "repository": repository,
        **({"note": " ".join(notes)} if notes else {}),
    }


def search_answer(*, snapshot: str, state: Object, entries: Iterable[Mapping[str, Json]], weak: bool) -> Object:
    """The answer of `search_playbooks`; `entries` are search rows or catalog entries of the wire, best first."""
    results = [search_row(entry) for entry in entries]
    note = NOTHING_FITS if not results else WEAK if weak else None
    answer = {"snapshot": snapshot, "state": state, "results": results, "weak": weak or not results}
    return answer if note is None else {**answer, "note": note}


def search_row(entry: Mapping[str, Json]) -> Object:
    """One row: enough to choose by, and never a contract."""
    return {
        "name": entry["name"],
        "purpose": one_line(entry["purpose"]),
        "tags": entry["tags"],
        "not_for": entry["not_for"],
        "version": entry["version"],
        "source": source(entry["source"]),
        "digest": entry["digest"],
        "required": entry["required"],
        "deprecated": entry["deprecated"],
    }


def source(full: Mapping[str, Json]) -> Object:
    """Where a copy was read, without the hash of the file."""
    return {member: full[member] for member in _SOURCE_MEMBERS if member in full}


def one_line(text: str) -> str:
    """The text with its white space as single spaces, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= PURPOSE_LENGTH_MAX:
        return line
    return line[:PURPOSE_LENGTH_MAX].rpartition(" ")[0] + " …"


def playbook_answer(
    *, state: Object, entry: Mapping[str, Json], why: str, access: tuple[bool, str] | None = None
) -> Object:
    """The answer of `get_playbook`: a wire's entry with `contract`, `serves` and `snapshot`, and what goes with it.

    `access` is (may the caller execute it, why), None where nobody was asked.
    """
    contract: Mapping[str, Json] = entry["contract"]
    allowed = allowed_values(contract.get("inputs"))
    return {
        "snapshot": entry["snapshot"],
        "state": state,
        **{key: value for key, value in entry.items() if key not in {"snapshot", "contract", "serves", "source"}},
        "source": source(entry["source"]),
        "serves": entry["serves"],
        "why": why,
        **({"allowed_values": allowed} if allowed else {}),
        "prerequisites": [*_access(access), *prerequisites(contract)],
        "contract": contract,
    }


def execute_answer(opened: Mapping[str, Json]) -> Object:
    """The answer of `execute_playbook`: an opened run as HTTP answers it, and beside it the copy that it is of."""
    run: Mapping[str, Json] = opened["run"]
    copy = {member: run[member] for member in ("name", "version", "digest")}
    return {**opened, **copy, "source": source(run["source"])}


def allowed_values(schema: Json) -> Object:
    """The values that each top-level input takes, of those that take only some: name -> values."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    found: Object = {}
    for name, member in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(member, Mapping):
            continue
        if isinstance(member.get("enum"), list):
            found[name] = member["enum"][:ALLOWED_VALUES_MAX]
        elif "const" in member:
            found[name] = [member["const"]]
        elif member.get("type") == "boolean":
            found[name] = [False, True]
    return found


def prerequisites(contract: Mapping[str, Json]) -> list[Object]:
    """What a contract `requires`, one row each. The registry has none of it: whether it is there, the host knows."""
    return list(_requirements(contract.get("requires")))


def _requirements(requires: Json) -> Iterator[Object]:
    for member, kind, named_by in _REQUIREMENTS if isinstance(requires, Mapping) else ():
        for each in requires.get(member) or ():
            if isinstance(each, Mapping):
                purpose = each.get("purpose")
                note = f"{purpose} {_ONLY_THE_HOST}" if isinstance(purpose, str) else _ONLY_THE_HOST
                yield {"kind": kind, "name": str(each.get(named_by, "")), "met": None, "note": note}


def _access(access: tuple[bool, str] | None) -> list[Object]:
    if access is None:
        return []
    allowed, reason = access
    return [{"kind": "access", "name": "execute", "met": allowed, "note": reason}]


def problem(code: str, title: str, status: int, detail: str, **extra: Json) -> Object:
    """A problem body (RFC 9457) as HTTP has it."""
    return {"type": f"/problems/{code}", "title": title, "status": status, "detail": detail, **extra}


def invalid_arguments(tool: str, violations: Sequence[Violation]) -> Object:
    """The problem of arguments that are not what the tool takes."""
    faults = "; ".join(f"{fault.pointer or 'the call'} {fault.message.rstrip('.')}" for fault in violations[:5])
    return problem(
        "request-invalid",
        "Request not understood",
        400,
        f"{tool} cannot be called like this: {faults}.",
        violations=[fault.to_json() for fault in violations],
    )


def call_result(body: Object, *, is_error: bool = False) -> Object:
    """A `tools/call` result that carries the body as text and as structured content. Raises ValueError for NaN."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if clean(text) != text:
        # What a caller sent comes back in messages.
        text = clean(text)
        body = json.loads(text)
    return {"content": [{"type": "text", "text": text}], "structuredContent": body, "isError": is_error}
