"""A playbook as an Agent Skill that any host accepts: its front matter and the list of its files, by digest and size.

One skill that breaks the rules can cost a host the whole list it stands in, so what does not keep them is not offered,
or is offered as the nearest SKILL.md that does (SEP-2640; the specification of Agent Skills).
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.digest import Json, digest_of
from registry.names import NAME_LENGTH_MAX, NAME_PATTERN
from registry.playbook.export.fields import Fields, mappings_of
from registry.playbook.export.skill import render_skill
from registry.playbook.load import Syntax, load
from registry.playbook.skill import DESCRIPTION_CHARS_MAX, SKILL_DOCUMENT, SKILL_FILE
from registry.playbook.text import Data, Fault, Numeral, decode

FILES_MAX: Final = 512
"""Files of one skill, its SKILL.md among them: what every host must take."""
FILES_BYTES_MAX: Final = 16 << 20
FRONTMATTER_BYTES_MAX: Final = 64 << 10
"""Bytes of front matter as JSON: a list shows a hundred of them on a page."""
COMPATIBILITY_CHARS_MAX: Final = 500
DIGITS_MAX: Final = 300
"""Digits of a whole number that is read as one; Python refuses to read some thousands."""

_NAME = re.compile(NAME_PATTERN)
_WHOLE = re.compile(r"[-+]?[0-9]+")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class SkillFile:
    """One file of a skill: its path below the skill's folder, the digest of its bytes and their number."""

    path: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class SkillPackage:
    """A skill as it is offered. `files` begin with SKILL.md; the others are sorted by path.

    `is_rendered` says that SKILL.md is made from the document; otherwise it is the file as it was read.
    """

    name: str
    description: str
    frontmatter_json: bytes
    files: tuple[SkillFile, ...]
    is_rendered: bool

    @property
    def frontmatter(self) -> dict[str, Json]:
        """The front matter of SKILL.md, every field as it is written."""
        fields: dict[str, Json] = json.loads(self.frontmatter_json)
        return fields

    @property
    def size_bytes(self) -> int:
        """About what it holds in memory."""
        return 400 + 2 * len(self.description) + len(self.frontmatter_json) + sum(300 + len(f.path) for f in self.files)

    def file(self, path: str) -> SkillFile | None:
        """The file at that path, or None."""
        return next((each for each in self.files if each.path == path), None)


@dataclass(frozen=True, slots=True)
class NotOffered:
    """Why a playbook cannot be offered as a skill, in a sentence.

    `may_be_later` says that only bytes are missing, which the next reading of its repository brings.
    """

    reason: str
    may_be_later: bool = False


def companions_of(contract: Fields) -> tuple[SkillFile, ...]:
    """The other files that a skill's document names; none for other documents."""
    if contract.get("document") != SKILL_DOCUMENT:
        return ()
    files = (
        SkillFile(str(each["path"]), str(each["digest"]), int(str(each["size"])))
        for each in mappings_of(contract, "files")
    )
    return tuple(sorted(files, key=lambda file: file.path))


def package_of(contract: Fields, head: Fields, original: bytes | None) -> SkillPackage | NotOffered:
    """The playbook of a contract as a skill. `original` are the bytes of the file, wanted of a skill alone.

    `head` is a head or an entry as the wire shows it. Equal arguments give equal packages.
    """
    companions = companions_of(contract)
    unportable = next((file.path for file in companions if not is_portable(file.path)), None)
    if unportable is not None:
        return NotOffered(f"the file {unportable[:80]!r} has a name that not every host can write.")
    written = None
    if contract.get("document") == SKILL_DOCUMENT:
        if original is None:
            return NotOffered("its original bytes are not kept.", may_be_later=True)
        written = _written(original, str(contract["name"]))
    rendered = None if written is not None else render_skill(contract, head)
    body = (original or b"") if rendered is None else rendered.body
    frontmatter: Mapping[str, Any] = (written or {}) if rendered is None else rendered.frontmatter
    files = (SkillFile(SKILL_FILE, digest_of(body), len(body)), *companions)
    if len(files) > FILES_MAX:
        return NotOffered(f"it has {len(files)} files, and hosts take {FILES_MAX}.")
    if sum(file.size for file in files) > FILES_BYTES_MAX:
        return NotOffered(f"its files have more than {FILES_BYTES_MAX >> 20} MiB, and hosts take no more.")
    encoded = _encoded(frontmatter)
    if encoded is None or not conforms(frontmatter, str(contract["name"])):
        return NotOffered("its front matter is none that every host takes.")
    return SkillPackage(
        str(contract["name"]), str(frontmatter["description"]), encoded, files, is_rendered=rendered is not None
    )


