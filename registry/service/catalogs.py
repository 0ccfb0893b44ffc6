"""Catalogs, snapshots and documents: the bytes that hosts fetch, and one playbook looked at closely."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Literal

import zstandard

from registry.catalog.merge import Catalog, Verdict
from registry.catalog.revision import Head
from registry.catalog.snapshot import compose_full, copy_json, entry_json
from registry.digest import Json, digest_of, is_digest
from registry.errors import PlaybookUnavailable, RequestInvalid, StoreFault, Unknown
from registry.names import require_name_key
from registry.playbook.spelling import alike
from registry.ports import Store, SyncStatus
from registry.service.cache import ByteCache, EntryCache, SingleFlight
from registry.service.explaining import explanation_of, shown_state
from registry.service.handout import Composed, HandOut
from registry.service.inforce import InForce, Key, View

Encoding = Literal["gzip", "zstd"]
GZIP_LEVEL = 6
ZSTD_LEVEL = 3
DIGESTS_MAX = 20_000
"""Keys whose digest is known; one that fell out costs composing and hashing its snapshot again."""
BODIES_SHARE = 0.2
"""Of the bytes for caches: composed snapshots and their codings; what composes them again has the rest."""
STALE_INTERVALS = 3
STALE_AFTER_MIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Validity:
    """How long an answer can be given again: while `view` is what is in force, from `since` until before `until`."""

    view: View
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class CatalogAnswer:
    """A catalog's bytes with what its headers say.

    `digest` is that of the snapshot, `etag` adds `+full` for the full view. `commit` is the newest head seen of the
    repository's own source (of central where it has none), `age_s` the age of the older source's last check. All of
    it stays the same for as long as `validity` says. `size_bytes` is that of the body, which `peek_state` leaves out.
    """

    digest: str
    etag: str
    size_bytes: int
    body: bytes
    commit: str
    synced_at: datetime | None
    fresh: bool
    age_s: int
    registered: bool
    validity: Validity


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose catalog a spelling asks for: `repository` is the id that it means, None for central's own.

    Where it is not `registered`, the answer is central's catalog. `fresh` and `age_s` are the answer's.
    """

    repository: str | None
    registered: bool
    fresh: bool
    age_s: int


