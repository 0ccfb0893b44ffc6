"""Skills on the wire of MCP (SEP-2640): URIs, entries, resources and folders, as pure functions of what is offered.

A name may be there twice, once from central and once from the repository itself. Both have a URI of their own, so
that neither can pass for the other, and `_meta` says which of them serves.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from policies.decision import Side
from registry.names import NAME_LENGTH_MAX, NAME_PATTERN
from registry.playbook.export.mcp_tool import META_PREFIX
from registry.playbook.export.package import SkillFile
from registry.playbook.skill import SKILL_FILE
from registry.service.skills import OfferedSkill, RefusedCopy

EXTENSION: Final = "io.modelcontextprotocol/skills"
DIRECTORY_TYPE: Final = "inode/directory"
URI_LENGTH_MAX: Final = 16_384
"""Characters of a URI that is looked at: a path of git's has 4,096 bytes at most, each of them three when encoded."""
PRIORITY: Final = {True: 1.0, False: 0.1}
"""How much a resource of the copy that serves matters, and one of a copy that another goes before."""

TEMPLATES: Final[tuple[Mapping[str, Any], ...]] = tuple(
    {
        "uriTemplate": f"skill://{side.value}/{{name}}/{{+path}}",
        "name": f"{side.value}-skill-file",
        "title": f"A file of a skill from {origin}",
        "description": f"A file of the skill `name` as {origin} has it; `path` is SKILL.md or a file that it names.",
    }
    for side, origin in ((Side.CENTRAL, "the central repository"), (Side.LOCAL, "this repository itself"))
)

Json = Any
Object = dict[str, Json]

_SCHEME: Final = "skill://"
_NAME = re.compile(NAME_PATTERN)
# What a path may hold unescaped (RFC 3986, 3.3): some clients escape all of it, some only what they must.
_PATH_SAFE: Final = "/:@!$&'()*+,;="
_TEXT_TYPES: Final = {
    "css": "text/css",
    "csv": "text/csv",
    "htm": "text/html",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "mjs": "text/javascript",
    "py": "text/x-python",
    "sh": "application/x-sh",
    "svg": "image/svg+xml",
    "toml": "application/toml",
    "ts": "text/x-typescript",
    "txt": "text/plain",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}
_BINARY_TYPES: Final = {
    "gif": "image/gif",
    "gz": "application/gzip",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "pdf": "application/pdf",
    "png": "image/png",
    "webp": "image/webp",
    "zip": "application/zip",
}


@dataclass(frozen=True, slots=True)
class SkillAddress:
    """What a URI names: a file of a skill, or with an empty path its folder."""

    side: Side
    name: str
    path: str


def skill_uri(side: Side, name: str, path: str = SKILL_FILE) -> str:
    """The URI of a file of a skill, or of a folder in it; with an empty path that of the skill's own folder."""
    root = f"{_SCHEME}{side.value}/{name}"
    return f"{root}/{quote(path, safe='/')}" if path else root


def read_uri(uri: str) -> SkillAddress | None:
    """What a URI could name, or None for one that names nothing here.

    There is one spelling for each file, but for characters that a path may hold escaped or not: no other one, such as
    `%2e%2e`, leads anywhere. That the path is one of a skill's is for the caller to see.
    """
    if len(uri) > URI_LENGTH_MAX or not uri.startswith(_SCHEME):
        return None
    side, _, rest = uri.removeprefix(_SCHEME).partition("/")
    name, slash, tail = rest.partition("/")
    if side not in {each.value for each in Side} or len(name) > NAME_LENGTH_MAX or not _NAME.fullmatch(name):
        return None
    try:
        path = unquote(tail, errors="strict")
        spellings = {quote(path, safe="/"), quote(path, safe=_PATH_SAFE)}
    except UnicodeError:
        return None
    if tail not in spellings or bool(slash) != bool(path):
        return None
    return SkillAddress(Side(side), name, path)


