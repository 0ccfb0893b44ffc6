"""The reader: a task's text in, hits out. Any number of readers, in any process, beside the one writer."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import tantivy

from indexer import folder
from indexer.analysis import clean
from indexer.query import CANDIDATES_MAX, Question, Recall, question
from indexer.ranking import Hit, Scorer, order
from indexer.records import Records
from indexer.schema import KEY_HIGH, KEY_LOW, RECALL_WEIGHT, RECORD, SCOPE, Record, load
from indexer.tally import CatalogStatistics, Content

__all__ = ["Hit", "IndexReader"]

LIMIT_MAX: Final = CANDIDATES_MAX
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
        self._records = Records()
        self._derived: OrderedDict[tuple[frozenset[str], frozenset[str]], CatalogStatistics] = OrderedDict()
        self.reload()

    @property
    def is_whole(self) -> bool:
        """Whether there is an index that was filled to the end: else what is not found may only be missing yet."""
        view = self._view
        return view is not None and folder.is_whole(view.folder)

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
        reasons: bool = True,
    ) -> tuple[Hit, ...]:
        """The best hits for a text, best first, `limit` (1 to 100) at most; any text is valid.

        Only documents of `scopes` that are not in `excluded` (document ids) and carry all of `tags` are found. Order
        and scores come from `statistics` alone, or from those of exactly the documents in sight where it is None
        (derived from the index once a reload: pass them for a large catalog). A text without words finds nothing.
        Without `reasons`, which cost a quarter of the search, no hit says `why`.
        """
        view = self._view
        if view is None or not scopes or limit < 1:
            return ()
        excluded = frozenset(excluded)
        if statistics is None:
            statistics = self._statistics(view, scopes, excluded)
        asked = question(query_text, statistics)
        recall = Recall(view.index.schema, scopes=scopes, excluded=excluded, tags=tags)
        scorer = Scorer(asked, statistics)
        hits: list[Hit] = []
        contents: dict[str, Content] = {}
        for record in self._recalled(view, recall, asked, limit):
            # The index filtered already; what a caller must never see is checked once more on the way out.
            if record.scope in scopes and record.id not in excluded:
                contents[record.id] = record.content
                hits.append(_hit(record, scorer.score(record.content), asked))
        best = order(hit for hit in hits if hit.exact or hit.score > 0.0)[: min(limit, LIMIT_MAX)]
        return tuple(replace(hit, why=scorer.reasons(contents[hit.id])) for hit in best) if reasons else best

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
        # Deleted documents are counted until their segment is merged: a bound, and not by much.
        shown = sum(view.searcher.doc_freq(SCOPE, clean(scope)) for scope in wanted[0])
        found = view.searcher.search(query, max(1, shown), count=False).hits
        derived = CatalogStatistics.of_contents(_read(view, address).content for _, address in found)
        with self._lock:
            if view is self._view:
                self._derived[wanted] = derived
                while len(self._derived) > DERIVED_MAX:
                    self._derived.popitem(last=False)
        return derived

    def _recalled(self, view: _View, recall: Recall, asked: Question, limit: int) -> Iterable[Record]:
        """The records: by name, by terms of the text, and by terms of the steps where those are too few."""
        found: dict[str, Record] = {}
        if asked.name_key:
            self._collect(view, recall.named(asked), found)
        if asked.sought:
            self._collect(view, recall.by_terms(asked, steps=False), found)
            if len(found) < limit:
                self._collect(view, recall.by_terms(asked, steps=True), found)
        return found.values()

    def _collect(self, view: _View, query: tantivy.Query, found: dict[str, Record]) -> None:
        hits = view.searcher.search(query, CANDIDATES_MAX, count=False, weight_by_field=RECALL_WEIGHT).hits
        for record in self._load(view, [address for _, address in hits]):
            found[record.id] = record

    def _load(self, view: _View, addresses: Sequence[tantivy.DocAddress]) -> list[Record]:
        """The documents at these addresses; the key is a hash of all that is stored, so known ones come from memory."""
        highs = view.searcher.fast_field_values(KEY_HIGH, list(addresses))
        lows = view.searcher.fast_field_values(KEY_LOW, list(addresses))
        keys = [(int(high or 0), int(low or 0)) for high, low in zip(highs, lows, strict=True)]
        loaded = []
        for key, kept, address in zip(keys, self._records.get(keys), addresses, strict=True):
            record = kept or _read(view, address)
            if kept is None:
                self._records.put(key, record)
            loaded.append(record)
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


def _hit(record: Record, score: float, asked: Question) -> Hit:
    exact = bool(asked.name_key) and record.name_key == asked.name_key
    return Hit(record.id, record.scope, record.digest, record.name, score, exact=exact)
