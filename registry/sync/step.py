"""One source's step from a moved head to a publication: poll, fetch, read, judge.

Nothing is written here but original bytes, which nobody finds before a publication names them.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime

from registry.catalog.revision import Revision, read_revision
from registry.digest import digest_of
from registry.errors import SourceFault
from registry.ports import (
    BlobStore,
    Counts,
    GitSource,
    Registration,
    RemoteHead,
    SyncRequest,
    SyncState,
    SyncStatus,
)
from registry.sync.judgement import judge
from registry.sync.originals import keep_originals
from registry.sync.readings import ReadingCache
from registry.sync.source import SourcePlan, SourceRead, read_source

ACCEPT_POLICY = "accept-policy:"
"""Prefix of a request's `apply` that takes the policy file's absence or brokenness at that commit as meant."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One registration's part of a job: what is in force, how far it came, and what somebody asked for.

    A status without `seen` is of a source that must be read again, without `ref` of one whose remote or ref changed.
    """

    registration: Registration
    plan: Callable[[Registration], SourcePlan]
    status: SyncStatus
    in_force: str | None
    request: SyncRequest | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step found: the new status and, where something is to be put in force, the revision to publish.

    `blobs` are original bytes by digest that are to be stored before it; those of a large source are stored already.
    """

    registration: Registration
    status: SyncStatus
    expected: str | None = None
    read: SourceRead | None = None
    previous: Revision | None = None
    lost: tuple[str, ...] = ()
    fault: SourceFault | None = None
    blobs: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        """What lists show of the revision to publish."""
        return Counts() if self.read is None else count(self.read.revision)


def count(revision: Revision) -> Counts:
    """How many playbooks, problems and held copies a revision has."""
    heads = [copy.head for copy in revision.copies if copy.head is not None]
    return Counts(len(heads), len(revision.problems), sum(head.held is not None for head in heads))


def run_steps(
    source: GitSource,
    assignments: tuple[Assignment, ...],
    *,
    load_revision: Callable[[str], bytes | None],
    blobs: BlobStore,
    cache: ReadingCache,
    now: Callable[[], datetime],
) -> tuple[StepResult, ...]:
    """The results for all registrations of one (remote, ref): polled once, fetched once, each read for itself.

    A fault of the remote becomes every registration's status; what is in force stays.
    """
    try:
        head = source.poll()
    except SourceFault as fault:
        return tuple(failed(item, fault, now()) for item in assignments)
    results: list[StepResult] = []
    fetched = False
    for item in assignments:
        if not _is_due(item, head):
            results.append(_unchanged(item, head, now()))
            continue
        try:
            if not fetched:
                source.fetch(head)
                fetched = True
            results.append(_read(source, head, item, load_revision, blobs, cache, now))
        except SourceFault as fault:
            results.append(failed(item, fault, now(), head))
    return tuple(results)


def _is_due(item: Assignment, head: RemoteHead) -> bool:
    """Whether a head is read: a new one, one that was asked for, or one whose revision is nowhere (any more)."""
    is_lost = item.in_force is None and item.status.state is SyncState.OK
    # A failed poll in between must not make anybody forget what waits to be applied: it is judged again.
    is_forgotten = item.status.suspended == head.commit and item.status.state is not SyncState.SUSPENDED
    return (
        item.request is not None
        or is_lost
        or is_forgotten
        or item.status.seen != head.commit
        or item.status.ref != head.ref
    )