class Catalogs:
    """The catalogs in force and every snapshot and document that was handed out. Thread-safe."""

    def __init__(
        self,
        in_force: InForce,
        store: Store,
        *,
        now: Callable[[], datetime],
        poll_interval_s: float,
        cache_bytes: int,
    ) -> None:
        self._in_force = in_force
        self._store = store
        self._now = now
        self._stale_after_s = max(STALE_AFTER_MIN_S, STALE_INTERVALS * poll_interval_s)
        self._hand_out = HandOut(store, now)
        self._digests: EntryCache[Key, tuple[str, int]] = EntryCache(DIGESTS_MAX)
        self._bodies: ByteCache[str, bytes] = ByteCache(round(BODIES_SHARE * cache_bytes))
        self._flights: SingleFlight[tuple[str, object], bytes] = SingleFlight()

    def current(
        self, repository: str | None, *, full: bool = False, registered_required: bool = False
    ) -> CatalogAnswer:
        """The catalog in force of a repository in any spelling; None is central's own.

        Raises RepositoryInvalid, Unavailable before a first publication, and Unknown for an unregistered repository
        if one was required.
        """
        view = self._in_force.view
        identity, registered = self._identify(repository, registered_required=registered_required)
        key = self._in_force.key(identity)
        body = self._full_body(key) if full else self._body(key)
        return self._answer(view, key, body, registered=registered, full=full)

    def peek(self, repository: str | None, *, full: bool = False) -> CatalogAnswer | None:
        """The same from memory alone, or None where work is needed. Never blocks on I/O; safe on an event loop."""
        state = self.peek_state(repository, full=full)
        body = self._bodies.get(state.etag) if state is not None else None
        return None if state is None or body is None else replace(state, body=body, size_bytes=len(body))

    def peek_state(self, repository: str | None, *, full: bool = False) -> CatalogAnswer | None:
        """The same without the body: enough to say that a caller has it already. `size_bytes` is the plain view's."""
        view = self._in_force.view
        identity, registered = self._identify(repository, registered_required=False)
        key = self._in_force.peek_key(identity)
        known = self._digests.get(key) if key is not None else None
        if key is None or known is None:
            return None
        return self._answer(view, key, b"", registered=registered, full=full)

    def holds(self, validity: Validity) -> bool:
        """Whether an answer with that validity can be given now. Touches memory only."""
        return validity.view is self._in_force.view and validity.since <= self._now() < validity.until

    def peek_body(self, etag: str, encoding: Encoding | None) -> bytes | None:
        """The bytes of a representation if they are in memory."""
        return self._bodies.get(f"{etag}+{encoding}" if encoding else etag)

    def encoded(self, etag: str, body: bytes, encoding: Encoding) -> bytes:
        """`body` in that encoding: made once per (etag, encoding), kept while the cache has room."""
        name = f"{etag}+{encoding}"
        found = self._bodies.get(name)
        if found is None:
            found = self._flights.do((name, "encode"), lambda: _encode(body, encoding))
            self._keep(name, found)
        return found

    def snapshot(self, digest: str) -> bytes:
        """The bytes of any snapshot ever handed out. Raises Unknown for any other digest."""
        _require_digest(digest)
        body = self._bodies.get(digest)
        recipe = None if body is not None else self._store.recipe(digest)
        if body is None and recipe is None:
            raise Unknown("snapshot", f"no snapshot with the digest {digest} was ever handed out.", digest=digest)
        if body is None and recipe is not None:
            body = self._in_force.recalled(recipe)
            if digest_of(body) != digest:
                raise StoreFault(f"snapshot {digest} is composed as {digest_of(body)}: the store was changed by hand.")
            self._keep(digest, body)
        return body or b""

    def document(self, digest: str) -> bytes:
        """The bytes of a stored document. Raises Unknown for any other digest."""
        _require_digest(digest)
        body = self._store.documents([digest]).get(digest)
        if body is None:
            raise Unknown("snapshot", f"no document with the digest {digest} was ever handed out.", digest=digest)
        return body

    def blob(self, digest: str) -> bytes:
        """The original bytes of a file that an entry or a document names. Raises Unknown for any other digest."""
        _require_digest(digest)
        data = self._store.blob(digest)
        if data is None:
            raise Unknown("snapshot", f"no file with the digest {digest} was ever handed out.", digest=digest)
        return data

    def playbook(
        self, name: str, repository: str | None, *, version: str | None = None, digest: str | None = None
    ) -> dict[str, Json]:
        """The effective entry with its contract, or the exact copy that was asked for.

        An exact copy is looked for among this repository's and central's and never falls back; `serves` says whether
        it is the one that serves. Raises Unknown and PlaybookUnavailable.
        """
        key = self._key(repository)
        catalog, _ = self._in_force.catalog(key)
        verdict = verdict_of(catalog, name)
        if version is not None or digest is not None:
            head = _exact(verdict, version, digest)
        else:
            found = verdict.serving
            if found is None:
                raise unavailable(verdict, key.repository)
            head = found
        return {
            **entry_json(verdict, head),
            "contract": json.loads(self._documents([head.digest])[head.digest]),
            "serves": verdict.serving is not None and verdict.serving == head,
            "snapshot": self._digest(key),
        }

    def explain(self, name: str, repository: str | None) -> dict[str, Json]:
        """Every copy of a name, which one serves, and the decision in words. Raises Unknown for an unknown name."""
        key = self._key(repository)
        catalog, _ = self._in_force.catalog(key)
        verdict = verdict_of(catalog, name)
        serving = verdict.serving
        copies: list[Json] = []
        for side, copy in verdict.copies():
            serves = side is verdict.decision.serves
            copies.append({**copy_json(side, copy), "state": shown_state(verdict, side, catalog), "serves": serves})
        return {
            "name": verdict.name,
            "repository": key.repository,
            "outcome": verdict.decision.outcome.value,
            "explanation": explanation_of(verdict, catalog),
            "serving": None if serving is None else entry_json(verdict, serving),
            "copies": copies,
        }

    def catalog_of(self, repository: str | None) -> tuple[Key, Catalog]:
        """The merged catalog in force, for services that look inside it."""
        key = self._key(repository)
        return key, self._in_force.catalog(key)[0]

    def key_of(self, repository: str | None) -> Key:
        """What is in force for a repository in any spelling; equal keys are equal catalogs. Raises as `current`."""
        return self._key(repository)

    def digest_of(self, key: Key) -> str:
        """The digest of the snapshot of a key, handed out and so remembered."""
        return self._digest(key)

    def state_of(self, repository: str | None) -> tuple[bool, int]:
        """(fresh, age in seconds) of the older of the two sources' last successful check."""
        return self._state(self._in_force.view, repository, self._now())[:2]

    def asked(self, repository: str | None) -> Asked:
        """Whose catalog a repository in any spelling gets, and how current it is. Touches memory only.

        Raises RepositoryInvalid.
        """
        identity, registered = self._identify(repository, registered_required=False)
        fresh, age_s = self.state_of(identity)
        return Asked(None if repository is None else self._in_force.resolve(repository), registered, fresh, age_s)

    def _state(self, view: View, repository: str | None, now: datetime) -> tuple[bool, int, datetime]:
        """(fresh, age in seconds, when either is another one)."""
        ids = [item for item in (view.central, repository) if item is not None and view.registered(item)]
        checks = [_checked_at(view, item) for item in ids]
        known = [at for at in checks if at is not None]
        if not known or len(known) < len(checks):
            return False, 0, datetime.max.replace(tzinfo=UTC)
        oldest = min(known)
        age_s = max(0, int((now - oldest).total_seconds()))
        return age_s <= self._stale_after_s, age_s, oldest + timedelta(seconds=age_s + 1)

    def _identify(self, repository: str | None, *, registered_required: bool) -> tuple[str | None, bool]:
        """(id that a key is made for, whether it is registered); an unregistered id gets central's snapshot."""
        if repository is None:
            return None, True
        identity = self._in_force.resolve(repository)
        if self._in_force.view.registered(identity) is not None:
            return identity, True
        if registered_required:
            raise Unknown("repository", f"{identity} is not registered: register it first.", repository=identity)
        return None, False

    def _key(self, repository: str | None) -> Key:
        identity, _ = self._identify(repository, registered_required=False)
        return self._in_force.key(identity)

    def _digest(self, key: Key) -> str:
        known = self._digests.get(key)
        if known is None:
            body = self._body(key)
            known = self._digests.get(key) or (digest_of(body), len(body))
        return known[0]

    def _body(self, key: Key) -> bytes:
        known = self._digests.get(key)
        body = self._bodies.get(known[0]) if known is not None else None
        return body if body is not None else self._flights.do(("body", key), lambda: self._compose(key))

    def _compose(self, key: Key) -> bytes:
        """Compose a snapshot; the first time, its digest is in the store before any byte leaves."""
        known = self._digests.get(key)
        if known is not None:
            body = self._in_force.snapshot(key)
        else:
            composed = self._hand_out.hand_out(lambda: self._composed(key))
            body, known = composed.body, (composed.digest, len(composed.body))
            self._digests.put(key, known)
        self._keep(known[0], body)
        return body

    def _composed(self, key: Key) -> Composed:
        body = self._in_force.snapshot(key)
        return Composed(digest_of(body), body, key.recipe(), self._in_force.rules_bytes_of(key))

    def _full_body(self, key: Key) -> bytes:
        name = self._digest(key) + "+full"
        body = self._bodies.get(name)
        return body if body is not None else self._flights.do((name, "full"), lambda: self._compose_full(key, name))

    def _compose_full(self, key: Key, name: str) -> bytes:
        catalog, encoded = self._in_force.catalog(key)
        digests = {verdict.serving.digest for verdict in catalog.verdicts() if verdict.serving is not None}
        body = compose_full(catalog, encoded, self._documents(sorted(digests)))
        self._keep(name, body)
        return body

    def _documents(self, digests: list[str]) -> dict[str, bytes]:
        found = self._store.documents(digests)
        missing = set(digests) - found.keys()
        if missing:
            raise StoreFault(f"document {min(missing)} is in a catalog and not in the store: restore the database.")
        return found

    def _keep(self, name: str, body: bytes) -> None:
        self._bodies.put(name, body, len(body))

    def _answer(self, view: View, key: Key, body: bytes, *, registered: bool, full: bool) -> CatalogAnswer:
        """The answer of a key; `view` is what was in force before the key was looked up."""
        status = view.statuses.get(key.repository or view.central or "")
        now = self._now()
        fresh, age_s, changes_at = self._state(view, key.repository, now)
        # A waiver ends with a day: what follows from the rule date is looked at anew when a day has begun.
        midnight = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
        digest, size_bytes = self._digests.get(key) or (digest_of(body), len(body))
        return CatalogAnswer(
            digest=digest,
            etag=digest + "+full" if full else digest,
            size_bytes=len(body) or size_bytes,
            body=body,
            commit=(status.head if status is not None else None) or "",
            synced_at=status.synced_at if status is not None else None,
            fresh=fresh,
            age_s=age_s,
            registered=registered,
            validity=Validity(view, now, min(changes_at, midnight)),
        )


