"""Search: ranked rows of one repository's catalog, each checked against the snapshot that the answer names."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from indexer import ranking
from indexer.document import document_id
from indexer.reader import Hit
from indexer.tally import CatalogStatistics
from registry.catalog.documents import CENTRAL_SCOPE, scope_of, to_document
from registry.catalog.merge import Catalog, Verdict
from registry.catalog.revision import Head, Revision, folded_tags
from registry.digest import Json
from registry.errors import QueryInvalid, TooLarge, Unavailable
from registry.names import fold_tag
from registry.ports import Store
from registry.service.cache import ByteCache, EntryCache, SingleFlight
from registry.service.catalogs import Catalogs
from registry.service.inforce import Key

LIMIT_DEFAULT = 10
LIMIT_MAX = 50
QUERY_BYTES_MAX = 32 * 1024
TAGS_MAX = 20
NEEDED_FOR_WEAK = 2
"""Hits that tell whether the first one stands out."""
RECALL = 100
"""Hits that are looked at before tags filter them."""
CATALOG_STATISTICS_BYTES_MAX = 32 * 1024 * 1024
"""Bytes of what repositories' own playbooks add to central's statistics; counting them again costs milliseconds."""
STATISTICS_BYTES = 1_024
"""What is counted at least for one catalog: its key and its place."""
HIDDEN_BYTES = 160
"""What is counted for the id of a document that a catalog does not show."""
CENTRAL_STATISTICS_MAX = 4


class Searching(Protocol):
    """The reader of the index; see indexer.reader."""

    @property
    def is_whole(self) -> bool:
        """Whether the index holds everything it should."""
        ...

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
        """Ranked hits of the documents in `scopes` without the excluded ones."""
        ...


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a search of one catalog needs and nobody's question changes: what it does not show, and its statistics."""

    hidden: frozenset[str]
    statistics: CatalogStatistics


