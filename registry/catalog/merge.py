"""The merge: two revisions and the rules in, one repository's catalog out (merge.md).

A repository's catalog is central's own verdicts with those names decided again that the repository touches: the
names of its copies and of its waivers. Central's part is the same for every repository, so it is made once per
(central revision, rules) and shared.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Protocol

from policies import precedence, rules
from policies.decision import CopyState, Decision, Outcome, Requirement, Side
from policies.precedence import Candidate
from policies.rules import Mark, RuleSet, Standing, Waiver
from registry.catalog.revision import Copy, Head, Revision, folded_tags
from registry.digest import canonical, digest_of
from registry.playbook.model import Level, Problem

NOT_REQUIRED = Standing(Requirement.NO)


class DecidedCopy(Protocol):
    """What a decision needs to know of a copy."""

    @property
    def state(self) -> CopyState:
        """Whether it can serve."""
        ...

    @property
    def digest(self) -> str | None:
        """The digest of the document that would serve, None where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the merge says of one name in one repository's catalog."""

    name: str
    decision: Decision
    standing: Standing
    central: Copy | None
    local: Copy | None

    @property
    def serving(self) -> Head | None:
        """The head that serves, or None."""
        copy = self.side(self.decision.serves)
        return None if copy is None else copy.head

    @property
    def required(self) -> bool:
        """Whether the name is required here (a waived one is not)."""
        return self.standing.requirement is Requirement.YES

    @property
    def waiver(self) -> Waiver | None:
        """The waiver by which the local copy serves, if that is why it does."""
        return self.standing.waiver if self.decision.outcome is Outcome.WAIVER else None

    def side(self, side: Side | None) -> Copy | None:
        """The copy on that side."""
        return {Side.CENTRAL: self.central, Side.LOCAL: self.local}[side] if side else None

    def copies(self) -> tuple[tuple[Side, Copy], ...]:
        """Every copy of the name, central first."""
        pairs = ((Side.CENTRAL, self.central), (Side.LOCAL, self.local))
        return tuple((side, copy) for side, copy in pairs if copy is not None)


@dataclass(frozen=True, slots=True)
class CentralPart:
    """Central's verdicts for a repository that has no copy and no waiver of its own, by name.

    `standings` are those of every name that central has or a rule marks, before waivers; other names have none.
    """

    revision: Revision
    rules: RuleSet
    rule_date: date
    verdicts: Mapping[str, Verdict]
    copies: Mapping[str, Copy]
    standings: Mapping[str, Standing]


@dataclass(frozen=True, slots=True)
class Catalog:
    """What one repository is served, as decisions: `own` overlays `base`, name by name.

    `own` maps a name to its verdict, or to None where the name is in no list. `rules_digest` is that of the rules
    that can touch this repository.
    """

    repository: str | None
    base: CentralPart
    local: Revision | None
    rules: RuleSet
    rules_digest: str
    own: Mapping[str, Verdict | None]

    def verdict(self, name: str) -> Verdict | None:
        """The verdict on that key, or None where the name is in no list."""
        return self.own[name] if name in self.own else self.base.verdicts.get(name)

    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts, sorted by name."""
        merged = {**self.base.verdicts, **self.own}
        return tuple(verdict for _, verdict in sorted(merged.items()) if verdict is not None)

    def valid_until(self) -> str | None:
        """The instant at which the first waiver that shapes this catalog ends, or None."""
        return valid_until([verdict.waiver.until for verdict in self.own.values() if verdict and verdict.waiver])

    def problems(self) -> tuple[tuple[Side, Problem], ...]:
        """The error-level problems of both revisions, central's first."""
        sides = ((Side.CENTRAL, self.base.revision), (Side.LOCAL, self.local))
        return tuple(
            (side, problem)
            for side, revision in sides
            if revision is not None
            for problem in revision.problems
            if problem.level is Level.ERROR
        )


def valid_until(ends: Collection[date]) -> str | None:
    """The instant at which the first of these days is over, or None where there are none."""
    return f"{min(ends).isoformat()}T23:59:59Z" if ends else None


def rules_digest(scoped: RuleSet) -> str:
    """The digest of a scoped rule set's canonical JSON; its bytes are `rules_bytes`."""
    return digest_of(rules_bytes(scoped))


def rules_bytes(scoped: RuleSet) -> bytes:
    """Canonical JSON of a rule set, in the order that `policies.rules.to_json` fixes."""
    return canonical(rules.to_json(scoped))


def effective_rules(central: Revision, api: RuleSet) -> RuleSet:
    """The rules in force: the central policy file's and those that were set through the API."""
    return api if central.policy is None else rules.combine(central.policy, api)


