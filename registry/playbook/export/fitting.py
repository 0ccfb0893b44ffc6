"""Documents of other formats as native ones: what fits in its place, everything else kept under an `x-` key.

The result is held to the native format's own checks: what they refuse is moved aside until nothing is refused, so that
what was exported can be read again.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, cast

from registry.playbook.complaints import complaints
from registry.playbook.document import EXTENSION_PREFIX, SHAPES, FrontMatter, NativeDocument, known_keys
from registry.playbook.export.fields import Fields, owner_of, text_of, texts_of, version_of
from registry.playbook.inputs import DeclaredInputs
from registry.playbook.native import known_at
from registry.playbook.templates import prose_templates, templates_of
from registry.playbook.text import Path
from registry.playbook.tools import undeclared_tools

UNKNOWN_OWNER: Final = "unknown"
ROUNDS_MAX: Final = 100
FAULTS_MAX: Final = 1_000

_SOURCE_KEY: Final = "x-source"
_NO_INPUTS: Final = DeclaredInputs({})
_FORMATS: Final = {
    "skill/1": "Agent Skill",
    "runbook/1": "runbook.v1 manifest",
    "openplaybook/1": "OpenPlaybook document",
}

Node = dict[str, Any]  # a mapping that is being moved about; its values are JSON


@dataclass(slots=True)
class Fitted:
    """A native document's fields and body; `notes` says in sentences what is different from the original."""

    fields: Node
    body: str | None
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Draft:
    """What is in its place, and what was kept aside, under `aside_key`."""

    contract: Fields
    fields: Node
    body: str | None
    aside: Node
    aside_key: str


def fitted(contract: Fields, head: Fields) -> Fitted:
    """The nearest native document of a contract of another format."""
    document = str(contract.get("document"))
    word = document.partition("/")[0]
    draft = _draft(contract, head, word)
    _fit(draft)
    notes = [f"Made from {_an(_FORMATS.get(document, document))}."]
    if draft.aside:
        draft.fields[draft.aside_key] = draft.aside
        notes.append(f"What has no place in this format stands under {draft.aside_key}.")
    if draft.fields["owner"] == UNKNOWN_OWNER:
        notes.append("It names no owner: write the team that answers for it.")
    source = head.get("source")
    draft.fields[_SOURCE_KEY] = {
        "document": document,
        "digest": head.get("digest"),
        **{key: source[key] for key in ("repository", "path", "blob") if isinstance(source, Mapping) and key in source},
    }
    return Fitted(draft.fields, draft.body, tuple(notes))


