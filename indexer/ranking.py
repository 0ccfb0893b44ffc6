"""Ranking: what a candidate scores for a question, by the statistics of one catalog alone.

BM25 for each field, per term the best field and a share of the others, less what its `not_for` names (search.md,
Ranking). Nothing here knows of the index: other catalogs in it can change neither a score nor an order.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
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
TAG_BOOST: Final = 0.3
"""What it adds to a score to carry every tag that a caller hopes for. Little: one may be wrong."""
REASONS_MAX: Final = 5
WEAK_MARGIN: Final = 0.1
"""Below this share of the top score between the first two hits, nothing stands out.

Measured on the selection sets: it marks about half of the wrong first hits and one in six of the right ones."""

_K1: Final = 1.2
_B: Final = 0.3
# Below the usual 0.75: a playbook with steps and tasks is long because it says more, not because it rambles. On the
# selection sets 0.25 to 0.4 find one to six points more than 0.75; lower still would favour stuffed texts.
_FLAT: Final = _K1 * (1.0 - _B)

_Weighted = tuple[str, float, float, float]


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
        self._terms = [(term, *_weights(term, statistics)) for term in question.terms]
        self._near = [[(term, *_weights(term, statistics)) for term in near] for near in question.near]
        self._slopes = tuple(_K1 * _B / statistics.average_length(field) for field in FIELDS)
        self._every = question.every
        self._task_weight = sum(question.every.values())

    def score(self, candidate: Content) -> float:
        """The score of a candidate, 0 and above, to six decimals."""
        total = math.fsum(gain for gain, _ in self._earned(candidate))
        return round(total * self._restraint(candidate), 6)

    def reasons(self, candidate: Content) -> tuple[str, ...]:
        """The terms that earn a candidate its score, the strongest first, REASONS_MAX of them."""
        earned = sorted(self._earned(candidate), key=lambda pair: (-pair[0], pair[1]))
        return tuple(term for _, term in earned[:REASONS_MAX])

    def _earned(self, candidate: Content) -> list[tuple[float, str]]:
        earned = self._gains(self._terms, candidate)
        for near in self._near:
            best = max(self._gains(near, candidate), default=None)
            if best is not None:
                earned.append((TYPO_WEIGHT * best[0], best[1]))
        return earned

    def _gains(self, terms: list[_Weighted], candidate: Content) -> list[tuple[float, str]]:
        """What each term adds that the candidate has: its best field, and TIE of what the other fields give.

        Written out for the three fields: this runs for every term of every candidate.
        """
        all_norm, name_norm, steps_norm = (
            _FLAT + slope * length for slope, length in zip(self._slopes, candidate.lengths, strict=True)
        )
        gains = []
        for term, all_weight, name_weight, steps_weight in terms:
            counts = candidate.occurrences.get(term)
            if counts is None:
                continue
            in_all, in_name, in_steps = counts
            of_all = all_weight * in_all / (in_all + all_norm)
            of_name = name_weight * in_name / (in_name + name_norm)
            of_steps = steps_weight * in_steps / (in_steps + steps_norm)
            best = max(of_all, of_name, of_steps)
            gains.append((best + TIE * (of_all + of_name + of_steps - best), term))
        return gains

    def _restraint(self, candidate: Content) -> float:
        """Below 1 where the task speaks of what the candidate's `not_for` excludes and its own text does not have."""
        if not candidate.not_for or not self._task_weight:
            return 1.0
        excluded = candidate.not_for & self._every.keys()
        named = sum(self._every[term] for term in sorted(excluded) if not _positive(term, candidate))
        return 1.0 - NOT_FOR_PENALTY * math.sqrt(named / self._task_weight)


def _weights(term: str, statistics: CatalogStatistics) -> tuple[float, float, float]:
    """For each of FIELDS what an endless repetition of the term would earn."""
    in_all, in_name, in_steps = (
        FIELD_WEIGHTS[field] * (_K1 + 1.0) * statistics.weight(field, term) for field in FIELDS
    )
    return in_all, in_name, in_steps


def _positive(term: str, candidate: Content) -> bool:
    """Whether the candidate's own text, its steps aside, has the term."""
    counts = candidate.occurrences.get(term)
    return counts is not None and counts[FIELDS.index("all")] > 0


def order(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The hits, best first: an exact name before all, then by score, then by name, scope and digest.

    An exact name is first by this rule and not by its weight, so its score is lifted to the best one beside it.
    """
    ranked = sorted(hits, key=lambda hit: (not hit.exact, -hit.score, hit.name, hit.scope, hit.digest))
    best = max((hit.score for hit in ranked), default=0.0)
    return tuple(replace(hit, score=best) if hit.exact else hit for hit in ranked)


def favour(hits: Iterable[Hit], shares: Mapping[str, float]) -> tuple[Hit, ...]:
    """The hits in a new order; `shares` maps a hit's id to the share of the hoped-for tags that it carries, 0 to 1."""
    return order(replace(hit, score=round(hit.score * (1.0 + TAG_BOOST * shares.get(hit.id, 0.0)), 6)) for hit in hits)


def weak(hits: Sequence[Hit]) -> bool:
    """Whether nothing stands out: no hit at all, or a first one that is hardly better than the second.

    `hits` are in order, two of them are enough. No score tells that nothing fits, so the list is shown all the same.
    """
    if not hits or hits[0].score <= 0.0:
        return True
    if hits[0].exact or len(hits) == 1:
        return False
    return hits[0].score - hits[1].score < WEAK_MARGIN * hits[0].score
