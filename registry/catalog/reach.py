"""What a change of central does to everybody else: whose catalog changes, whose copy is refused, which rules match.

Only the names that the change touches are decided again, and only for those repositories that have a copy of one or a
waiver for it; all others get exactly what central's own catalog shows.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from policies import rules
from policies.decision import Requirement, Side
from policies.rules import Mark, RuleSet, Standing, Waiver
from registry.catalog.effect import Row, Rows, face, sorts_elsewhere
from registry.catalog.merge import NOT_REQUIRED, CentralPart, verdict_on, waived_names, withdrawn_copies
from registry.catalog.revision import Copy, folded_tags


@dataclass(frozen=True, slots=True)
class Member:
    """A service repository that a change of central may touch: its copies of the touched names, and its rules."""

    repository: str
    copies: Mapping[str, Copy]
    before: RuleSet
    after: RuleSet


@dataclass(frozen=True, slots=True)
class Reach:
    """What a change of central does to the registered repositories.

    `rows` are those of repositories with a copy of their own. `names` says of a name in how many repositories it
    changes. `changed` are the repositories whose catalogs change, sorted.
    """

    rows: Rows
    names: Mapping[str, int]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A rule that concerns nobody: a mark that matches no central playbook, or a waiver without a use."""

    rule: Mark | Waiver
    why: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class RulesChange:
    """How the rules change: what came and what went, and which names are required from now on or no longer."""

    marks_added: tuple[Mark, ...]
    marks_removed: tuple[Mark, ...]
    waivers_added: tuple[Waiver, ...]
    waivers_removed: tuple[Waiver, ...]
    waivers_moved: tuple[tuple[Waiver, Waiver], ...]
    required: tuple[tuple[str, Standing], ...]
    not_required: tuple[tuple[str, Standing], ...]


def touched_names(before: CentralPart, after: CentralPart) -> frozenset[str]:
    """The names whose central copy or requirement changes: no other name can change in anybody's catalog."""
    names = before.standings.keys() | after.standings.keys() | before.copies.keys() | after.copies.keys()
    return frozenset(name for name in names if _facts(before, name) != _facts(after, name))


def touched_waivers(before: RuleSet, after: RuleSet) -> frozenset[tuple[str, str]]:
    """(name, repository) of each waiver that comes, goes or moves its end."""
    was, now = _last(before.waivers), _last(after.waivers)
    return frozenset(key for key in was.keys() | now.keys() if _until(was.get(key)) != _until(now.get(key)))


def reach_of(
    before: CentralPart, after: CentralPart, members: Iterable[Member], repositories: Collection[str]
) -> Reach:
    """What the step from one central part to another does to `repositories`.

    `members` are those of them that have a copy of a touched name, or a waiver for one.
    """
    touched = touched_names(before, after)
    shared = {name for name in touched if face(before.verdicts.get(name)) != face(after.verdicts.get(name))}
    withdrawn = withdrawn_copies(before.rules), withdrawn_copies(after.rules)
    rows: Rows = {}
    names = Counter({name: len(repositories) for name in shared})
    changed = set(repositories) if shared else set()
    for member in members:
        here, there = member.repository, member.copies
        own = there.keys() | waived_names(member.before, here) | waived_names(member.after, here)
        is_changed = not shared <= own
        for name in sorted(own):
            was = verdict_on(before, name, there.get(name), member.before, here, withdrawn[0])
            now = verdict_on(after, name, there.get(name), member.after, here, withdrawn[1])
            differs = face(was) != face(now)
            is_changed = is_changed or differs
            names[name] += int(differs) - int(name in shared)
            for sort in sorts_elsewhere(was, now):
                rows.setdefault(sort, []).append(Row(name, here, Side.LOCAL, was, now))
        (changed.add if is_changed else changed.discard)(here)
    return Reach(rows, names, tuple(sorted(changed)))


def with_reach(rows: Rows, names: Mapping[str, int]) -> Rows:
    """Central's own rows, each with the number of repositories in which its name changes."""
    return {sort: [replace(row, reach=names.get(row.name, 0)) for row in found] for sort, found in rows.items()}