def _an(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "AEIO" else f"a {noun}"


def _draft(contract: Fields, head: Fields, word: str) -> _Draft:
    given: Node = deepcopy(dict(contract))
    fields: Node = {
        "playbook": 1,
        "name": given["name"],
        "version": version_of(contract, head),
        "owner": owner_of(contract, head) or UNKNOWN_OWNER,
        "purpose": given["purpose"],
    }
    for key in ("tags", "requires", "tools", "steps", "runbook"):
        if key in given:
            fields[key] = given[key]
    extra = given.get("extra")
    aside: Node = dict(extra) if isinstance(extra, dict) else {}
    for key in given.keys() - fields.keys() - {"document", "instructions", "extra"}:
        aside[key] = given[key]
    draft = _Draft(contract, fields, text_of(contract, "instructions"), aside, f"{EXTENSION_PREFIX}{word}")
    if word == "runbook":
        _add_runbook_step(draft)
    return draft


def _add_runbook_step(draft: _Draft) -> None:
    """A runbook has no steps: its purpose is one, with the tools that it allows."""
    runbook: Node = draft.fields["runbook"]
    step: Node = {"id": "run", "instruction": draft.fields["purpose"]}
    allowed = runbook.get("allowed_tools")
    if isinstance(allowed, list) and allowed and len(texts_of(runbook, "allowed_tools")) == len(allowed):
        step["allowed_tools"] = runbook.pop("allowed_tools")
    draft.fields["steps"] = [step]


def _fit(draft: _Draft) -> None:
    for _ in range(ROUNDS_MAX):
        _extend_unknown(draft.fields, (), draft)
        _fill(draft)
        if not _mend(draft):
            return
    # So odd that moving its parts one by one does not end: whole members go.
    for key in draft.fields.keys() - {"playbook", "name", "version", "owner", "purpose"}:
        draft.aside[key] = draft.fields.pop(key)
    _fill(draft)


def _mend(draft: _Draft) -> bool:
    """Whether the native format refused something, which then was moved out of its sight."""
    model = NativeDocument if draft.body is None else FrontMatter
    refused = complaints(model, draft.fields, known_at, at_most=FAULTS_MAX)
    for each in refused:
        # Of a mapping that lacks something, the whole is set aside.
        _set_aside(draft, each.at[:-1] if each.code == "field-missing" else each.at)
    if refused:
        return True
    fields = cast("Fields", draft.fields)
    undeclared = [at for at, _ in undeclared_tools(fields)]
    for at in undeclared:
        _set_aside(draft, at)
    foreign = [
        template.at
        for template in templates_of(fields)
        if template.segments is None or not _NO_INPUTS.declare(template.segments)
    ]
    for at in foreign:
        _take_out(draft, at)
    is_rendered = any(True for _ in prose_templates(draft.body or ""))
    if is_rendered:
        # Double braces mean something else in the other format, and here they would be filled in.
        draft.aside["instructions"], draft.body = draft.body, None
    return bool(undeclared or foreign or is_rendered)


def _extend_unknown(here: Node, at: tuple[str, ...], draft: _Draft) -> None:
    """Rename what a mapping of the format does not know; every such mapping may have keys that begin with x-."""
    known = known_keys(SHAPES[at])
    for key in [key for key in here if key not in known and not key.startswith(EXTENSION_PREFIX)]:
        _extend(here, key, draft)
    for key, value in here.items():
        below = (*at, key)
        for each in value if isinstance(value, list) else [value]:
            if below in SHAPES and isinstance(each, dict):
                _extend_unknown(each, below, draft)


def _extend(here: Node, key: str, draft: _Draft) -> None:
    if here is draft.fields:
        draft.aside[key] = here.pop(key)
        return
    name = EXTENSION_PREFIX + key
    while name in here:
        name = EXTENSION_PREFIX + name
    here[name] = here.pop(key)


def _fill(draft: _Draft) -> None:
    """Give every step what a step needs, and a document without any a step that leads to what was kept aside."""
    steps = draft.fields.get("steps")
    if not isinstance(steps, list) or not steps:
        if steps is not None:
            draft.aside["steps"] = draft.fields.pop("steps")
        if draft.body is None:
            there = [key for key in ("steps", "instructions") if key in draft.aside]
            what = f"the {there[0]} under {draft.aside_key}" if there else "the purpose"
            draft.fields["steps"] = [{"id": "follow", "instruction": f"Follow {what}."}]
        return
    where = f"step {{}} under {draft.aside_key}" if "steps" in draft.aside else "this step's other members"
    for number, step in enumerate(steps, 1):
        if isinstance(step, dict):
            step.setdefault("id", f"step-{number}")
            step.setdefault("instruction", f"Do what {where.format(number)} say{'s' if '{' in where else ''}.")


def _set_aside(draft: _Draft, at: Path) -> None:
    """Take the member that stands at `at`, or that holds the list's element there, out of the format's sight."""
    holder: Node | None = None
    key = ""
    here: Any = draft.fields
    for part in at:
        if isinstance(here, dict) and part in here:
            if not str(part).startswith(EXTENSION_PREFIX):
                holder, key = here, str(part)
        elif not (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            return  # gone with something else of the same round
        here = here[part]
    if holder is not None:
        _extend(holder, key, draft)


def _take_out(draft: _Draft, at: Path) -> None:
    """Take a member of a step away, where even an `x-` key would be read for templates; the steps as they were stay."""
    draft.aside["steps"] = draft.contract.get("steps")
    steps = draft.fields.get("steps")
    if isinstance(steps, list) and len(at) > 2 and isinstance(at[1], int):
        steps[at[1]].pop(at[2], None)
    else:
        draft.fields.pop(str(at[0]), None)
