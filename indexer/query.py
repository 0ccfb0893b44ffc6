"""Queries: a task's text to a question, and a question to what the index is asked.

Built from the analyser's own terms and never through a query parser, so any text is a valid query.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import tantivy

from indexer.analysis import all_terms, clean, fold_name, fold_tag, terms
from indexer.schema import ALL, ID, NAME_KEY, SCOPE, STEPS, TAG
from indexer.tally import CatalogStatistics, Field

TEXT_LENGTH_MAX: Final = 32_768
"""Characters of a query that are read."""
TERMS_MAX: Final = 24
TYPOS_MAX: Final = 4
"""Unknown words of a query that are looked up within one edit."""
TYPO_LENGTH_MIN: Final = 5

_STEP: Final = 64
"""Recall weights are multiples of 1/64: sums are exact in the index's single precision, in any order."""


@dataclass(frozen=True, slots=True)
class Question:
    """A task's text as it is searched for.

    `terms` are known to the catalog, the rarest first, 24 at most; `unknown` are words of five letters or more that
    the catalog does not have in any field; `every` is each term of the text with its weight. `name_key` is the whole
    text as a name, empty where it has no letter or digit.
    """

    name_key: str
    terms: tuple[tuple[str, float], ...]
    unknown: tuple[str, ...]
    every: tuple[tuple[str, float], ...]


def question(text: str, statistics: CatalogStatistics) -> Question:
    """The question that a text asks a catalog. A text of stop words only keeps them: a name may consist of them."""
    text = text[:TEXT_LENGTH_MAX]
    distinct = sorted(set(terms(text) or all_terms(text)))
    weights = {term: statistics.weight("all", term) for term in distinct}
    known = [term for term in distinct if _known(term, statistics)]
    known.sort(key=lambda term: (-weights[term], term))
    unknown = [term for term in distinct if len(term) >= TYPO_LENGTH_MIN and not _known(term, statistics)]
    return Question(
        name_key=fold_name(text),
        terms=tuple((term, weights[term]) for term in known[:TERMS_MAX]),
        unknown=tuple(unknown[:TYPOS_MAX]),
        every=tuple(weights.items()),
    )


def _known(term: str, statistics: CatalogStatistics) -> bool:
    fields: tuple[Field, ...] = ("all", "steps")
    return any(statistics.frequency(field, term) for field in fields)


class Recall:
    """Makes the index's queries for one question within scopes, exclusions and a strict tag filter."""

    def __init__(
        self, schema: tantivy.Schema, *, scopes: Collection[str], excluded: Collection[str], tags: Collection[str]
    ) -> None:
        self._schema = schema
        scope = tantivy.Query.term_set_query(schema, SCOPE, [clean(scope) for scope in scopes])
        self._filters = [(tantivy.Occur.Must, tantivy.Query.const_score_query(scope, 0.0))]
        for tag in sorted({fold_tag(tag) for tag in tags}):
            self._filters.append((tantivy.Occur.Must, tantivy.Query.const_score_query(self._term(TAG, tag), 0.0)))
        if excluded:
            shadowed = tantivy.Query.term_set_query(schema, ID, [clean(document_id) for document_id in excluded])
            self._filters.append((tantivy.Occur.MustNot, shadowed))

    def everything(self) -> tantivy.Query:
        """Every document within the filters."""
        return tantivy.Query.boolean_query(self._filters)

    def named(self, asked: Question) -> tantivy.Query:
        """The documents whose name is the whole text."""
        return self._within([self._term(NAME_KEY, asked.name_key)])

    def by_terms(self, asked: Question, *, steps: bool) -> tantivy.Query:
        """The documents with any of the terms in `all`, or in `steps`; each term counts by its weight once."""
        field = STEPS if steps else ALL
        ways = [self._weighted(self._term(field, term), weight) for term, weight in asked.terms]
        weights = dict(asked.every)
        for word in asked.unknown:
            near = tantivy.Query.fuzzy_term_query(self._schema, field, word, distance=1)
            ways.append(self._weighted(near, weights[word] / 2))
        return self._within(ways)

    def _within(self, ways: list[tantivy.Query]) -> tantivy.Query:
        any_way = tantivy.Query.boolean_query([(tantivy.Occur.Should, way) for way in ways])
        return tantivy.Query.boolean_query([*self._filters, (tantivy.Occur.Must, any_way)])

    def _term(self, field: str, text: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, text)

    @staticmethod
    def _weighted(query: tantivy.Query, weight: float) -> tantivy.Query:
        return tantivy.Query.const_score_query(query, max(1, round(weight * _STEP)) / _STEP)
