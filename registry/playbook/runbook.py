"""runbook.v1: a governed run's manifest to a playbook (playbook-format.md, Mapping the others)."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from registry.digest import Json
from registry.playbook.foreign import (
    Notes,
    finished,
    json_fields,
    kind_of,
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

RUNBOOK_DOCUMENT: Final = "runbook/1"
RUNBOOK_ENDING: Final = ".runbook.json"
RUNBOOK_MARKS: Final = frozenset({"runbook_id", "mode", "checkpoints"})
WILDCARDS_MAX: Final = 100

_RUN_KEYS = ("mode", "failure_policy", "allowed_tools", "checkpoints", "completion")
_HEAD_KEYS = ("version", "owner", "tags", "requires")
_KNOWN = frozenset({*RUNBOOK_MARKS, *_RUN_KEYS, *_HEAD_KEYS, "title", "description", "required"})
_TEXTS = ("title", "description", "owner", "failure_policy")
_MODES = ("required", "advisory")


def read_runbook(loaded: Loaded, *, path: str, blob: str, role: Role, limits: Limits = DEFAULT_LIMITS) -> Verdict:
    """The playbook of a loaded runbook.v1 manifest, with everything that is wrong with it.

    Its document has no steps; what governs the run stands under `runbook`, and what has no place of its own verbatim
    under `extra`.
    """
    notes = Notes(loaded, path=path, blob=blob, role=role, limits=limits)
    fields = json_fields(notes)
    if fields is None:
        return Verdict(None, notes.problems)
    written = fields.get("runbook_id")
    key = _key(notes, fields)
    for at, message in islice(secret_places(fields.get("requires")), limits.problems_per_file):
        notes.at_value("secret-value", at, message)
    for at, message in islice(_unmet(notes, fields), limits.problems_per_file):
        notes.at_value("tool-undeclared", at, message)
    required = says_required(notes, fields)
    purpose = _purpose(notes, fields, key or "")
    _lint(notes, fields)
    contract = _contract(fields, key or "", purpose)
    return notes.verdict(
        lambda: finished(notes, contract, key=key or "", title=str(written), required=required, step_texts=())
    )


def _key(notes: Notes, fields: Mapping[str, Json]) -> str | None:
    written = fields.get("runbook_id")
    if not isinstance(written, str) or not written.strip():
        found = f"is {kind_of(written)}" if "runbook_id" in fields else "is missing"
        message = f"runbook_id {found}: write the runbook's name, such as rotate-signing-key."
        notes.at_value("field-missing", ("runbook_id",) if "runbook_id" in fields else (), message)
        return None
    return take_name(notes, written, ("runbook_id",))


def _purpose(notes: Notes, fields: Mapping[str, Json], key: str) -> str:
    """The description, else the title, else the id in words."""
    for member in ("description", "title"):
        text = fields.get(member)
        if isinstance(text, str) and text.strip():
            refuse_bidi(notes, text, (member,))
            if member == "title":
                notes.on_file("no-purpose", "description is missing, so the title stands in: say what this is for.")
            return text
    notes.on_file("no-purpose", "description and title are missing, so the id stands in: say what this is for.")
    return key.replace("-", " ")


def _lint(notes: Notes, fields: Mapping[str, Json]) -> None:
    warn_misspelt(notes, fields, _KNOWN)
    for member in _TEXTS:
        if member in fields and not isinstance(fields[member], str):
            notes.mismatch((member,), "text", fields[member])
    for member in sorted(RUNBOOK_MARKS - fields.keys() - {"runbook_id"}):
        notes.on_file("type-mismatch", f"{member} is missing: without it, nothing governs the run.")
    mode = fields.get("mode")
    if "mode" in fields and mode not in _MODES:
        notes.at_value("type-mismatch", ("mode",), f"mode should be {' or '.join(_MODES)}; it is kept as it is.")
    for member in ("allowed_tools", "checkpoints", "tags"):
        if member in fields and not isinstance(fields[member], list):
            notes.mismatch((member,), "a list", fields[member])
    for member in ("allowed_tools", "tags"):
        value = fields.get(member)
        if isinstance(value, list) and len(texts(value)) != len(value):
            notes.at_value("type-mismatch", (member,), f"{member} should hold texts only; it is kept as it is.")
    if "completion" in fields and not isinstance(fields["completion"], Mapping):
        notes.mismatch(("completion",), "a mapping", fields["completion"])
    _lint_version(notes)


def _lint_version(notes: Notes) -> None:
    if isinstance(notes.loaded.data.get("version"), Numeral):
        message = "the version is written as a number, which other readers change (1.20 becomes 1.2): quote it."
        notes.at_value("version-not-text", ("version",), message)


def _unmet(notes: Notes, fields: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Checkpoints that wait for a tool outside the allow-list: no run could ever meet them."""
    if not isinstance(fields.get("allowed_tools"), list):
        return
    listed = sorted(set(texts(fields["allowed_tools"])))
    allowed = frozenset(listed)
    stems = tuple(each[:-1] for each in listed if each.endswith("*"))
    if len(stems) > WILDCARDS_MAX:
        return
    for place, checkpoint in mappings(fields.get("checkpoints")):
        match = checkpoint.get("match")
        tool = match.get("tool") if isinstance(match, Mapping) else None
        if isinstance(tool, str) and tool not in allowed and not tool.startswith(stems):
            message = f"this checkpoint waits for {quoted(tool)}, which allowed_tools does not list: "
            yield ("checkpoints", place, "match", "tool"), message + notes.hint(tool, listed)


def _contract(fields: Mapping[str, Json], key: str, purpose: str) -> dict[str, Json]:
    extra = {name: value for name, value in fields.items() if name not in {*_RUN_KEYS, "required"}}
    contract: dict[str, Json] = {"document": RUNBOOK_DOCUMENT, "name": key, "purpose": purpose}
    if extra.get("runbook_id") == key:
        del extra["runbook_id"]
    if extra.get("description") == purpose:
        del extra["description"]
    for member in ("version", "owner"):
        text = extra.get(member)
        if isinstance(text, str) and text.strip():
            contract[member] = text
            del extra[member]
    tags = extra.get("tags")
    if isinstance(tags, list) and len(texts(tags)) == len(tags):
        contract["tags"] = tags
        del extra["tags"]
    if "requires" in extra:
        contract["requires"] = extra.pop("requires")
    contract["runbook"] = {name: fields[name] for name in _RUN_KEYS if name in fields}
    if extra:
        contract["extra"] = extra
    return contract
