"""May a newly read revision be put in force by itself? Pure: two revisions in, a judgement out (merge.md)."""

from dataclasses import dataclass, replace

from policies import change, rules
from policies.rules import Mark, RuleSet
from registry.catalog.revision import Revision


@dataclass(frozen=True, slots=True)
class Judgement:
    """`publish` is what to put in force now (None: nothing new); `suspended` says why the new one waits."""

    publish: Revision | None
    suspended: str | None
    lost: tuple[str, ...] = ()


def judge(previous: Revision | None, new: Revision, *, descends: bool, applied: bool) -> Judgement:
    """What to do with a revision that was just read.

    `descends` says whether its commit descends from the one in force; `applied` that somebody asked for this very
    commit. What tightens in a suspended central revision applies at once. `lost` names in words what is no longer
    required, for the audit log.
    """
    if previous is None:
        return Judgement(new, None)
    weaker = rules.weakens(_said(previous), _said(new)) if new.kind == "central" else ()
    if applied:
        return Judgement(new, None, weaker)
    reason = change.is_too_large(_served(previous), _served(new))
    if reason is None and weaker and not descends:
        reason = "the history was rewritten and rules would weaken: " + " ".join(weaker)
    if reason is None:
        return Judgement(new, None, weaker)
    return Judgement(_tightened(previous, new), reason)


def _served(revision: Revision) -> tuple[str, ...]:
    return tuple(copy.name for copy in revision.copies if copy.head is not None)


def _said(revision: Revision) -> RuleSet:
    """The policy file's rules and what the playbooks say of themselves, as one rule set."""
    marks = tuple(
        Mark("policy-file", copy.name, None, "its front matter says so")
        for copy in revision.copies
        if copy.says_required
    )
    return rules.combine(RuleSet(marks=marks), revision.policy or RuleSet())


def _tightened(previous: Revision, new: Revision) -> Revision | None:
    """The revision in force with the new one's marks added and its ended waivers ended, or None if that is the same."""
    if previous.kind != "central":
        return None
    required = {copy.name for copy in new.copies if copy.says_required}
    copies = tuple(replace(copy, says_required=True) if copy.name in required else copy for copy in previous.copies)
    policy = rules.tighten(previous.policy or RuleSet(), new.policy) if new.policy is not None else previous.policy
    tightened = replace(previous, copies=copies, policy=policy)
    return None if tightened.to_bytes() == previous.to_bytes() else tightened