def skill_file_of(contract: Fields, head: Fields, package: SkillPackage, original: bytes | None) -> bytes | None:
    """The bytes of the SKILL.md of a package of that contract; None where the original is wanted and not there."""
    return render_skill(contract, head).body if package.is_rendered else original


def conforms(frontmatter: Mapping[str, Any], name: str) -> bool:
    """Whether front matter is that of an Agent Skill in the folder `name`, by the rules of the strictest host."""
    return (
        frontmatter.get("name") == name
        and len(name) <= NAME_LENGTH_MAX
        and _NAME.fullmatch(name) is not None
        and _is_text(frontmatter.get("description"), DESCRIPTION_CHARS_MAX)
        and _absent_or(frontmatter, "license", lambda value: isinstance(value, str))
        and _absent_or(frontmatter, "compatibility", lambda value: _is_text(value, COMPATIBILITY_CHARS_MAX))
        and _absent_or(frontmatter, "metadata", lambda value: isinstance(value, dict))
        and _absent_or(frontmatter, "allowed-tools", _is_tools)
    )


def is_portable(path: str) -> bool:
    """Whether a file of that path can be written on every system, and shown without surprises."""
    parts = path.split("/")
    return (
        path.isprintable()
        and "\\" not in path
        and not _DRIVE.match(path)
        and not any(part in {"", ".", ".."} for part in parts)
        and path.casefold() != SKILL_FILE.casefold()
    )


def _written(original: bytes, name: str) -> dict[str, Any] | None:
    """The front matter of a SKILL.md as it is written, or None where the file is not a conforming one."""
    text = decode(original)
    # A mark of byte order before the first fence is one character too many for most readers.
    if isinstance(text, Fault) or not text.startswith("---") or not original.startswith(b"---"):
        return None
    loaded = load(text, Syntax.MARKDOWN)
    if isinstance(loaded, Fault):
        return None
    frontmatter = {key: _plain(value) for key, value in loaded.data.items()}
    return frontmatter if conforms(frontmatter, name) and _encoded(frontmatter) is not None else None


def _encoded(frontmatter: Mapping[str, Any]) -> bytes | None:
    """The front matter as JSON, or None where JSON cannot say it or it is too long for a list."""
    try:
        text = json.dumps(frontmatter, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        encoded = text.encode()
    except ValueError:
        return None
    return encoded if len(encoded) <= FRONTMATTER_BYTES_MAX else None


def _plain(value: Data) -> Any:  # noqa: ANN401 - any JSON
    """A loaded value with its numbers as YAML 1.2 reads them; 1.0 stays a fraction, as other readers have it."""
    if isinstance(value, Numeral):
        return _number(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _number(numeral: str) -> int | float:
    text = str(numeral)
    if text[:2] in {"0o", "0x"}:
        return int(text[2:], 8 if text[1] == "o" else 16)
    if text[-1:].isalpha():
        # Infinities and NaN: JSON has none, and so the front matter is not offered as it is.
        return math.nan
    # Beyond what a float holds exactly, every other reader has the nearest float too.
    return int(text) if _WHOLE.fullmatch(text) and len(text) <= DIGITS_MAX else float(text)


def _is_text(value: Json, chars_max: int) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= chars_max


def _is_tools(value: Json) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _absent_or(frontmatter: Mapping[str, Any], key: str, holds: Callable[[Any], bool]) -> bool:
    return key not in frontmatter or holds(frontmatter[key])
