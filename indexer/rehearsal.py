"""Rehearsals: a catalog's own selection cases asked as a search would ask them, each with its own text left out.

Search indexes the tasks that playbooks give as examples, and `not_for` holds near misses back; a case asked of an index
that has its very words would measure memory. So it is asked of the catalog without them: what stands among the tasks or
`not_for` of any playbook and is the same text to search is left out, of the statistics too.

Question, scores and statistics are the search's own code; what a search reads from the index is done in memory here,
so that a thousand cases take a fraction of a second. Few documents need a score: what the others can earn at most is
known from the whole catalog, as leaving a text out makes no document shorter but the one that has it, and no average
length greater.
"""

from bisect import insort
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final, TypeVar

from indexer.analysis import terms
from indexer.document import Document
from indexer.evals import DEPTH, Placing, SelectionCase
from indexer.query import CANDIDATES_MAX, Question, question, recall_weight
from indexer.ranking import TYPO_WEIGHT, Hit, Scorer, order
from indexer.schema import Record, recall_factor, record
from indexer.tally import CatalogStatistics, Content, Field, without
from indexer.vocabulary import Vocabulary

_ROUNDING: Final = 1e-4
"""More than all scores that a bound is added up from were rounded by."""

K = TypeVar("K", bound=Hashable)
_Spoken = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """What is indexed of a document, and what recall multiplies it by; its texts as search takes them."""

    record: Record
    factor: float
    tasks: tuple[_Spoken, ...]
    near_misses: tuple[_Spoken, ...]

    @property
    def content(self) -> Content:
        return self.record.content


_Changes = Mapping[int, _Part]
"""Place -> the part that stands there while a case is asked."""


