"""A page for people, in Markdown that is safe to render: a playbook's texts are text in it, and nothing else."""

from typing import Final

from registry.playbook.export.fields import (
    Fields,
    list_of,
    mapping_of,
    mappings_of,
    owner_of,
    text_of,
    texts_of,
    version_of,
)
from registry.playbook.export.pens import Pen, code, code_json, fenced_json
from registry.playbook.export.prose import sections

_PEN: Final = Pen(escapes=True)
_SHOWN_OF_TOOLS: Final = frozenset({"name", "source", "description", "risk", "side_effecting", "requires_approval"})


def render_markdown(contract: Fields, head: Fields) -> bytes:
    """The page, in UTF-8: what the playbook is for, by whom and from where, then what its contract says.

    No text of the playbook can make HTML, a link, an image or a heading of the page; Markdown in it is shown as source.
    """
    parts = [f"# {_PEN.line(text_of(head, 'title') or str(contract['name']))}"]
    if deprecated := mapping_of(contract, "deprecated"):
        parts.append(_deprecation(deprecated))
    parts.append(_PEN.block(str(contract["purpose"]), 0))
    parts.append("\n".join(_facts(contract, head)))
    parts.extend(f"## {heading}\n\n{text}" for heading, text in sections(contract, _PEN))
    files = mappings_of(contract, "files")
    if files:
        rows = "\n".join(f"- {code(str(each.get('path')))} ({each.get('size')} bytes)" for each in files)
        parts.append(f"## Files\n\n{rows}")
    defined = [tool for tool in mappings_of(contract, "tools") if not tool.keys() <= _SHOWN_OF_TOOLS]
    if defined:
        parts.append(f"## Tool definitions\n\n{fenced_json(defined)}")
    if isinstance(inputs := contract.get("inputs"), dict):
        parts.append(f"## Input schema\n\n{fenced_json(inputs)}")
    if extra := mapping_of(contract, "extra"):
        parts.append(f"## Further members\n\n{fenced_json(extra)}")
    return ("\n\n".join(parts) + "\n").encode()


def _facts(contract: Fields, head: Fields) -> list[str]:
    lines = [f"- Name: {code(str(contract['name']))}", f"- Version: {code(version_of(contract, head))}"]
    if owner := owner_of(contract, head):
        lines.append(f"- Owner: {_PEN.line(owner)}")
    if tags := texts_of(contract, "tags"):
        lines.append(f"- Tags: {', '.join(code(tag) for tag in tags)}")
    source = mapping_of(head, "source")
    if source:
        lines.append(f"- From: {code('/'.join(str(source.get(key, '')) for key in ('repository', 'path')))}")
        lines.append(f"- Commit: {code(str(source.get('commit', '')))}")
    if digest := text_of(head, "digest"):
        lines.append(f"- Digest: {code(digest)}")
    for key, word in (("should_find", "Found by"), ("should_not_find", "Not found by")):
        lines.extend(f"- {word}: {_PEN.line(each)}" for each in texts_of(mapping_of(contract, "selection"), key))
    if loose := [each for each in list_of(contract, "tools") if not isinstance(each, dict)]:
        lines.append(f"- Other tools: {code_json(loose)}")
    return lines


def _deprecation(deprecated: Fields) -> str:
    since, instead = text_of(deprecated, "since"), text_of(deprecated, "replaced_by")
    said = f"Deprecated{f' since {_PEN.line(since)}' if since else ''}"
    return f"**{said}: use {code(instead)} instead.**" if instead else f"**{said}.**"
