"""Where playbooks are looked for: ordered roots, patterns with braces, and folders that are never entered.

The rules are playbook-format.md, the table and the paragraph Roots. Paths are a repository's own, with `/`, without a
leading one; patterns are anchored at the repository's root or at the sub-path it is registered with.
"""

import re
from typing import Final

DEFAULT_PATTERNS: Final = (
    "playbooks/**/*.{yaml,yml,json,md}",
    ".playbooks/**/*.{yaml,yml,json,md}",
    ".agents/skills/**/SKILL.md",
    ".claude/skills/**/SKILL.md",
    ".github/skills/**/SKILL.md",
    ".cursor/skills/**/SKILL.md",
    "skills/**/SKILL.md",
)
FOLDERS_NOT_ENTERED: Final = frozenset({"node_modules", "vendor", "dist", "build"})
PATTERNS_MAX = 64
PATTERN_CHARS_MAX = 512
EXPANSIONS_MAX = 256

_SKILL_FILE = "SKILL.md"
_BRACES = re.compile(r"\{([^{}]*)\}")


class Roots:
    """Compiled patterns: which paths are playbook files, which folders lead to some, and which root comes first.

    `patterns` None means the default ones. A root is a pattern's place in the list. Raises ValueError for patterns that
    are too many, too long, absolute, or have `..` in them.
    """

    __slots__ = ("_above", "_patterns", "_prefix", "patterns", "sub_path")

    def __init__(self, patterns: tuple[str, ...] | None = None, sub_path: str = "") -> None:
        self.patterns = DEFAULT_PATTERNS if patterns is None else patterns
        self.sub_path = sub_path.strip("/")
        self._above = tuple(self.sub_path.split("/")) if self.sub_path else ()
        if len(self.patterns) > PATTERNS_MAX:
            raise ValueError(f"{len(self.patterns)} patterns are more than {PATTERNS_MAX}: use fewer.")
        self._patterns = tuple(tuple(_compiled(each) for each in expanded(pattern)) for pattern in self.patterns)

    def index(self, path: str) -> int | None:
        """The place of the first root that holds the file at `path`, from 0; None where no root does."""
        parts = self._below(path)
        if not parts or any(_is_closed(part) for part in parts[:-1]):
            return None
        for place, alternatives in enumerate(self._patterns):
            if any(_matches(pattern, parts) for pattern in alternatives):
                return place
        return None

    def wanted(self, path: str) -> bool:
        """Whether the file at `path` is read."""
        return self.index(path) is not None

    def enter(self, folder: str) -> bool:
        """Whether a folder can hold wanted files, so that a walk of the tree goes into it; "" is the tree's root."""
        folder = folder.strip("/")
        parts = tuple(folder.split("/")) if folder else ()
        shared = min(len(parts), len(self._above))
        if parts[:shared] != self._above[:shared]:
            return False
        below = parts[len(self._above) :]
        if any(_is_closed(part) for part in below):
            return False
        return any(_leads(pattern, below) for alternatives in self._patterns for pattern in alternatives)

    def folders(self) -> tuple[str, ...]:
        """The folders, without wildcards, under which every wanted file stands, sorted; "" means the whole tree.

        While their tree ids stay, there is nothing to read again. None of them stands inside another.
        """
        found = {"/".join((*self._above, *_fixed(pattern))) for each in self._patterns for pattern in each}
        return tuple(sorted(one for one in found if not any(_is_inside(one, other) for other in found)))

    def _below(self, path: str) -> tuple[str, ...] | None:
        parts = tuple(path.split("/"))
        if parts[: len(self._above)] != self._above:
            return None
        return parts[len(self._above) :]


def expanded(pattern: str) -> tuple[str, ...]:
    """The pattern with its braces multiplied out, in the order they are written."""
    if len(pattern) > PATTERN_CHARS_MAX:
        raise ValueError(f"the pattern {pattern[:40]}… is longer than {PATTERN_CHARS_MAX} characters: shorten it.")
    waiting = [pattern]
    done: list[str] = []
    while waiting:
        if len(waiting) + len(done) > EXPANSIONS_MAX:
            raise ValueError(f"the braces in {pattern[:40]} make more than {EXPANSIONS_MAX} patterns: use fewer.")
        each = waiting.pop(0)
        found = _BRACES.search(each)
        if found is None:
            done.append(each)
        else:
            waiting[:0] = [each[: found.start()] + part + each[found.end() :] for part in found[1].split(",")]
    return tuple(dict.fromkeys(done))


