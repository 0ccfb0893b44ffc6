"""The tally: the terms of documents, and what a catalog of documents counts up to.

Scores use these statistics and never the index's own, which mix every catalog (search.md, The shared index).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from indexer.analysis import all_terms, terms_of
from indexer.document import Document

Field = Literal["all", "name", "steps"]

FIELDS: Final[tuple[Field, ...]] = ("all", "name", "steps")
TERMS_PER_FIELD_MAX: Final = 32_768
FREQUENCY_BYTES: Final = 100
"""Terms of one field that count; the rest of an enormous text is left out."""


@dataclass(frozen=True, slots=True)
class Content:
    """The terms of one document.

    `occurrences`: term -> how often it stands in each of FIELDS; `lengths`: the terms of each of FIELDS, repetitions
    counted; `not_for`: the terms of its near misses. `all` is name, tags, purpose and tasks together; of a name the
    stop words count too, it may consist of them.
    """

    occurrences: Mapping[str, tuple[int, ...]]
    lengths: tuple[int, ...]
    not_for: frozenset[str] = frozenset()

    def terms(self, field: Field) -> tuple[str, ...]:
        """The distinct terms of a field."""
        place = FIELDS.index(field)
        return tuple(term for term, counts in self.occurrences.items() if counts[place])


def content(document: Document) -> Content:
    """The terms of a document, as they are indexed and scored."""
    name = all_terms(document.name)
    positive = [*name, *terms_of((*document.tags, document.purpose, *document.tasks))]
    fields = [terms[:TERMS_PER_FIELD_MAX] for terms in (positive, name, terms_of(document.steps))]
    in_all, in_name, in_steps = (Counter(terms) for terms in fields)
    return Content(
        # Written out: this runs for every term of every document.
        occurrences={
            term: (in_all.get(term, 0), in_name.get(term, 0), in_steps.get(term, 0))
            for term in {**in_all, **in_name, **in_steps}
        },
        lengths=tuple(len(terms) for terms in fields),
        not_for=frozenset(terms_of(document.not_for)),
    )


def without(whole: Content, text: Iterable[str]) -> Content:
    """The content of a document that says less: `text` are the terms of what is left out of tags, purpose or tasks.

    What TERMS_PER_FIELD_MAX cut off an enormous document stays cut off.
    """
    place = FIELDS.index("all")
    occurrences = dict(whole.occurrences)
    left_out = 0
    for term in text:
        counts = occurrences.get(term)
        if counts is None or not counts[place]:
            continue
        left_out += 1
        fewer = (*counts[:place], counts[place] - 1, *counts[place + 1 :])
        if any(fewer):
            occurrences[term] = fewer
        else:
            del occurrences[term]
    lengths = (*whole.lengths[:place], whole.lengths[place] - left_out, *whole.lengths[place + 1 :])
    return Content(occurrences, lengths, whole.not_for)


@dataclass(frozen=True, slots=True)
class _Tally:
    """Counts over some documents: field -> term -> documents that have it, and field -> terms in total."""

    documents: int
    frequencies: Mapping[Field, Mapping[str, int]]
    lengths: Mapping[Field, int]


@dataclass(frozen=True, slots=True)
class CatalogStatistics:
    """What BM25 asks of a catalog: document count, frequencies and average lengths.

    A sum of tallies that are kept apart, so that a repository's statistics are central's (counted once a revision)
    `plus` its own documents `minus` the shadowed ones, without copying what is central's.
    """

    parts: tuple[tuple[int, _Tally], ...] = ()

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "CatalogStatistics":
        """The statistics of exactly these documents, in whatever order they come."""
        return cls.of_contents(content(document) for document in documents)

    @classmethod
    def of_contents(cls, contents: Iterable[Content]) -> "CatalogStatistics":
        """The statistics of documents that were analysed already."""
        documents = 0
        frequencies: list[dict[str, int]] = [{} for _ in FIELDS]
        lengths = [0 for _ in FIELDS]
        for one in contents:
            documents += 1
            for place, length in enumerate(one.lengths):
                lengths[place] += length
            for term, counts in one.occurrences.items():
                for place, count in enumerate(counts):
                    if count:
                        frequencies[place][term] = frequencies[place].get(term, 0) + 1
        tally = _Tally(documents, dict(zip(FIELDS, frequencies, strict=True)), dict(zip(FIELDS, lengths, strict=True)))
        return cls(((1, tally),))

    @classmethod
    def of_loss(cls, whole: Content, rest: Content) -> "CatalogStatistics":
        """What a catalog loses where `rest` takes the place of `whole`, which has all of its terms: for `minus`."""
        frequencies: list[dict[str, int]] = [{} for _ in FIELDS]
        for term, counts in whole.occurrences.items():
            left = rest.occurrences.get(term)
            if left is counts:
                continue
            for place, count in enumerate(counts):
                if count and not (left and left[place]):
                    frequencies[place][term] = 1
        lengths = [before - after for before, after in zip(whole.lengths, rest.lengths, strict=True)]
        tally = _Tally(0, dict(zip(FIELDS, frequencies, strict=True)), dict(zip(FIELDS, lengths, strict=True)))
        return cls(((1, tally),))

    def plus(self, other: "CatalogStatistics") -> "CatalogStatistics":
        """The statistics of both catalogs' documents together."""
        return CatalogStatistics(self.parts + other.parts)

    def minus(self, other: "CatalogStatistics") -> "CatalogStatistics":
        """The statistics without the other's documents, which must be among these."""
        return CatalogStatistics(self.parts + tuple((-sign, tally) for sign, tally in other.parts))

    @property
    def size_bytes(self) -> int:
        """About what they hold in memory, with all that they share with others."""
        return FREQUENCY_BYTES * sum(len(counts) for _, tally in self.parts for counts in tally.frequencies.values())

    @property
    def documents(self) -> int:
        """How many documents the catalog has."""
        found = 0
        for sign, tally in self.parts:
            found += sign * tally.documents
        return max(0, found)

    def frequency(self, field: Field, term: str) -> int:
        """How many documents have the term in the field."""
        # Loops, here and above: every term of every question asks this for each field.
        found = 0
        for sign, tally in self.parts:
            found += sign * tally.frequencies[field].get(term, 0)
        return max(0, found)

    def average_length(self, field: Field) -> float:
        """Terms of the field in an average document; 1.0 at least, so that it can divide."""
        documents = self.documents
        total = sum(sign * tally.lengths[field] for sign, tally in self.parts)
        return max(1.0, total / documents) if documents else 1.0

    def weight(self, field: Field, term: str) -> float:
        """The inverse document frequency of the term: the rarer, the higher; never negative."""
        documents = self.documents
        found = min(documents, self.frequency(field, term))
        return math.log(1.0 + (documents - found + 0.5) / (found + 0.5))

    def known(self, terms: Iterable[str]) -> frozenset[str]:
        """Those of the terms that the catalog has in any field."""
        asked = frozenset(terms)
        there = {
            term for _, tally in self.parts for counts in tally.frequencies.values() for term in asked & counts.keys()
        }
        return frozenset(term for term in there if any(self.frequency(field, term) for field in FIELDS))
