"""`{{ inputs.x }}`, the only template form: where it stands in a document and whether the input is declared."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from registry.digest import Json
from registry.playbook.text import Path

# The one kind of document whose texts are templates, and the fields whose texts are rendered when a playbook runs.
TEMPLATED_DOCUMENT = "playbook/1"
RENDERED_KEYS = ("preconditions", "steps", "stop", "verification")

_TEMPLATE = re.compile(r"\{\{.*?(?:\}\}|\Z)", re.DOTALL)
_INPUT = re.compile(r"\s*+inputs((?:\.[A-Za-z0-9_-]++)++)\s*+")
_INPUT_CHARS_MAX: Final = 4_096
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
        nth = seen[source] = seen.get(source, -1) + 1
        yield Template(source, at, found.start(), nth, _segments(source))


def templates_of(fields: Mapping[str, Json]) -> Iterator[Template]:
    """The templates of all rendered fields of a document, in the order of the format."""
    for at, text in _rendered(fields):
        yield from templates_in(text, at)


def unmet_templates(
    fields: Mapping[str, Json], body: str, is_met: Callable[[tuple[str, ...]], bool]
) -> Iterator[tuple[Template, bool]]:
    """The templates of a document that have another form or whose path is not met, each with whether the body has it.

    What stands in the rendered fields comes first, in the order of the format. What a text repeats a hundred thousand
    times is looked at once.
    """
    known: dict[str, bool] = {}
    for at, text in _rendered(fields):
        for found in _unmet(text, known, is_met):
            yield replace(found, at=at), False
    for found in _unmet(body, known, is_met, is_prose=True):
        yield found, True


def _unmet(
    text: str, known: dict[str, bool], is_met: Callable[[tuple[str, ...]], bool], *, is_prose: bool = False
) -> Iterator[Template]:
    seen: dict[str, int] = {}
    for found in _TEMPLATE.finditer(text):
        source = found[0]
        if known.get(source) or (is_prose and not _MEANT.match(source, 2)):
            continue
        segments = _segments(source)
        if source not in known:
            known[source] = segments is not None and is_met(segments)
        if not known[source]:
            nth = seen[source] = seen.get(source, -1) + 1
            yield Template(source, (), found.start(), nth, segments)


def _segments(source: str) -> tuple[str, ...] | None:
    if len(source) > _INPUT_CHARS_MAX or not source.endswith("}}"):
        return None
    form = _INPUT.fullmatch(source, 2, len(source) - 2)
    return tuple(form[1][1:].split(".")) if form else None


def prose_templates(body: str) -> Iterator[Template]:
    """The templates of a Markdown body: what begins with `inputs`.

    Other double braces are text there, because prose shows other tools' templates.
    """
    return (found for found in templates_in(body) if _MEANT.match(found.source[2:]))


def _rendered(fields: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    for key in RENDERED_KEYS:
        yield from _below(fields.get(key), (key,))


def _below(value: Json, at: Path) -> Iterator[tuple[Path, str]]:
    """The texts with double braces in a value, with the path to each."""
    if isinstance(value, str):
        if "{{" in value:
            yield at, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _below(each, (*at, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _below(each, (*at, place))
