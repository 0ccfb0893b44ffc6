"""Which registered repositories have a copy of a name: whom a change of central has to be asked about."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from registry.catalog.revision import Copy, scan_copies
from registry.errors import Unavailable
from registry.ports import Store
from registry.service.cache import ByteCache

NAMES_BYTES_MAX = 32 * 1024 * 1024
NAME_BYTES = 16
REVISION_BYTES = 200
"""About what one name and one revision cost in memory: names recur, and are kept once for all of them."""
BATCH = 100
"""Revisions that are held at once while they are looked through."""


class Fleet:
    """The names of every revision, kept by its digest, so that only those that matter are read again. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: ByteCache[str, frozenset[str]] = ByteCache(NAMES_BYTES_MAX)

    def copies(self, revisions: Mapping[str, str], names: Collection[str]) -> dict[str, dict[str, Copy]]:
        """Repository -> its copies of `names` by name, for those that have one; `revisions` are theirs by repository.

        Raises Unavailable where one of the revisions was replaced and dropped meanwhile.
        """
        wanted = frozenset(names)
        found: dict[str, dict[str, Copy]] = {}
        if not wanted:
            return found
        unread: list[tuple[str, str]] = []
        for repository, digest in sorted(revisions.items()):
            known = self._names.get(digest)
            if known is None or not wanted.isdisjoint(known):
                unread.append((repository, digest))
        for batch in _batches(unread):
            bodies = self._store.revisions([digest for _, digest in batch])
            for repository, digest in batch:
                body = bodies.get(digest)
                if body is None:
                    raise Unavailable("what is in force changed while this was worked out: ask again.")
                held, chosen = scan_copies(body, wanted)
                self._names.put(digest, held, REVISION_BYTES + NAME_BYTES * len(held))
                copies = {copy.name: copy for copy in chosen}
                if copies:
                    found[repository] = copies
        return found


def _batches(items: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    for begin in range(0, len(items), BATCH):
        yield items[begin : begin + BATCH]
