"""Which sources are looked at for remarks, and what became of it. Level-triggered, as the loop that it is part of.

Remarks follow from what is in force and from the newest head. Whenever something of that may have changed, what the
remarks on a source are made of is compared with what they were made of; a crash in between costs a second look.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from registry.ports import ApiRules, Git, Remarks, Store
from registry.sync.agenda import Group
from registry.sync.central import CentralSide
from registry.sync.examination import Facts, Outcome, Task, api_digest, central_made_of, examine, made_of

AT_ONCE_MAX: Final = 2
"""Sources that are looked at together: what is due to be read goes first."""
SAVE_INTERVAL: Final = timedelta(seconds=1)


class Examiner:
    """Keeps the remarks on every source up to date. Used by one thread, but for `examine`.

    `facts` says what is known of a source now, or None where it is not in force; `api` the rules set by the API.
    """

    def __init__(
        self,
        store: Store,
        git: Git,
        *,
        facts: Callable[[str], Facts | None],
        api: Callable[[], ApiRules],
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._git = git
        self._facts = facts
        self._api = api
        self._now = now
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._side: CentralSide | None = None
        self._central: str | None = None
        self._api_digest = ""
        self._wanted: frozenset[str] = frozenset()
        self._queue: dict[str, None] = {}
        self._waiting: set[str] = set()
        self._under_way: set[str] = set()
        self._unsaved: dict[str, Remarks] = {}
        self._saved_at = now()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being looked at or waits for it."""
        return not (self._queue or self._under_way)

    def start(self, repositories: Iterable[str]) -> None:
        """Take up what an earlier process remarked, and look at what changed since.

        A source that was never looked at, or where something failed, waits until it was read: its remote may be gone.
        """
        self._known = self._store.remarked()
        self.notice_rules()
        self.notice(item for item in repositories if self._is_whole(item))

    def notice(self, repositories: Iterable[str]) -> None:
        """Something of these sources may have changed."""
        for repository in repositories:
            facts = self._facts(repository)
            if facts is None:
                continue
            if facts.is_central:
                self._central = repository
            if self._side is None and not facts.is_central:
                self._waiting.add(repository)
            elif self._is_outdated(facts):
                self._queue[repository] = None

    def notice_rules(self) -> None:
        """The rules set by the API may have changed: central's side of every catalog follows from them."""
        self._api_digest = api_digest(self._api())
        if self._central is not None:
            self.notice([self._central])

    def forget(self, repository: str) -> None:
        """Let a deregistered source's remarks go."""
        for table in (self._known, self._queue, self._unsaved):
            table.pop(repository, None)
        self._waiting.discard(repository)
        if repository == self._central:
            self._central = self._side = None

    def take(self, hold: Callable[[Group], bool]) -> Task | None:
        """The next source to look at, whose group `hold` said yes to; None for none now."""
        if len(self._under_way) >= AT_ONCE_MAX:
            return None
        # Central first: what is said of all others depends on it.
        first = [self._central] if self._central is not None and self._central in self._queue else []
        found, current = None, list[str]()
        for repository in chain(first, self._queue):
            facts = self._facts(repository)
            if facts is None or not self._is_outdated(facts):
                current.append(repository)
            elif hold((facts.registration.url, facts.registration.ref)):
                found = facts
                break
        for repository in current:
            self._queue.pop(repository, None)
        if found is None:
            return None
        del self._queue[found.repository]
        self._under_way.add(found.repository)
        return Task(found, self._side, self._api(), self._wanted, self._unsaved.get(found.repository))

    def examine(self, task: Task) -> Outcome:
        """What is remarked on a source; for any thread."""
        return examine(task, self._git, self._store)

    def finish(self, task: Task, outcome: Outcome | None) -> None:
        """Take over what a look came to; None where it failed, so that the next news of the source brings another."""
        facts = task.facts
        self._under_way.discard(facts.repository)
        if outcome is None or self._facts(facts.repository) is None:
            return
        self._known[facts.repository] = (outcome.remarks.made_of, outcome.remarks.shadows)
        self._unsaved[facts.repository] = outcome.remarks
        if outcome.missing - self._wanted and self._central is not None:
            self._wanted |= outcome.missing
            self._queue[self._central] = None
        if outcome.side is not None:
            self._side = outcome.side
            # Of central's new side everybody hears who was looked at, or waits to be since there was none.
            self.notice((self._known.keys() | self._waiting) - {facts.repository})
            self._waiting.clear()
        # What failed is not tried again at once, but with the next news.
        if facts != self._facts(facts.repository) or (facts.is_central and task.api != self._api()):
            self.notice([facts.repository])

    def save(self, *, everything: bool = False) -> None:
        """Store what was found: at once when nothing more is to come, else once a second for all."""
        is_time = everything or self.is_idle or self._now() - self._saved_at >= SAVE_INTERVAL
        if self._unsaved and is_time:
            self._store.put_remarks(list(self._unsaved.values()))
            self._unsaved.clear()
            self._saved_at = self._now()

    def _is_outdated(self, facts: Facts) -> bool:
        made, shadows = self._known.get(facts.repository, ("", ()))
        if facts.is_central:
            lacks = self._side is None or any(self._side.history(name) is None for name in self._wanted_there())
            return lacks or made != central_made_of(facts, self._api_digest)
        return self._side is not None and made != made_of(facts, self._side, shadows)

    def _is_whole(self, repository: str) -> bool:
        facts = self._facts(repository)
        return bool(self._known.get(repository, ("", ()))[0]) or (facts is not None and facts.is_central)

    def _wanted_there(self) -> Collection[str]:
        return self._wanted & self._side.digests.keys() if self._side is not None else ()