def central_part(central: Revision, scoped_rules: RuleSet, rule_date: date) -> CentralPart:
    """Central's own verdicts under rules that were scoped to no repository."""
    copies = {copy.name: copy for copy in central.copies}
    marked = {mark.name for mark in scoped_rules.marks if mark.name is not None}
    verdicts: dict[str, Verdict] = {}
    standings: dict[str, Standing] = {}
    withdrawn = withdrawn_copies(scoped_rules)
    speaking = _marks_by_subject(scoped_rules)
    for name in sorted(copies.keys() | marked):
        standings[name] = _standing(name, copies.get(name), speaking, rule_date)
        decision = decide(name, copies.get(name), None, standings[name], withdrawn)
        if decision is not None:
            verdicts[name] = Verdict(name, decision, standings[name], copies.get(name), None)
    return CentralPart(central, scoped_rules, rule_date, verdicts, copies, standings)


def merge(part: CentralPart, local: Revision | None, scoped_rules: RuleSet, repository: str | None) -> Catalog:
    """The catalog of `repository` from central's part, its own revision and the rules scoped to it.

    The result does not depend on the order of anything: names are decided one by one (merge.md, Proof).
    """
    copies = {} if local is None else {copy.name: copy for copy in local.copies}
    withdrawn = withdrawn_copies(scoped_rules)
    own: dict[str, Verdict | None] = {}
    for name in sorted(copies.keys() | waived_names(scoped_rules, repository)):
        own[name] = verdict_on(part, name, copies.get(name), scoped_rules, repository, withdrawn)
    return Catalog(repository, part, local, scoped_rules, rules_digest(scoped_rules), own)


def verdict_on(
    part: CentralPart,
    name: str,
    local: Copy | None,
    scoped_rules: RuleSet,
    repository: str | None,
    withdrawn: Collection[tuple[str, str | None]],
) -> Verdict | None:
    """The verdict on one name that `repository` touches, with its copy if it has one; None where it is in no list."""
    central = part.copies.get(name)
    standing = standing_of(part, name, scoped_rules, repository)
    decision = decide(name, central, local, standing, withdrawn)
    return None if decision is None else Verdict(name, decision, standing, central, local)


def waived_names(scoped_rules: RuleSet, repository: str | None) -> frozenset[str]:
    """The names that a waiver of this repository speaks of."""
    return frozenset(waiver.name for waiver in scoped_rules.waivers if waiver.repository == repository)


def withdrawn_copies(scoped_rules: RuleSet) -> frozenset[tuple[str, str | None]]:
    """(name, digest) of each withdrawn copy."""
    return frozenset((item.name, item.digest) for item in scoped_rules.withdrawals)


def standing_of(part: CentralPart, name: str, scoped_rules: RuleSet, repository: str | None) -> Standing:
    """Whether a name is required in a repository: as in central's part, unless the repository has a waiver for it."""
    found = part.standings.get(name) or NOT_REQUIRED
    return rules.waived(found, scoped_rules, name=name, repository=repository, on=part.rule_date)


def decide(
    name: str,
    central: DecidedCopy | None,
    local: DecidedCopy | None,
    standing: Standing,
    withdrawn: Collection[tuple[str, str | None]],
) -> Decision | None:
    """The decision on one name: the one place where copies become what the policies decide on."""
    return _decision(
        CopyState.ABSENT if central is None else central.state,
        CopyState.ABSENT if local is None else local.state,
        standing.requirement,
        bool(withdrawn and central is not None and (name, central.digest) in withdrawn),
        bool(withdrawn and local is not None and (name, local.digest) in withdrawn),
    )


@lru_cache(maxsize=512)
def _decision(
    central: CopyState,
    local: CopyState,
    requirement: Requirement,
    is_central_withdrawn: bool,  # noqa: FBT001 - the cache is faster by place
    is_local_withdrawn: bool,  # noqa: FBT001
) -> Decision | None:
    # There are not even 512 cases, and a hundred thousand names to decide after a central change.
    return precedence.decide(
        Candidate(central, is_central_withdrawn), Candidate(local, is_local_withdrawn), requirement
    )


def _marks_by_subject(scoped_rules: RuleSet) -> Mapping[tuple[str | None, str | None], list[Mark]]:
    """(name, tag) -> the marks that speak of it; one of the two is None."""
    found: dict[tuple[str | None, str | None], list[Mark]] = {}
    for mark in scoped_rules.marks:
        found.setdefault((mark.name, mark.tag), []).append(mark)
    return found


def _standing(
    name: str, central: Copy | None, speaking: Mapping[tuple[str | None, str | None], list[Mark]], on: date
) -> Standing:
    tags = () if central is None or central.head is None else folded_tags(central.head.tags)
    subjects = [(name, None), *((None, tag) for tag in dict.fromkeys(tags))]
    # With thousands of marks and as many names, each mark would otherwise be held against each name.
    marks = tuple(mark for subject in subjects for mark in speaking.get(subject, ()))
    front_matter = central is not None and central.says_required
    return rules.standing(RuleSet(marks=marks), name=name, tags=tags, front_matter=front_matter, repository=None, on=on)
