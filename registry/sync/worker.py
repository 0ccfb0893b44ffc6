"""The loop of the worker process: follow the store, poll what is due, publish what changed.

Reconciliation is level-triggered: the loop compares what is registered, what a remote says and what is in force, so a
crash between two steps heals itself at the next start.
"""

import contextlib
import queue
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Any

import structlog

from policies import schedule
from registry.errors import RateLimited, SourceFault, Unavailable, Unknown
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
    SyncState,
    SyncStatus,
)
from registry.sync.agenda import SOONEST, Agenda, Group
from registry.sync.examination import Facts, Seen
from registry.sync.examiner import Examiner
from registry.sync.expiry import RuleClock
from registry.sync.looks import Looks
from registry.sync.publisher import Publisher
from registry.sync.readings import ReadingCache
from registry.sync.source import SourcePlan
from registry.sync.step import Assignment, StepResult, failed, run_steps

FLUSH_INTERVAL = timedelta(seconds=10)
IDLE_WAIT_S = 0.5
STORE_PAUSE_S = 1.0
STOP_WAIT_S = 3.0
"""How long what is under way may still take when the worker is told to stop."""
JOBS_PER_THREAD = 8
"""Jobs that are given out ahead: enough for batches, few enough that a wish never waits behind all sources."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What the loop needs to know beside its ports."""

    poll_interval_s: float
    threads: int
    plan: Callable[[Registration], SourcePlan]


@dataclass(frozen=True, slots=True)
class _Job:
    group: Group
    assignments: tuple[Assignment, ...]
    results: tuple[StepResult, ...] = ()


