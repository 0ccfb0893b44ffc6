"""From the readings of one commit's files to at most one copy per name (merge.md, Facts).

A good file beats broken files of its name; only good files can be ambiguous; a broken file keeps the name that it
last had and is held at its newest good version.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from policies.decision import CopyState
from registry.catalog.revision import Copy, Head, Held, Revision, Source, folded_tags, head_of
from registry.playbook.model import Level, Playbook, Problem, Reading


@dataclass(frozen=True, slots=True)
class EarlierCopy:
    """The newest version of a file that loads, and its commit."""

    playbook: Playbook
    commit: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Which source, at which commit, the readings are of."""

    kind: str
    repository: str
    commit: str

    def source(self, playbook: Playbook, commit: str | None = None) -> Source:
        """Where a playbook of this source was read."""
        return Source(self.kind, self.repository, commit or self.commit, playbook.path, playbook.blob)


@dataclass(frozen=True, slots=True)
class CopySet:
    """The copies of one source, sorted by name; all problems, sorted by place; the playbooks whose documents serve."""

    copies: tuple[Copy, ...]
    problems: tuple[Problem, ...]
    playbooks: tuple[Playbook, ...]


def copies_of(
    readings: Sequence[Reading],
    *,
    origin: Origin,
    root_of: Callable[[str], int],
    previous: Revision | None = None,
    earlier: Callable[[str], EarlierCopy | None] = lambda _path: None,
    required_tags: frozenset[str] = frozenset(),
) -> CopySet:
    """The copies and problems of one commit.

    `root_of` gives a path's root (lower goes first). `earlier` looks up the newest version of a path that loads.
    `previous` is the revision that served before; `required_tags` are the tags that the policy file marks.
    """
    candidates = sorted((reading for reading in readings if reading.candidate), key=lambda item: item.path)
    problems = [problem for reading in readings for problem in reading.problems]
    before = {} if previous is None else {copy.name: copy for copy in previous.copies}
    by_name: dict[str, list[Playbook]] = defaultdict(list)
    for reading in candidates:
        if reading.playbook is not None:
            by_name[reading.playbook.key].append(reading.playbook)
    copies: dict[str, Copy] = {}
    playbooks: list[Playbook] = []
    for name, rivals in by_name.items():
        copy, notes = _choose(rivals, origin, root_of, before.get(name), required_tags)
        copies[name] = copy
        problems.extend(notes)
        playbooks.extend(item for item in rivals if copy.head is not None and item.digest == copy.head.digest)
    by_path = {copy.path: copy for copy in before.values()}
    named: dict[str, str] = {}
    present = {reading.path for reading in readings}
    broken = [reading for reading in candidates if reading.playbook is None]
    for reading in sorted(broken, key=lambda item: (root_of(item.path), item.path)):
        copy_and_playbook = _hold(reading, origin, present, before, by_path, earlier, required_tags)
        if copy_and_playbook is None:
            continue
        copy, playbook = copy_and_playbook
        rival = copies.get(copy.name)
        if rival is None or (rival.state is CopyState.BROKEN and copy.state is CopyState.HELD):
            copies[copy.name] = copy
            playbooks.extend([playbook] if playbook else [])
        named[reading.path] = copy.name
    return CopySet(
        tuple(copy for _, copy in sorted(copies.items())),
        tuple(
            sorted(
                (_named(item, named) for item in problems),
                key=lambda item: (item.path, item.line, item.column, item.code),
            )
        ),
        tuple({playbook.digest: playbook for playbook in playbooks}.values()),
    )


def _named(problem: Problem, named: Mapping[str, str]) -> Problem:
    name = named.get(problem.path)
    return replace(problem, name=name) if name is not None and problem.name is None else problem


