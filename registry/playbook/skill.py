"""Agent Skills: a `SKILL.md` to a playbook, read leniently and linted strictly (playbook-format.md, Agent Skills)."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from registry.digest import Json
from registry.names import name_key
from registry.playbook.companions import Companion, companions_excess, companions_json
from registry.playbook.document import EXTENSION_PREFIX
from registry.playbook.foreign import (
    Notes,
    finished,
    kind_of,
    refuse_bidi,
    says_required,
    take_name,
    texts,
)
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.load import Loaded
from registry.playbook.native import Role, Verdict
from registry.playbook.settling import as_texts
from registry.playbook.spelling import WORD_CHARS_MAX, nearest, quoted
from registry.playbook.text import Numeral, Path

SKILL_DOCUMENT: Final = "skill/1"
SKILL_FILE: Final = "SKILL.md"
DESCRIPTION_CHARS_MAX: Final = 1024
LISTED_CHARS_MAX: Final = 65_536

_SKILL_FILE = re.compile(r"(?:.*/)?skill\.md", re.IGNORECASE | re.ASCII | re.DOTALL)

# Spaces and commas stand between names; what stands in brackets belongs to its name.
_TOOL_NAME = re.compile(r"(?:[^\s,()]|\([^)]*\)?|\))+")

_TEXT, _SWITCH, _LIST, _MAPPING = "text", "true or false", "a list", "a mapping"
KNOWN_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "name": (_TEXT,),
    "description": (_TEXT,),
    "license": (_TEXT,),
    "compatibility": (_TEXT,),
    "metadata": (_MAPPING,),
    "allowed-tools": (_TEXT, _LIST),
    "version": (_TEXT,),
    "author": (_TEXT,),
    "tags": (_LIST, _TEXT),
    "required": (_SWITCH,),
    "argument-hint": (_TEXT,),
    "disable-model-invocation": (_SWITCH,),
    "user-invocable": (_SWITCH,),
    "model": (_TEXT,),
    "context": (_TEXT,),
    "agent": (_TEXT,),
    "hooks": (_MAPPING,),
}
"""Field -> the kinds of value that it may hold: the fields of the specification, those of this registry, and those that
widespread agents document for themselves."""

# Said of these elsewhere, with more to the point.
_CHECKED_APART = frozenset({"name", "description", "required"})


def is_skill_file(path: str) -> bool:
    """Whether the file at `path` is called SKILL.md, in any case of its letters."""
    return _SKILL_FILE.fullmatch(path) is not None


def skill_folder(path: str) -> str:
    """The folder of a skill's file, relative to the repository's root; "" for the root itself."""
    return path.rpartition("/")[0]


def folder_key(path: str) -> str | None:
    """The key of a skill's folder, which names the skill where its file does not."""
    return name_key(skill_folder(path).rpartition("/")[2])


def read_skill(
    loaded: Loaded,
    *,
    path: str,
    blob: str,
    role: Role,
    limits: Limits = DEFAULT_LIMITS,
    companions: Sequence[Companion] = (),
) -> Verdict:
    """The playbook of a loaded `SKILL.md`, with everything that is wrong with it.

    Its document carries the front matter that has no place of its own verbatim under `extra`, and the skill's other
    files under `files`.
    """
    notes = Notes(loaded, path=path, blob=blob, role=role, limits=limits)
    fields = as_texts(loaded.data, numerals=loaded.marks.numerals)
    key, title = _name(notes, fields)
    purpose = _purpose(notes, fields)
    required = says_required(notes, fields)
    if excess := companions_excess(companions):
        notes.on_file("too-large", excess)
    _lint(notes, fields)
    contract = _contract(notes, fields, key or "", purpose)
    if companions:
        contract["files"] = companions_json(companions)
    body = (loaded.body,) if loaded.body is not None else ()
    return notes.verdict(
        lambda: finished(notes, contract, key=key or "", title=title, required=required, step_texts=body)
    )


def _name(notes: Notes, fields: Mapping[str, Json]) -> tuple[str | None, str]:
    """The key and the name as it is written; the folder's where none is."""
    written = fields.get("name")
    folder = skill_folder(notes.path).rpartition("/")[2]
    if isinstance(written, str) and written.strip():
        key = take_name(notes, written, ("name",))
        if key is not None and folder and name_key(folder) != key:
            message = f"the skill is called {key} and its folder {quoted(folder)}: agents expect one name for both."
            notes.at_value("name-not-folder", ("name",), message)
        return key, written
    if written is not None:
        notes.mismatch(("name",), _TEXT, written)
    key = notes.name = name_key(folder)
    if key is None:
        message = f"no name is written, and the folder's, {quoted(folder)}, is no playbook's name: write name."
        notes.on_file("name-invalid" if folder else "field-missing", message)
    else:
        notes.on_file("name-not-folder", f"no name is written, so the folder's is taken: write name: {key}.")
    return key, folder


