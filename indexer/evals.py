"""Evaluations: selection cases and a searcher in, a report out.

A case must not be asked of an index that holds its very task among the playbooks' own: leave it out, or the figures
measure memory.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Searcher = Callable[[str], Sequence[str]]
"""A task's text -> the ids found, best first."""

DEPTHS = (1, 3, 5, 10)
DEPTH = 5
"""How far down a list a playbook of selection cases still counts as found."""


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


@dataclass(frozen=True, slots=True)
class SelectionCase:
    """A task that a playbook says must find it, or a near miss that must not."""

    playbook: str
    text: str
    is_near_miss: bool = False


@dataclass(frozen=True, slots=True)
class Placing:
    """What a search without the case's own text makes of it.

    `rank`: that of the case's playbook, from 1, or None where it is not found, or so far down that nobody asks.
    `first`: the playbook that comes first. `holders`: the playbooks that have the text among their own tasks, sorted.
    """

    rank: int | None
    first: str | None
    holders: tuple[str, ...] = ()


Placer = Callable[[SelectionCase], Placing]


@dataclass(frozen=True, slots=True)
class Placed:
    """A case with its placing."""

    case: SelectionCase
    placing: Placing

    def is_within(self, depth: int) -> bool:
        """Whether the case's playbook is among the first `depth`."""
        return self.placing.rank is not None and self.placing.rank <= depth


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of some cases: shares from 0 to 1, None where no case can tell.

    `recall_at_1`, `recall_at_5`: how many tasks find their playbook first, and among the first five. `mrr`: mean of
    1 / rank. `attracted`, `attracted_at_5`: how many near misses find their playbook first, and among the first five.
    """

    tasks: int
    recall_at_1: float | None
    recall_at_5: float | None
    mrr: float | None
    near_misses: int
    attracted: float | None
    attracted_at_5: float | None


@dataclass(frozen=True, slots=True)
class Taking:
    """How many tasks of another playbook one playbook comes first for."""

    taker: str
    loser: str
    tasks: int


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """How a catalog's own cases come out, in an order that depends on them alone.

    `missed`: tasks whose playbook is not first, those not found before all and then the worst rank first. `attracted`:
    near misses whose playbook is among the first five, the best rank first. `takings`: the most tasks first.
    """

    overall: Figures
    by_playbook: Mapping[str, Figures]
    missed: tuple[Placed, ...]
    attracted: tuple[Placed, ...]
    takings: tuple[Taking, ...]


def report_selection(cases: Iterable[SelectionCase], place: Placer) -> SelectionReport:
    """The report of a catalog's own cases; the order in which they come changes nothing."""
    ordered = sorted(cases, key=lambda case: (case.playbook, case.is_near_miss, case.text))
    placed = [Placed(case, place(case)) for case in ordered]
    by_playbook: dict[str, list[Placed]] = {}
    for one in placed:
        by_playbook.setdefault(one.case.playbook, []).append(one)
    missed = [one for one in placed if not one.case.is_near_miss and not one.is_within(1)]
    taken = Counter((one.placing.first, one.case.playbook) for one in missed if one.placing.first is not None)
    takings = [Taking(taker, loser, tasks) for (taker, loser), tasks in taken.items()]
    attracted = [one for one in placed if one.case.is_near_miss and one.is_within(DEPTH)]
    return SelectionReport(
        overall=_figures(placed),
        by_playbook={name: _figures(ones) for name, ones in sorted(by_playbook.items())},
        missed=tuple(sorted(missed, key=lambda one: -(one.placing.rank or math.inf))),
        attracted=tuple(sorted(attracted, key=lambda one: one.placing.rank or math.inf)),
        takings=tuple(sorted(takings, key=lambda one: (-one.tasks, one.taker, one.loser))),
    )


def _figures(placed: Sequence[Placed]) -> Figures:
    tasks = [one for one in placed if not one.case.is_near_miss]
    near_misses = [one for one in placed if one.case.is_near_miss]
    return Figures(
        tasks=len(tasks),
        recall_at_1=_share(one.is_within(1) for one in tasks),
        recall_at_5=_share(one.is_within(DEPTH) for one in tasks),
        mrr=_share(1.0 / one.placing.rank if one.placing.rank else 0.0 for one in tasks),
        near_misses=len(near_misses),
        attracted=_share(one.is_within(1) for one in near_misses),
        attracted_at_5=_share(one.is_within(DEPTH) for one in near_misses),
    )


def _share(values: Iterable[float]) -> float | None:
    """The mean of some values, or None where there are none."""
    listed = list(values)
    return _mean(listed) if listed else None
