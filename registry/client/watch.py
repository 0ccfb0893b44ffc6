"""One registry watched for one working copy: which of its catalogs is meant, and when it is asked again.

The registry is asked in a thread of its own, one question at a time. Who has a catalog already waits for the answer no
longer than PATIENCE_S, and goes on with the one from before: a registry that hangs costs nobody more than that.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from registry.client.cache import DiskCache
from registry.client.connection import Connection
from registry.client.documents import Documents
from registry.client.following import Following, Held
from registry.client.snapshot import Snapshot
from registry.errors import RepositoryInvalid, Unavailable, Unknown

PATIENCE_S: Final = 2.0
"""How long somebody who has a catalog waits for a newer one."""
SHORT_PATIENCE_S: Final = 0.3
"""The same where the registry did not answer the last time."""
RETRY_S: Final = 10.0
"""How soon a registry that could not be asked is asked again."""
RETRY_WITHOUT_S: Final = 1.0
"""The same where nothing is held at all."""


class Question:
    """A question that the registry is being asked, until it is `done`."""

    def __init__(self, patience_s: float) -> None:
        self.begun_at = time.monotonic()
        self.patience_s = patience_s
        self.done = threading.Event()
        self.changed = False
        self.error: Exception | None = None

    @property
    def left_s(self) -> float:
        """For how long somebody who can go on without the answer still waits for it."""
        return max(0.0, self.begun_at + self.patience_s - time.monotonic())

    def delay(self) -> str:
        """A sentence where the answer is late, else nothing."""
        waited_s = time.monotonic() - self.begun_at
        return "" if self.done.is_set() or waited_s < self.patience_s else f"it has not answered for {waited_s:.0f} s"


class Watch:
    """The catalog of the first of `candidates` that is registered, else of the last; safe from several threads.

    `needed` says of a repository's snapshot which documents it is of no use without.
    """

    def __init__(
        self,
        connection: Connection,
        cache: DiskCache,
        candidates: Sequence[str | None],
        *,
        needed: Callable[[Snapshot, str | None], Iterable[str]],
        with_paths: bool,
        refresh_s: float,
        now: Callable[[], datetime],
    ) -> None:
        self.documents = Documents(connection, cache)
        self._cache = cache
        self._needed = needed
        self._with_paths = with_paths
        self._refresh_s = refresh_s
        self._all = [Following(connection, cache, self.documents, each, now=now) for each in candidates]
        self._choice = f"choice {connection.url} {' '.join(map(str, candidates))}"
        self._changing = threading.Lock()
        self._question: Question | None = None
        self._settled: Following | None = None
        self._wants_all = False
        self._complete = ""
        self._is_failing = False
        self._next_at = 0.0

    def expire(self) -> None:
        """Have the registry asked again by whoever comes next."""
        self._next_at = 0.0

    def delay(self) -> str:
        """What keeps the registry's answer, if it is late."""
        question = self._question
        return "" if question is None else question.delay()

    def glance(self) -> tuple[Following, Held] | None:
        """Whose catalog it is and what is held of it, without asking anybody."""
        following = self._settled or self._from_last_time()
        held = None if following is None else following.held
        return None if following is None or held is None else (following, held)

    def ask(self) -> bool:
        """Ask the registry now, however long it takes; whether another catalog is in force than before.

        Raises where none is known at all.
        """
        while (under_way := self._question) is not None and not under_way.done.is_set():
            under_way.done.wait()
        question = self._begin()
        question.done.wait()
        if question.error is not None and self.glance() is None:
            raise question.error.with_traceback(None)
        return question.changed

    def held(self, *, whole: bool = False) -> tuple[Following, Held]:
        """Whose catalog it is and what is held of it, the registry asked first if it is time.

        With `whole`, every document of it is here. Raises where nothing is held, and where documents are missing.
        """
        self._wants_all = self._wants_all or whole
        for _ in range(3):  # Somebody else's question may have been about less than is wanted here.
            question = self._question
            if question is None or question.done.is_set():
                question = self._begin() if time.monotonic() >= self._next_at else None
            seen = self._ready(whole=whole)
            if seen is None and question is None:
                if self._is_failing:
                    break
                question = self._begin()
            if question is not None:
                question.done.wait(None if seen is None else question.left_s)
                seen = self._ready(whole=whole)
            if seen is not None:
                return seen
            if question is not None and question.error is not None:
                break
        error = None if self._question is None else self._question.error
        if error is None:
            raise Unavailable("no catalog was fetched yet, and none is kept from before.")
        raise error.with_traceback(None)

    def _ready(self, *, whole: bool) -> tuple[Following, Held] | None:
        seen = self.glance()
        return None if seen is None or (whole and not self._is_complete(seen[1].snapshot)) else seen

    def _is_complete(self, snapshot: Snapshot) -> bool:
        if self._complete != snapshot.digest:
            if self.documents.missing(entry["digest"] for entry in snapshot.entries):
                return False
            self._complete = snapshot.digest
        return True

    def _from_last_time(self) -> Following | None:
        """Whose catalog to go on with while nobody can say which is registered."""
        kept = [each for each in self._all if each.held is not None]
        if len(kept) < 2:
            return kept[0] if kept else None
        chosen = (self._cache.read_record(self._choice) or {}).get("repository")
        return next((each for each in kept if each.repository == chosen), kept[-1])

    def _begin(self) -> Question:
        """The question that is under way, or a new one."""
        with self._changing:
            if self._question is None or self._question.done.is_set():
                self._question = Question(SHORT_PATIENCE_S if self._is_failing else PATIENCE_S)
                # A daemon: a process must be able to end while a registry hangs.
                threading.Thread(target=self._answer, args=(self._question,), name="asking", daemon=True).start()
            return self._question

    def _answer(self, question: Question) -> None:
        # Before the question is asked: a notice that comes meanwhile has it asked again.
        self._next_at = time.monotonic() + self._refresh_s
        try:
            question.changed = self._asked()
            self._is_failing = False
        except Exception as error:  # noqa: BLE001 - whoever waits for it raises it
            question.error = error
            self._is_failing = True
            seen = self.glance()
            if seen is not None:
                seen[0].blame(error)
            self._next_at = time.monotonic() + min(self._refresh_s, RETRY_WITHOUT_S if seen is None else RETRY_S)
        finally:
            question.done.set()

    def _asked(self) -> bool:
        """Ask the registry; whether another catalog is in force than before."""
        before = self.glance()
        if self._settled is None:
            self._settle(self._found())
        else:
            self._refresh(self._settled)
        after = self.glance()
        return _identity(before) != _identity(after)

    def _found(self) -> Following:
        """The first candidate that is registered, else the last one, freshly asked about."""
        for following in self._all[:-1]:
            try:
                self._refresh(following, only_registered=True)
            except (Unknown, RepositoryInvalid) as error:
                if isinstance(error, Unknown) and error.kind != "repository":
                    raise
            else:
                return following
        self._refresh(self._all[-1])
        return self._all[-1]

    def _settle(self, following: Following) -> None:
        self._settled = following
        if len(self._all) > 1:
            self._cache.write_record(self._choice, {"repository": following.repository})

    def _refresh(self, following: Following, *, only_registered: bool = False) -> None:
        def needed(snapshot: Snapshot) -> Iterable[str]:
            yield from self._needed(snapshot, following.repository)
            if self._wants_all:
                yield from (entry["digest"] for entry in snapshot.entries)

        is_changed = following.refresh(needed, with_paths=self._with_paths, only_registered=only_registered)
        if is_changed and following.held is not None:
            self.documents.keep_only(set(digests_of(following.held.snapshot)))


def _identity(seen: tuple[Following, Held] | None) -> tuple[str | None, str] | None:
    return None if seen is None else (seen[0].repository, seen[1].snapshot.digest)


def digests_of(snapshot: Snapshot) -> Iterable[str]:
    """The digests of the documents that a snapshot pins: of what serves, and of what that goes before."""
    for entry in snapshot.entries:
        yield entry["digest"]
        yield from (over["digest"] for over in entry["decision"]["over"])
