"""Following one repository's catalog: fetched and checked, kept on disk, revalidated, and still there when offline.

A bad answer never replaces a good one. Whatever cannot be fetched leaves the last good catalog in its place, and the
state says since when.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from registry.client.cache import FILE_BYTES_MAX, DiskCache
from registry.client.connection import NOT_MODIFIED, Answer, Connection, segment
from registry.client.documents import Documents
from registry.client.snapshot import Snapshot, read_snapshot
from registry.digest import is_digest
from registry.errors import RegistryError, Unknown, Untrusted
from registry.playbook.roots import Roots

CATALOG_BYTES_MAX: Final = FILE_BYTES_MAX
"""As much as the cache keeps: some hundred thousand entries."""
CATALOG_DEADLINE_S: Final = 60.0
"""How long it may take to fetch a catalog and what it needs. Nobody waits for it who has one already."""
NOT_ASKED: Final = "it was not asked yet"
_REGISTERED: Final = "registered"

Needed = Callable[[Snapshot], Iterable[str]]
"""The digests of the documents without which a snapshot is not put in force."""


@dataclass(frozen=True, slots=True)
class State:
    """How current what is held is.

    `freshness` is fresh, stale (the registry's own sources are behind) or offline (the registry could not be asked);
    `age_s` counts from the last check of the older source. `note` says what went wrong, if something did.
    """

    freshness: str
    age_s: int
    registered: bool
    repository: str | None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The `state` of an answer (mcp.md, The three tools)."""
        shown = {
            "freshness": self.freshness,
            "age_s": self.age_s,
            "registered": self.registered,
            "repository": self.repository,
        }
        return {**shown, "note": self.note} if self.note else shown


@dataclass(frozen=True, slots=True)
class Held:
    """The catalog that is held: since when it is known to be in force, and what the registry said of itself then.

    `fault` says why the registry could not be asked since; `paths` are where the repository keeps its playbooks.
    """

    snapshot: Snapshot
    checked_at: datetime
    age_s: int
    fresh: bool
    registered: bool
    paths: tuple[str, ...] | None
    fault: str = ""

    def state(self, now: datetime, fault: str = "") -> State:
        """How current this is, where `fault` is what keeps the registry from being asked."""
        fault = (fault or self.fault) if self.fault == NOT_ASKED else (self.fault or fault)
        age_s = self.age_s + max(0, int((now - self.checked_at).total_seconds()))
        freshness = "offline" if fault else "fresh" if self.fresh else "stale"
        return State(freshness, age_s, self.registered, self.snapshot.repository, _offline(fault, age_s))


class Following:
    """One repository's catalog (None: central's own) at one registry.

    `held` may be read by any thread; one at a time refreshes it.
    """

    def __init__(
        self,
        connection: Connection,
        cache: DiskCache,
        documents: Documents,
        repository: str | None,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._documents = documents
        self._now = now
        self.repository = repository
        self.path = "/v1/catalogs" if repository is None else f"/v1/catalogs/{segment(repository)}"
        self.held = self._from_disk()

    def refresh(self, needed: Needed, *, with_paths: bool, only_registered: bool = False) -> bool:
        """Ask the registry once; whether another catalog is held than before.

        A new one is held once its `needed` documents are here, and the `paths` if they are wanted. With
        `only_registered`, a repository that nobody registered is Unknown instead of having central's catalog. Raises
        Unavailable, Untrusted, and whatever the registry refuses by; what was held is still held then.
        """
        before = self.held
        until = time.monotonic() + CATALOG_DEADLINE_S
        held = self._asked(before, until=until, with_paths=with_paths, only_registered=only_registered)
        self._documents.load(needed(held.snapshot), self.path, until=until)
        self.held = held
        self._keep(held)
        return before is None or before.snapshot.digest != held.snapshot.digest

    def blame(self, error: Exception) -> None:
        """Have the state of what is held say why the registry could not be asked."""
        said = str(error) if isinstance(error, RegistryError) else ""
        if self.held is not None:
            self.held = replace(self.held, fault=said or f"the library failed ({type(error).__name__})")

    def _asked(self, before: Held | None, *, until: float, with_paths: bool, only_registered: bool) -> Held:
        answer = self._connection.get(
            self.path,
            params={"registered": "required"} if only_registered else None,
            etag=f'"{before.snapshot.digest}"' if before is not None else None,
            deadline_s=until - time.monotonic(),
            bytes_max=CATALOG_BYTES_MAX,
        )
        fresh, age_s, registered = _read_state(answer.headers.get("catalog-state", ""))
        if answer.status == NOT_MODIFIED and before is not None:
            snapshot = before.snapshot
        else:
            snapshot = read_snapshot(answer.body, _digest(answer))
            self._cache.write("snapshots", snapshot.digest, snapshot.body)
        paths = before.paths if before is not None else None
        if with_paths and registered and (answer.status != NOT_MODIFIED or before is None or not before.registered):
            paths = self._paths()
        return Held(snapshot, self._now(), age_s, fresh, registered, paths)

    def _paths(self) -> tuple[str, ...] | None:
        """Where the repository keeps its playbooks, None for the usual places."""
        if self.repository is None:
            return None
        try:
            found = self._connection.get(f"/v1/repositories/{segment(self.repository)}").json().get("paths")
            return _checked_paths(found)
        except Unknown:
            return None
        except ValueError:
            raise Untrusted("the repository's paths are not as they can be: is REGISTRY_URL right?") from None

    def _record_name(self) -> str:
        parts = urlsplit(self._connection.url)
        return f"catalog {parts.scheme}://{parts.netloc}{parts.path} {self.repository or ''}"

    def _keep(self, held: Held) -> None:
        self._cache.write_record(
            self._record_name(),
            {
                "digest": held.snapshot.digest,
                "checked_at": held.checked_at.isoformat(),
                "age_s": held.age_s,
                "fresh": held.fresh,
                _REGISTERED: held.registered,
                "paths": None if held.paths is None else list(held.paths),
            },
        )

    def _from_disk(self) -> Held | None:
        record = self._cache.read_record(self._record_name())
        try:
            digest = str(record["digest"]) if record else ""
            body = self._cache.read("snapshots", digest)
            if record is None or body is None:
                return None
            return Held(
                read_snapshot(body, digest),
                datetime.fromisoformat(record["checked_at"]).astimezone(UTC),
                max(0, int(record["age_s"])),
                bool(record["fresh"]),
                bool(record[_REGISTERED]),
                _checked_paths(record["paths"]),
                fault=NOT_ASKED,
            )
        except (KeyError, TypeError, ValueError, OverflowError, RegistryError):
            return None


def _checked_paths(value: object) -> tuple[str, ...] | None:
    """Patterns that a working copy can be looked through by. Raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("paths")
    return Roots(tuple(value)).patterns


def _digest(answer: Answer) -> str:
    digest = answer.headers.get("catalog-digest", "")
    if not is_digest(digest):
        raise Untrusted("the answer names no digest of a catalog, so it is no registry's: is REGISTRY_URL right?")
    return digest


def _read_state(header: str) -> tuple[bool, int, bool]:
    """(fresh, age in seconds, registered) of a `Catalog-State` header (http-api.md)."""
    freshness, *parts = (part.strip() for part in header.split(";"))
    age = next((part.removeprefix("age=") for part in parts if part.startswith("age=")), "0")
    age_s = int(age) if age.isdecimal() and len(age) < 12 else 0
    return freshness == "fresh", age_s, "unregistered" not in parts


def _offline(fault: str, age_s: int) -> str:
    if not fault:
        return ""
    return (
        f"The registry could not be asked ({fault.rstrip('.')}): this is what it said {age_s} s ago. What was marked "
        "required, waived or withdrawn since then is not known here."
    )
