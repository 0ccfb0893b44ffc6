"""The reader: a task's text in, hits out. Any number of readers, in any process, beside the one writer."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tantivy

from indexer import folder
from indexer.analysis import fold_name
from indexer.query import Question, Recall, question
from indexer.ranking import Hit, Scorer, order
from indexer.schema import KEY_HIGH, KEY_LOW, RECALL_WEIGHT, RECORD, Record, load
from indexer.tally import CatalogStatistics

__all__ = ["Hit", "IndexReader"]

CANDIDATES_MAX: Final = 100
"""Documents that the index recalls for one search; these are scored, the rest is not looked at."""
LIMIT_MAX: Final = CANDIDATES_MAX
CACHED_MAX: Final = 4_096
"""Analysed documents kept in memory."""
DERIVED_MAX: Final = 8
"""Catalogs whose statistics, derived from the index, are kept until the next reload."""


@dataclass(frozen=True, slots=True)
class _View:
    """One commit of one index; a search keeps to the one it began with."""

    index: tantivy.Index
    searcher: tantivy.Searcher
    folder: Path


class IndexReader:
    """Searches the index under `path`; safe from several threads at once.

    An index that does not exist yet, or cannot be read, has no hits; `reload` picks it up when it is there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._view: _View | None = None
        self._candidates: OrderedDict[tuple[int, int], Record] = OrderedDict()
        self._derived: OrderedDict[tuple[frozenset[str], frozenset[str]], CatalogStatistics] = OrderedDict()
        self.reload()

    def reload(self) -> bool:
        """Follow the index to its newest commit; whether there is an index to search."""
        found = folder.current(self._path)
        with self._lock:
            view = self._view
            try:
                if found is None:
                    self._view = None
                elif view is not None and view.folder == found:
                    view.index.reload()
                    self._view = _View(view.index, view.index.searcher(), found)
                else:
                    self._view = _opened(found)
            except (ValueError, OSError):
                # Between two of the writer's steps: what was read before stays, and the next call sees the newer one.
                return self._view is not None
            self._derived.clear()
            return self._view is not None

    def search(
        self,
        query_text: str,
        *,
        scopes: tuple[str, ...],
        excluded: Collection[str] = (),
        tags: tuple[str, ...] = (),
        limit: int = 10,
        statistics: CatalogStatistics | None = None,
    ) -> tuple[Hit, ...]:
        """The best hits for a text, best first, `limit` (1 to 100) at most; any text is valid.

        Only documents of `scopes` that are not in `excluded` (document ids) and carry all of `tags` are found. Order
        and scores come from `statistics` alone, or from those of exactly the documents in sight where it is None
        (derived from the index once a reload: pass them for a large catalog). A text without words finds nothing.
        """
        view = self._view
        if view is None or not scopes or limit < 1:
            return ()
        if statistics is None:
            statistics = self._statistics(view, scopes, excluded)
        asked = question(query_text, statistics)
        recall = Recall(view.index.schema, scopes=scopes, excluded=excluded, tags=tags)
        scorer = Scorer(asked, statistics)
        hits = [_hit(candidate, scorer, asked) for candidate in self._recalled(view, recall, asked, limit)]
        # The index filtered already; what a caller must never see is checked once more on the way out.
        shown = [hit for hit in hits if hit.scope in scopes and hit.id not in excluded and (hit.exact or hit.score > 0)]
        return order(shown)[:limit]

    def statistics(self, scopes: Collection[str], excluded: Collection[str] = ()) -> CatalogStatistics:
        """The statistics of the documents in the index that these scopes show; reads all of them."""
        view = self._view
        return self._statistics(view, scopes, excluded) if view else CatalogStatistics()

    def _statistics(self, view: _View, scopes: Collection[str], excluded: Collection[str]) -> CatalogStatistics:
        wanted = frozenset(scopes), frozenset(excluded)
        with self._lock:
            if view is self._view and wanted in self._derived:
                return self._derived[wanted]
        query = Recall(view.index.schema, scopes=scopes, excluded=excluded, tags=()).everything()
        found = view.searcher.search(query, max(1, view.searcher.num_docs), count=False).hits
        derived = CatalogStatistics.of_contents(_read(view, address).content for _, address in found)
        with self._lock:
            if view is self._view:
                self._derived[wanted] = derived
                while len(self._derived) > DERIVED_MAX:
                    self._derived.popitem(last=False)
        return derived

    def _recalled(self, view: _View, recall: Recall, asked: Question, limit: int) -> Iterable[Record]:
        """The candidates: by name, by terms of the text, and by terms of the steps where those are too few."""
        found: dict[str, Record] = {}
        if asked.name_key:
            self._collect(view, recall.named(asked), found)
        if asked.terms or asked.unknown:
            self._collect(view, recall.by_terms(asked, steps=False), found)
            if len(found) < limit:
                self._collect(view, recall.by_terms(asked, steps=True), found)
        return found.values()

    def _collect(self, view: _View, query: tantivy.Query, found: dict[str, Record]) -> None:
        hits = view.searcher.search(query, CANDIDATES_MAX, count=False, weight_by_field=RECALL_WEIGHT).hits
        for candidate in self._load(view, [address for _, address in hits]):
            found[candidate.id] = candidate

    def _load(self, view: _View, addresses: Sequence[tantivy.DocAddress]) -> list[Record]:
        """The documents at these addresses; the key is a hash of all that is stored, so known ones come from memory."""
        highs = view.searcher.fast_field_values(KEY_HIGH, list(addresses))
        lows = view.searcher.fast_field_values(KEY_LOW, list(addresses))
        keys = [(int(high or 0), int(low or 0)) for high, low in zip(highs, lows, strict=True)]
        with self._lock:
            cached = [self._candidates.get(key) for key in keys]
        loaded = [one or _read(view, address) for one, address in zip(cached, addresses, strict=True)]
        with self._lock:
            for key, candidate in zip(keys, loaded, strict=True):
                self._candidates[key] = candidate
                self._candidates.move_to_end(key)
            while len(self._candidates) > CACHED_MAX:
                self._candidates.popitem(last=False)
        return loaded


def _opened(found: Path) -> _View:
    index = tantivy.Index.open(str(found))
    # The default follows commits with a thread that watches the files; here the caller says when.
    index.config_reader("manual")
    index.reload()
    return _View(index, index.searcher(), found)


def _read(view: _View, address: tantivy.DocAddress) -> Record:
    stored = view.searcher.doc(address).get_first(RECORD)
    return load(bytes(stored or b""))


def _hit(candidate: Record, scorer: Scorer, asked: Question) -> Hit:
    score, why = scorer.score(candidate.content)
    exact = bool(asked.name_key) and fold_name(candidate.name) == asked.name_key
    return Hit(candidate.id, candidate.scope, candidate.digest, candidate.name, score, why, exact)
