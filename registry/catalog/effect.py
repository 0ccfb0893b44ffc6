"""What a change of one source does to a catalog: the merge before it and after it, compared name by name.

Values in, rows out. A service repository's change is seen in its own catalog; a change of central in central's own
catalog here, and in everybody else's in `reach`.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from policies.decision import CopyState, Side
from registry.catalog.merge import Catalog, CentralPart, Verdict
from registry.catalog.revision import Copy, Held, Revision
from registry.names import name_key
from registry.playbook.model import Level, Problem

_SERVABLE = frozenset({CopyState.GOOD, CopyState.HELD})
AMBIGUOUS_CODE = "duplicate-name"


class Sort(StrEnum):
    """What a change brings to a name. A name can be of several sorts."""

    ADDED = "added"
    """The source has a copy that it did not have."""
    REMOVED = "removed"
    """The source has no copy any more."""
    CHANGED = "changed"
    """The source's copy says something else, or loads no longer."""
    MENDED = "mended"
    """The source's newest file loads again, after an earlier copy or none stood for it."""
    REFUSED = "refused"
    """A local copy of a name that is required there: it never serves. Also told where it was so before."""
    FREED = "freed"
    """A local copy that is not refused any more, without a waiver."""
    SHADOWING = "shadowing"
    """A local copy that from now on serves in front of a central one."""
    WAIVED = "waived"
    """A local copy that from now on serves by a waiver."""
    BEHIND = "behind"
    """A local copy that serves on in front of a central one that changed: the change does not reach it."""
    COLLIDING = "colliding"
    """Two files of the source claim the name, and neither is chosen."""
    HELD = "held"
    """The source's newest file does not load, so an earlier good copy serves on."""
    UNAVAILABLE = "unavailable"
    """Nobody serves the name any more, or it is new and nobody does."""
    DANGLING = "dangling"
    """A playbook that names as its replacement one that is not served any more."""


@dataclass(frozen=True, slots=True)
class Row:
    """One name in one catalog before and after; a verdict is None where the name is in no list.

    `repository` is whose catalog, None for central's own and with it that of everybody who has no copy of the name.
    `own` is the side that the row speaks of. `is_new` says whether it was otherwise before. `reach` is in how many
    registered repositories the name changes, where that was counted. `replaced_by` is of a dangling name alone.
    """

    name: str
    repository: str | None
    own: Side
    before: Verdict | None
    after: Verdict | None
    is_new: bool = True
    reach: int | None = None
    replaced_by: str | None = None

    @property
    def copy(self) -> Copy | None:
        """The copy of the side that the row speaks of: the one after the change, or the one that is gone."""
        return copy_of(self.after, self.own) or copy_of(self.before, self.own)


Rows = dict[Sort, list[Row]]


def local_rows(before: Catalog, after: Catalog) -> Rows:
    """What changes in one repository's catalog when its own revision does, each sort by name."""
    rows: Rows = {}
    for name in sorted(before.own.keys() | after.own.keys()):
        _add(rows, name, after.repository, Side.LOCAL, before.verdict(name), after.verdict(name))
    if lost := _lost(rows):
        _add_dangling(rows, after.repository, after.verdicts(), lost)
    return rows


def central_rows(before: CentralPart, after: CentralPart) -> Rows:
    """What changes in central's own catalog, which is also everybody's who has no copy of the name."""
    rows: Rows = {}
    for name in sorted(before.standings.keys() | after.standings.keys()):
        _add(rows, name, None, Side.CENTRAL, before.verdicts.get(name), after.verdicts.get(name))
    if lost := _lost(rows):
        _add_dangling(rows, None, after.verdicts.values(), lost)
    return rows


def sorts_elsewhere(before: Verdict | None, after: Verdict | None) -> Iterator[Sort]:
    """What becomes of a name in a catalog with a copy of its own, which stays as it is while central changes."""
    if copy_of(after, Side.LOCAL) is None:
        return
    yield from (sort for sort, is_new in _local_sorts(before, after) if is_new)
    if _is_unavailable(after) and not _is_unavailable(before):
        yield Sort.UNAVAILABLE
    was, now = copy_of(before, Side.CENTRAL), copy_of(after, Side.CENTRAL)
    if was and now and was.digest != now.digest and _is_shadowing(before) and _is_shadowing(after):
        yield Sort.BEHIND


def face(verdict: Verdict | None) -> tuple[object, ...] | None:
    """What a catalog shows of a name, as far as it matters to who is served: never commits and paths."""
    if verdict is None:
        return None
    decision = verdict.decision
    serving = verdict.side(decision.serves)
    refused = tuple(copy.digest for side in decision.refused if (copy := verdict.side(side)) is not None)
    if serving is None:
        return decision.outcome, refused
    return decision.outcome, refused, decision.serves, serving.state, serving.digest, verdict.required, verdict.waiver


def copy_of(verdict: Verdict | None, side: Side) -> Copy | None:
    """The copy of that side, or None."""
    return None if verdict is None else verdict.side(side)


