"""OpenPlaybook: its envelope of tools, requirements and agent steps to a playbook (playbook-format.md, OpenPlaybook).

The members that this registry knows get its own names; all others, and steps of other kinds than `agent`, are carried
through as they are written.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from registry.digest import Json
from registry.playbook.definitions import tool_remarks
from registry.playbook.foreign import (
    Notes,
    finished,
    json_fields,
    mappings,
    refuse_bidi,
    says_required,
    take_name,
    texts,
    warn_misspelt,
)
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.load import Loaded
from registry.playbook.native import Role, Verdict
from registry.playbook.requirements import secret_places
from registry.playbook.spelling import quoted
from registry.playbook.text import Numeral, Path

OPENPLAYBOOK_DOCUMENT: Final = "openplaybook/1"
OPENPLAYBOOK_ENDING: Final = ".openplaybook.json"
OPENPLAYBOOK_MARKS: Final = frozenset({"tools", "requires", "steps"})

Fields = Mapping[str, Json]

_MANIFEST = "manifest"
_KNOWN = frozenset(
    {*OPENPLAYBOOK_MARKS, _MANIFEST, "name", "version", "purpose", "description", "owner", "tags", "required"}
)
_AGENT = "agent"
_TOOL_NAMES = {
    "inputSchema": "input_schema",
    "outputSchema": "output_schema",
    "riskClass": "risk",
    "requiresApproval": "requires_approval",
    "sideEffecting": "side_effecting",
}
_STEP_NAMES = {"allowedTools": "allowed_tools"}
_REQUIRES_NAMES = {"mcpServers": "mcp_servers"}
_CONNECTION_NAMES = {"authKind": "auth_kind"}
# Where an agent step says what to do, besides `instruction`; the member itself stays where it is.
_INSTRUCTIONS = ("instructions", "prompt", "goal", "task", "description")
_SOURCES = ("primitive", "connector", "mcp")
_RISKS = ("read", "internal", "customer_comms", "money")
_ENDS = frozenset({"end", "done", "stop", "finish", "fail", "escalate"})
_SERVER_MARKS = (".", ":", "/", "__")


def stem_of(path: str) -> str:
    """The name of a file without its endings, which names a document that names itself nowhere."""
    name = path.rpartition("/")[2]
    for ending in (OPENPLAYBOOK_ENDING, ".json"):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def read_openplaybook(loaded: Loaded, *, path: str, blob: str, role: Role, limits: Limits = DEFAULT_LIMITS) -> Verdict:
    """The playbook of a loaded OpenPlaybook document, with everything that is wrong with it."""
    notes = Notes(loaded, path=path, blob=blob, role=role, limits=limits)
    fields = json_fields(notes)
    if fields is None:
        return Verdict(None, notes.problems)
    head = _Head(fields)
    written, at = head.text("name")
    title = written or stem_of(path)
    key = take_name(notes, title, at)
    required = says_required(notes, fields)
    purpose = _purpose(notes, head, key or "")
    for place, message in islice(secret_places(fields.get("requires")), limits.problems_per_file):
        notes.at_value("secret-value", place, message)
    steps = _steps(notes, fields)
    contract = _contract(notes, head, key or "", purpose, steps)
    _check_tools(notes, contract, limits)
    _lint(notes, fields, contract)
    step_texts = [str(step["instruction"]) for _, step in mappings(steps) if isinstance(step.get("instruction"), str)]
    return notes.verdict(
        lambda: finished(notes, contract, key=key or "", title=title, required=required, step_texts=step_texts)
    )


class _Head:
    """The members that stand at the root or under `manifest`; the root goes first."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        manifest = fields.get(_MANIFEST)
        self._manifest: Fields = manifest if isinstance(manifest, Mapping) else {}

    def text(self, member: str) -> tuple[str | None, Path]:
        """The text of a member and its place; (None, ()) where neither has one."""
        for fields, at in ((self.fields, ()), (self._manifest, (_MANIFEST,))):
            value = fields.get(member)
            if isinstance(value, str) and value.strip():
                return value, (*at, member)
        return None, ()

    def tags(self) -> list[Json]:
        """The tags that are texts."""
        return list(texts(self.fields.get("tags")) or texts(self._manifest.get("tags")))


