"""Evaluations: selection cases and a searcher in, a report out.

A case must not be asked of an index that holds its very task among the playbooks' own: leave it out, or the figures
measure memory.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

Searcher = Callable[[str], Sequence[str]]
"""A task's text -> the ids found, best first."""

DEPTHS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class Case:
    """A task, the ids that are right for it and those that are near misses: they must not come first."""

    query: str
    relevant: frozenset[str]
    forbidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a searcher made of one case. `first_right` is the rank of the first right id, from 1, or None."""

    case: Case
    found: tuple[str, ...]
    first_right: int | None
    attracted: bool

    def recall(self, depth: int) -> float:
        """The share of the right ids among the first `depth` found, 0 to 1."""
        return len(self.case.relevant & set(self.found[:depth])) / len(self.case.relevant)


@dataclass(frozen=True, slots=True)
class Report:
    """The figures over all cases; each is a share from 0 to 1, and 0 where no case can tell.

    `hit_at_1`: the first id is a right one. `recall`: depth -> mean share of the right ids up to there. `mrr`: mean of
    1 / rank of the first right id. `near_miss`: among cases with forbidden ids, how often one of them comes first.
    """

    cases: int
    hit_at_1: float
    recall: dict[int, float]
    mrr: float
    near_miss: float
    outcomes: tuple[Outcome, ...] = field(repr=False)

    def missed(self) -> tuple[Outcome, ...]:
        """The cases with right ids whose first id is none of them, in the order they were asked."""
        return tuple(one for one in self.outcomes if one.case.relevant and one.first_right != 1)


def evaluate(cases: Iterable[Case], searcher: Searcher) -> Report:
    """The report of a searcher over selection cases. Cases without right ids count for `near_miss` alone."""
    outcomes = tuple(_outcome(case, tuple(searcher(case.query))) for case in cases)
    right = [outcome for outcome in outcomes if outcome.case.relevant]
    guarded = [outcome for outcome in outcomes if outcome.case.forbidden]
    return Report(
        cases=len(outcomes),
        hit_at_1=_mean([float(outcome.first_right == 1) for outcome in right]),
        recall={depth: _mean([outcome.recall(depth) for outcome in right]) for depth in DEPTHS},
        mrr=_mean([1.0 / outcome.first_right if outcome.first_right else 0.0 for outcome in right]),
        near_miss=_mean([float(outcome.attracted) for outcome in guarded]),
        outcomes=outcomes,
    )


def _outcome(case: Case, found: tuple[str, ...]) -> Outcome:
    ranks = (rank for rank, document_id in enumerate(found, start=1) if document_id in case.relevant)
    attracted = bool(found) and found[0] in case.forbidden
    return Outcome(case=case, found=found, first_right=next(ranks, None), attracted=attracted)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