def held_on(revision: Revision, previous: Revision | None, unread: Iterable[str] = ()) -> Revision:
    """`revision` with its broken copies held at what `previous` serves of them (merge.md, Held copy).

    It was read without history, so that a broken file stands in it as broken, or, where not even its name could be
    read, only as a path in `unread`.
    """
    if previous is None:
        return revision
    served = {copy.path: copy for copy in previous.copies if copy.head is not None}
    by_name = {copy.name: copy for copy in previous.copies if copy.head is not None}
    copies = {copy.name: copy for copy in revision.copies if copy.state is not CopyState.BROKEN}
    present = {copy.path for copy in revision.copies}
    broken = [copy for copy in revision.copies if copy.state is CopyState.BROKEN]
    for copy in broken:
        by_this_name = by_name.get(copy.name)
        moved = by_this_name if by_this_name is not None and by_this_name.path not in present else None
        _hold(copies, copy.path, served.get(copy.path) or moved, copy)
    for path in sorted(set(unread) - present):
        _hold(copies, path, served.get(path), None)
    return replace(revision, copies=tuple(copy for _, copy in sorted(copies.items())))


def _hold(copies: dict[str, Copy], path: str, served: Copy | None, broken: Copy | None) -> None:
    """Put into `copies` what a broken file makes: its held copy, else itself. A good copy of the name goes before."""
    if served is not None and served.head is not None:
        problem = Problem("", Level.ERROR, path, 1, 1, "the newest file does not load", served.name)
        commit = served.head.held.commit if served.head.held else served.head.source.commit
        head = replace(served.head, held=Held(commit, problem))
        says = served.says_required or (broken is not None and broken.says_required)
        copies.setdefault(served.name, Copy(served.name, CopyState.HELD, head, says, problem, path))
    elif broken is not None:
        copies.setdefault(broken.name, broken)


def _add(
    rows: Rows, name: str, repository: str | None, own: Side, before: Verdict | None, after: Verdict | None
) -> None:
    found = [*_own_sorts(before, after, own), *_local_sorts(before, after)]
    if _is_unavailable(after) and not _is_unavailable(before):
        found.append((Sort.UNAVAILABLE, True))
    for sort, is_new in found:
        rows.setdefault(sort, []).append(Row(name, repository, own, before, after, is_new))


def _own_sorts(before: Verdict | None, after: Verdict | None, own: Side) -> Iterator[tuple[Sort, bool]]:
    """What became of the changed source's own copy."""
    was, now = copy_of(before, own), copy_of(after, own)
    if now is None:
        if was is not None:
            yield Sort.REMOVED, True
        return
    if was is None:
        yield Sort.ADDED, True
    elif now.state is CopyState.GOOD and was.state is not CopyState.GOOD:
        yield Sort.MENDED, True
    elif _shape(was) != _shape(now):
        yield Sort.CHANGED, True
    if _is_colliding(now) and not _is_colliding(was):
        yield Sort.COLLIDING, True
    elif now.state is CopyState.HELD and (was is None or was.state is not CopyState.HELD):
        yield Sort.HELD, True


def _local_sorts(before: Verdict | None, after: Verdict | None) -> Iterator[tuple[Sort, bool]]:
    """What became of the local copy beside the central one."""
    if _is_refused(after):
        yield Sort.REFUSED, not _is_refused(before)
        return
    if after is not None and after.waiver is not None:
        if before is None or before.waiver is None:
            yield Sort.WAIVED, True
    elif _is_refused(before) and copy_of(after, Side.LOCAL) is not None:
        yield Sort.FREED, True
    elif _is_shadowing(after) and not _is_shadowing(before):
        yield Sort.SHADOWING, True


def _shape(copy: Copy) -> tuple[bool, str | None]:
    return copy.state in _SERVABLE, copy.digest


def _is_refused(verdict: Verdict | None) -> bool:
    # One that does not load is meant too: the file is there for every agent that reads the folder by itself.
    return verdict is not None and verdict.local is not None and verdict.required


def _is_shadowing(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.decision.serves is Side.LOCAL and verdict.central is not None


def _is_unavailable(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.decision.serves is None


def _is_colliding(copy: Copy | None) -> bool:
    if copy is None:
        return False
    return copy.state is CopyState.AMBIGUOUS or (copy.problem is not None and copy.problem.code == AMBIGUOUS_CODE)


def _lost(rows: Rows) -> frozenset[str]:
    """The names that were served and are not any more, whatever became of their copies."""
    found = (*rows.get(Sort.REMOVED, ()), *rows.get(Sort.UNAVAILABLE, ()))
    return frozenset(
        row.name
        for row in found
        if row.before is not None and row.before.serving is not None and (row.after is None or not row.after.serving)
    )


def _add_dangling(rows: Rows, repository: str | None, after: Iterable[Verdict], lost: Collection[str]) -> None:
    for verdict in after:
        side, serving = verdict.decision.serves, verdict.serving
        said = None if serving is None or serving.deprecated is None else serving.deprecated.get("replaced_by")
        replacement = name_key(said) if isinstance(said, str) else None
        if side is not None and replacement in lost:
            row = Row(verdict.name, repository, side, verdict, verdict, replaced_by=replacement)
            rows.setdefault(Sort.DANGLING, []).append(row)
