"""Queries: a task's text to a question, and a question to what the index is asked.

Built from the analyser's own terms and never through a query parser, so any text is a valid query.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

import tantivy

from indexer.analysis import all_terms, clean, fold_name, fold_tag, terms
from indexer.schema import ALL, ID, NAME_KEY, SCOPE, STEPS, TAG
from indexer.tally import CatalogStatistics

TEXT_LENGTH_MAX: Final = 32_768
"""Characters of a query that are read."""
TERMS_MAX: Final = 24
CANDIDATES_MAX: Final = 100
"""Documents that are recalled for one search; these are scored, the rest is not looked at."""
TYPOS_MAX: Final = 4
"""Unknown words of a query that are taken for typing errors."""
TYPO_LENGTH_MIN: Final = 5
NEAR_MAX: Final = 3
"""Known terms that stand in for one unknown word."""

EDIT_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
_LOOKED_UP_MAX: Final = 64
_STEP: Final = 64
"""Recall weights are multiples of 1/64: sums are exact in the index's single precision, in any order."""

Neighbours = Callable[[str], Iterable[str]]
"""A word -> the words within one edit, or at least those of them that a catalog may know."""


@dataclass(frozen=True, slots=True)
class Question:
    """A task's text as a catalog understands it.

    Each mapping is term -> weight. `terms`: those that the catalog knows, the rarest first, 24 at most. `near`: for
    an unknown word of five letters or more the known terms within one edit of it. `every`: all terms of the text.
    `name_key`: the whole text as a name, empty where it has no letter or digit.
    """

    name_key: str
    terms: Mapping[str, float]
    near: tuple[Mapping[str, float], ...]
    every: Mapping[str, float]

    @property
    def sought(self) -> dict[str, float]:
        """Each term that can find something -> its weight."""
        return {term: weight for terms in (*self.near, self.terms) for term, weight in terms.items()}


def question(text: str, statistics: CatalogStatistics, neighbours: Neighbours | None = None) -> Question:
    """The question that a text asks a catalog. A text of stop words only keeps them: a name may consist of them.

    `neighbours` can spare the words that no document has; where it is None all are tried.
    """
    text = text[:TEXT_LENGTH_MAX]
    distinct = tuple(dict.fromkeys(terms(text) or all_terms(text)))
    known = statistics.known(distinct)
    every = {term: statistics.weight("all", term) for term in distinct}
    rarest = sorted(known, key=lambda term: (-every[term], term))[:TERMS_MAX]
    unknown = (term for term in distinct if term not in known and len(term) >= TYPO_LENGTH_MIN)
    neighbours = neighbours or within_one_edit
    near = (_near(neighbours(term), statistics) for term in islice(unknown, TYPOS_MAX))
    return Question(
        name_key=fold_name(text),
        terms={term: every[term] for term in rarest},
        near=tuple(filter(None, near)),
        every=every,
    )


def _near(neighbours: Iterable[str], statistics: CatalogStatistics) -> dict[str, float]:
    """The known terms within one edit, the most frequent first: the catalog's own words, nobody else's."""
    found = statistics.known(neighbours)
    likely = sorted(found, key=lambda term: (-statistics.frequency("all", term), term))[:NEAR_MAX]
    return {term: statistics.weight("all", term) for term in likely}


def within_one_edit(word: str) -> Iterator[str]:
    """The words one insertion, deletion, substitution or swap of neighbours away, by ASCII letters and digits."""
    for place in range(len(word) + 1):
        head, tail = word[:place], word[place:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in EDIT_LETTERS:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


def recall_weight(weight: float) -> float:
    """What a term of that weight counts for in recall."""
    return max(1, round(weight * _STEP)) / _STEP


class Recall:
    """Makes the index's queries for one question within scopes, exclusions and a strict tag filter."""

    def __init__(
        self, schema: tantivy.Schema, *, scopes: Collection[str], excluded: Collection[str], tags: Collection[str]
    ) -> None:
        self._schema = schema
        scope = self._any_of(SCOPE, scopes)
        self._filters = [(tantivy.Occur.Must, tantivy.Query.const_score_query(scope, 0.0))]
        for tag in sorted({fold_tag(tag) for tag in tags}):
            self._filters.append((tantivy.Occur.Must, tantivy.Query.const_score_query(self._term(TAG, tag), 0.0)))
        if excluded:
            self._filters.append((tantivy.Occur.MustNot, self._any_of(ID, excluded)))

    def everything(self) -> tantivy.Query:
        """Every document within the filters."""
        return tantivy.Query.boolean_query(self._filters)

    def named(self, asked: Question) -> tantivy.Query:
        """The documents whose name is the whole text."""
        return self._within([self._term(NAME_KEY, asked.name_key)])

    def by_terms(self, asked: Question, *, steps: bool) -> tantivy.Query:
        """The documents with any of the terms in `all`, or in `steps`; each term counts by its weight once."""
        field = STEPS if steps else ALL
        ways = [self._weighted(self._term(field, term), weight) for term, weight in asked.sought.items()]
        return self._within(ways)

    def _within(self, ways: list[tantivy.Query]) -> tantivy.Query:
        any_way = tantivy.Query.boolean_query([(tantivy.Occur.Should, way) for way in ways])
        return tantivy.Query.boolean_query([*self._filters, (tantivy.Occur.Must, any_way)])

    def _any_of(self, field: str, texts: Collection[str]) -> tantivy.Query:
        """One of some exact texts. A few are looked up one by one; a term set walks the whole dictionary for them."""
        distinct = sorted({clean(text) for text in texts})
        if len(distinct) > _LOOKED_UP_MAX:
            return tantivy.Query.term_set_query(self._schema, field, distinct)
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, self._term(field, text)) for text in distinct])

    def _term(self, field: str, text: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, text, "basic")

    @staticmethod
    def _weighted(query: tantivy.Query, weight: float) -> tantivy.Query:
        return tantivy.Query.const_score_query(query, recall_weight(weight))
