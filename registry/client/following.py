"""Following one repository's catalog: fetched and checked, kept on disk, revalidated, and still there when offline.

A bad answer never replaces a good one. Whatever cannot be fetched leaves the last good catalog in its place, and the
state says since when.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from registry.client.cache import DiskCache
from registry.client.connection import Answer, Connection, segment
from registry.client.snapshot import Entry, Snapshot, read_snapshot
from registry.digest import canonical, digest_of, is_digest
from registry.errors import Forbidden, RegistryError, Unauthenticated, Unavailable, Unknown, Untrusted

ONE_BY_ONE_MAX: Final = 8
"""Documents that are fetched one by one; where more are missing, the whole catalog is fetched with its contracts."""
REVALIDATE_TIMEOUT_S: Final = 2.0
_REGISTERED: Final = "registered"


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
    """The catalog that is held: since when it is known to be in force, and what the registry said of itself then."""

    snapshot: Snapshot
    checked_at: datetime
    age_s: int
    fresh: bool
    registered: bool
    paths: tuple[str, ...] | None
    fault: str = ""


class Following:
    """One repository's catalog (None: central's own) at one registry. For one thread at a time."""

    def __init__(
        self, connection: Connection, cache: DiskCache, repository: str | None, *, now: Callable[[], datetime]
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._now = now
        self._documents: dict[str, Mapping[str, Any]] = {}
        self.repository = repository
        self.held = self._from_disk()

    def refresh(self, *, with_paths: bool = False) -> bool:
        """Ask the registry once; whether another catalog is held than before.

        Raises where nothing is held: Unavailable, Untrusted, Unauthenticated or Forbidden, and RepositoryInvalid.
        """
        before = self.held
        try:
            self.held = self._asked(before, with_paths=with_paths)
        except (Unavailable, Untrusted, Unauthenticated, Forbidden) as error:
            if before is None:
                raise
            self.held = replace(before, fault=str(error))
            return False
        if self.held.checked_at != (before and before.checked_at):
            self._keep(self.held)
        return before is None or before.snapshot.digest != self.held.snapshot.digest

    def state(self) -> State:
        """How current what is held is. Raises Unavailable where nothing is."""
        held = self._held()
        age_s = held.age_s + max(0, int((self._now() - held.checked_at).total_seconds()))
        freshness = "offline" if held.fault else "fresh" if held.fresh else "stale"
        return State(freshness, age_s, held.registered, held.snapshot.repository, _offline(held.fault, age_s))

    def contract(self, digest: str) -> Mapping[str, Any]:
        """The document of that digest. Raises Unavailable and Untrusted; Unknown for one that the registry lacks."""
        found = self._documents.get(digest) or self._kept_document(digest)
        if found is None:
            body = self._connection.get(f"/v1/documents/{digest}").body
            if digest_of(body) != digest:
                raise Untrusted(f"the document {digest[:19]}… is not what its digest names: none of it is used.")
            found = self._learn(digest, body)
        return found

    def contracts(self, entries: Iterable[Entry]) -> list[tuple[Entry, Mapping[str, Any]]]:
        """Each entry with its document; many that are missing are fetched at once. Raises as `contract` does."""
        wanted = list(entries)
        missing = [
            entry for entry in wanted if entry["digest"] not in self._documents and not self._is_kept(entry["digest"])
        ]
        if len(missing) > ONE_BY_ONE_MAX:
            self._fetch_all()
        return [(entry, self.contract(entry["digest"])) for entry in wanted]

    def add_documents(self, documents: Mapping[str, bytes]) -> None:
        """Know these documents too, for as long as this process lives."""
        for digest, body in documents.items():
            self._documents[digest] = _parsed(body)

    def _held(self) -> Held:
        if self.held is None:
            raise Unavailable("no catalog was fetched yet, and none is kept from before.")
        return self.held

    def _asked(self, before: Held | None, *, with_paths: bool) -> Held:
        etag = f'"{before.snapshot.digest}"' if before is not None else None
        # Who has a catalog already shall not wait long for a registry that hangs.
        timeout_s = None if before is None else REVALIDATE_TIMEOUT_S
        answer = self._connection.get(self._path(), etag=etag, timeout_s=timeout_s)
        fresh, age_s, registered = _read_state(answer.headers.get("Catalog-State", ""))
        if answer.status == 304:
            snapshot = before.snapshot if before is not None else _not_asked_for()
        else:
            snapshot = read_snapshot(answer.body, _digest(answer))
            self._cache.write("snapshots", snapshot.digest, snapshot.body)
        paths = before.paths if before is not None else None
        if with_paths and registered and (answer.status != 304 or before is None or not before.registered):
            paths = self._paths()
        return Held(snapshot, self._now(), age_s, fresh, registered, paths)

    def _path(self) -> str:
        return "/v1/catalogs" if self.repository is None else f"/v1/catalogs/{segment(self.repository)}"

    def _paths(self) -> tuple[str, ...] | None:
        """Where the repository keeps its playbooks, None for the usual places."""
        if self.repository is None:
            return None
        try:
            found = self._connection.get(f"/v1/repositories/{segment(self.repository)}").json().get("paths")
        except Unknown:
            return None
        return tuple(map(str, found)) if isinstance(found, list) else None

    def _fetch_all(self) -> None:
        """The documents of the catalog in force; those of another catalog than is held are no harm."""
        answer = self._connection.get(self._path(), params={"view": "full"})
        entries = answer.json().get("entries")
        for entry in entries if isinstance(entries, list) else ():
            contract, digest = entry.get("contract"), entry.get("digest")
            if not isinstance(contract, dict) or not isinstance(digest, str) or digest in self._documents:
                continue
            body = canonical(contract)
            if digest_of(body) != digest:
                raise Untrusted(f"the document {digest[:19]}… is not what its digest names: none of it is used.")
            self._learn(digest, body)

    def _learn(self, digest: str, body: bytes) -> Mapping[str, Any]:
        self._cache.write("documents", digest, body)
        found = self._documents[digest] = _parsed(body)
        return found

    def _is_kept(self, digest: str) -> bool:
        return self._kept_document(digest) is not None

    def _kept_document(self, digest: str) -> Mapping[str, Any] | None:
        body = self._cache.read("documents", digest)
        if body is None:
            return None
        found = self._documents[digest] = _parsed(body)
        return found

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
            paths = record["paths"]
            return Held(
                read_snapshot(body, digest),
                datetime.fromisoformat(record["checked_at"]).astimezone(UTC),
                int(record["age_s"]),
                bool(record["fresh"]),
                bool(record[_REGISTERED]),
                None if paths is None else tuple(map(str, paths)),
                fault="it was not asked yet",
            )
        except (KeyError, TypeError, ValueError, RegistryError):
            return None


def _parsed(body: bytes) -> Mapping[str, Any]:
    value = json.loads(body)
    return value if isinstance(value, dict) else {}


def _digest(answer: Answer) -> str:
    digest = answer.headers.get("Catalog-Digest", "")
    if not is_digest(digest):
        raise Untrusted("the answer names no digest of a catalog, so it is no registry's: is REGISTRY_URL right?")
    return digest


def _not_asked_for() -> Snapshot:
    raise Untrusted("the registry says that nothing changed, and nothing was held: is there a proxy in between?")


def _read_state(header: str) -> tuple[bool, int, bool]:
    """(fresh, age in seconds, registered) of a `Catalog-State` header (http-api.md)."""
    freshness, *parts = (part.strip() for part in header.split(";"))
    age = next((part.removeprefix("age=") for part in parts if part.startswith("age=")), "0")
    return freshness == "fresh", int(age) if age.isdecimal() else 0, "unregistered" not in parts


def _offline(fault: str, age_s: int) -> str:
    if not fault:
        return ""
    return (
        f"The registry could not be asked ({fault.rstrip('.')}): this is what it said {age_s} s ago. What was marked "
        "required, waived or withdrawn since then is not known here."
    )
