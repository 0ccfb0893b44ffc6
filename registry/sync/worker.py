"""The loop of the worker process: follow the store, poll what is due, publish what changed.

Reconciliation is level-triggered: the loop compares what is registered, what a remote says and what is in force, so a
crash between two steps heals itself at the next start.
"""

import queue
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Event, Thread

import structlog

from policies import rules, schedule
from policies.rules import RuleSet
from registry.catalog.revision import read_revision
from registry.errors import RateLimited, SourceFault
from registry.playbook.reading import LOADER_VERSION
from registry.ports import (
    ApiRules,
    Changes,
    Git,
    IndexWriting,
    Pointer,
    Registration,
    Role,
    Signal,
    Store,
    SyncRequest,
    SyncStatus,
)
from registry.sync.publisher import Publisher
from registry.sync.source import ReadingCache, SourcePlan
from registry.sync.step import Assignment, StepResult, failed, run_steps

FLUSH_INTERVAL = timedelta(seconds=10)
IDLE_WAIT_S = 0.5

log = structlog.get_logger(__name__)

_Group = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What the loop needs to know beside its ports."""

    poll_interval_s: float
    threads: int
    plan: Callable[[Registration], SourcePlan]


class Worker:
    """Keeps every registered source in force.

    Everything is used by the thread of `run` alone, but for the steps, which run in a pool and only read.
    """

    def __init__(
        self,
        *,
        store: Store,
        git: Git,
        index: IndexWriting,
        incoming: Signal,
        outgoing: Signal,
        now: Callable[[], datetime],
        jitter: Callable[[], float],
        options: WorkerOptions,
    ) -> None:
        self._store = store
        self._git = git
        self._incoming = incoming
        self._outgoing = outgoing
        self._now = now
        self._jitter = jitter
        self._options = options
        self._publisher = Publisher(store, index, now)
        self._cache = ReadingCache()
        self._sequence = 0
        self._registrations: dict[str, Registration] = {}
        self._statuses: dict[str, SyncStatus] = {}
        self._pointers: dict[str, Pointer] = {}
        self._requests: dict[str, SyncRequest] = {}
        self._due: dict[_Group, datetime] = {}
        self._busy: set[_Group] = set()
        self._unsaved: set[str] = set()
        self._flushed_at = now()
        self._must_read: set[str] = set()
        self._api = ApiRules()
        self._central_policy: tuple[str, RuleSet] = ("", RuleSet())
        self._news: queue.Queue[tuple[_Group, tuple[StepResult, ...]] | None] = queue.Queue()

    def run(self, stop: Event) -> None:
        """Work until `stop` is set; then finish what is under way and save every status."""
        self._start()
        listener = Thread(target=self._listen, args=(stop,), name="wake", daemon=True)
        listener.start()
        with ThreadPoolExecutor(self._options.threads, "sync") as pool:
            while not stop.is_set():
                self._follow()
                self._submit_due(pool)
                self._collect()
                self._publisher.delete_due()
                self._flush()
        self._drain()
        self._flush(everything=True)

    def _start(self) -> None:
        self._follow()
        loaders = self._publisher.reconcile(self._pointers.values())
        if loaders - {LOADER_VERSION}:
            self._must_read = set(self._pointers)
        now = self._now()
        groups = self._groups()
        for group in groups:
            saved = [self._statuses[item.id].next_due_at for item in groups[group] if item.id in self._statuses]
            later = min((at for at in saved if at is not None), default=None)
            spread = schedule.first_due(now, interval_s=self._options.poll_interval_s, jitter=self._jitter())
            is_central = any(item.role is Role.CENTRAL for item in groups[group])
            self._due[group] = now if is_central or later is None else max(now, min(later, spread))

    def _listen(self, stop: Event) -> None:
        while not stop.is_set():
            if self._incoming.wait(IDLE_WAIT_S):
                self._news.put(None)

    def _follow(self) -> None:
        changes = self._store.changes_since(self._sequence)
        if changes.sequence == self._sequence:
            return
        self._sequence = changes.sequence
        self._adopt(changes)
        for request in self._store.take_requests():
            registration = self._registrations.get(request.repository)
            if registration is not None:
                self._requests[request.repository] = request
                self._due[_group(registration)] = self._now()

    def _adopt(self, changes: Changes) -> None:
        for registration in changes.registrations:
            known = self._registrations.get(registration.id)
            if registration.deregistered_at is not None:
                if known is not None:
                    self._drop(registration.id)
                continue
            if known is not None and known.registered_at != registration.registered_at:
                # Deregistered and registered again between two looks at the store: what was known of it has ended.
                self._drop(registration.id)
                known = None
            self._registrations[registration.id] = registration
            if known is None or _group(known) != _group(registration) or known.paths != registration.paths:
                self._due.setdefault(_group(registration), self._now())
            if known is not None and known != registration:
                self._must_read.add(registration.id)
                self._due[_group(registration)] = self._now()
        for pointer in changes.pointers:
            self._pointers[pointer.repository] = pointer
        self._api = changes.rules or self._api
        for status in changes.statuses:
            self._statuses.setdefault(status.repository, status)

    def _drop(self, repository: str) -> None:
        for table in (self._registrations, self._statuses, self._pointers, self._requests):
            table.pop(repository, None)
        self._unsaved.discard(repository)
        self._publisher.forget(repository)

    def _groups(self) -> dict[_Group, list[Registration]]:
        groups: dict[_Group, list[Registration]] = defaultdict(list)
        for registration in self._registrations.values():
            groups[_group(registration)].append(registration)
        return groups

    def _submit_due(self, pool: ThreadPoolExecutor) -> None:
        now = self._now()
        due = {group for group, at in self._due.items() if at <= now} - self._busy
        if not due:
            return
        groups = self._groups()
        for group in sorted(due, key=lambda item: (self._due[item], str(item))):
            members = groups.get(group)
            if not members:
                del self._due[group]
                continue
            self._busy.add(group)
            self._due[group] = now + timedelta(days=1)
            pool.submit(self._work, group, tuple(self._assignment(item) for item in members))

    def _assignment(self, registration: Registration) -> Assignment:
        pointer = self._pointers.get(registration.id)
        return Assignment(
            registration,
            self._options.plan(registration),
            self._statuses.get(registration.id) or SyncStatus(registration.id),
            pointer.revision if pointer else None,
            self._requests.pop(registration.id, None),
            registration.id in self._must_read,
        )

    def _work(self, group: _Group, assignments: tuple[Assignment, ...]) -> None:
        try:
            source = self._git.open(assignments[0].registration)
            results = run_steps(
                source, assignments, load_revision=self._store.revision, cache=self._cache, now=self._now
            )
        except SourceFault as fault:
            results = tuple(failed(item, fault, self._now()) for item in assignments)
        except Exception as error:
            log.exception("sync failed", repository=assignments[0].registration.id)
            surprise = SourceFault(f"the registry failed on this source ({type(error).__name__}); it will try again.")
            results = tuple(failed(item, surprise, self._now()) for item in assignments)
        self._news.put((group, results))

    def _collect(self) -> None:
        """Take what the pool finished, everything that is there at once, and publish it as one batch."""
        finished: list[tuple[_Group, tuple[StepResult, ...]]] = []
        try:
            item = self._news.get(timeout=self._wait_s())
            while True:
                finished.extend([item] if item is not None else [])
                item = self._news.get_nowait()
        except queue.Empty:
            pass
        if finished:
            self._settle(finished)

    def _wait_s(self) -> float:
        waiting = [at for group, at in self._due.items() if group not in self._busy]
        if not waiting:
            return IDLE_WAIT_S
        return min(IDLE_WAIT_S, max(0.0, (min(waiting) - self._now()).total_seconds()))

    def _settle(self, finished: list[tuple[_Group, tuple[StepResult, ...]]]) -> None:
        results = [result for _, group_results in finished for result in group_results]
        moved = self._publisher.publish(results)
        changed: list[SyncStatus] = []
        for result, is_moved in zip(results, moved, strict=True):
            repository = result.registration.id
            if repository not in self._registrations:
                continue
            if not is_moved:
                self._due[_group(result.registration)] = self._now()
                continue
            if result.read is not None:
                self._pointers[repository] = Pointer(repository, result.read.digest, result.counts)
                log.info("in force", repository=repository, commit=result.read.revision.commit)
            self._must_read.discard(repository)
            before = self._statuses.get(repository)
            self._statuses[repository] = result.status
            if _is_news(before, result):
                changed.append(result.status)
            else:
                self._unsaved.add(repository)
        for group, group_results in finished:
            self._plan_next(group, group_results)
        if changed:
            self._save(status.repository for status in changed)

    def _plan_next(self, group: _Group, results: tuple[StepResult, ...]) -> None:
        self._busy.discard(group)
        if any(result.registration.id in self._requests for result in results):
            self._due[group] = self._now()
            return
        fault = next((result.fault for result in results if result.fault is not None), None)
        attempts = max((result.status.attempts for result in results), default=0)
        retry_after_s = fault.retry_after_s if isinstance(fault, RateLimited) else None
        at = schedule.next_due(
            self._now(),
            interval_s=self._options.poll_interval_s,
            jitter=self._jitter(),
            attempts=attempts if fault is not None and fault.passing else 0,
            retry_after_s=retry_after_s,
        )
        if self._due.get(group, at) > self._now() + timedelta(hours=1) or self._due[group] > at:
            self._due[group] = at
        for result in results:
            status = self._statuses.get(result.registration.id)
            if status is not None:
                self._statuses[status.repository] = replace(status, next_due_at=self._due[group])

    def _save(self, repositories: object) -> None:
        ids = set(repositories)  # type: ignore[call-overload]  # any iterable of ids
        self._store.record_statuses([self._statuses[item] for item in sorted(ids) if item in self._statuses])
        self._unsaved -= ids
        self._outgoing.wake()

    def _flush(self, *, everything: bool = False) -> None:
        if not everything and self._now() - self._flushed_at < FLUSH_INTERVAL:
            return
        self._flushed_at = self._now()
        if self._unsaved:
            self._save(frozenset(self._unsaved))
        self._advance_rule_date()

    def _advance_rule_date(self) -> None:
        """The next waiver's end is a due item: the stored rule date moves past it (merge.md, Required)."""
        central = next((item.id for item in self._registrations.values() if item.role is Role.CENTRAL), None)
        pointer = self._pointers.get(central) if central else None
        if pointer is None:
            return
        if self._central_policy[0] != pointer.revision:
            body = self._store.revision(pointer.revision)
            policy = read_revision(body).policy if body is not None else None
            self._central_policy = (pointer.revision, policy or RuleSet())
        api = RuleSet(marks=self._api.marks, waivers=self._api.waivers, withdrawals=self._api.withdrawals)
        expiry = rules.next_expiry(rules.combine(self._central_policy[1], api), self._api.rule_date)
        today = self._now().date()
        if expiry is not None and expiry < today:
            self._store.advance_rule_date(today)
            self._outgoing.wake()

    def _drain(self) -> None:
        finished = []
        while not self._news.empty():
            item = self._news.get_nowait()
            finished.extend([item] if item is not None else [])
        if finished:
            self._settle(finished)


def _group(registration: Registration) -> _Group:
    return registration.url, registration.ref


def _is_news(before: SyncStatus | None, result: StepResult) -> bool:
    """Whether a status must be stored now: an unchanged poll is only bookkeeping, flushed every 10 s."""
    if before is None or result.read is not None:
        return True
    now = result.status
    return (before.state, before.message, before.handled, before.suspended, before.head) != (
        now.state,
        now.message,
        now.handled,
        now.suspended,
        now.head,
    )
