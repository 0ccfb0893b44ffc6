"""Handing out: a snapshot's digest is in the store before the first of its bytes leaves."""

from collections.abc import Callable
from datetime import datetime
from threading import Lock

from registry.ports import Recipe, Store


class _Batch:
    """What is written together: recipes by digest, and the rules that they name."""

    def __init__(self) -> None:
        self.recipes: dict[str, Recipe] = {}
        self.rules: dict[str, bytes] = {}
        self.is_written = False
        self.error: Exception | None = None


class HandOut:
    """Remembers recipes, those of callers at the same time in one write. Thread-safe.

    After a central change every repository's catalog is read anew; one write each would cost more than composing it.
    """

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._open = _Batch()
        self._joining = Lock()
        self._writing = Lock()

    def remember(self, digest: str, recipe: Recipe, rules: bytes) -> None:
        """Return once the recipe is stored, with the canonical bytes of the rules that it names.

        Raises what the store raised for the write that the recipe was part of.
        """
        with self._joining:
            batch = self._open
            batch.recipes[digest] = recipe
            batch.rules[recipe.rules] = rules
        # Whoever comes first writes for all who joined while the write before it was under way.
        with self._writing:
            if not batch.is_written:
                with self._joining:
                    self._open = _Batch()
                self._write(batch)
        if batch.error is not None:
            raise batch.error

    def _write(self, batch: _Batch) -> None:
        try:
            missing = batch.rules.keys() - self._store.documents(batch.rules).keys()
            self._store.put_documents({digest: batch.rules[digest] for digest in missing})
            self._store.hand_out(batch.recipes, self._now())
        except Exception as error:  # noqa: BLE001 - each caller of the batch gets it
            batch.error = error
        finally:
            batch.is_written = True