def _purpose(notes: Notes, head: _Head, key: str) -> str:
    for member in ("purpose", "description"):
        text, at = head.text(member)
        if text is not None:
            refuse_bidi(notes, text, at)
            return text
    notes.on_file("no-purpose", "purpose is missing, so the name stands in: say what this playbook is for.")
    return key.replace("-", " ")


def _version(notes: Notes, head: _Head) -> str | None:
    """The version as it is written, a number too."""
    raw: object = notes.loaded.data.get(_MANIFEST)
    inner = raw.get("version") if isinstance(raw, dict) else None
    for value, at in ((notes.loaded.data.get("version"), ("version",)), (inner, (_MANIFEST, "version"))):
        if isinstance(value, Numeral):
            message = "the version is written as a number, which other readers change (1.20 becomes 1.2): quote it."
            notes.at_value("version-not-text", at, message)
            return str(value)
    return head.text("version")[0]


def _steps(notes: Notes, fields: Fields) -> list[Json]:
    steps = fields.get("steps")
    if not isinstance(steps, list) or not steps:
        found = "should be a list with at least one step" if "steps" in fields else "is missing"
        notes.at_value("field-missing", ("steps",) if "steps" in fields else (), f"steps {found}: write the steps.")
        return []
    ids = {str(step["id"]) for _, step in mappings(steps) if isinstance(step.get("id"), str)}
    listed = sorted(ids)
    for place, step in mappings(steps):
        for after in _nexts(step.get("next")):
            if after not in ids and after.casefold() not in _ENDS and not notes.full:
                message = f"no step has the id {quoted(after)}: {notes.hint(after, listed)}"
                notes.at_value("next-unknown", ("steps", place, "next"), message)
    return [_step(step) for step in steps]


def _nexts(value: Json) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else texts(value)


def _is_agent(step: Fields) -> bool:
    return step.get("kind", step.get("type", _AGENT)) == _AGENT


def _step(step: Json) -> Json:
    if not isinstance(step, Mapping) or not _is_agent(step):
        return step
    made = _renamed(step, _STEP_NAMES)
    if "instruction" not in made:
        text = next((step[name] for name in _INSTRUCTIONS if isinstance(step.get(name), str)), None)
        if text is not None:
            made["instruction"] = text
    return made


def _contract(notes: Notes, head: _Head, key: str, purpose: str, steps: list[Json]) -> dict[str, Json]:
    fields = head.fields
    extra = {name: value for name, value in fields.items() if name not in {"steps", "required"}}
    contract: dict[str, Json] = {"document": OPENPLAYBOOK_DOCUMENT, "name": key, "purpose": purpose, "steps": steps}
    if (version := _version(notes, head)) is not None:
        contract["version"] = version
    if (owner := head.text("owner")[0]) is not None:
        contract["owner"] = owner
    if tags := head.tags():
        contract["tags"] = tags
    if isinstance(tools := fields.get("tools"), list):
        contract["tools"] = [_renamed(tool, _TOOL_NAMES) if isinstance(tool, Mapping) else tool for tool in tools]
        del extra["tools"]
    if isinstance(requires := fields.get("requires"), Mapping):
        contract["requires"] = _requires(requires)
        del extra["requires"]
    for member in ("name", "purpose", "description", "version", "owner", "tags"):
        if member in extra and extra[member] == contract.get("purpose" if member == "description" else member):
            del extra[member]
    if extra:
        contract["extra"] = extra
    return contract


