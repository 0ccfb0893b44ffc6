"""Registrations: who is read, how far each is, and the wishes that move them."""

import posixpath
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from urllib.parse import unquote

from policies.access import Action, Permission, Principal, may
from registry.digest import Json
from registry.errors import (
    Conflict,
    Forbidden,
    RepositoryInvalid,
    RequestInvalid,
    Unauthenticated,
    Unknown,
)
from registry.names import SUB_PATH_MARK, repository_id, without_user
from registry.playbook.roots import Roots
from registry.ports import AuditEntry, Counts, Registration, Role, Signal, Store, SyncState, SyncStatus
from registry.service.catalogs import Catalogs
from registry.service.inforce import InForce
from registry.service.views import repository_json

LIMIT_DEFAULT = 50
LIMIT_MAX = 200
WAIT_MAX_S = 60.0
WAIT_STEP_S = 0.02
PATHS_MAX = 50
ALIASES_MAX = 20
TEXT_LENGTH_MAX = 512
_CREDENTIAL = re.compile(r"[a-z][a-z0-9-]{0,62}")
_FILE = re.compile(r"(?i)^file://(localhost)?(?=/)")


class RemoteCheck(Protocol):
    """Says whether a URL may be read here, before anything is stored."""

    def __call__(self, url: str) -> str:
        """The id that the URL normalises to. Raises AddressRefused or RepositoryInvalid."""
        ...


@dataclass(frozen=True, slots=True)
class RegistrationRequest:
    """What a caller wants registered; `credential` is a name, never a value."""

    url: str
    team: str
    ref: str | None = None
    paths: tuple[str, ...] | None = None
    aliases: tuple[str, ...] = ()
    credential: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a write came to: the repository's view, whether it is new, and whether its sync has its outcome."""

    value: dict[str, Json]
    created: bool
    done: bool


