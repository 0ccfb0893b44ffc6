"""Which of the document formats a file is in, whether it means to be a playbook, and what a broken one still shows.

The rules are playbook-format.md, the table and Candidates: a skill is known by its file's name, OpenPlaybook by its
name or its members, runbook.v1 by its members, and everything else is native if it has the marker.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

from registry.names import name_key
from registry.playbook.candidates import MARKER, claimed_key, has_marker
from registry.playbook.json_text import outline
from registry.playbook.limits import DEFAULT_LIMITS, Limits
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


def form_of_text(form: Form, text: str, syntax: Syntax, *, limits: Limits = DEFAULT_LIMITS) -> Form | None:
    """The same of a file of any syntax that does not load, by what its text still shows."""
    if form is Form.SKILL:
        return form
    if syntax is Syntax.JSON:
        members = {
            str(member.path[0]) for member in outline(text, limits=limits) if member.is_key and len(member.path) == 1
        }
        return form_of_members(form, members)
    return form if has_marker(text, syntax, limits=limits) else None


def shown_key(form: Form, path: str, text: str, syntax: Syntax, *, limits: Limits = DEFAULT_LIMITS) -> str | None:
    """The key of the name that a broken file still shows, or None.

    What a skill is called that has no front matter is not guessed from its folder.
    """
    if form in {Form.NATIVE, Form.SKILL}:
        return claimed_key(text, syntax, limits=limits)
    places: tuple[Path, ...] = (("runbook_id",),) if form is Form.RUNBOOK else (("name",), ("manifest", "name"))
    shown: dict[Path, str] = {}
    for member in outline(text, limits=limits):
        if not member.is_key and member.path in places:
            shown.setdefault(member.path, member.source)
    for place in places:
        if source := shown.get(place):
            return name_key(source.strip('"'))
    return name_key(stem_of(path)) if form is Form.OPENPLAYBOOK else None


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