class Search:
    """Searches one repository's catalog. Thread-safe; permission plays no part in it."""

    def __init__(self, catalogs: Catalogs, reader: Searching, store: Store) -> None:
        self._catalogs = catalogs
        self._reader = reader
        self._store = store
        self._sights: ByteCache[Key, _Sight] = ByteCache(CATALOG_STATISTICS_BYTES_MAX)
        self._central: EntryCache[str, CatalogStatistics] = EntryCache(CENTRAL_STATISTICS_MAX)
        self._sight_flights: SingleFlight[Key, _Sight] = SingleFlight()
        self._central_flights: SingleFlight[str, CatalogStatistics] = SingleFlight()

    def search(
        self,
        repository: str | None,
        q: str,
        tags: Sequence[str] = (),
        limit: int = LIMIT_DEFAULT,
        *,
        favoured_tags: Sequence[str] = (),
    ) -> dict[str, Json]:
        """The wire's search answer; any text is a valid query, an empty one lists by name.

        `tags` filter, `favoured_tags` raise what carries them and drop nothing.
        Raises Unavailable while the index is built anew, QueryInvalid for a limit or tags out of bounds, TooLarge for
        a text over 32 KiB.
        """
        if not 1 <= limit <= LIMIT_MAX:
            raise QueryInvalid(f"limit is {limit}: give a number from 1 to {LIMIT_MAX}.")
        if max(len(tags), len(favoured_tags)) > TAGS_MAX:
            raise QueryInvalid(f"{len(tags) or len(favoured_tags)} tags are given, at most {TAGS_MAX} are looked at.")
        if len(q.encode("utf-8", "replace")) > QUERY_BYTES_MAX:
            raise TooLarge(f"the query is over {QUERY_BYTES_MAX} bytes: give the task in fewer words.")
        key, catalog = self._catalogs.catalog_of(repository)
        wanted = frozenset(fold_tag(tag) for tag in tags)
        rows: list[tuple[Verdict, float]]
        if q.strip():
            hits = self._hits(q, wanted, key, catalog, RECALL if favoured_tags else max(limit, NEEDED_FOR_WEAK))
            if favoured_tags:
                hits = _favoured(hits, frozenset(fold_tag(tag) for tag in favoured_tags))
            rows = [(verdict, hit.score) for verdict, hit in hits[:limit]]
            is_weak = ranking.weak([hit for _, hit in hits])
        else:
            rows = [(item, 0.0) for item in catalog.verdicts() if _serves_with(item, wanted)][:limit]
            is_weak = False
        fresh, age_s = self._catalogs.state_of(key.repository)
        return {
            "repository": key.repository,
            "snapshot": self._catalogs.digest_of(key),
            "state": {"freshness": "fresh" if fresh else "stale", "age_s": age_s},
            "query": q,
            "results": [_row(verdict, verdict.serving, score) for verdict, score in rows if verdict.serving],
            "weak": is_weak,
        }

    def _hits(self, q: str, tags: frozenset[str], key: Key, catalog: Catalog, enough: int) -> list[tuple[Verdict, Hit]]:
        """The first `enough` hits that this catalog serves, best first."""
        scopes = (CENTRAL_SCOPE,) if key.repository is None else (CENTRAL_SCOPE, key.repository)
        if not self._reader.is_whole:
            # Few rows, or none, would pass for an answer.
            raise Unavailable("the search index is being built: ask again in a moment. Catalogs are served meanwhile.")
        sight = self._sight_of(key, catalog)
        found = self._reader.search(
            q, scopes=scopes, excluded=sight.hidden, limit=RECALL, statistics=sight.statistics, reasons=False
        )
        checked: list[tuple[Verdict, Hit]] = []
        for hit in found:
            verdict = catalog.verdict(hit.name)
            # The index may still hold a superseded copy: a row is only what the named snapshot serves.
            if verdict and verdict.serving and verdict.serving.digest == hit.digest and _serves_with(verdict, tags):
                checked.append((verdict, hit))
                if len(checked) == enough:
                    break
        return checked

    def _sight_of(self, key: Key, catalog: Catalog) -> _Sight:
        """What this catalog hides, and statistics of exactly what it serves: no edit elsewhere reorders results."""
        sight = self._sights.get(key)
        return sight if sight is not None else self._sight_flights.do(key, lambda: self._look(key, catalog))

    def _look(self, key: Key, catalog: Catalog) -> _Sight:
        counted = self._central_statistics(key.central, catalog.base.revision)
        shared_bytes = counted.size_bytes
        hidden = _hidden(catalog)
        ids = frozenset(document_id(scope_of(head.source.kind, head.source.repository), head.digest) for head in hidden)
        less = [head for head in hidden if head.source.kind == "central"]
        own = [item.serving for item in catalog.own.values() if item and item.serving]
        local = [head for head in own if head.source.kind == "local"]
        counted = counted.minus(self._count(less)) if less else counted
        counted = counted.plus(self._count(local)) if local else counted
        sight = _Sight(ids, counted)
        size_bytes = STATISTICS_BYTES + HIDDEN_BYTES * len(ids) + counted.size_bytes - shared_bytes
        self._sights.put(key, sight, size_bytes)
        return sight

    def _central_statistics(self, digest: str, revision: Revision) -> CatalogStatistics:
        """Those of all that central has: the same for every repository, and slow to count."""

        def count() -> CatalogStatistics:
            counted = self._count(_heads(revision))
            self._central.put(digest, counted)
            return counted

        found = self._central.get(digest)
        return found if found is not None else self._central_flights.do(digest, count)

    def _count(self, heads: Sequence[Head]) -> CatalogStatistics:
        bodies = self._store.documents([head.digest for head in heads])
        return CatalogStatistics.of(
            to_document(bodies[head.digest], scope=CENTRAL_SCOPE, digest=head.digest, key=head.name)
            for head in heads
            if head.digest in bodies
        )


def _heads(revision: Revision) -> list[Head]:
    return [copy.head for copy in revision.copies if copy.head is not None]


def _hidden(catalog: Catalog) -> list[Head]:
    """The heads that the index may hold for this catalog's scopes and that do not serve in it."""
    heads = [*_heads(catalog.base.revision), *(_heads(catalog.local) if catalog.local else [])]
    return [head for head in heads if not _is_served(catalog, head)]


def _is_served(catalog: Catalog, head: Head) -> bool:
    verdict = catalog.verdict(head.name)
    return verdict is not None and verdict.serving is not None and verdict.serving.source == head.source


def _favoured(hits: list[tuple[Verdict, Hit]], tags: frozenset[str]) -> list[tuple[Verdict, Hit]]:
    """The hits in their order after what carries some of the tags was raised."""
    verdicts = {hit.id: verdict for verdict, hit in hits}
    shares = {
        found: len(tags.intersection(folded_tags(verdict.serving.tags))) / len(tags)
        for found, verdict in verdicts.items()
        if verdict.serving is not None
    }
    return [(verdicts[hit.id], hit) for hit in ranking.favour([hit for _, hit in hits], shares)]


def _serves_with(verdict: Verdict, tags: frozenset[str]) -> bool:
    return verdict.serving is not None and (not tags or tags <= set(folded_tags(verdict.serving.tags)))


def _row(verdict: Verdict, head: Head, score: float) -> dict[str, Json]:
    return {
        "name": head.name,
        "version": head.version,
        "digest": head.digest,
        "source": head.source.to_json(),
        "purpose": head.purpose,
        "not_for": list(head.not_for),
        "tags": list(head.tags),
        "required": verdict.required,
        "deprecated": head.deprecated,
        "held": None if head.held is None else head.held.to_json(),
        "score": round(score, 4),
    }
