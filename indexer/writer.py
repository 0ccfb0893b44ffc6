"""The writer: documents in, one commit a batch. There is one writer for an index, in one process."""

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Self, TextIO

import tantivy

from indexer import folder
from indexer.analysis import clean
from indexer.document import Document
from indexer.schema import ID, SCOPE, SCOPE_ORDINAL, row, schema

_HEAP_BYTES: Final = 64_000_000
_LOCK: Final = "writer.lock"


class IndexLockedError(RuntimeError):
    """Another writer holds the index."""


class IndexWriter:
    """Writes the index under `path` (a directory, made where it is missing).

    Raises IndexLockedError where another writer, here or in another process, has it open; a writer that was killed
    holds nothing. An index of another format version is left alone and a new one built beside it; one that cannot
    be read is replaced by an empty one (`was_rebuilt`), to be filled again from what is in force.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(path / _LOCK)
        try:
            self._open(path)
        except BaseException:
            self._lock.close()
            raise

    def _open(self, path: Path) -> None:
        found = folder.current(path)
        index = _opened(found) if found else None
        self._was_rebuilt = found is not None and index is None
        if found is None or index is None:
            found = folder.following(path)
            found.mkdir()
            folder.begin(found)
            index = tantivy.Index(schema(), str(found), reuse=False, sort_by_field=SCOPE_ORDINAL)
        folder.drop_others(path, found)
        self._folder = found
        index.config_reader("manual")
        self._index = index
        self._writer: tantivy.IndexWriter | None = index.writer(_HEAP_BYTES, 1)

    @property
    def was_rebuilt(self) -> bool:
        """Whether the index that was there could not be read, so that this one started empty."""
        return self._was_rebuilt

    def finish(self) -> None:
        """Let readers know that the index now holds everything it should; a new one is being built until then."""
        folder.finish(self._folder)

    def apply(self, additions: Iterable[Document], deletions: Iterable[str]) -> None:
        """Delete ids and add documents in one commit; adding an id that is there replaces it.

        An id that is both deleted and added is there afterwards. A failure leaves the index as it was and raises.
        """
        writer = self._require_open()
        changed = False
        try:
            for document_id in deletions:
                writer.delete_documents_by_term(ID, clean(document_id))
                changed = True
            for document in additions:
                writer.delete_documents_by_term(ID, clean(document.id))
                writer.add_document(row(document))
                changed = True
            if changed:
                writer.commit()
        except BaseException:
            writer.rollback()
            raise

    def count(self) -> int:
        """How many documents the index holds."""
        return self._searcher().num_docs

    def ids(self, scope: str | None = None) -> Iterator[str]:
        """Every document id in the index, or in one scope, in no order."""
        only = (
            tantivy.Query.all_query()
            if scope is None
            else tantivy.Query.term_query(self._index.schema, SCOPE, clean(scope))
        )
        for document_id, _ in self._searcher().terms_with_prefix(ID, "", filter_query=only):
            yield document_id

    def close(self) -> None:
        """Finish what merges are running and let go of the index; a second call does nothing."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.wait_merging_threads()
        finally:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _searcher(self) -> tantivy.Searcher:
        self._require_open()
        self._index.reload()
        return self._index.searcher()

    def _require_open(self) -> tantivy.IndexWriter:
        if self._writer is None:
            raise RuntimeError("the index writer is closed; open another one.")
        return self._writer


def _lock(path: Path) -> TextIO:
    """An exclusive lock on a file for as long as it is open; the system lets go of it when the process ends."""
    stream = path.open("a")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        stream.close()
        raise IndexLockedError(
            f"{path.parent} has a writer already; stop it first, there is one for an index."
        ) from error
    return stream


def _opened(found: Path) -> tantivy.Index | None:
    """The index in a folder, or None where its files are damaged."""
    if folder.damage(found):
        return None
    with suppress(ValueError, OSError):
        index = tantivy.Index.open(str(found))
        index.searcher()
        return index
    return None