def verdict_of(catalog: Catalog, name: str) -> Verdict:
    """The verdict on a name in any spelling. Raises NameInvalid, or Unknown with the `nearest` names."""
    key = require_name_key(name)
    verdict = catalog.verdict(key)
    if verdict is None:
        where = catalog.repository or "the central catalog"
        near = alike(key, (each.name for each in catalog.verdicts()))
        hint = f"did you mean {' or '.join(near)}?" if near else "search for what it does."
        raise Unknown("playbook", f"no playbook is named {key} in {where}: {hint}", name=key, nearest=list(near))
    return verdict


def unavailable(verdict: Verdict, repository: str | None) -> PlaybookUnavailable:
    """The refusal of a name that nobody serves, with the outcome that says so."""
    return PlaybookUnavailable(
        f"{verdict.name} is not served to {repository or 'anyone'}: {verdict.decision.reason}",
        outcome=verdict.decision.outcome.value,
        name=verdict.name,
    )


def _exact(verdict: Verdict, version: str | None, digest: str | None) -> Head:
    heads = [copy.head for _, copy in verdict.copies() if copy.head is not None]
    wanted = [
        head
        for head in heads
        if (version is None or head.version == version) and (digest is None or head.digest == digest)
    ]
    if not wanted:
        there = ", ".join(f"{head.version} ({head.source.kind})" for head in heads) or "none that loads"
        raise Unknown("playbook", f"{verdict.name} has no such copy here; there is: {there}.", name=verdict.name)
    return next((head for head in wanted if head == verdict.serving), wanted[0])


def _require_digest(digest: str) -> None:
    if not is_digest(digest):
        raise RequestInvalid(f"{digest[:80]!r} is not a digest: expected sha256: and 64 hexadecimal digits.")


def _checked_at(view: View, repository: str) -> datetime | None:
    status: SyncStatus | None = view.statuses.get(repository)
    return status.checked_at if status is not None else None


def _encode(body: bytes, encoding: Encoding) -> bytes:
    if encoding == "gzip":
        encoded = gzip.compress(body, GZIP_LEVEL, mtime=0)
    else:
        encoded = zstandard.ZstdCompressor(ZSTD_LEVEL).compress(body)
    # A copy without slack: what an encoder over-allocates would triple what is kept.
    return bytes(memoryview(encoded))
