"""The effect of a change as the wire says it (http-api.md, preview): of a service repository's, and of central's.

The command line works out the same from two readings of a working copy where it asks no registry; then there is no
central, and there are no other repositories.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from policies import rules
from policies.rules import Mark, RuleSet, Standing, Waiver
from registry.catalog import merge as merging
from registry.catalog import reach as reaching
from registry.catalog.effect import Row, Rows, Sort, central_rows, copy_of, local_rows
from registry.catalog.merge import CentralPart, Verdict, central_part, effective_rules
from registry.catalog.reach import Member, Reach, RulesChange, Unmatched
from registry.catalog.revision import Copy, Revision, path_of
from registry.digest import Json

ROWS_MAX = 500
"""Rows of one sort that an answer lists; its count says how many there are."""

FindCopies = Callable[[Collection[str]], Mapping[str, Mapping[str, Copy]]]
"""Names -> the copies of them that repositories have: repository -> name -> copy."""


@dataclass(frozen=True, slots=True)
class Repositories:
    """The registered service repositories: id -> team, those that were read, and a way to their copies."""

    teams: Mapping[str, str]
    read: frozenset[str]
    copies: FindCopies


def service_effect(
    part: CentralPart, everything: RuleSet, repository: str, before: Revision | None, after: Revision
) -> dict[str, Json]:
    """The effect of a change of one service repository, merged with central's part under all rules there are."""
    scoped = rules.scoped(everything, repository=repository, on=part.rule_date)
    old = merging.merge(part, before, scoped, repository)
    new = merging.merge(part, after, scoped, repository)
    return {"effect": effect_json(local_rows(old, new), {}), "rules": None, "repositories": None}


def central_effect(
    before: Revision, after: Revision, api: RuleSet, on: date, repositories: Repositories | None
) -> dict[str, Json]:
    """The effect of a change of central: on its own catalog, on the rules, and on every registered repository.

    Where nobody knows the repositories (None), nothing is said of them, and nothing counted.
    """
    old, new = effective_rules(before, api), effective_rules(after, api)
    was = central_part(before, rules.scoped(old, repository=None, on=on), on)
    now = central_part(after, rules.scoped(new, repository=None, on=on), on)
    parts = was, now
    rows, repositories_json, waived = central_rows(was, now), None, frozenset[tuple[str, str]]()
    if repositories is not None:
        reach, waived = _reach(parts, (old, new), repositories)
        rows = reaching.with_reach(rows, reach.names)
        for sort, found in reach.rows.items():
            rows[sort] = [*rows.get(sort, ()), *found]
        repositories_json = _repositories_json(reach, repositories)
    unmatched = reaching.unmatched_rules(
        now,
        old,
        new,
        old_names=reaching.tags_of(was.copies.values()),
        registered=None if repositories is None else repositories.teams,
        copies=waived,
    )
    return {
        "effect": effect_json(rows, {} if repositories is None else repositories.teams),
        "rules": rules_json(reaching.rules_change(was, now, old, new), unmatched),
        "repositories": repositories_json,
    }


def _reach(
    parts: tuple[CentralPart, CentralPart], everything: tuple[RuleSet, RuleSet], repositories: Repositories
) -> tuple[Reach, frozenset[tuple[str, str]]]:
    """What the change does to the repositories, and the (name, repository) of the copies that waivers speak of."""
    was, now = parts
    old, new = everything
    touched = reaching.touched_names(was, now) | {name for name, _ in reaching.touched_waivers(old, new)}
    waived = {(waiver.name, waiver.repository) for waiver in new.waivers}
    copies = repositories.copies(touched | {name for name, _ in waived})
    # A waiver counts without a copy too: it takes a required name that central lacks out of the list.
    excepted = {waiver.repository for each in everything for waiver in each.waivers if waiver.name in touched}
    members = _members(parts, everything, copies, touched, excepted & repositories.read)
    reach = reaching.reach_of(was, now, members, repositories.read)
    return reach, frozenset(key for key in waived if key[0] in copies.get(key[1], ()))


def _members(
    parts: Sequence[CentralPart],
    everything: Sequence[RuleSet],
    copies: Mapping[str, Mapping[str, Copy]],
    touched: Collection[str],
    excepted: Collection[str],
) -> list[Member]:
    """The repositories to be decided anew, each with its rules before and after."""
    by_repository = [_waivers_of(each, part.rule_date) for each, part in zip(everything, parts, strict=True)]
    found = []
    for repository in sorted({*copies, *excepted}):
        own = {name: copy for name, copy in copies.get(repository, {}).items() if name in touched}
        old, new = (
            replace(part.rules, waivers=waivers.get(repository, ()))
            for part, waivers in zip(parts, by_repository, strict=True)
        )
        found.append(Member(repository, own, old, new))
    return found


