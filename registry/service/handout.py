"""Handing out: a snapshot's digest is in the store before the first of its bytes leaves."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Condition, Event, Lock

from registry.ports import Recipe, Store

LINGER_S = 0.005
"""How long a write waits at most for callers that are about to join it."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A snapshot that is about to be handed out, with its recipe and the canonical bytes of the rules that it names."""

    digest: str
    body: bytes
    recipe: Recipe
    rules: bytes


class _Batch:
    """What is written together: recipes by digest, and the rules that they name."""

    def __init__(self) -> None:
        self.recipes: dict[str, Recipe] = {}
        self.rules: dict[str, bytes] = {}
        self.written = Event()
        self.error: Exception | None = None


class HandOut:
    """Remembers recipes, those of callers at the same time in one write. Thread-safe.

    After a central change every repository's catalog is read anew; one write each would cost more than composing it.
    """

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._open = _Batch()
        self._composing = 0
        self._joined = Condition()
        self._writing = Lock()

    def hand_out(self, compose: Callable[[], Composed]) -> Composed:
        """What `compose` gives, once its recipe is stored.

        Raises what `compose` raised, or the store for the write that the recipe was part of.
        """
        with self._joined:
            self._composing += 1
        composed = None
        try:
            composed = compose()
        finally:
            batch, is_first = self._join(composed)
        if is_first:
            self._write_soon(batch)
        batch.written.wait()
        if batch.error is not None:
            raise batch.error
        return composed

    def _join(self, composed: Composed | None) -> tuple[_Batch, bool]:
        """(the batch that this is part of, whether it is to be written by whoever asks)."""
        with self._joined:
            self._composing -= 1
            if self._composing == 0:
                self._joined.notify_all()
            batch = self._open
            if composed is None:
                return batch, False
            is_first = not batch.recipes
            batch.recipes[composed.digest] = composed.recipe
            batch.rules[composed.recipe.rules] = composed.rules
            return batch, is_first

    def _write_soon(self, batch: _Batch) -> None:
        """Write a batch with all who join it while the one before is written, or are about to."""
        with self._writing:
            with self._joined:
                # Somebody alone waits for nobody.
                self._joined.wait_for(lambda: self._composing == 0, LINGER_S)
                self._open = _Batch()
            self._write(batch)

    def _write(self, batch: _Batch) -> None:
        try:
            missing = batch.rules.keys() - self._store.documents(batch.rules).keys()
            self._store.put_documents({digest: batch.rules[digest] for digest in missing})
            self._store.hand_out(batch.recipes, self._now())
        except Exception as error:  # noqa: BLE001 - each caller of the batch gets it
            batch.error = error
        finally:
            batch.written.set()
