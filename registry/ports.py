"""What the services and the synchronisation need of the world, as protocols and the values that cross them.

Every adapter of a port passes the port's suite in tests/contract/. All calls are synchronous; a door that lives on
an event loop moves them to threads. Instants are aware UTC.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol

from indexer.document import Document
from policies.rules import Mark, Waiver, Withdrawal
from registry.digest import Json
from registry.playbook.model import Level, Problem
from registry.runs.record import Run


class Role(StrEnum):
    """What a registered source is to the merge."""

    CENTRAL = "central"
    SERVICE = "service"


class SyncState(StrEnum):
    """`sync.state` of the wire (http-api.md, Shapes)."""

    PENDING = "pending"
    SYNCING = "syncing"
    OK = "ok"
    UNREACHABLE = "unreachable"
    UNAUTHORIZED = "unauthorized"
    RATE_LIMITED = "rate-limited"
    BRANCH_MISSING = "branch-missing"
    EMPTY = "empty"
    CORRUPT = "corrupt"
    DISK_FULL = "disk-full"
    TOO_LARGE = "too-large"
    SUSPENDED = "suspended"
    HOST_KEY_MISMATCH = "host-key-mismatch"
    ADDRESS_REFUSED = "address-refused"


@dataclass(frozen=True, slots=True)
class Registration:
    """One source that the registry reads: the central repository or a service repository."""

    id: str
    role: Role
    url: str
    ref: str | None
    team: str
    paths: tuple[str, ...] | None
    aliases: tuple[str, ...]
    credential: str | None
    registered_at: datetime
    deregistered_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """How far a source has come.

    `head` is the newest commit seen at the remote, `seen` the newest one whose outcome is known (published, unchanged
    or refused as data), `suspended` the commit that waits for an apply. `checked_at` is the last successful check of
    the remote, `synced_at` the last time that what is in force was confirmed or replaced. `handled` is the sequence
    of the newest sync request that has its outcome.
    """

    repository: str
    state: SyncState = SyncState.PENDING
    since: datetime | None = None
    ref: str | None = None
    head: str | None = None
    seen: str | None = None
    suspended: str | None = None
    checked_at: datetime | None = None
    synced_at: datetime | None = None
    next_due_at: datetime | None = None
    attempts: int = 0
    message: str = ""
    handled: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """What a repository's own revision holds, for lists: copies, problems, held ones."""

    playbooks: int = 0
    problems: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class Pointer:
    """The revision in force of one source: what a key is made of."""

    repository: str
    revision: str
    counts: Counts = Counts()


@dataclass(frozen=True, slots=True)
class Publication:
    """One source's step from `expected` (None: nothing in force yet) to `revision`.

    Documents and the revision are written first, then the pointer moves if it still is `expected`.
    """

    repository: str
    expected: str | None
    revision: str
    body: bytes
    documents: Mapping[str, bytes]
    counts: Counts = Counts()


@dataclass(frozen=True, slots=True)
class Recipe:
    """From what a snapshot that was handed out is composed again, byte for byte."""

    repository: str | None
    central: str
    local: str | None
    rules: str
    rule_date: date