def _requires(requires: Fields) -> dict[str, Json]:
    made = _renamed(requires, _REQUIRES_NAMES)
    connections = made.get("connections")
    if isinstance(connections, list):
        made["connections"] = [
            _renamed(each, _CONNECTION_NAMES) if isinstance(each, Mapping) else each for each in connections
        ]
    return made


def _renamed(fields: Fields, names: Mapping[str, str]) -> dict[str, Json]:
    """The members under this registry's names; one whose new name is taken keeps its own."""
    return {
        names[name] if name in names and names[name] not in fields else name: value for name, value in fields.items()
    }


def _check_tools(notes: Notes, contract: Fields, limits: Limits) -> None:
    for at, message in islice(_undeclared(notes, contract), limits.problems_per_file):
        notes.at_value("tool-undeclared", at, message)
    for code, at, message in tool_remarks(contract.get("tools")):
        notes.at_value(code, at, message)


def _undeclared(notes: Notes, contract: Fields) -> Iterator[tuple[Path, str]]:
    """Names on a step's allow-list that neither `tools` nor `requires` declares."""
    declared = {str(tool["name"]) for _, tool in mappings(contract.get("tools")) if isinstance(tool.get("name"), str)}
    requires = contract.get("requires")
    servers: set[str] = set()
    for _, server in mappings(requires.get("mcp_servers") if isinstance(requires, Mapping) else None):
        listed = texts(server.get("tools"))
        declared.update(listed)
        if not listed and isinstance(server.get("name"), str):
            servers.add(str(server["name"]))
    known = sorted(declared)
    for place, step in mappings(contract.get("steps")):
        if not _is_agent(step):
            continue
        for member, written in (("allowed_tools", "allowedTools"), ("allowedTools", "allowedTools")):
            for nth, name in enumerate(texts(step.get(member))):
                if name not in declared and not _is_of_server(name, servers):
                    message = f"{quoted(name)} is allowed here and declared nowhere: {notes.hint(name, known)}"
                    yield ("steps", place, written, nth), message


def _is_of_server(name: str, servers: set[str]) -> bool:
    """Whether a tool belongs to a server that is required without a list of its tools."""
    bare = name.removeprefix("mcp__")
    return any(bare.partition(mark)[0] in servers for mark in _SERVER_MARKS if mark in bare)


def _lint(notes: Notes, fields: Fields, contract: Fields) -> None:
    warn_misspelt(notes, fields, _KNOWN)
    for member, wanted in (("tools", list), ("requires", Mapping), (_MANIFEST, Mapping)):
        if member in fields and not isinstance(fields[member], wanted):
            notes.mismatch((member,), "a list" if wanted is list else "a mapping", fields[member])
    for place, tool in mappings(contract.get("tools")):
        if notes.full:
            return
        _lint_tool(notes, place, tool)
    requires = contract.get("requires")
    for member, value in requires.items() if isinstance(requires, Mapping) else ():
        if member in {"connections", "mcp_servers", "secrets"} and not isinstance(value, list):
            notes.mismatch(("requires", member), "a list", value)


def _lint_tool(notes: Notes, place: int, tool: Fields) -> None:
    at: Path = ("tools", place)
    if not isinstance(tool.get("name"), str):
        notes.at_value("type-mismatch", at, "a tool without a name is kept, and no step can use it: name it.")
    for member, values in (("source", _SOURCES), ("risk", _RISKS)):
        if member in tool and tool[member] not in values:
            message = f"{member} should be one of {', '.join(values)}; it is kept as it is."
            notes.at_value("type-mismatch", (*at, _written(member)), message)
    for member in ("requires_approval", "side_effecting"):
        if member in tool and not isinstance(tool[member], bool):
            notes.mismatch((*at, _written(member)), "true or false", tool[member])
    for member in ("input_schema", "output_schema"):
        if member in tool and not isinstance(tool[member], Mapping):
            notes.mismatch((*at, _written(member)), "a mapping", tool[member])


def _written(member: str) -> str:
    return next((name for name, ours in _TOOL_NAMES.items() if ours == member), member)
