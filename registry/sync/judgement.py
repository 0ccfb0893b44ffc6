"""May a newly read revision be put in force by itself? Pure: two revisions in, a judgement out (merge.md)."""

from dataclasses import dataclass, replace

from policies import change, rules
from policies.rules import Mark, RuleSet
from registry.catalog.revision import Revision, folded_tags


@dataclass(frozen=True, slots=True)
class Judgement:
    """`publish` is what to put in force now (None: nothing new); `suspended` says why the new one waits."""

    publish: Revision | None
    suspended: str | None
    lost: tuple[str, ...] = ()


def judge(
    previous: Revision | None, new: Revision, *, descends: bool, applied: bool, is_policy_accepted: bool = False
) -> Judgement:
    """What to do with a revision that was just read.

    `descends` says whether its commit descends from the one in force; `applied` that somebody asked for this very
    commit, `is_policy_accepted` that its lack of a policy file was taken as meant, which excuses nothing else. What
    tightens in a suspended central revision applies at once. `lost` names in words what is no longer required, for
    the audit log.
    """
    if previous is None:
        return Judgement(new, None)
    weaker = rules.weakens(_said(previous), _said(new)) if new.kind == "central" else ()
    if applied:
        return Judgement(new, None, weaker)
    reason = change.is_too_large(_served(previous), _served(new))
    if reason is None and not descends and not is_policy_accepted and (weaker or _lacks_policy(new)):
        lost = " ".join(weaker) or "The policy file is gone or does not load."
        reason = f"The history was rewritten, and rules would weaken: {lost}"
    if reason is None:
        return Judgement(new, None, weaker)
    return Judgement(_tightened(previous, new), reason)


def _served(revision: Revision) -> tuple[str, ...]:
    return tuple(copy.name for copy in revision.copies if copy.head is not None)


def _lacks_policy(revision: Revision) -> bool:
    """Whether the last good rules stand in for a policy file that this commit does not have."""
    return any(problem.code in {"policy-missing", "policy-invalid"} for problem in revision.problems)


def _said(revision: Revision) -> RuleSet:
    """The policy file's rules, and a mark for each name that front matter or a marked tag makes required."""
    policy = revision.policy or RuleSet()
    tags = {mark.tag for mark in policy.marks if mark.tag is not None}
    required = (
        copy.name
        for copy in revision.copies
        if copy.says_required or (copy.head is not None and not tags.isdisjoint(folded_tags(copy.head.tags)))
    )
    marks = tuple(Mark("policy-file", name, None, "required in git") for name in required)
    return rules.combine(RuleSet(marks=marks), policy)


def _tightened(previous: Revision, new: Revision) -> Revision | None:
    """The revision in force with the new one's marks added and its ended waivers ended, or None if that is the same."""
    if previous.kind != "central":
        return None
    required = {copy.name for copy in new.copies if copy.says_required}
    copies = tuple(replace(copy, says_required=True) if copy.name in required else copy for copy in previous.copies)
    policy = rules.tighten(previous.policy or RuleSet(), new.policy) if new.policy is not None else previous.policy
    tightened = replace(previous, copies=copies, policy=policy)
    return None if tightened.to_bytes() == previous.to_bytes() else tightened
