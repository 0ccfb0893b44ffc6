"""`owner-not-in-codeowners`: the forge asks other people to review a file than the playbook says.

A CODEOWNERS file as GitHub reads it: the last pattern that matches decides, and one without owners means nobody. Of
GitLab come sections, whose owners add up, with their default owners, and exclusions. What a line says beyond that is
passed over. Patterns are matched without regular expressions: the file is anybody's, and a few stars are enough to keep
one busy for hours.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from registry.catalog.revision import Head
from registry.names import fold_tag
from registry.playbook.model import Problem
from registry.playbook.problems import problem
from registry.playbook.spelling import quoted

CODEOWNERS_PLACES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where the file is looked for; the first that is there counts."""
CODEOWNERS_BYTES_MAX: Final = 3 * 1024 * 1024
"""A larger file is as none, as on GitHub."""
LINE_CHARS_MAX: Final = 4_096
WORK_MAX: Final = 20_000_000
"""Characters of patterns times characters of paths that are compared for one repository, a second or two at worst."""
OWNERS_SHOWN_MAX: Final = 5

_SECTION = re.compile(r"\^?\[([^\]]*)\](?:\[\d+\])?(.*)")
_WORD = re.compile(r"(?:\\.|[^\\\s])+")
_MANY, _ANY = "**", "*"

Item = TypeVar("Item")
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line: a pattern by its path's parts, and the owners it gives. `literal` stands in every path it matches."""

    parts: tuple[str, ...]
    size: int
    literal: str
    owners: tuple[str, ...]
    line: int
    section: str

    def matches(self, path: str) -> bool:
        return _fits(self.parts, path.split("/"), _MANY, _is_part)


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """The rules of a CODEOWNERS file at `path`, the last one first."""

    path: str
    rules: tuple[_Rule, ...]

    def work(self, path: str) -> int:
        """What it costs at most to ask for the owners of a file, in characters of patterns times those of the path."""
        return len(self.rules) + len(path) * sum(rule.size for rule in self._candidates(path))

    def owners(self, path: str) -> tuple[tuple[str, ...], int]:
        """The owners of a file, and the line that says so last; none and 0 where no line speaks of it."""
        found: list[str] = []
        line, decided = 0, set[str]()
        for rule in self._candidates(path):
            if rule.section not in decided and rule.matches(path):
                decided.add(rule.section)
                line = max(line, rule.line)
                found += rule.owners
        return tuple(dict.fromkeys(found)), line

    def _candidates(self, path: str) -> list[_Rule]:
        return [rule for rule in self.rules if rule.literal in path]


def read_codeowners(path: str, data: bytes) -> CodeOwners:
    """The rules of a file; lines that are none are passed over."""
    rules: list[_Rule] = []
    section, defaults = "", tuple[str, ...]()
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#") or len(text) > LINE_CHARS_MAX:
            continue
        heading = _SECTION.fullmatch(text)
        if heading is not None:
            section, defaults = heading[1].strip().casefold(), _owners(_WORD.findall(heading[2]))
            continue
        rule = _rule(text, number, section, defaults)
        if rule is not None:
            rules.append(rule)
    return CodeOwners(path, tuple(reversed(rules)))


def owner_remarks(codeowners: CodeOwners | None, heads: Iterable[Head]) -> tuple[Problem, ...]:
    """The remarks on heads whose owner is not among their file's code owners, sorted by path.

    Nothing is said where no file, no line or no owner speaks of it: whom a forge asks is then not known here.
    """
    found: list[Problem] = []
    work = 0
    for head in sorted(heads, key=lambda item: item.source.path):
        if codeowners is None or not head.owner:
            continue
        work += codeowners.work(head.source.path)
        if work > WORK_MAX:
            break
        owners, line = codeowners.owners(head.source.path)
        if owners and not _is_named(head.owner, owners):
            shown = ", ".join(owner[:80] for owner in owners[:OWNERS_SHOWN_MAX])
            more = " and others" if len(owners) > OWNERS_SHOWN_MAX else ""
            message = (
                f"the owner is {quoted(head.owner)}, and line {line} of {codeowners.path} gives this file to {shown}"
                f"{more}: correct one of the two."
            )
            found.append(problem("owner-not-in-codeowners", head.source.path, (1, 1), message, name=head.name))
    return tuple(found)


def _rule(text: str, number: int, section: str, defaults: tuple[str, ...]) -> _Rule | None:
    pattern, *rest = _WORD.findall(text) or [""]
    excluded = pattern.startswith("!")
    pattern = pattern[excluded:]
    parts = _parts(pattern)
    if not parts:
        return None
    literals = (run for part in parts for run in re.split(r"[*?]|\\.", part))
    owners = () if excluded else _owners(rest) or defaults
    return _Rule(parts, len(pattern), max(literals, key=len, default=""), owners, number, section)


def _owners(words: Iterable[str]) -> tuple[str, ...]:
    owners = []
    for word in words:
        if word.startswith("#"):
            break
        if "@" in word:
            owners.append(word)
    return tuple(owners)


def _parts(pattern: str) -> tuple[str, ...]:
    """The parts of a pattern: `**` stands for any number of folders, at the end for all that is below.

    A single name matches at any depth. A last part matches what is below it too, but not where it is a lone star:
    `docs/*` are the files in docs and not those further down.
    """
    parts = pattern.split("/")
    if parts[0] == "":
        parts = parts[1:]
    elif (len(parts) == 1 or parts[1:] == [""]) and parts[0] != _MANY:
        parts = [_MANY, *parts]
    if not parts or parts == [""] or "" in parts[:-1]:
        return ()
    *above, last = parts
    if last == "" and above[-1:] == [_MANY]:
        above.append(_ANY)
    if last in {"", _MANY}:
        return (*above, _ANY, _MANY)
    return (*above, last) if last == _ANY else (*above, last, _MANY)


def _is_part(pattern: str, name: str) -> bool:
    if pattern == _ANY:
        return True
    if not any(sign in pattern for sign in "*?\\"):
        return pattern == name
    return _fits(re.findall(r"\\.|.", pattern, re.DOTALL), name, "*", _is_sign)


def _is_sign(pattern: str, sign: str) -> bool:
    return pattern == "?" or pattern[-1] == sign


def _fits(pattern: Sequence[str], text: Sequence[str], many: str, is_one: Callable[[str, str], bool]) -> bool:
    """Whether the text is the pattern, in which `many` stands for any number of items; at most len·len comparisons."""
    at = place = 0
    after, resumed = -1, 0
    while place < len(text):
        if at < len(pattern) and pattern[at] == many:
            after, resumed = at + 1, place
            at += 1
        elif at < len(pattern) and is_one(pattern[at], text[place]):
            at += 1
            place += 1
        elif after >= 0:
            resumed += 1
            at, place = after, resumed
        else:
            return False
    return all(item == many for item in pattern[at:])


def _is_named(owner: str, owners: Iterable[str]) -> bool:
    """Whether an owner is one of the code owners: as @team, @org/team, or the local part of an address."""
    wanted = _folded(owner)
    return any(wanted in _names_of(each) for each in owners)


def _names_of(owner: str) -> frozenset[str]:
    name, at, _ = owner.rpartition("@") if not owner.startswith("@") else (owner, "", "")
    return frozenset({_folded(owner), _folded(name if at else owner.rpartition("/")[2])})


def _folded(owner: str) -> str:
    return "/".join(fold_tag(part) for part in owner.lstrip("@").split("/"))
