"""What a host sees: the catalog that is held, with the working copy laid over it, until one of the two changes."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from policies.decision import Outcome
from policies.precedence import reason_of
from registry.client.cache import DiskCache
from registry.client.documents import Document, Documents
from registry.client.following import Following, Held
from registry.client.overlay import WORKTREE, Overlay, overlaid
from registry.client.snapshot import Entry, Snapshot
from registry.client.wire import read_object
from registry.client.worktree import NOTHING, Changed, WorkingTree
from registry.errors import PlaybookUnavailable, RegistryError, Unknown
from registry.git.checkout import Checkout
from registry.names import SUB_PATH_MARK
from registry.playbook.roots import Roots
from registry.playbook.spelling import alike

LOOK_S: Final = 1.0
"""How often, at most, the working copy is looked at."""


@dataclass(frozen=True, slots=True)
class View:
    """What is seen at one instant: one snapshot, and what one state of the working copy makes of it.

    `made` are the documents of the working copy's own playbooks, by digest.
    """

    repository: str | None
    snapshot: Snapshot
    tree: str
    instant: datetime
    overlay: Overlay
    changed: Changed
    made: Mapping[str, Document]
    is_complete: bool = True

    @property
    def digest(self) -> str:
        """The snapshot's digest."""
        return self.snapshot.digest

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what is not as it looks in the working copy."""
        return (*self.overlay.notes, *self.changed.notes)

    def entry(self, key: str) -> Entry | None:
        """What serves under that name."""
        return self.overlay.entries.get(key)

    def is_mine(self, key: str) -> bool:
        """Whether the working copy decides what is seen under that name, so that the registry has something else."""
        if key not in self.changed.copies:
            return False
        entry, served = self.entry(key), self._served(key)
        if entry is None or served is None:
            return entry is not served
        return is_worktrees(entry) or entry["digest"] != served["digest"]

    def missing(self, key: str) -> RegistryError:
        """Why there is no entry of that name."""
        lost = next((each for each in self.overlay.unavailable if each["name"] == key), None)
        if lost is not None:
            return PlaybookUnavailable(f"{key}: {lost['reason']}", outcome=lost["outcome"], name=key)
        served = self._served(key)
        if served is not None and self.snapshot.is_over(served, self.instant):
            said = f"{key}: the waiver by which this repository's own copy served has ended. Ask the registry again."
            return PlaybookUnavailable(said, outcome=Outcome.WAIVER.value, name=key)
        near = alike(key, self.overlay.entries)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        return Unknown("playbook", f"there is no playbook {key} here.{hint}", name=key, nearest=list(near))

    def _served(self, key: str) -> Entry | None:
        return next((each for each in self.snapshot.entries if each["name"] == key), None)


class Views:
    """Makes views, each once; safe from several threads."""

    def __init__(self, documents: Documents, cache: DiskCache, checkout: Checkout | None) -> None:
        self._documents = documents
        self._cache = cache
        self._tree = None if checkout is None else WorkingTree(checkout)
        self._making = threading.Lock()
        self._looked_at = 0.0
        self._mark = ""
        self._view: View | None = None

    def of(self, following: Following, held: Held, now: datetime) -> View:
        """What is seen of `held` now."""
        # A clock that was set back must not bring an ended waiver to life.
        now = max(now, held.checked_at)
        with self._making:
            roots = Roots(held.paths, (following.repository or "").partition(SUB_PATH_MARK)[2])
            mark = self._look(roots)
            known = self._view
            if known is None or not self._is_current(known, following, held.snapshot, mark, now):
                known = self._view = self._made(following, held.snapshot, roots, mark, now)
            return known

    def look(self) -> None:
        """Have the working copy looked at by whoever comes next."""
        self._looked_at = 0.0

    def _is_current(self, known: View, following: Following, snapshot: Snapshot, mark: str, now: datetime) -> bool:
        until = snapshot.valid_until
        is_over = until is not None and known.instant <= until < now
        same = (known.digest, known.repository, known.tree) == (snapshot.digest, following.repository, mark)
        return same and known.is_complete and not is_over

    def _made(self, following: Following, snapshot: Snapshot, roots: Roots, mark: str, now: datetime) -> View:
        changed = self._changed(following.repository, snapshot, roots, mark)
        made = {digest: read_object(body) for digest, body in changed.documents.items()}
        lacking: list[str] = []

        def contracts(digest: str) -> Mapping[str, Any] | None:
            found = self._documents.known(digest)
            if found is None:
                lacking.append(digest)
            return found

        overlay = overlaid(
            snapshot,
            snapshot.serving(now),
            changed.copies,
            is_central=following.repository == snapshot.central,
            contracts=contracts,
        )
        return View(following.repository, snapshot, mark, now, overlay, changed, made, not lacking)

    def _look(self, roots: Roots) -> str:
        """A text that changes whenever the files of the working copy's playbook folders do; "" without a copy."""
        if self._tree is None:
            return ""
        if not self._mark or time.monotonic() - self._looked_at >= LOOK_S:
            self._mark = self._tree.fingerprint(roots)
            self._looked_at = time.monotonic()
        return self._mark

    def _changed(self, repository: str | None, snapshot: Snapshot, roots: Roots, mark: str) -> Changed:
        if self._tree is None or repository is None:
            return NOTHING
        known = self._view
        if known is not None and (known.digest, known.repository, known.tree) == (snapshot.digest, repository, mark):
            return known.changed
        name = f"unchanged {self._tree.checkout.root}"
        memo = {"repository": repository, "snapshot": snapshot.digest, "paths": list(roots.patterns), "tree": mark}
        if self._cache.read_record(name) == memo:
            return NOTHING
        found = self._tree.changed(snapshot, roots, repository, self._documents.known)
        if not found.copies and not found.notes:
            self._cache.write_record(name, memo)
        return found


def is_worktrees(entry: Entry) -> bool:
    """Whether an entry is of the working copy."""
    return bool(entry["source"]["kind"] == WORKTREE)


def why(entry: Entry) -> str:
    """Why this copy serves, as a sentence."""
    try:
        reason = reason_of(Outcome(entry["decision"]["outcome"]))
    except ValueError:
        # A later registry may decide by more rows than this version knows.
        reason = "This copy serves by a rule of the registry's."
    return f"{reason} It is the working copy's own: nobody has reviewed it yet." if is_worktrees(entry) else reason
