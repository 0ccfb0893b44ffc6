"""One name of a catalog in words: why this copy serves, and how each of the others stands."""

from policies import explanation
from policies.decision import CopyState, Side
from policies.explanation import Account
from registry.catalog.merge import Catalog, Verdict


def explanation_of(verdict: Verdict, catalog: Catalog) -> str:
    """The decision on one name in sentences that somebody new understands."""
    return " ".join(
        explanation.explain(
            verdict.decision,
            name=verdict.name,
            repository=catalog.repository,
            central=_account(verdict, Side.CENTRAL, catalog),
            local=_account(verdict, Side.LOCAL, catalog),
            standing=verdict.standing,
        )
    )


def _account(verdict: Verdict, side: Side, catalog: Catalog) -> Account:
    copy = verdict.side(side)
    if copy is None:
        return Account(CopyState.ABSENT)
    label = copy.path
    if copy.head is not None:
        label = f"version {copy.head.version} at {copy.head.source.repository}/{copy.head.source.path}"
    problem = copy.problem
    return Account(
        copy.state,
        label,
        "" if problem is None else f"{problem.path}:{problem.line}:{problem.column} {problem.message}",
        _withdrawn(verdict, side, catalog),
    )


def _withdrawn(verdict: Verdict, side: Side, catalog: Catalog) -> str | None:
    copy = verdict.side(side)
    digest = copy.head.digest if copy is not None and copy.head is not None else None
    found = (item for item in catalog.rules.withdrawals if item.name == verdict.name and item.digest == digest)
    return next((item.reason for item in found), None)


def shown_state(verdict: Verdict, side: Side, catalog: Catalog) -> str:
    """The state of one side's copy as it is shown: a withdrawn one is that, whatever its file is."""
    if _withdrawn(verdict, side, catalog) is not None:
        return "withdrawn"
    copy = verdict.side(side)
    return copy.state.value if copy is not None else CopyState.ABSENT.value