class _Wildcards:
    """A name with `*` and `?` in it. Pieces between stars are looked for from left to right, which never backtracks."""

    __slots__ = ("_last_chars", "_pieces", "_takes_dots")

    def __init__(self, segment: str) -> None:
        self._takes_dots = segment.startswith(".")
        pieces = re.split(r"\*+", segment)
        self._last_chars = len(pieces[-1])
        self._pieces = tuple(
            re.compile("".join("." if char == "?" else re.escape(char) for char in piece), re.DOTALL)
            for piece in pieces
        )

    def fits(self, name: str) -> bool:
        if name.startswith(".") and not self._takes_dots:
            return False
        first, *others = self._pieces
        found = first.match(name)
        if found is None or not others:
            return found is not None and found.end() == len(name)
        at = found.end()
        for piece in others[:-1]:
            found = piece.search(name, at)
            if found is None:
                return False
            at = found.end()
        # A piece has a fixed length, so there is one place where the last one can begin.
        start = len(name) - self._last_chars
        return start >= at and others[-1].fullmatch(name, start) is not None


Segment = _Wildcards | str
Compiled = tuple[Segment, ...]


def _compiled(pattern: str) -> Compiled:
    segments = pattern.removeprefix("./").split("/")
    if any(segment in {"", ".", ".."} for segment in segments) or "\\" in pattern:
        raise ValueError(f"the pattern {pattern[:80]!r} must be relative, with / between plain segments.")
    return tuple(_segment(segment) for segment in segments)


def _segment(segment: str) -> Segment:
    """`**` and literal names as they are; a name with wildcards made ready."""
    return _Wildcards(segment) if segment != "**" and re.search("[*?]", segment) else segment


def _fits(segment: Segment, name: str) -> bool:
    if not isinstance(segment, str):
        return segment.fits(name)
    # In any case of its letters: its reader warns of another one, and nobody searches for a lost skill.
    return segment == name or (segment == _SKILL_FILE and name.isascii() and name.lower() == segment.lower())


def _matches(pattern: Compiled, parts: tuple[str, ...]) -> bool:
    """Whether all of `parts` fit; `**` stands for any number of folders none of which begins with a dot."""
    return len(pattern) in _reached(pattern, parts, files=True)


def _leads(pattern: Compiled, folders: tuple[str, ...]) -> bool:
    """Whether something below `folders` may fit."""
    return any(place < len(pattern) for place in _reached(pattern, folders, files=False))


def _reached(pattern: Compiled, parts: tuple[str, ...], *, files: bool) -> set[int]:
    """The places in the pattern that can stand behind `parts`: a set, so that many `**` cost no more than one."""
    places = _skipped(pattern, {0})
    for nth, part in enumerate(parts):
        is_file = files and nth == len(parts) - 1
        stepped: set[int] = set()
        for place in places:
            if place == len(pattern):
                continue
            if pattern[place] == "**":
                if not is_file and not part.startswith("."):
                    stepped.add(place)
            elif _fits(pattern[place], part):
                stepped.add(place + 1)
        places = _skipped(pattern, stepped)
    return places


def _skipped(pattern: Compiled, places: set[int]) -> set[int]:
    reached = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] == "**":
            place += 1  # noqa: PLW2901  # the walk over neighbouring stars
            reached.add(place)
    return reached


def _fixed(pattern: Compiled) -> tuple[str, ...]:
    fixed: list[str] = []
    for segment in pattern[:-1]:
        if not isinstance(segment, str) or segment == "**":
            break
        fixed.append(segment)
    return tuple(fixed)


def _is_inside(one: str, other: str) -> bool:
    return one != other and (not other or one.startswith(other + "/"))


def _is_closed(folder: str) -> bool:
    return folder in FOLDERS_NOT_ENTERED or folder.startswith("_")