def _waivers_of(everything: RuleSet, on: date) -> dict[str, tuple[Waiver, ...]]:
    found: dict[str, tuple[Waiver, ...]] = {}
    for waiver in everything.waivers:
        if waiver.holds(on):
            found[waiver.repository] = (*found.get(waiver.repository, ()), waiver)
    return found


def effect_json(rows: Rows, teams: Mapping[str, str]) -> dict[str, Json]:
    """Every sort with its count and its first rows; `teams` says whose each repository is."""
    return {sort.value: _listed([_row_json(row, teams) for row in rows.get(sort, ())]) for sort in Sort}


def rules_json(found: RulesChange, unmatched: Sequence[Unmatched]) -> dict[str, Json]:
    """How the rules change, and which of them concern nobody."""
    return {
        "marks_added": _listed([_mark_json(item) for item in found.marks_added]),
        "marks_removed": _listed([_mark_json(item) for item in found.marks_removed]),
        "waivers_added": _listed([_waiver_json(item) for item in found.waivers_added]),
        "waivers_removed": _listed([_waiver_json(item) for item in found.waivers_removed]),
        "waivers_moved": _listed(
            [{**_waiver_json(new), "until_before": old.until.isoformat()} for old, new in found.waivers_moved]
        ),
        "required": _listed([_standing_json(name, standing) for name, standing in found.required]),
        "no_longer_required": _listed([_standing_json(name, standing) for name, standing in found.not_required]),
        "unmatched": _listed([_unmatched_json(item) for item in unmatched]),
    }


def _repositories_json(reach: Reach, repositories: Repositories) -> Json:
    return {
        "registered": len(repositories.teams),
        "read": len(repositories.read),
        "changed": _listed(list(reach.changed)),
    }


def _listed(items: Sequence[Json]) -> Json:
    return {"count": len(items), "items": list(items[:ROWS_MAX])}


def _row_json(row: Row, teams: Mapping[str, str]) -> Json:
    copy, was = row.copy, copy_of(row.before, row.own)
    standing = row.after.standing if row.after is not None and row.after.required else None
    waiver = row.after.waiver if row.after is not None else None
    return {
        "name": row.name,
        "repository": row.repository,
        "team": teams.get(row.repository or ""),
        "path": None if copy is None else path_of(copy),
        "version": _version(copy_of(row.after, row.own)),
        "version_before": _version(was),
        "before": _verdict_json(row.before),
        "after": _verdict_json(row.after),
        "new": row.is_new,
        "reasons": [] if standing is None else list(standing.reasons),
        "until": None if waiver is None else waiver.until.isoformat(),
        "repositories": row.reach,
        "replaced_by": row.replaced_by,
    }


def _version(copy: Copy | None) -> str | None:
    return None if copy is None or copy.head is None else copy.head.version


def _verdict_json(verdict: Verdict | None) -> Json:
    if verdict is None:
        return None
    serving, side = verdict.serving, verdict.decision.serves
    return {
        "outcome": verdict.decision.outcome.value,
        "serves": None if side is None else side.value,
        "version": None if serving is None else serving.version,
        "digest": None if serving is None else serving.digest,
        "required": verdict.required,
    }


def _mark_json(mark: Mark) -> dict[str, Json]:
    return {"origin": mark.origin, "name": mark.name, "tag": mark.tag, "reason": mark.reason}


def _waiver_json(waiver: Waiver) -> dict[str, Json]:
    return {
        "origin": waiver.origin,
        "name": waiver.name,
        "repository": waiver.repository,
        "until": waiver.until.isoformat(),
        "reason": waiver.reason,
        "approved_by": waiver.approved_by,
    }


def _standing_json(name: str, standing: Standing) -> Json:
    return {"name": name, "by": list(standing.by), "reasons": list(standing.reasons)}


def _unmatched_json(item: Unmatched) -> Json:
    rule = item.rule
    said = _mark_json(rule) if isinstance(rule, Mark) else _waiver_json(rule)
    kind = "mark" if isinstance(rule, Mark) else "waiver"
    return {"kind": kind, **said, "why": item.why, "new": item.is_new}