def rules_change(before: CentralPart, after: CentralPart, old: RuleSet, new: RuleSet) -> RulesChange:
    """How the rules change; `old` and `new` are all of them, waivers of every repository included."""
    marks = ({(mark.origin, mark.name, mark.tag): mark for mark in each.marks} for each in (old, new))
    old_marks, new_marks = marks
    was, now = _last(old.waivers), _last(new.waivers)
    both = sorted(key for key in was.keys() & now.keys() if was[key].until != now[key].until)
    names = sorted(before.standings.keys() | after.standings.keys())
    stands = [
        (name, before.standings.get(name, NOT_REQUIRED), after.standings.get(name, NOT_REQUIRED)) for name in names
    ]
    return RulesChange(
        marks_added=rules.combine(RuleSet(marks=tuple(new_marks[key] for key in new_marks.keys() - old_marks))).marks,
        marks_removed=rules.combine(RuleSet(marks=tuple(old_marks[key] for key in old_marks.keys() - new_marks))).marks,
        waivers_added=tuple(now[key] for key in sorted(now.keys() - was)),
        waivers_removed=tuple(was[key] for key in sorted(was.keys() - now)),
        waivers_moved=tuple((was[key], now[key]) for key in both),
        required=tuple((name, now) for name, was, now in stands if _is_yes(now) and not _is_yes(was)),
        not_required=tuple((name, was) for name, was, now in stands if _is_yes(was) and not _is_yes(now)),
    )


def unmatched_rules(
    after: CentralPart,
    old: RuleSet,
    new: RuleSet,
    *,
    old_names: Mapping[str, Collection[str]],
    registered: Collection[str] | None,
    copies: Collection[tuple[str, str]],
) -> tuple[Unmatched, ...]:
    """The rules after the change that concern nobody, marks first.

    `old_names` maps the names that central had to their tags; `copies` are the (name, repository) of the local copies
    that waivers speak of. Where `registered` is None nobody knows whom a waiver concerns, only whether it is over.
    """
    before = {(mark.name, mark.tag) for mark, _ in rules.unmatched(old, old_names, nearest_max=0)}
    found = [
        Unmatched(mark, "matches no central playbook", (mark.name, mark.tag) not in before)
        for mark, _ in rules.unmatched(new, tags_of(after.copies.values()), nearest_max=0)
    ]
    known = {(waiver.name, waiver.repository) for waiver in old.waivers}
    for key, waiver in sorted(_last(new.waivers).items()):
        is_new, why = key not in known, _idle(waiver, after, registered, copies)
        # One that was there and is over has done what it was for.
        if why is not None and (is_new or waiver.holds(after.rule_date)):
            found.append(Unmatched(waiver, why, is_new))
    return tuple(found)


def tags_of(copies: Iterable[Copy]) -> dict[str, tuple[str, ...]]:
    """Name -> folded tags of each copy, as rules are matched with them."""
    return {copy.name: folded_tags(copy.head.tags) if copy.head else () for copy in copies}


def _idle(
    waiver: Waiver, after: CentralPart, registered: Collection[str] | None, copies: Collection[tuple[str, str]]
) -> str | None:
    if not waiver.holds(after.rule_date):
        return "its last day is over"
    if registered is None:
        return None
    if waiver.repository not in registered:
        return "its repository is not registered"
    if not _is_yes(_standing(after, waiver.name)):
        return "its playbook is not required"
    if (waiver.name, waiver.repository) not in copies:
        return "its repository has no copy of the playbook"
    return None


def _facts(part: CentralPart, name: str) -> tuple[object, ...]:
    copy = part.copies.get(name)
    return (
        None if copy is None else (copy.state, copy.digest),
        _standing(part, name).requirement,
    )


def _standing(part: CentralPart, name: str) -> Standing:
    return part.standings.get(name, NOT_REQUIRED)


def _last(waivers: Iterable[Waiver]) -> dict[tuple[str, str], Waiver]:
    """(name, repository) -> the waiver that holds longest."""
    found: dict[tuple[str, str], Waiver] = {}
    for waiver in waivers:
        key = (waiver.name, waiver.repository)
        if key not in found or waiver.until > found[key].until:
            found[key] = waiver
    return found


def _until(waiver: Waiver | None) -> object:
    return None if waiver is None else waiver.until


def _is_yes(standing: Standing) -> bool:
    return standing.requirement is Requirement.YES
