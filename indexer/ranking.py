"""Ranking: what a candidate scores for a question, by the statistics of one catalog alone.

BM25 for each field, per term the best field and a share of the others, less what its `not_for` names (search.md,
Ranking). Nothing here knows of the index: other catalogs in it can change neither a score nor an order.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from indexer.query import Question
from indexer.tally import FIELDS, CatalogStatistics, Content, Field

FIELD_WEIGHTS: Final[dict[Field, float]] = {"all": 1.0, "name": 0.5, "steps": 0.4}
TIE: Final = 0.3
"""The share of a term's other fields that is added to its best one."""
TYPO_WEIGHT: Final = 0.6
"""What a match within one edit is worth, beside a match as written."""
NOT_FOR_PENALTY: Final = 0.5
REASONS_MAX: Final = 5
WEAK_MARGIN: Final = 0.05
"""Below this share of the top score between the first two hits, nothing stands out."""

_K1: Final = 1.2
_B: Final = 0.75


@dataclass(frozen=True, slots=True)
class Hit:
    """One document found.

    `why` names the terms that earned the score, the strongest first, five at most; `exact` says that the whole
    text of the query is this document's name.
    """

    id: str
    scope: str
    digest: str
    name: str
    score: float
    why: tuple[str, ...] = ()
    exact: bool = False


class Scorer:
    """Scores candidates for one question by one catalog's statistics; what all of them share is computed once."""

    def __init__(self, question: Question, statistics: CatalogStatistics) -> None:
        self._statistics = statistics
        self._question = question
        self._averages = {field: statistics.average_length(field) for field in FIELDS}
        self._weights: dict[str, tuple[float, ...]] = {}
        self._task_weight = sum(weight for _, weight in question.every)

    def score(self, candidate: Content) -> tuple[float, tuple[str, ...]]:
        """The score of a candidate, 0 and above, and the terms that earned it, the strongest first."""
        norms = tuple(_K1 * (1.0 - _B + _B * candidate.length(field) / self._averages[field]) for field in FIELDS)
        earned = [(self._gain(term, candidate, norms), term) for term, _ in self._question.terms]
        for unknown in self._question.unknown:
            near = min((term for term in candidate.all if within_one_edit(unknown, term)), default=None)
            if near is not None:
                earned.append((TYPO_WEIGHT * self._gain(near, candidate, norms), near))
        earned = sorted(((gain, term) for gain, term in earned if gain > 0.0), key=lambda pair: (-pair[0], pair[1]))
        total = sum(gain for gain, _ in earned) * self._restraint(candidate)
        return round(total, 6), tuple(term for _, term in earned[:REASONS_MAX])

    def _gain(self, term: str, candidate: Content, norms: tuple[float, ...]) -> float:
        """What one term adds: its best field, and TIE of what the other fields give."""
        best = total = 0.0
        for field, weight, norm in zip(FIELDS, self._weights_of(term), norms, strict=True):
            occurrences = candidate.field(field).get(term, 0)
            if occurrences:
                gain = weight * occurrences * (_K1 + 1.0) / (occurrences + norm)
                total += gain
                best = max(best, gain)
        return best + TIE * (total - best)

    def _weights_of(self, term: str) -> tuple[float, ...]:
        """For each field what an average occurrence of the term is worth."""
        weights = self._weights.get(term)
        if weights is None:
            weights = tuple(FIELD_WEIGHTS[field] * self._statistics.weight(field, term) for field in FIELDS)
            self._weights[term] = weights
        return weights

    def _restraint(self, candidate: Content) -> float:
        """Below 1 where the task speaks of what the candidate's `not_for` excludes and its own text does not have."""
        if not candidate.not_for or not self._task_weight:
            return 1.0
        named = sum(
            weight for term, weight in self._question.every if term in candidate.not_for and term not in candidate.all
        )
        return 1.0 - NOT_FOR_PENALTY * math.sqrt(named / self._task_weight)


def order(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The hits, best first: an exact name before all, then by score, then by name, scope and digest.

    An exact name is first by this rule and not by its weight, so its score is lifted to the best one beside it.
    """
    ranked = sorted(hits, key=lambda hit: (not hit.exact, -hit.score, hit.name, hit.scope, hit.digest))
    best = max((hit.score for hit in ranked), default=0.0)
    return tuple(replace(hit, score=best) if hit.exact else hit for hit in ranked)


def weak(hits: Sequence[Hit]) -> bool:
    """Whether nothing stands out: no hit at all, or a first one that is hardly better than the second.

    `hits` are in order, two of them are enough. No score tells that nothing fits, so the list is shown all the same.
    """
    if not hits or hits[0].score <= 0.0:
        return True
    if hits[0].exact or len(hits) == 1:
        return False
    return hits[0].score - hits[1].score < WEAK_MARGIN * hits[0].score


def within_one_edit(left: str, right: str) -> bool:
    """Whether one insertion, deletion, substitution or swap of neighbours makes the one term the other."""
    if len(left) > len(right):
        left, right = right, left
    if len(right) - len(left) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), len(left))
    if len(left) < len(right):
        return left[start:] == right[start + 1 :]
    swapped = left[start + 1 : start + 2] + left[start : start + 1] + left[start + 2 :]
    return left[start + 1 :] == right[start + 1 :] or swapped == right[start:]