def _purpose(notes: Notes, fields: Mapping[str, Json]) -> str:
    description = fields.get("description")
    if not isinstance(description, str) or not description.strip():
        if description is None or isinstance(description, str):
            found = "is empty" if "description" in fields else "is missing"
        else:
            found = f"is {kind_of(description)}, not text"
        message = f"the description {found}: say in a sentence or two what the skill is for, and when to use it."
        notes.at_value("field-missing", ("description",) if "description" in fields else (), message)
        return ""
    refuse_bidi(notes, description, ("description",))
    if len(description) > DESCRIPTION_CHARS_MAX:
        message = (
            f"the description has {len(description):,} characters, and agents read {DESCRIPTION_CHARS_MAX:,}: "
            "say the rest in the body."
        )
        notes.at_value("description-long", ("description",), message)
    return description


def _lint(notes: Notes, fields: Mapping[str, Json]) -> None:
    name = notes.path.rpartition("/")[2]
    if name != SKILL_FILE:
        notes.on_file("name-spelling", f"the file is called {quoted(name)}: agents look for {SKILL_FILE}, rename it.")
    for key, value in fields.items():
        if notes.full:
            return
        wanted = KNOWN_FIELDS.get(key)
        if wanted is None:
            if not key.startswith(EXTENSION_PREFIX):
                notes.unknown((key,), f"{quoted(key)} is no field of a skill; it is kept{_meant(key[:WORD_CHARS_MAX])}")
        elif key not in _CHECKED_APART and kind_of(value) not in wanted:
            notes.mismatch((key,), " or ".join(wanted), value)
        elif isinstance(value, list) and len(texts(value)) != len(value):
            notes.at_value("type-mismatch", (key,), f"{key} should hold texts only; it is kept as it is.")
    _lint_metadata(notes, fields.get("metadata"))
    for at in (("version",), ("metadata", "version")):
        if isinstance(_raw(notes, at), Numeral):
            message = "the version is written as a number, which other readers change (1.20 becomes 1.2): quote it."
            notes.at_value("version-not-text", at, message)


@lru_cache(maxsize=256)
def _meant(key: str) -> str:
    # The same few unknown keys stand in whole collections of skills.
    known = nearest(key, KNOWN_FIELDS, at_most=min(2, len(key) // 3))
    return f", and has no effect: did you mean {known}?" if known else "."


def _lint_metadata(notes: Notes, metadata: Json) -> None:
    for key, value in metadata.items() if isinstance(metadata, Mapping) else ():
        if notes.full:
            return
        if not isinstance(value, str) and not (key == "tags" and isinstance(value, list)):
            notes.mismatch(("metadata", key), _TEXT, value)


def _raw(notes: Notes, at: Path) -> object:
    value: object = notes.loaded.data
    for part in at:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _contract(notes: Notes, fields: Mapping[str, Json], key: str, purpose: str) -> dict[str, Json]:
    extra = dict(fields)
    metadata = fields.get("metadata")
    inner = metadata if isinstance(metadata, Mapping) else {}
    contract: dict[str, Json] = {"document": SKILL_DOCUMENT, "name": key}
    if (version := _written(extra, "version") or _text(inner.get("version"))) is not None:
        contract["version"] = version
    owner = _text(inner.get("owner")) or _written(extra, "author") or _text(inner.get("author"))
    if owner is not None:
        contract["owner"] = owner
    tags = _tags(fields.get("tags"))
    if tags:
        del extra["tags"]
    if tags := tags or _tags(inner.get("tags")):
        contract["tags"] = tags
    contract["purpose"] = purpose
    if notes.loaded.body is not None:
        contract["instructions"] = notes.loaded.body
    extra.pop("required", None)
    if isinstance(extra.get("description"), str):
        del extra["description"]
    if extra.get("name") == key:
        del extra["name"]
    if (tools := _allowed_tools(fields.get("allowed-tools"))) is not None:
        extra["allowed-tools"] = tools
    if extra:
        contract["extra"] = extra
    return contract


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _written(extra: dict[str, Json], key: str) -> str | None:
    """The text under a root key, which so has its place in the document and leaves `extra`."""
    found = _text(extra.get(key))
    if found is not None:
        del extra[key]
    return found


def _tags(value: Json) -> list[Json]:
    """Tags of a list, or of a text with commas, else with spaces, between them; empty for anything else."""
    if isinstance(value, str):
        if len(value) > LISTED_CHARS_MAX:
            return []
        parts = value.split(",") if "," in value else value.split()
        return [part.strip() for part in parts if part.strip()]
    found = texts(value)
    return list(found) if isinstance(value, list) and len(found) == len(value) else []


def _allowed_tools(value: Json) -> list[Json] | None:
    """One list for the three spellings of `allowed-tools`; None for what is no spelling of it."""
    if isinstance(value, str):
        return list(_TOOL_NAME.findall(value)) if len(value) <= LISTED_CHARS_MAX else None
    found = texts(value)
    return list(found) if isinstance(value, list) and len(found) == len(value) else None
