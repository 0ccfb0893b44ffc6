"""A catalog in memory: searched like the index on disk, for whoever holds the documents and has no index.

Question, recall, scores and order are those of a search of the index; what an index would look up is done by walking
the few hundred documents of one catalog.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from heapq import nlargest
from typing import Final

from indexer.analysis import fold_tag
from indexer.query import CANDIDATES_MAX, Question, question, recall_weight
from indexer.ranking import Hit, Scorer, order
from indexer.schema import Record, recall_factor
from indexer.tally import CatalogStatistics, Field

_RECALL_FIELDS: Final[tuple[Field, Field]] = ("all", "steps")


class MemoryReader:
    """Searches documents that were analysed already; safe from several threads at once.

    `documents` pairs each document's record with its tags. The statistics are those of exactly these documents.
    """

    def __init__(self, documents: Iterable[tuple[Record, Collection[str]]]) -> None:
        self._parts = [(record, frozenset(fold_tag(tag) for tag in tags)) for record, tags in documents]
        self._factors = {id(record): recall_factor(record.id, record.content) for record, _ in self._parts}
        self._statistics = CatalogStatistics.of_contents(record.content for record, _ in self._parts)

    def search(self, query_text: str, *, tags: Collection[str] = (), limit: int = 10) -> tuple[Hit, ...]:
        """The best hits for a text, best first, `limit` (1 to 100) at most, of the documents that carry all `tags`."""
        asked = question(query_text, self._statistics)
        wanted = frozenset(fold_tag(tag) for tag in tags)
        records = [record for record, carried in self._parts if wanted <= carried]
        scorer = Scorer(asked, self._statistics)
        found = {record.id: record for record in self._recalled(records, asked, limit)}
        hits = (_hit(record, scorer.score(record.content), asked) for record in found.values())
        best = order(hit for hit in hits if hit.exact or hit.score > 0.0)[: min(limit, CANDIDATES_MAX)]
        return tuple(replace(hit, why=scorer.reasons(found[hit.id].content)) for hit in best)

    def _recalled(self, records: list[Record], asked: Question, limit: int) -> Iterable[Record]:
        found = {record.id: record for record in records if asked.name_key and record.name_key == asked.name_key}
        for field in _RECALL_FIELDS:
            if field == "all" or len(found) < limit:
                found.update((record.id, record) for record in self._best(records, asked, field))
        return found.values()

    def _best(self, records: list[Record], asked: Question, field: Field) -> list[Record]:
        """Those that recall by one field puts before the others, CANDIDATES_MAX at most."""
        weights = {term: recall_weight(weight) for term, weight in asked.sought.items()}
        matched = []
        for record in records:
            met = weights.keys() & record.content.occurrences.keys()
            of_field = met.intersection(record.content.terms(field)) if met else met
            if of_field:
                matched.append((sum(weights[term] for term in of_field) * self._factors[id(record)], record))
        return [record for _, record in nlargest(CANDIDATES_MAX, matched, key=lambda pair: pair[0])]


def _hit(record: Record, score: float, asked: Question) -> Hit:
    exact = bool(asked.name_key) and record.name_key == asked.name_key
    return Hit(record.id, record.scope, record.digest, record.name, score, exact=exact)