def _choose(
    rivals: Sequence[Playbook],
    origin: Origin,
    root_of: Callable[[str], int],
    before: Copy | None,
    required_tags: frozenset[str],
) -> tuple[Copy, list[Problem]]:
    """The copy that good files of one name make, with what is to be said of the twins (merge.md, Twins)."""
    first = min(root_of(playbook.path) for playbook in rivals)
    inside = [playbook for playbook in rivals if root_of(playbook.path) == first]
    chosen = inside[0]
    notes = [
        _twin(playbook, chosen) if playbook.digest == chosen.digest else _duplicate_root(playbook, chosen)
        for playbook in rivals
        if root_of(playbook.path) != first
    ]
    if len({playbook.digest for playbook in inside}) == 1:
        notes.extend(_twin(playbook, chosen) for playbook in inside[1:])
        head = head_of(chosen, origin.source(chosen))
        fields = tuple(sorted(chosen.fields))
        return Copy(chosen.key, CopyState.GOOD, head, chosen.required, path=chosen.path, fields=fields), notes
    errors = [_duplicate_name(playbook, inside) for playbook in inside]
    notes.extend(errors)
    says_required = any(_says_required(playbook, required_tags) for playbook in inside) or _said_required(before)
    served = _served_among(inside, before)
    if served is not None:
        head = replace(served, held=Held(served.source.commit, errors[0]))
        return Copy(chosen.key, CopyState.HELD, head, says_required, errors[0], served.source.path), notes
    return Copy(chosen.key, CopyState.AMBIGUOUS, None, says_required, errors[0], chosen.path), notes


def _served_among(inside: Iterable[Playbook], before: Copy | None) -> Head | None:
    if before is None or before.head is None:
        return None
    return before.head if any(playbook.path == before.head.source.path for playbook in inside) else None


def _hold(
    reading: Reading,
    origin: Origin,
    present: set[str],
    before: Mapping[str, Copy],
    by_path: Mapping[str, Copy],
    earlier: Callable[[str], EarlierCopy | None],
    required_tags: frozenset[str],
) -> tuple[Copy, Playbook | None] | None:
    """The copy that a broken file makes, or None where no name is known of it (merge.md, Held copy)."""
    problem = next(item for item in reading.problems if item.level is Level.ERROR)
    found = earlier(reading.path)
    if found is not None:
        name = found.playbook.key
        problem = replace(problem, name=name)
        head = head_of(found.playbook, origin.source(found.playbook, found.commit), Held(found.commit, problem))
        says = _says_required(found.playbook, required_tags) or _shows_required(reading, required_tags) is True
        return Copy(name, CopyState.HELD, head, says, problem, reading.path), found.playbook
    served = by_path.get(reading.path)
    if served is None and reading.claims is not None:
        moved = before.get(reading.claims)
        served = moved if moved is not None and moved.path not in present else None
    name_or_none = served.name if served is not None else reading.claims
    if name_or_none is None:
        return None
    problem = replace(problem, name=name_or_none)
    shows = _shows_required(reading, required_tags)
    says = shows is True or (_said_required(served) if served is not None else shows is None)
    if served is not None and served.head is not None:
        commit = served.head.held.commit if served.head.held else served.head.source.commit
        head = replace(served.head, held=Held(commit, problem))
        says = says or not required_tags.isdisjoint(folded_tags(head.tags))
        return Copy(name_or_none, CopyState.HELD, head, says, problem, reading.path), None
    return Copy(name_or_none, CopyState.BROKEN, None, says, problem, reading.path), None


def _says_required(playbook: Playbook, required_tags: frozenset[str]) -> bool:
    return playbook.required or not required_tags.isdisjoint(folded_tags(playbook.tags))


def _shows_required(reading: Reading, required_tags: frozenset[str]) -> bool | None:
    """What a broken file still shows of itself; None where it may be required and that cannot be read."""
    if reading.says_required is True:
        return True
    if not required_tags:
        return reading.says_required
    if reading.tags is None:
        return None
    return True if not required_tags.isdisjoint(folded_tags(reading.tags)) else reading.says_required


def _said_required(copy: Copy | None) -> bool:
    return copy is not None and copy.says_required


def _duplicate_root(playbook: Playbook, chosen: Playbook) -> Problem:
    return _problem(
        playbook,
        "duplicate-root",
        Level.WARNING,
        f"{playbook.path} has the name of {chosen.path}, whose folder goes first, so this file is not served: "
        "rename or delete one of them.",
    )


def _twin(playbook: Playbook, chosen: Playbook) -> Problem:
    return _problem(
        playbook,
        "twin-identical",
        Level.INFO,
        f"{playbook.path} says the same as {chosen.path}: one of them is enough.",
    )


def _duplicate_name(playbook: Playbook, inside: Sequence[Playbook]) -> Problem:
    others = ", ".join(item.path for item in inside if item.path != playbook.path)
    return _problem(
        playbook,
        "duplicate-name",
        Level.ERROR,
        f"{playbook.key} is also the name of {others} with other content, so none of them is chosen: keep one of that "
        "name, and rename or delete the others.",
    )


def _problem(playbook: Playbook, code: str, level: Level, message: str) -> Problem:
    return Problem(code, level, playbook.path, 1, 1, message, playbook.key)