def entry_json(skill: OfferedSkill) -> Object:
    """The entry of a skill (SEP-2640, Skill Entries); `_meta` says which copy it is and whether it serves."""
    package, head, verdict = skill.package, skill.head, skill.verdict
    meta = {
        "effective": skill.is_effective,
        "outcome": verdict.decision.outcome.value,
        "required": verdict.required,
        "version": head.version,
        "digest": head.digest,
        "document": head.document,
        "rendered": package.is_rendered,
        "source": _source_json(skill),
        **({"deprecated": dict(head.deprecated)} if head.deprecated is not None else {}),
    }
    serves = verdict.decision.serves
    if serves is not None and not skill.is_effective:
        meta["shadowed_by"] = skill_uri(serves, package.name)
    return {
        "uri": skill_uri(skill.side, package.name),
        "frontmatter": package.frontmatter,
        "resources": [
            {"uri": skill_uri(skill.side, package.name, file.path), "digest": file.digest, "size": file.size}
            for file in package.files
        ],
        "_meta": {META_PREFIX + key: value for key, value in meta.items()},
    }


def refused_json(copy: RefusedCopy) -> Object:
    """A refused copy, by what names it: whoever reads the list learns that it is there, and nothing that it says."""
    source = copy.head.source
    return {
        "name": copy.head.name,
        "version": copy.head.version,
        "digest": copy.head.digest,
        "source": {"kind": copy.side.value, "repository": source.repository, "commit": source.commit},
    }


def resource_json(skill: OfferedSkill, file: SkillFile) -> Object:
    """A file as a resource: SKILL.md by the skill's name and description, another one by its own name."""
    package = skill.package
    is_skill_file = file.path == SKILL_FILE
    media_type = media_type_of(file.path)
    shadowed = "" if skill.is_effective else f" ({skill.side.value}: another copy goes before it)"
    return {
        "uri": skill_uri(skill.side, package.name, file.path),
        "name": package.name if is_skill_file else file.path.rpartition("/")[2],
        **({"title": f"{skill.head.title}{shadowed}", "description": package.description} if is_skill_file else {}),
        **({"mimeType": media_type} if media_type is not None else {}),
        "size": file.size,
        "annotations": {"priority": PRIORITY[skill.is_effective]},
    }


def children_json(skill: OfferedSkill, folder: str) -> list[Object] | None:
    """What stands directly in a folder of a skill, sorted by name; None where it has no such folder."""
    start = f"{folder}/" if folder else ""
    children: dict[str, Object] = {}
    for file in skill.package.files:
        if not file.path.startswith(start):
            continue
        name, slash, _ = file.path.removeprefix(start).partition("/")
        if slash:
            uri = skill_uri(skill.side, skill.package.name, start + name)
            children[name] = {"uri": uri, "name": name, "mimeType": DIRECTORY_TYPE}
        else:
            children[name] = resource_json(skill, file)
    return [child for _, child in sorted(children.items())] if children else None


def contents_json(uri: str, path: str, data: bytes) -> Object:
    """The contents of a file that was read: text where its bytes are UTF-8 and its name says nothing else."""
    media_type = media_type_of(path)
    text = None if media_type in _BINARY_TYPES.values() else _text_of(data)
    if text is None:
        encoded = base64.b64encode(data).decode()
        return {"uri": uri, "mimeType": media_type or "application/octet-stream", "blob": encoded}
    return {"uri": uri, "mimeType": media_type or "text/plain", "text": text}


def media_type_of(path: str) -> str | None:
    """The media type that a file's name stands for, None where it stands for none."""
    name, _, ending = path.rpartition("/")[2].rpartition(".")
    known = _TEXT_TYPES.get(ending.lower()) or _BINARY_TYPES.get(ending.lower())
    return known if name else None


def cursor_of(name: str) -> str:
    """The cursor of a page that ends with this name."""
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def name_of(cursor: str) -> str | None:
    """The name that a page before ended with, or None for what is no cursor of this registry."""
    if len(cursor) > 2 * NAME_LENGTH_MAX:
        return None
    try:
        name = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        return None
    return name if _NAME.fullmatch(name) and cursor_of(name) == cursor else None


def _source_json(skill: OfferedSkill) -> Object:
    source = skill.head.source
    return {
        "kind": skill.side.value,
        "repository": source.repository,
        "commit": source.commit,
        "path": source.path,
    }


def _text_of(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
