"""`{{ inputs.x }}`, the only template form: where it stands in a document and whether the input is declared."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from registry.digest import Json
from registry.playbook.text import Path

# The one kind of document whose texts are templates, and the fields whose texts are rendered when a playbook runs.
TEMPLATED_DOCUMENT = "playbook/1"
RENDERED_KEYS = ("preconditions", "steps", "stop", "verification")

_TEMPLATE = re.compile(r"\{\{(.*?)(?:\}\}|\Z)", re.DOTALL)
_INPUT = re.compile(r"\s*inputs((?:\.[A-Za-z0-9_-]+)+)\s*")
_MEANT = re.compile(r"\s*inputs\b")


@dataclass(frozen=True, slots=True)
class Template:
    """One `{{ … }}`: its source, where it stands, and the path below `inputs`, or None where it has another form.

    `offset` is that of the source in its text, in characters; `nth` counts the same source before it in that text.
    """

    source: str
    at: Path
    offset: int
    nth: int
    segments: tuple[str, ...] | None


def templates_in(text: str, at: Path = ()) -> Iterator[Template]:
    """The templates of one text, in its order."""
    seen: dict[str, int] = {}
    for found in _TEMPLATE.finditer(text):
        source = found[0]
        form = _INPUT.fullmatch(found[1]) if source.endswith("}}") else None
        nth = seen[source] = seen.get(source, -1) + 1
        yield Template(source, at, found.start(), nth, tuple(form[1][1:].split(".")) if form else None)


def templates_of(fields: Mapping[str, Json]) -> Iterator[Template]:
    """The templates of all rendered fields of a document, in the order of the format."""
    for key in RENDERED_KEYS:
        if key in fields:
            yield from _below(fields[key], (key,))


def prose_templates(body: str) -> Iterator[Template]:
    """The templates of a Markdown body: what begins with `inputs`.

    Other double braces are text there, because prose shows other tools' templates.
    """
    return (found for found in templates_in(body) if _MEANT.match(found.source[2:]))


def _below(value: Json, at: Path) -> Iterator[Template]:
    if isinstance(value, str):
        if "{{" in value:
            yield from templates_in(value, at)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _below(each, (*at, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _below(each, (*at, place))
