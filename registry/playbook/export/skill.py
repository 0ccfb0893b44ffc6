"""An Agent Skill: a SKILL.md that any agent reads, made from a playbook of another format."""

import re
from dataclasses import dataclass
from typing import Final

from registry.digest import Json
from registry.playbook.export.fields import (
    Fields,
    description_of,
    mapping_of,
    one_line,
    owner_of,
    text_of,
    texts_of,
    version_of,
)
from registry.playbook.export.pens import Pen
from registry.playbook.export.prose import sections
from registry.playbook.export.yaml_form import to_yaml

_PEN: Final = Pen(escapes=False)
_TEMPLATES: Final = "Where `{{ inputs.x }}` stands, put the value of the input x."
_TEMPLATE = re.compile(r"\{\{\s*inputs\.")
_COMPATIBILITY_CHARS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class RenderedSkill:
    """The front matter as data, and the whole SKILL.md that begins with it, in UTF-8."""

    frontmatter: dict[str, Json]
    body: bytes


def render_skill(contract: Fields, head: Fields) -> RenderedSkill:
    """The SKILL.md of a contract; of a skill's own contract the nearest one, where its original is not at hand.

    `head` is a head or an entry as the wire shows it. The bytes depend on the contract, on the head's version, owner
    and digest and on where the file lies, and on no commit.
    """
    frontmatter = skill_frontmatter(contract, head)
    parts = [f"# {one_line(text_of(head, 'title') or str(contract['name']))}", _PEN.line(str(contract["purpose"]))]
    deprecated = mapping_of(contract, "deprecated")
    if deprecated:
        parts.append(_deprecation(deprecated))
    body = [f"## {heading}\n\n{text}" for heading, text in sections(contract, _PEN)]
    if any(_TEMPLATE.search(part) for part in body):
        parts.append(_TEMPLATES)
    text = "\n\n".join([*parts, *body])
    return RenderedSkill(frontmatter, f"---\n{to_yaml(frontmatter)}---\n\n{text}\n".encode())


def skill_frontmatter(contract: Fields, head: Fields) -> dict[str, Json]:
    """The front matter: the folder's name, what the skill is for and not for, and where it comes from.

    Every value is a text, or a mapping of texts, as the rules of Agent Skills want.
    """
    metadata: dict[str, Json] = {"version": version_of(contract, head)}
    if owner := owner_of(contract, head):
        metadata["owner"] = owner
    if tags := texts_of(contract, "tags"):
        metadata["tags"] = _joined(tags)
    source = mapping_of(head, "source")
    if source:
        metadata["source"] = "/".join(str(source[key]) for key in ("repository", "path") if source.get(key))
    if digest := text_of(head, "digest"):
        metadata["digest"] = digest
    frontmatter: dict[str, Json] = {"name": contract["name"], "description": description_of(contract)}
    extra = mapping_of(contract, "extra")
    if license_ := text_of(extra, "license"):
        frontmatter["license"] = license_
    if compatibility := text_of(extra, "compatibility"):
        frontmatter["compatibility"] = compatibility[:_COMPATIBILITY_CHARS_MAX]
    return {**frontmatter, "metadata": metadata}


def _joined(tags: list[str]) -> str:
    """The tags with commas between them, and one behind a single tag that has a blank in it, which would divide it."""
    said = ", ".join(one_line(tag.replace(",", " ")) for tag in tags)
    return f"{said}," if len(tags) == 1 and " " in said else said


def _deprecation(deprecated: Fields) -> str:
    since, instead = text_of(deprecated, "since"), text_of(deprecated, "replaced_by")
    said = f"Deprecated{f' since {_PEN.line(since)}' if since else ''}"
    return f"**{said}: use {_PEN.line(instead)} instead.**" if instead else f"**{said}.**"