@dataclass(frozen=True, slots=True)
class ApiRules:
    """The rules that were set through the API, with the stored rule date (it only moves forward)."""

    marks: tuple[Mark, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    withdrawals: tuple[Withdrawal, ...] = ()
    rule_date: date = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """Somebody's wish that a source be read now; `apply` names a suspended commit to put in force."""

    sequence: int
    repository: str
    apply: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What was written after a sequence, and the sequence to ask from next time.

    `registrations` holds deregistered ones too. `rules` is None where no rule changed.
    """

    sequence: int
    registrations: tuple[Registration, ...]
    pointers: tuple[Pointer, ...]
    statuses: tuple[SyncStatus, ...]
    rules: ApiRules | None


@dataclass(frozen=True, slots=True)
class Remarks:
    """What was remarked on a source's playbooks beside their revision, which never changes by it.

    `made_of` names what the remarks follow from: while it is the same, so are they. `shadows` are the names under which
    the source's own copy replaces central's. `memory` is what the next look needs of this one. `tallies` count all
    problems of the source, those of its revision too, by code and level.
    """

    repository: str
    made_of: str
    shadows: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    memory: Json = None
    tallies: Mapping[tuple[str, Level], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Token:
    """A caller's token as it is stored: never its value, only the sha256 of it."""

    id: str
    hash: str
    principal: str
    team: str | None
    scopes: frozenset[str]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who changed what, when and why."""

    at: datetime
    principal: str
    action: str
    subject: str
    reason: str = ""
    detail: Mapping[str, Json] | None = None
    id: int | None = None


class BlobStore(Protocol):
    """The original bytes of what was read, by digest; each is 16 MiB at most."""

    def missing_blobs(self, digests: Collection[str]) -> frozenset[str]:
        """Those of `digests` that are not stored."""
        ...

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Store original bytes by digest; what is there already stays."""
        ...

    def blob(self, digest: str) -> bytes | None:
        """The original bytes with that digest, or None."""
        ...


class RunStore(Protocol):
    """The record of every run. Ids sort by the time at which a run was opened."""

    def put_run(self, run: Run) -> None:
        """Insert a run; Conflict where its id is taken, or its request's key by another run of that principal."""
        ...

    def run(self, run_id: str) -> Run | None:
        """The run of that id, or None."""
        ...

    def run_by_key(self, principal: str, key: str) -> Run | None:
        """The run that a principal opened with that key of a request, or None."""
        ...

    def runs(
        self,
        *,
        repository: str | None = None,
        name: str | None = None,
        seen_by: tuple[str, str | None] | None = None,
        limit: int,
        before: str | None = None,
    ) -> tuple[Run, ...]:
        """Runs, newest first, older than the id `before`; those of one repository and of one name where given.

        `seen_by` (principal, team) leaves those that the principal opened or whose repository was the team's.
        """
        ...


class Store(BlobStore, RunStore, Protocol):
    """Everything that must outlive the process. Each method is one transaction; a kill between two loses neither.

    Every write stamps its rows with the next value of one global sequence, in commit order.
    """

    def sequence(self) -> int:
        """The sequence of the newest committed write."""
        ...

    def changes_since(self, sequence: int) -> Changes:
        """What was written after `sequence`; 0 gives everything."""
        ...

    def register(self, registration: Registration, audit: AuditEntry) -> None:
        """Insert or replace a registration (a deregistered id comes back to life)."""
        ...

    def deregister(self, repository: str, at: datetime, audit: AuditEntry) -> None:
        """End a registration: its pointer, status and API waivers go; the row stays, so that its id stays reserved."""
        ...

    def request_sync(self, repository: str, apply: str | None = None) -> int:
        """The sequence of a newly stored sync request (one row a repository; a later request replaces it)."""
        ...

    def take_requests(self, through: int | None = None) -> tuple[SyncRequest, ...]:
        """The stored sync requests up to that sequence (None: all), oldest first, removed from the store."""
        ...

    def record_statuses(self, statuses: Sequence[SyncStatus]) -> None:
        """Replace the statuses of registered sources; one of a source that is not registered is dropped."""
        ...

    def publish(self, publications: Sequence[Publication]) -> tuple[bool, ...]:
        """For each publication whether its pointer moved (False: it was not `expected`, or was deregistered)."""
        ...

    def revision(self, digest: str) -> bytes | None:
        """The body of a revision."""
        ...

    def revisions(self, digests: Collection[str]) -> dict[str, bytes]:
        """Digest -> body of the stored revisions among `digests`: a few hundred at a time, all are held at once."""
        ...

    def put_remarks(self, remarks: Sequence[Remarks]) -> None:
        """Replace the remarks on registered sources; those on a source that is not registered are dropped."""
        ...

    def remarks(self, repositories: Collection[str]) -> dict[str, Remarks]:
        """Repository -> the remarks on it, for those of `repositories` that have been looked at."""
        ...

    def remarked(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Repository -> (what its remarks are made of, the names that it shadows), for all that have been looked at."""
        ...

    def repositories_with(self, codes: Collection[str] = (), level: Level | None = None) -> frozenset[str]:
        """The sources that have a problem of one of the codes (none: any) and of the level (None: any)."""
        ...

    def tally(self) -> dict[tuple[str, Level], int]:
        """(code, level) -> how many such problems there are in all sources together."""
        ...

    def documents(self, digests: Collection[str]) -> dict[str, bytes]:
        """Digest -> bytes of the stored documents among `digests`."""
        ...

    def put_documents(self, documents: Mapping[str, bytes]) -> None:
        """Store immutable bytes by digest; what is there already stays."""
        ...

    def hand_out(self, recipes: Mapping[str, Recipe], at: datetime) -> None:
        """Remember snapshot digests before their bytes leave the house; known ones are left alone."""
        ...

    def recipe(self, digest: str) -> Recipe | None:
        """How a snapshot that was handed out is composed, or None for a digest never handed out."""
        ...

    def put_mark(self, mark: Mark, audit: AuditEntry) -> None:
        """Insert or replace an API mark by name."""
        ...

    def delete_mark(self, name: str, audit: AuditEntry) -> bool:
        """Whether there was an API mark to delete."""
        ...

    def put_waiver(self, waiver: Waiver, audit: AuditEntry) -> None:
        """Insert or replace an API waiver by name and repository."""
        ...

    def delete_waiver(self, name: str, repository: str, audit: AuditEntry) -> bool:
        """Whether there was an API waiver to delete."""
        ...

    def put_withdrawal(self, withdrawal: Withdrawal, audit: AuditEntry) -> None:
        """Insert or replace a withdrawal by name and digest."""
        ...

    def delete_withdrawal(self, name: str, digest: str, audit: AuditEntry) -> bool:
        """Whether there was a withdrawal to delete."""
        ...

    def advance_rule_date(self, on: date) -> date:
        """The stored rule date after moving it forward to `on`; an earlier `on` changes nothing."""
        ...

    def put_token(self, token: Token, audit: AuditEntry) -> None:
        """Insert a token."""
        ...

    def token_by_hash(self, token_hash: str) -> Token | None:
        """The token with that hash, revoked or expired ones included."""
        ...

    def tokens(self) -> tuple[Token, ...]:
        """All tokens, newest first."""
        ...

    def revoke_token(self, token_id: str, at: datetime, audit: AuditEntry) -> bool:
        """Whether there was an unrevoked token of that id."""
        ...

    def add_audit(self, audit: AuditEntry) -> None:
        """Append to the audit log what no other method of this port wrote."""
        ...

    def audit(self, *, limit: int, before: int | None = None) -> tuple[AuditEntry, ...]:
        """Audit entries, newest first, older than id `before`."""
        ...

    def close(self) -> None:
        """Release every connection."""
        ...


class IndexWriting(Protocol):
    """The one writer of the index."""

    def apply(self, additions: Iterable[Document], deletions: Iterable[str]) -> None:
        """Add and delete in one commit; adding an id that is there replaces it."""
        ...

    def ids(self) -> Iterable[str]:
        """Every document id in the index."""
        ...

    def finish(self) -> None:
        """Let readers know that the index holds everything it should."""
        ...


class RemoteHead(Protocol):
    """What a remote says of the tracked ref."""

    @property
    def ref(self) -> str:
        """The full name of the ref."""
        ...

    @property
    def commit(self) -> str:
        """40 hexadecimal digits."""
        ...


class TreeFile(Protocol):
    """One entry of a tree that a pattern wanted; `blob_id` is the content, of a link the file that it leads to."""

    @property
    def path(self) -> str:
        """Relative to the repository's root."""
        ...

    @property
    def blob_id(self) -> str:
        """The object id of the content."""
        ...

    @property
    def kind(self) -> str:
        """`file`, `symlink`, `submodule` or `path-not-utf8`."""
        ...

    @property
    def target(self) -> str | None:
        """The file's own path, where a link is part of `path`; None for a link to nothing that can be read."""
        ...


class Signal(Protocol):
    """A hint to another process that the store has news; losing one only costs the polling interval."""

    def wake(self) -> None:
        """Tell whoever waits."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Whether somebody called before `timeout_s` was over."""
        ...


class Tree(Protocol):
    """The files of one commit, read straight from git objects. One per job, never shared between threads."""

    def list_files(self, *, enter: Callable[[str], bool], wanted: Callable[[str], bool]) -> Sequence[TreeFile]:
        """The wanted entries below the folders to enter, sorted by path. Raises SourceTooLarge."""
        ...

    def tree_id(self, path: str) -> str | None:
        """The id of the folder at `path`, links followed, or None where there is no folder."""
        ...

    def blob_id(self, path: str) -> str | None:
        """The id of the file's content at `path`, links followed, or None where there is no file."""
        ...

    def hydrate(self, blob_ids: Collection[str]) -> None:
        """Fetch those of the blobs that a slim mirror does not hold yet, in one round trip."""
        ...

    def read_blob(self, blob_id: str, max_bytes: int) -> object:
        """The bytes of a blob, or anything else where it is larger than `max_bytes`. Raises Corrupt."""
        ...

    def history(self, path: str, limit: int) -> Iterable[tuple[str, object]]:
        """(commit, bytes) of each version of the file, newest first, along `limit` first parents.

        None where there was no file, anything else but bytes where it was larger than is read.
        """
        ...

    def contents(self, paths: Collection[str], limit: int) -> Iterable[tuple[str, str, str | None]]:
        """(commit, path, object id) of each content that one of the paths had, newest first, along first parents.

        The commit is the one that brought it in, among at most `limit` before this one. A path that ends with a slash
        is a folder's, any other one a file's; the id is None where there was no such thing. Links are not followed.
        """
        ...

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `old` is `new` or in its history."""
        ...

    def close(self) -> None:
        """Let go of the files that it keeps open."""
        ...


class GitSource(Protocol):
    """One (remote, ref): polled, mirrored and read. Every call raises from the SourceFault tree."""

    def poll(self) -> RemoteHead:
        """What the remote says of the tracked ref now."""
        ...

    def fetch(self, head: RemoteHead) -> None:
        """Bring the mirror to that head."""
        ...

    def read(self, commit: str) -> Tree:
        """The tree of a fetched commit."""
        ...


class Git(Protocol):
    """The way to every source."""

    def open(self, registration: Registration) -> GitSource:
        """The source of a registration. Raises SourceAddressRefused for a URL that is not allowed (any more)."""
        ...
