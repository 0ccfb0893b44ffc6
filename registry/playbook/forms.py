"""Which of the document formats a file is in, whether it means to be a playbook, and what a broken one still shows.

The rules are playbook-format.md, the table and Candidates: a skill is known by its file's name, OpenPlaybook by its
name or its members, runbook.v1 by its members, and everything else is native if it has the marker.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from registry.names import name_key
from registry.playbook.candidates import MARKER, Speech
from registry.playbook.json_tokens import root_members
from registry.playbook.load import Syntax
from registry.playbook.openplaybook import OPENPLAYBOOK_ENDING, OPENPLAYBOOK_MARKS, stem_of
from registry.playbook.runbook import RUNBOOK_ENDING, RUNBOOK_MARKS
from registry.playbook.skill import folder_key, is_skill_file
from registry.playbook.text import Path


class Form(StrEnum):
    """A document format."""

    NATIVE = "native"
    SKILL = "skill"
    RUNBOOK = "runbook"
    OPENPLAYBOOK = "openplaybook"


_NAMES: Mapping[Form, tuple[Path, ...]] = {
    Form.NATIVE: (("name",),),
    Form.SKILL: (("name",),),
    Form.RUNBOOK: (("runbook_id",),),
    Form.OPENPLAYBOOK: (("name",), ("manifest", "name")),
}
_LOOKED_INTO = frozenset({"manifest"})
_SHOWN = frozenset({("required",), *(place for places in _NAMES.values() for place in places)})


def form_of(path: str) -> Form:
    """The format that a file's name stands for; native where it stands for none."""
    if is_skill_file(path):
        return Form.SKILL
    name = path.lower()
    if name.endswith(OPENPLAYBOOK_ENDING):
        return Form.OPENPLAYBOOK
    return Form.RUNBOOK if name.endswith(RUNBOOK_ENDING) else Form.NATIVE


def form_of_members(form: Form, members: Collection[str]) -> Form | None:
    """The format of a JSON document by its root's members and its name's format; None where it is no playbook."""
    if form is Form.NATIVE:
        if MARKER in members:
            return Form.NATIVE
        return Form.OPENPLAYBOOK if OPENPLAYBOOK_MARKS.issubset(members) else None
    return form if form is not Form.RUNBOOK or not RUNBOOK_MARKS.isdisjoint(members) else None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a file that does not load still shows: its format, the key of its name, and what it says of `required`."""

    form: Form
    key: str | None
    required: bool | None


def shown_in(form: Form, path: str, text: str, syntax: Syntax) -> Shown | None:
    """What `text` still shows, `form` being the format of its name; None where it means to be no playbook.

    What a skill is called that has no front matter is not guessed from its folder.
    """
    if syntax is Syntax.JSON:
        return _shown_in_json(form, path, text)
    speech = Speech(text, syntax)
    if form is Form.NATIVE and not speech.has_marker():
        return None
    return Shown(form, speech.key(), speech.required())


def _shown_in_json(form: Form, path: str, text: str) -> Shown | None:
    members: set[str] = set()
    values: dict[Path, str] = {}
    for member in root_members(text, inside=_LOOKED_INTO):
        if len(member.path) == 1:
            members.add(str(member.path[0]))
        if member.path in _SHOWN:
            values.setdefault(member.path, member.source)
    found = form_of_members(form, members)
    if found is None:
        return None
    named = next((values[place] for place in _NAMES[found] if values.get(place)), None)
    if named is None:
        key = name_key(stem_of(path)) if found is Form.OPENPLAYBOOK else None
    else:
        key = name_key(named.strip("\"'"))
    return Shown(found, key, {"true": True, "false": False}.get(values.get(("required",), "")))


def loaded_key(form: Form, path: str, members: Mapping[str, object]) -> str | None:
    """The key that a document which loads and has errors claims."""
    if form is Form.RUNBOOK:
        return _key_of(members.get("runbook_id"))
    manifest = members.get("manifest")
    inner = manifest.get("name") if form is Form.OPENPLAYBOOK and isinstance(manifest, Mapping) else None
    for name in (members.get("name"), inner):
        if isinstance(name, str) and name.strip():
            return name_key(name)
    if form is Form.SKILL:
        return folder_key(path)
    return name_key(stem_of(path)) if form is Form.OPENPLAYBOOK else None


def _key_of(name: object) -> str | None:
    return name_key(name) if isinstance(name, str) else None