def _read(
    source: GitSource,
    head: RemoteHead,
    item: Assignment,
    load_revision: Callable[[str], bytes | None],
    blobs: BlobStore,
    cache: ReadingCache,
    now: Callable[[], datetime],
) -> StepResult:
    body = None if item.in_force is None else load_revision(item.in_force)
    previous = None if body is None else read_revision(body)
    apply = item.request.apply if item.request is not None else None
    accept = apply == ACCEPT_POLICY + head.commit
    earlier = _same_line(item, head, previous)
    read = read_source(source, head, replace(_plan(item), accept_policy=accept), earlier, cache)
    if read is None:
        return _unchanged(item, head, now())
    descends = previous is None or _descends(source, previous.commit, head.commit)
    judged = judge(previous, read.revision, descends=descends, applied=apply == head.commit, is_policy_accepted=accept)
    at = now()
    if judged.suspended is not None:
        status = replace(
            _checked(item, head, at),
            state=SyncState.SUSPENDED,
            since=item.status.since if item.status.state is SyncState.SUSPENDED else at,
            suspended=head.commit,
            message=f"{judged.suspended} What was in force stays, and only what the commit tightens applies. Look at "
            f"commit {head.commit} and, if it is meant, say `registry apply {item.registration.id} --commit "
            f"{head.commit}`.",
        )
    else:
        status = replace(_ok(item, head, at), synced_at=at)
    if judged.publish is None:
        return StepResult(item.registration, status)
    publish = read if judged.publish is read.revision else _as_read(judged.publish)
    if publish.digest == item.in_force:
        return StepResult(item.registration, status)
    kept = _keep_originals(source, head, publish, blobs)
    return StepResult(item.registration, status, item.in_force, publish, previous, judged.lost, blobs=kept)


def _keep_originals(source: GitSource, head: RemoteHead, read: SourceRead, blobs: BlobStore) -> dict[str, bytes]:
    if not read.originals:
        return {}
    with closing(source.read(head.commit)) as tree:
        return keep_originals(tree, read.originals, blobs)


def _plan(item: Assignment) -> SourcePlan:
    """The plan of a registration; patterns that an older version stored may be none for this one."""
    try:
        return item.plan(item.registration)
    except ValueError as error:
        message = f"the registered paths cannot be used: {error} Register the repository with other paths."
        raise SourceFault(message) from None


def _same_line(item: Assignment, head: RemoteHead, previous: Revision | None) -> Revision | None:
    """The revision in force as far as a new one may lean on it.

    Held copies belong to a (remote, ref), and changing either starts anew; rules never weaken by that (merge.md).
    """
    if previous is None or (item.status.ref is not None and previous.ref == head.ref):
        return previous
    return replace(previous, copies=(), problems=(), fingerprint="")


def _descends(source: GitSource, old: str, new: str) -> bool:
    with closing(source.read(new)) as tree:
        return tree.is_ancestor(old, new)


def _as_read(revision: Revision) -> SourceRead:
    body = revision.to_bytes()
    return SourceRead(revision, body, digest_of(body), {}, {})


def _unchanged(item: Assignment, head: RemoteHead, at: datetime) -> StepResult:
    if item.status.state is SyncState.SUSPENDED and item.status.suspended == head.commit:
        return StepResult(item.registration, _checked(item, head, at))
    if item.status.state is SyncState.TOO_LARGE and item.status.seen == head.commit:
        # The same commit is as large as it was: what is wrong stays said until another one comes.
        return StepResult(item.registration, _checked(item, head, at))
    return StepResult(item.registration, replace(_ok(item, head, at), synced_at=at))


def _checked(item: Assignment, head: RemoteHead, at: datetime) -> SyncStatus:
    return replace(
        item.status,
        ref=head.ref,
        head=head.commit,
        seen=head.commit,
        checked_at=at,
        attempts=0,
        handled=item.request.sequence if item.request else item.status.handled,
    )


def _ok(item: Assignment, head: RemoteHead, at: datetime) -> SyncStatus:
    return replace(
        _checked(item, head, at),
        state=SyncState.OK,
        since=item.status.since if item.status.state is SyncState.OK else at,
        suspended=None,
        message="",
    )


def failed(item: Assignment, fault: SourceFault, at: datetime, head: RemoteHead | None = None) -> StepResult:
    """The result of a step that a fault ended: yesterday's revision stays in force, and the status says why.

    A data fault marks the commit as seen; a passing one is tried again with backoff (architecture.md, Data flow).
    """
    state = SyncState(fault.state)
    status = replace(
        item.status,
        state=state,
        since=item.status.since if item.status.state is state else at,
        message=fault.detail,
        head=head.commit if head else item.status.head,
        seen=head.commit if head and state is SyncState.TOO_LARGE else item.status.seen,
        attempts=item.status.attempts + 1 if fault.passing else 0,
        handled=item.request.sequence if item.request else item.status.handled,
    )
    return StepResult(item.registration, status, fault=fault)