class Rehearsal:
    """A catalog to be asked for its own cases: documents whose names are unique. For one thread at a time."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._parts = [_part(document) for document in documents]
        self._by_name = {part.record.name: place for place, part in enumerate(self._parts)}
        self._by_key = _places((place, [part.record.name_key]) for place, part in enumerate(self._parts))
        self._by_task = _places((place, part.tasks) for place, part in enumerate(self._parts))
        self._by_near_miss = _places((place, part.near_misses) for place, part in enumerate(self._parts))
        self._by_term = _places((place, part.content.occurrences) for place, part in enumerate(self._parts))
        self._in: dict[Field, dict[str, list[int]]] = {}
        for field in ("all", "steps"):
            self._in[field] = _places((place, part.content.terms(field)) for place, part in enumerate(self._parts))
        self._statistics = CatalogStatistics.of_contents(part.content for part in self._parts)
        self._vocabulary = Vocabulary(self._by_term)
        self._gains: dict[str, list[tuple[int, float]]] = {}

    def place(self, case: SelectionCase) -> Placing:
        """Where the case's playbook comes, and what comes first.

        A task's playbook is looked for among the CANDIDATES_MAX hits that a search has, that of a near miss among the
        first DEPTH: further down it does no harm.
        """
        spoken = _spoken(case.text)
        holders = self._by_task.get(spoken, [])
        changes = {place: self._without(place, spoken) for place in {*holders, *self._by_near_miss.get(spoken, ())}}
        statistics = self._statistics
        for place, part in changes.items():
            statistics = statistics.minus(CatalogStatistics.of_loss(self._parts[place].content, part.content))
        asked = question(case.text, statistics, self._vocabulary.neighbours)
        bounds = self._recalled(asked, changes, self._bounds(asked, statistics, changes, spoken))
        depth = DEPTH if case.is_near_miss else CANDIDATES_MAX
        results = _Results(Scorer(asked, statistics), asked, case.playbook, depth)
        own = self._by_name.get(case.playbook)
        if own is not None and own in bounds:
            results.add(changes.get(own) or self._parts[own])
            del bounds[own]
        enough = results.enough - _ROUNDING
        left = [place for place, bound in bounds.items() if bound >= enough]
        for place in sorted(left, key=bounds.__getitem__, reverse=True):
            if bounds[place] + _ROUNDING < results.enough:
                break
            results.add(changes.get(place) or self._parts[place])
        return results.placing(self._parts[place].record.name for place in holders)

    def _without(self, place: int, spoken: _Spoken) -> _Part:
        """The part at that place without the texts that are the same to search."""
        part = self._parts[place]
        content = part.content
        for _ in range(part.tasks.count(spoken)):
            content = without(content, spoken)
        if spoken in part.near_misses:
            kept = frozenset(term for text in part.near_misses if text != spoken for term in text)
            content = replace(content, not_for=kept)
        kept_record = replace(part.record, content=content)
        return replace(part, record=kept_record, factor=recall_factor(kept_record.id, content))

    def _bounds(
        self, asked: Question, statistics: CatalogStatistics, changes: _Changes, spoken: _Spoken
    ) -> dict[int, float]:
        """Each document that can be found -> what it scores at most; infinite where only its score can tell."""
        shares = dict.fromkeys(asked.terms, 1.0)
        for near in asked.near:
            for term in near:
                shares[term] = shares.get(term, 0.0) + TYPO_WEIGHT
        bounds: dict[int, float] = {}
        for term, share in shares.items():
            # A text that is left out makes its words rarer, and so dearer in every other document.
            rise = statistics.weight("all", term) / self._statistics.weight("all", term) if term in spoken else 1.0
            most = share * rise
            for place, gain in self._gains_of(term):
                bounds[place] = bounds.get(place, 0.0) + most * gain
        for place, part in changes.items():
            bounds.pop(place, None)
            if not shares.keys().isdisjoint(part.content.occurrences):
                bounds[place] = inf
        if asked.name_key:
            bounds.update(dict.fromkeys(self._by_key.get(asked.name_key, ()), inf))
        return bounds

    def _gains_of(self, term: str) -> list[tuple[int, float]]:
        """What the term alone earns each document that has it, in the whole catalog."""
        found = self._gains.get(term)
        if found is None:
            scorer = Scorer(Question(name_key="", terms={term: 1.0}, near=(), every={}), self._statistics)
            places = self._by_term.get(term, ())
            found = self._gains[term] = [(place, scorer.score(self._parts[place].content)) for place in places]
        return found

    def _recalled(self, asked: Question, changes: _Changes, bounds: dict[int, float]) -> dict[int, float]:
        """Those that a search would look at: by name, by terms of the text, and of the steps where those are few."""
        if len(bounds) <= CANDIDATES_MAX:
            return bounds
        found = set(self._by_key.get(asked.name_key, ())) if asked.name_key else set()
        found.update(self._best(asked, "all", changes))
        if len(found) < CANDIDATES_MAX:
            found.update(self._best(asked, "steps", changes))
        return {place: bounds[place] for place in found}

    def _best(self, asked: Question, field: Field, changes: _Changes) -> Collection[int]:
        """The documents that recall by one field puts before the others, CANDIDATES_MAX at most."""
        weights = {term: recall_weight(weight) for term, weight in asked.sought.items()}
        sums: dict[int, float] = {}
        for term, weight in weights.items():
            for place in self._in[field].get(term, ()):
                sums[place] = sums.get(place, 0.0) + weight
        matched = {place: total * self._parts[place].factor for place, total in sums.items() if place not in changes}
        for place, part in changes.items():
            if found := weights.keys() & set(part.content.terms(field)):
                matched[place] = sum(weights[term] for term in found) * part.factor
        return sorted(sorted(matched), key=matched.__getitem__, reverse=True)[:CANDIDATES_MAX]


class _Results:
    """The hits of one case that matter: its playbook's own and those that may come before it."""

    def __init__(self, scorer: Scorer, asked: Question, playbook: str, depth: int) -> None:
        self._scorer = scorer
        self._asked = asked
        self._playbook = playbook
        self._depth = depth
        self._hits: list[Hit] = []
        self._reaches: list[float] = []
        self._own: float | None = None

    @property
    def enough(self) -> float:
        """The score below which no other document matters: that of the playbook's own, else the best one so far.

        And where `depth` better ones are there, that of the last of them.
        """
        own = self._own if self._own is not None else self._reaches[-1] if self._reaches else 0.0
        return max(own, self._reaches[-self._depth]) if len(self._reaches) >= self._depth else own

    def add(self, part: _Part) -> None:
        """Score a document; the playbook's own comes before all others."""
        found, name_key = part.record, self._asked.name_key
        score, is_exact = self._scorer.score(part.content), bool(name_key) and found.name_key == name_key
        if not is_exact and score <= 0.0:
            return
        self._hits.append(Hit(found.id, found.scope, found.digest, found.name, score, exact=is_exact))
        reach = inf if is_exact else score
        insort(self._reaches, reach)
        if found.name == self._playbook:
            self._own = reach

    def placing(self, holders: Iterable[str]) -> Placing:
        """Where the playbook came among the first `depth`, and what came first."""
        names = [hit.name for hit in order(self._hits)]
        rank = names.index(self._playbook) + 1 if self._own is not None else inf
        return Placing(int(rank) if rank <= self._depth else None, names[0] if names else None, tuple(sorted(holders)))


def _part(document: Document) -> _Part:
    kept = record(document)
    return _Part(
        record=kept,
        factor=recall_factor(kept.id, kept.content),
        tasks=tuple(map(_spoken, document.tasks)),
        near_misses=tuple(map(_spoken, document.not_for)),
    )


def _spoken(text: str) -> _Spoken:
    """A text as search takes it: two with the same terms are the same."""
    return tuple(sorted(terms(text)))


def _places(keys: Iterable[tuple[int, Iterable[K]]]) -> dict[K, list[int]]:
    """Key -> the places that have it, each once, in order."""
    found: dict[K, list[int]] = {}
    for place, has in keys:
        for key in dict.fromkeys(has):
            found.setdefault(key, []).append(place)
    return found