class Repositories:
    """Lists, registers and syncs repositories. Thread-safe."""

    def __init__(
        self,
        in_force: InForce,
        catalogs: Catalogs,
        store: Store,
        *,
        worker: Signal,
        check_remote: RemoteCheck,
        now: Callable[[], datetime],
        case_sensitive_hosts: frozenset[str] = frozenset(),
    ) -> None:
        self._in_force = in_force
        self._catalogs = catalogs
        self._store = store
        self._worker = worker
        self._check_remote = check_remote
        self._now = now
        self._case_sensitive_hosts = case_sensitive_hosts

    def list(
        self,
        *,
        state: str | None = None,
        team: str | None = None,
        has: str | None = None,
        cursor: str | None = None,
        limit: int = LIMIT_DEFAULT,
    ) -> dict[str, Json]:
        """A page of registrations by id; `next_cursor` is the last id.

        `snapshot` is null where nobody has read the catalog since it changed: a list composes none.
        Raises RequestInvalid for a filter that is none.
        """
        if not 1 <= limit <= LIMIT_MAX:
            raise RequestInvalid(f"limit is {limit}: give a number from 1 to {LIMIT_MAX}.")
        if state is not None and state not in set(SyncState):
            raise RequestInvalid(f"{state[:40]!r} is no sync state: use one of {', '.join(SyncState)}.")
        if has not in {None, "held", "refused", "problems"}:
            raise RequestInvalid("has= takes held, refused or problems.")
        view = self._in_force.view
        ids = sorted(
            item.id
            for item in view.registrations.values()
            if item.deregistered_at is None
            and (cursor is None or item.id > cursor)
            and (team is None or item.team == team)
            and (state is None or self._status(item.id).state == state)
        )
        rows: list[Json] = []
        for position, identity in enumerate(ids):
            if not self._has(identity, has):
                continue
            rows.append(self._view(identity))
            if len(rows) == limit:
                more = position + 1 < len(ids)
                return {"items": rows, "next_cursor": identity if more else None}
        return {"items": rows, "next_cursor": None}

    def get(self, repository: str) -> dict[str, Json]:
        """One repository, with the digest of its snapshot in force. Raises Unknown where it is not registered."""
        identity = self._registered(repository).id
        if self._is_published(identity):
            self._catalogs.current(identity)
        return self._view(identity)

    def register(
        self, principal: Principal | None, repository: str, request: RegistrationRequest, wait_s: float = 0.0
    ) -> Outcome:
        """Register or change a repository, whatever its sync will come to.

        Raises RepositoryInvalid where the URL is another repository's, Forbidden for another team's, Conflict for
        the central repository and for an alias that is taken, AddressRefused for a URL that may not be read.
        """
        view = self._in_force.view
        identity = str(repository_id(repository, case_sensitive_hosts=self._case_sensitive_hosts))
        known = view.registrations.get(identity)
        require(may(principal, Action.REGISTER, team=request.team), principal)
        if known is not None:
            require(may(principal, Action.REGISTER, team=known.team), principal)
        self._check(principal, identity, request)
        if self._is_central(identity, request.url):
            raise Conflict(f"{identity} is the central repository; it is configured and cannot be registered.")
        owner = view.aliases.get(identity, identity)
        if owner != identity:
            raise Conflict(f"{identity} is an alias of {owner}: register the repository there, or end the alias first.")
        created = known is None or known.deregistered_at is not None
        registration = Registration(
            id=identity,
            role=Role.SERVICE,
            url=without_user(request.url),
            ref=request.ref,
            team=request.team,
            paths=request.paths,
            aliases=self._aliases(identity, request.aliases, request.team),
            credential=request.credential,
            registered_at=self._now() if created or known is None else known.registered_at,
        )
        if registration == known:
            return self._sync(identity, None, wait_s, created=False)
        audit = self._audit(principal, "repository-registered" if created else "repository-changed", identity)
        self._store.register(registration, audit)
        return self._sync(identity, None, wait_s, created=created)

    def deregister(self, principal: Principal | None, repository: str) -> None:
        """End a registration; its id stays reserved to its team. Raises Unknown, Forbidden, Conflict for central."""
        registration = self._registered(repository)
        require(may(principal, Action.DEREGISTER, team=registration.team), principal)
        if registration.role is Role.CENTRAL:
            raise Conflict(f"{registration.id} is the central repository; it is configured and cannot be deregistered.")
        at = self._now()
        self._store.deregister(registration.id, at, self._audit(principal, "repository-deregistered", registration.id))
        self._in_force.refresh()
        self._worker.wake()

    def sync(self, principal: Principal | None, repository: str, wait_s: float = 0.0) -> Outcome:
        """Ask for a repository to be read now."""
        registration = self._registered(repository)
        central = registration.role is Role.CENTRAL
        require(may(principal, Action.SYNC, team=registration.team, central=central), principal)
        return self._sync(registration.id, None, wait_s, created=False)

    def apply(self, principal: Principal | None, repository: str, commit: str, wait_s: float = 0.0) -> Outcome:
        """Put a suspended revision in force. Raises Conflict where that commit is not the suspended head (any more)."""
        registration = self._registered(repository)
        central = registration.role is Role.CENTRAL
        require(may(principal, Action.APPLY, team=registration.team, central=central), principal)
        suspended = self._status(registration.id).suspended
        if suspended is None or suspended != commit:
            waits = f"{suspended} waits" if suspended else "nothing waits"
            raise Conflict(f"{commit[:64]} does not wait to be applied to {registration.id}: {waits}.")
        self._store.add_audit(self._audit(principal, "revision-applied", registration.id, commit=commit))
        return self._sync(registration.id, commit, wait_s, created=False)

    def request(self, identity: str, apply: str | None, wait_s: float) -> Outcome:
        """Ask the worker for a source whose permission was checked already."""
        return self._sync(identity, apply, wait_s, created=False)

    def _sync(self, identity: str, apply: str | None, wait_s: float, *, created: bool) -> Outcome:
        sequence = self._store.request_sync(identity, apply)
        self._worker.wake()
        self._in_force.refresh()
        end = time.monotonic() + min(max(0.0, wait_s), WAIT_MAX_S)
        while self._status(identity).handled < sequence and time.monotonic() < end:
            time.sleep(WAIT_STEP_S)
            self._in_force.refresh()
        done = self._status(identity).handled >= sequence
        if done and self._is_published(identity):
            self._catalogs.current(identity)
        return Outcome(self._view(identity), created, done)

    def _check(self, principal: Principal | None, identity: str, request: RegistrationRequest) -> None:
        for text in (request.team, request.ref or "main", *request.aliases, *(request.paths or ())):
            if not text.strip() or len(text) > TEXT_LENGTH_MAX or not text.isprintable():
                raise RequestInvalid("team, ref, paths and aliases are printable texts of 1 to 512 characters.")
        if len(request.paths or ()) > PATHS_MAX or len(request.aliases) > ALIASES_MAX:
            raise RequestInvalid(f"at most {PATHS_MAX} paths and {ALIASES_MAX} aliases.")
        if (request.ref or "").startswith("-"):
            raise RequestInvalid("a ref does not begin with a hyphen.")
        try:
            Roots(request.paths, identity.partition(SUB_PATH_MARK)[2])
        except ValueError as error:
            raise RequestInvalid(f"paths cannot be used: {error}") from None
        if request.credential is not None and not _CREDENTIAL.fullmatch(request.credential):
            raise RequestInvalid("credential is the name of one that the operator set up, and never its value.")
        found = self._check_remote(request.url)
        expected = identity.partition("/-/")[0]
        if found != expected and not (principal is not None and "admin" in principal.scopes):
            raise RepositoryInvalid(f"the url is that of {found}, not of {expected}: register it under its own id.")

    def _is_central(self, identity: str, url: str) -> bool:
        central = self._in_force.view.central
        if central is None:
            return False
        registration = self._in_force.view.registrations[central]
        return identity == central or self._same_remote(url, registration.url) or identity in registration.aliases

    def _same_remote(self, one: str, other: str) -> bool:
        if one == other:
            return True
        if one.startswith("file:") or other.startswith("file:"):
            return _file_path(one) == _file_path(other)
        hosts = self._case_sensitive_hosts
        return repository_id(one, case_sensitive_hosts=hosts) == repository_id(other, case_sensitive_hosts=hosts)

    def _aliases(self, identity: str, aliases: Sequence[str], team: str) -> tuple[str, ...]:
        """The ids that shall mean this repository too. Raises Conflict for one that is, or is kept for, another's."""
        view = self._in_force.view
        folded = []
        for alias in aliases:
            other = str(repository_id(alias, case_sensitive_hosts=self._case_sensitive_hosts))
            owner = view.aliases.get(other, other if view.registered(other) is not None else identity)
            if owner != identity:
                raise Conflict(f"the alias {other} belongs to {owner}.")
            kept = view.registrations.get(other)
            if kept is not None and kept.team != team:
                raise Conflict(f"the alias {other} is kept for the team {kept.team}.")
            folded.append(other)
        return tuple(sorted(set(folded) - {identity}))

    def _registered(self, repository: str) -> Registration:
        identity = self._in_force.resolve(repository)
        registration = self._in_force.view.registered(identity)
        if registration is None:
            raise Unknown("repository", f"{identity} is not registered: register it first.", repository=identity)
        return registration

    def _status(self, identity: str) -> SyncStatus:
        return self._in_force.view.statuses.get(identity) or SyncStatus(identity)

    def _has(self, identity: str, has: str | None) -> bool:
        counts = self._counts(identity)
        if has == "refused":
            return self._refused(identity) > 0
        return has is None or (counts.held > 0 if has == "held" else counts.problems > 0)

    def _counts(self, identity: str) -> Counts:
        pointer = self._in_force.view.pointers.get(identity)
        return pointer.counts if pointer is not None else Counts()

    def _is_published(self, identity: str) -> bool:
        """Whether a catalog can be composed: central and the repository itself were read once."""
        view = self._in_force.view
        return identity in view.pointers and view.central is not None and view.central in view.pointers

    def _refused(self, identity: str) -> int:
        if identity == self._in_force.view.central or not self._is_published(identity):
            return 0
        _, catalog = self._catalogs.catalog_of(identity)
        return sum(len(verdict.decision.refused) for verdict in catalog.own.values() if verdict is not None)

    def _view(self, identity: str) -> dict[str, Json]:
        registration = self._in_force.view.registrations[identity]
        answer = self._catalogs.peek(identity)
        return repository_json(
            registration,
            self._status(identity),
            self._counts(identity),
            snapshot=answer.digest if answer is not None else None,
            refused=self._refused(identity),
        )

    def _audit(self, principal: Principal | None, action: str, subject: str, **detail: str) -> AuditEntry:
        return AuditEntry(self._now(), name_of(principal), action, subject, detail=detail or None)


def _file_path(url: str) -> str | None:
    """The path of a file remote in one spelling; None for another kind of remote."""
    path = _FILE.sub("", url)
    return None if path == url else posixpath.normpath("/" + unquote(path).lstrip("/"))


def require(permission: Permission, principal: Principal | None) -> None:
    """Nothing, if the permission was given. Raises Unauthenticated for nobody, Forbidden for somebody."""
    if not permission.allowed:
        raise Unauthenticated(permission.reason) if principal is None else Forbidden(permission.reason)


def name_of(principal: Principal | None) -> str:
    """The principal's name for the audit log."""
    return "anonymous" if principal is None else principal.name