class Worker:
    """Keeps every registered source in force.

    Everything is used by the thread of `run` alone, but for the steps, which run in a pool and write nothing but
    original bytes.
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
        self._members: dict[Group, dict[str, Registration]] = defaultdict(dict)
        self._statuses: dict[str, SyncStatus] = {}
        self._pointers: dict[str, Pointer] = {}
        self._requests: dict[str, SyncRequest] = {}
        self._agenda = Agenda()
        self._under_way: dict[Future[None], _Job] = {}
        self._finished: list[_Job] = []
        self._unsaved: set[str] = set()
        self._is_urgent = False
        self._flushed_at = now()
        self._api = ApiRules()
        self._rule_clock = RuleClock(store)
        self._news: queue.Queue[_Job | None] = queue.Queue()
        self._examiner = Examiner(store, git, facts=self._facts, api=lambda: self._api, now=now)
        self._looks = Looks(self._examiner, self._agenda, lambda: self._news.put(None))

    def run(self, stop: Event) -> None:
        """Work until `stop` is set; then wait a moment for what is under way, and save every status.

        What did not end by then is left behind in its thread; the wishes that it was to fulfil go back to the store.
        """
        self._start()
        listener = Thread(target=self._listen, args=(stop,), name="wake", daemon=True)
        listener.start()
        pool = ThreadPoolExecutor(self._options.threads, "sync")
        try:
            while not stop.is_set():
                try:
                    self._turn(pool)
                except Unavailable as pause:
                    # A locked or full store: what was found stays here until it can be written.
                    log.warning("the store cannot be used now; trying again", reason=str(pause))
                    stop.wait(STORE_PAUSE_S)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        self._finish()
        listener.join(2 * IDLE_WAIT_S)

    def _turn(self, pool: ThreadPoolExecutor) -> None:
        self._follow()
        self._submit_due(pool)
        self._looks.submit(pool)
        self._flush()
        self._collect(self._wait_s())
        self._publisher.delete_due()
        self._examiner.save()

    def _finish(self) -> None:
        under_way: list[Future[Any]] = [future for future in self._under_way if not future.cancelled()]
        wait([*under_way, *self._looks.futures], STOP_WAIT_S)
        try:
            self._collect(0.0)
            self._examiner.save(everything=True)
            self._give_back_requests()
            self._flush(everything=True)
        except Unavailable as fault:
            log.warning("the last statuses could not be saved", reason=str(fault))

    def _start(self) -> None:
        self._follow()
        outdated = self._publisher.reconcile(self._pointers.values())
        # Settings say where its playbooks and its policy file are, and no commit says that these have changed.
        outdated |= {item.id for item in self._registrations.values() if item.role is Role.CENTRAL}
        for repository in outdated & self._statuses.keys():
            self._statuses[repository] = replace(self._statuses[repository], seen=None)
        self._examiner.start(self._registrations)
        # Serving processes may have opened an index that was only now filled again.
        self._outgoing.wake()

    def _first_due(self, registration: Registration) -> datetime:
        """When a source is looked at after its registration was first seen: now, or when it was planned before."""
        status = self._statuses.get(registration.id)
        if registration.role is Role.CENTRAL:
            return SOONEST
        if status is None or status.next_due_at is None or status.seen is None:
            return self._now()
        spread = schedule.first_due(self._now(), interval_s=self._options.poll_interval_s, jitter=self._jitter())
        return min(status.next_due_at, spread)

    def _listen(self, stop: Event) -> None:
        while not stop.is_set():
            if self._incoming.wait(IDLE_WAIT_S):
                self._news.put(None)

    def _follow(self) -> None:
        changes = self._store.changes_since(self._sequence)
        if changes.sequence == self._sequence:
            return
        self._adopt(changes)
        # A request is gone once it was taken: what else the change asks for is written down before.
        self._flush()
        # Younger ones wait for the next look: the registration that they belong to may not be known yet.
        for request in self._store.take_requests(changes.sequence):
            self._want(request)
        self._sequence = changes.sequence

    def _want(self, request: SyncRequest) -> None:
        registration = self._registrations.get(request.repository)
        if registration is None:
            return
        earlier = self._requests.get(request.repository)
        if earlier is not None:
            newest = max(request.sequence, earlier.sequence)
            request = SyncRequest(newest, request.repository, request.apply or earlier.apply)
        self._requests[request.repository] = request
        self._agenda.plan(_group(registration), SOONEST)

    def _adopt(self, changes: Changes) -> None:
        for status in changes.statuses:
            self._statuses.setdefault(status.repository, status)
        for registration in changes.registrations:
            self._adopt_registration(registration)
        for pointer in changes.pointers:
            self._pointers[pointer.repository] = pointer
        self._examiner.notice(pointer.repository for pointer in changes.pointers)
        if changes.rules is not None:
            self._api = changes.rules
            self._examiner.notice_rules()

    def _adopt_registration(self, registration: Registration) -> None:
        known = self._registrations.get(registration.id)
        if known == registration:
            return
        if known is not None and known.registered_at != registration.registered_at:
            # Deregistered and registered again between two looks at the store: what was known of it has ended.
            self._drop(registration.id)
            known = None
        if registration.deregistered_at is not None:
            self._drop(registration.id)
            return
        self._registrations[registration.id] = registration
        if known is None:
            self._agenda.plan(_group(registration), self._first_due(registration))
        else:
            self._forget_member(known)
            self._must_read(registration, is_moved=_group(known) != _group(registration))
            self._agenda.plan(_group(registration), self._now())
        self._members[_group(registration)][registration.id] = registration

    def _must_read(self, registration: Registration, *, is_moved: bool) -> None:
        """Have a source read again that was registered in another way, also by the worker after a crash."""
        status = self._statuses.get(registration.id)
        if status is not None:
            self._statuses[registration.id] = replace(status, seen=None, ref=None if is_moved else status.ref)
            self._unsaved.add(registration.id)
            self._is_urgent = True

    def _drop(self, repository: str) -> None:
        known = self._registrations.get(repository)
        if known is not None:
            self._forget_member(known)
        for table in (self._registrations, self._statuses, self._pointers, self._requests):
            table.pop(repository, None)
        self._unsaved.discard(repository)
        self._publisher.forget(repository)
        self._examiner.forget(repository)

    def _forget_member(self, registration: Registration) -> None:
        members = self._members[_group(registration)]
        members.pop(registration.id, None)
        if not members:
            del self._members[_group(registration)]

    def _submit_due(self, pool: ThreadPoolExecutor) -> None:
        free = JOBS_PER_THREAD * self._options.threads - self._agenda.busy
        for group in self._agenda.take(self._now(), max(0, free)):
            # Central first: a mirror that it shares with a part of its repository is a whole one.
            members = sorted(self._members.get(group, {}).values(), key=lambda item: (item.role, item.id))
            if not members:
                self._agenda.release(group)
                continue
            job = _Job(group, tuple(self._assignment(item) for item in members))
            future = pool.submit(self._work, job)
            self._under_way[future] = job
            future.add_done_callback(lambda _: self._news.put(None))

    def _assignment(self, registration: Registration) -> Assignment:
        pointer = self._pointers.get(registration.id)
        status = self._statuses.get(registration.id) or SyncStatus(registration.id)
        if status.state is SyncState.PENDING:
            status = replace(status, state=SyncState.SYNCING, since=self._now())
            self._statuses[registration.id] = status
            self._unsaved.add(registration.id)
            self._is_urgent = True
        return Assignment(
            registration,
            self._options.plan,
            status,
            pointer.revision if pointer else None,
            self._requests.pop(registration.id, None),
        )

    def _work(self, job: _Job) -> None:
        assignments = job.assignments
        try:
            source = self._git.open(assignments[0].registration)
            results = run_steps(
                source,
                assignments,
                load_revision=self._store.revision,
                blobs=self._store,
                cache=self._cache,
                now=self._now,
            )
        except SourceFault as fault:
            results = tuple(failed(item, fault, self._now()) for item in assignments)
        except Unavailable as pause:
            waiting = SourceFault(f"the store cannot be used now, and the registry will try again: {pause}")
            results = tuple(failed(item, waiting, self._now()) for item in assignments)
        except Exception as error:
            log.exception("sync failed", repository=assignments[0].registration.id)
            surprise = SourceFault(f"the registry failed on this source ({type(error).__name__}); it will try again.")
            results = tuple(failed(item, surprise, self._now()) for item in assignments)
        self._news.put(replace(job, results=results))

    def _collect(self, timeout_s: float) -> None:
        """Take what the pool finished, everything that is there at once, and publish it as one batch."""
        try:
            item = self._news.get(timeout=timeout_s) if timeout_s > 0 else self._news.get_nowait()
            while True:
                self._finished.extend([item] if item is not None else [])
                item = self._news.get_nowait()
        except queue.Empty:
            pass
        self._under_way = {
            future: job for future, job in self._under_way.items() if future.cancelled() or not future.done()
        }
        self._looks.collect()
        if self._finished:
            # What is registered may have changed while it was read.
            self._follow()
            self._settle()
            self._flush()

    def _wait_s(self) -> float:
        """How long the loop may sleep: until the next source is due and there is a thread for it."""
        due_at = self._agenda.next_at()
        if due_at is None or self._agenda.busy >= JOBS_PER_THREAD * self._options.threads:
            return IDLE_WAIT_S
        return min(IDLE_WAIT_S, max(0.0, (due_at - self._now()).total_seconds()))

    def _settle(self) -> None:
        results = [item for job in self._finished for item in job.results if self._is_current(item)]
        moved = self._publisher.publish(results)
        jobs, self._finished = self._finished, []
        settled: set[str] = set()
        for result, is_moved in zip(results, moved, strict=True):
            if not is_moved:
                self._resync()
                continue
            settled.add(result.registration.id)
            self._take_over(result)
        for job in jobs:
            self._plan_next(job, settled)
        self._examiner.notice(item.registration.id for item in results if item.fault is None)

    def _is_current(self, result: StepResult) -> bool:
        """Whether what was read is still registered, and in the same way."""
        return self._registrations.get(result.registration.id) == result.registration

    def _facts(self, repository: str) -> Facts | None:
        """What remarks on a source follow from, or None where it was not read yet."""
        registration, pointer = self._registrations.get(repository), self._pointers.get(repository)
        status = self._statuses.get(repository)
        commit = (status.seen or status.head) if status is not None else None
        if registration is None or pointer is None or status is None or status.ref is None or commit is None:
            return None
        return Facts(registration, Seen(status.ref, commit), pointer.revision)

    def _resync(self) -> None:
        """Somebody else moved or removed a pointer: look at everything in the store again."""
        self._sequence = 0
        self._pointers.clear()

    def _take_over(self, result: StepResult) -> None:
        repository = result.registration.id
        if result.read is not None:
            self._pointers[repository] = Pointer(repository, result.read.digest, result.counts)
            log.info("in force", repository=repository, commit=result.read.revision.commit)
        before = self._statuses.get(repository)
        if result.fault is not None and (before is None or before.state is not result.status.state):
            log.warning(
                "not read", repository=repository, state=result.status.state.value, reason=result.status.message
            )
        self._statuses[repository] = result.status
        self._unsaved.add(repository)
        self._is_urgent = self._is_urgent or _is_news(before, result)

    def _plan_next(self, job: _Job, settled: set[str]) -> None:
        fault = next((result.fault for result in job.results if result.fault is not None), None)
        attempts = max((result.status.attempts for result in job.results), default=0)
        at = schedule.next_due(
            self._now(),
            interval_s=self._options.poll_interval_s,
            jitter=self._jitter(),
            attempts=attempts if fault is not None and fault.passing else 0,
            retry_after_s=fault.retry_after_s if isinstance(fault, RateLimited) else None,
        )
        for item in job.assignments:
            repository = item.registration.id
            if repository in settled:
                self._statuses[repository] = replace(self._statuses[repository], next_due_at=at)
            elif repository in self._registrations:
                at = self._now()
                if item.request is not None:
                    self._want(item.request)
        self._agenda.plan(job.group, at)
        self._agenda.release(job.group)

    def _flush(self, *, everything: bool = False) -> None:
        """Save statuses: news at once, the bookkeeping of unchanged polls every 10 s in one write."""
        is_time = everything or self._now() - self._flushed_at >= FLUSH_INTERVAL
        if not (is_time or self._is_urgent):
            return
        self._save(self._unsaved)
        self._is_urgent = False
        if is_time:
            self._flushed_at = self._now()
            self._advance_rule_date()

    def _save(self, repositories: Iterable[str]) -> None:
        statuses = [self._statuses[item] for item in sorted(repositories) if item in self._statuses]
        if statuses:
            self._store.record_statuses(statuses)
            self._outgoing.wake()
        self._unsaved.clear()

    def _give_back_requests(self) -> None:
        """Store the wishes again that nobody will fulfil before the next start."""
        for job in self._under_way.values():
            for item in job.assignments:
                if item.request is not None:
                    self._want(item.request)
        for request in self._requests.values():
            with contextlib.suppress(Unknown):
                self._store.request_sync(request.repository, request.apply)

    def _advance_rule_date(self) -> None:
        central = next((item.id for item in self._registrations.values() if item.role is Role.CENTRAL), None)
        pointer = self._pointers.get(central) if central else None
        if pointer is not None and self._rule_clock.advance(pointer, self._api, self._now().date()):
            self._outgoing.wake()


def _group(registration: Registration) -> Group:
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
