"""What the rules say of one name in one repository, and how one set of rules compares to another (merge.md, Required).

The facts themselves are in `policies.ruleset` and can be had from here too.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches

from policies.decision import Requirement
from policies.ruleset import (
    AccessRule,
    Effect,
    Ground,
    Mark,
    Origin,
    PublicationRules,
    RuleSet,
    Waiver,
    Who,
    Withdrawal,
    canonical_marks,
    canonical_waivers,
    combine,
    from_json,
    to_json,
)

__all__ = [
    "AccessRule",
    "Effect",
    "Ground",
    "Mark",
    "Origin",
    "PublicationRules",
    "RuleSet",
    "Standing",
    "Waiver",
    "Who",
    "Withdrawal",
    "combine",
    "from_json",
    "next_expiry",
    "scoped",
    "standing",
    "tighten",
    "to_json",
    "unmatched",
    "waived",
    "weakens",
]

NEAREST_MARKS_MAX = 50

FRONT_MATTER_REASON = "The central playbook says `required: true` of itself."
"""The reason of a name that is required by its own front matter, which gives none."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether one name is required in one repository, and on what grounds.

    `by` holds each ground once, in the order front-matter, policy-file, api; `reasons` is in the same order, without
    repetitions. `waiver` is set exactly where the requirement is waived.
    """

    requirement: Requirement
    reasons: tuple[str, ...] = ()
    by: tuple[Ground, ...] = ()
    waiver: Waiver | None = None


def standing(
    rules: RuleSet, *, name: str, tags: Collection[str], front_matter: bool, repository: str | None, on: date
) -> Standing:
    """Whether `name` is required in `repository` on that day (merge.md, Required: any one ground suffices).

    `tags` are those of the central copy and `front_matter` is what that copy says of itself; a service repository's
    own word never comes in here. Of several waivers that hold, the one that holds longest is named.
    """
    # Chosen first and ordered then: this is asked for every name, and few rules speak of one.
    marks = canonical_marks(mark for mark in rules.marks if mark.covers(name, tags))
    grounds: list[tuple[Ground, str]] = [("front-matter", FRONT_MATTER_REASON)] if front_matter else []
    grounds += [(mark.origin, mark.reason or _unexplained(mark)) for mark in marks]
    if not grounds:
        return Standing(Requirement.NO)
    required = Standing(
        requirement=Requirement.YES,
        reasons=tuple(dict.fromkeys(reason for _, reason in grounds)),
        by=tuple(dict.fromkeys(ground for ground, _ in grounds)),
    )
    return waived(required, rules, name=name, repository=repository, on=on)


def waived(standing: Standing, rules: RuleSet, *, name: str, repository: str | None, on: date) -> Standing:
    """What a required name's standing is in one repository: the same, or waived where a waiver of it holds.

    `standing` is that of `name` in a repository without waivers; the grounds are the same in every repository.
    """
    if standing.requirement is not Requirement.YES:
        return standing
    holding = canonical_waivers(
        waiver
        for waiver in rules.waivers
        if waiver.name == name and waiver.repository == repository and waiver.holds(on)
    )
    waiver = max(holding, key=lambda item: item.until, default=None)
    return standing if waiver is None else replace(standing, requirement=Requirement.WAIVED, waiver=waiver)


def scoped(rules: RuleSet, *, repository: str | None, on: date) -> RuleSet:
    """The rules that can decide which copy serves in `repository` on that day, in canonical order.

    Marks and withdrawals concern every repository; a waiver concerns its own alone, until it ends. Publication and
    access are left out: the first shapes a revision when it is read, the second is asked when a playbook is executed,
    and neither may give a catalog another digest. Nor does what is said of working trees.
    """
    return combine(
        RuleSet(
            marks=rules.marks,
            waivers=tuple(item for item in rules.waivers if item.repository == repository and item.holds(on)),
            withdrawals=rules.withdrawals,
        )
    )


def next_expiry(rules: RuleSet, on: date) -> date | None:
    """The last day of the waiver that ends first among those that hold on `on`, or None where none does.

    From the day after it the rules decide otherwise, so that what it shaped is due then.
    """
    return min((waiver.until for waiver in rules.waivers if waiver.holds(on)), default=None)


def tighten(old: RuleSet, new: RuleSet) -> RuleSet:
    """What holds while a revision with the rules `new` is suspended and the one with `old` is in force.

    Marks and withdrawals of both; the waivers of `old` as far as `new` still grants them (merge.md, A mass change).
    Publication and access stay those of `old`: they belong to the revision that is served. Either may deny runs of
    working-tree copies.
    """
    granted = _last_days(new.waivers)
    kept = (
        replace(waiver, until=min(waiver.until, granted[waiver.name, waiver.repository]))
        for waiver in old.waivers
        if (waiver.name, waiver.repository) in granted
    )
    return combine(
        RuleSet(
            marks=(*old.marks, *new.marks),
            waivers=tuple(kept),
            withdrawals=(*old.withdrawals, *new.withdrawals),
            publication=old.publication,
            access=old.access,
            worktree=combine(old, new).worktree,
        )
    )


def weakens(old: RuleSet, new: RuleSet) -> tuple[str, ...]:
    """A sentence for each mark that `new` drops and each waiver that it adds or prolongs; empty where it does neither.

    A mark is known by its name or tag: another reason or origin is not another mark.
    """
    kept = {(mark.name, mark.tag) for mark in new.marks}
    dropped = dict.fromkeys(
        f"{_subject(mark)} would no longer be required."
        for mark in canonical_marks(old.marks)
        if (mark.name, mark.tag) not in kept
    )
    before, after = _last_days(old.waivers), _last_days(new.waivers)
    eased = (_easing(*key, before.get(key), until) for key, until in sorted(after.items()))
    return (*dropped, *(sentence for sentence in eased if sentence))


def unmatched(
    rules: RuleSet, names_and_tags: Mapping[str, Collection[str]], *, nearest_max: int = NEAREST_MARKS_MAX
) -> tuple[tuple[Mark, str | None], ...]:
    """Marks that match no central playbook, in canonical order, each with the nearest name or tag there is, or None.

    `names_and_tags` maps the key of each central playbook to its tags (merge.md, required-unmatched). Only the first
    `nearest_max` such marks get a nearest word: looking for it is quadratic, and a policy file is not ours.
    """
    tags = {tag for found in names_and_tags.values() for tag in found}
    loose = [
        mark for mark in canonical_marks(rules.marks) if (mark.name not in names_and_tags and mark.tag not in tags)
    ]
    return tuple(
        (mark, _nearest(mark, names_and_tags if mark.tag is None else tags) if at < nearest_max else None)
        for at, mark in enumerate(loose)
    )


def _nearest(mark: Mark, words: Collection[str]) -> str | None:
    # Sorted, so that two words that are equally near are chosen between by the alphabet alone.
    found = get_close_matches(mark.name or mark.tag or "", sorted(words), n=1)
    return found[0] if found else None


def _last_days(waivers: Iterable[Waiver]) -> dict[tuple[str, str], date]:
    last: dict[tuple[str, str], date] = {}
    for waiver in waivers:
        key = (waiver.name, waiver.repository)
        last[key] = max(waiver.until, last.get(key, waiver.until))
    return last


def _easing(name: str, repository: str, before: date | None, until: date) -> str:
    if before is None:
        return f"{repository} would get a waiver for {name} until {until.isoformat()}."
    if until > before:
        return (
            f"The waiver of {repository} for {name} would hold until {until.isoformat()} "
            f"instead of {before.isoformat()}."
        )
    return ""


def _subject(mark: Mark) -> str:
    return f"What carries the tag {mark.tag}" if mark.name is None else mark.name


def _unexplained(mark: Mark) -> str:
    return f"The tag {mark.tag} is marked as required." if mark.tag else f"The name {mark.name} is marked as required."
