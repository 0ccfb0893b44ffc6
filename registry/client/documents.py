"""Playbooks' documents by their digest: in memory, on disk, at the registry."""

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from registry.client.cache import DiskCache
from registry.client.connection import Connection
from registry.client.shapes import check_document
from registry.client.transport import Oversize
from registry.client.wire import read_object
from registry.digest import canonical, digest_of
from registry.errors import Unavailable, Unknown, Untrusted

ONE_BY_ONE_MAX: Final = 8
"""Documents that are fetched one by one; where more are missing, the whole catalog is fetched with its contracts."""
DOCUMENT_BYTES_MAX: Final = 8 * 1024 * 1024
"""A file has a mebibyte at most; as JSON, each of its bytes could be six."""
FULL_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of a catalog with its contracts; those of a larger one are fetched one by one."""

Document = Mapping[str, Any]


def read_document(body: bytes, digest: str) -> Document:
    """The document that `digest` names. Raises Untrusted for other bytes and for what is no playbook's document."""
    if digest_of(body) != digest:
        raise Untrusted(f"the document {digest[:19]}… is not what its digest names: none of it is used.")
    try:
        return check_document(read_object(body))
    except ValueError as error:
        raise Untrusted(
            f"the document {digest[:19]}… is no playbook's ({str(error)[:80]}), so it is not used."
        ) from None


class Documents:
    """The documents of one registry; safe from several threads. What is in memory stays until `keep_only`."""

    def __init__(self, connection: Connection, cache: DiskCache) -> None:
        self._connection = connection
        self._cache = cache
        self._changing = threading.Lock()
        self._reading = threading.Lock()
        self._known: dict[str, Document] = {}

    def known(self, digest: str) -> Document | None:
        """The document, if it is here or on disk."""
        found = self._known.get(digest)
        if found is None and (body := self._cache.read("documents", digest)) is not None:
            try:
                found = self._learn(digest, read_document(body, digest))
            except Untrusted:
                return None
        return found

    def get(self, digest: str) -> Document:
        """The document, fetched if need be. Raises Unavailable and Untrusted; Unknown for one that nobody has."""
        return self.known(digest) or self._fetch(digest, self._connection.timeout_s)

    def missing(self, digests: Iterable[str]) -> list[str]:
        """Those that are neither here nor on disk."""
        # Two that begin with nothing but a disk would both read all of it.
        with self._reading:
            return [digest for digest in digests if self.known(digest) is None]

    def load(self, digests: Iterable[str], full_path: str, *, until: float) -> None:
        """Have all of these here. `full_path` is the catalog's that has them; `until` is on the monotonic clock.

        Raises as `get` does. What came until then stays, so that the next attempt has less to do.
        """
        missing = self.missing(dict.fromkeys(digests))
        if len(missing) > ONE_BY_ONE_MAX:
            self._fetch_all(full_path, set(missing), until)
            missing = self.missing(missing)
        for digest in missing:
            self._fetch(digest, min(self._connection.timeout_s, _left(until)))

    def keep_only(self, digests: Collection[str]) -> None:
        """Forget all but these; on disk they stay."""
        with self._changing:
            self._known = {digest: found for digest, found in self._known.items() if digest in digests}

    def _fetch(self, digest: str, deadline_s: float) -> Document:
        try:
            answer = self._connection.get(
                f"/v1/documents/{digest}", deadline_s=deadline_s, bytes_max=DOCUMENT_BYTES_MAX
            )
        except Unknown as error:
            raise Untrusted(f"the registry names the document {digest[:19]}… and does not have it: {error}") from None
        found = read_document(answer.body, digest)
        self._cache.write("documents", digest, answer.body)
        return self._learn(digest, found)

    def _fetch_all(self, full_path: str, wanted: Collection[str], until: float) -> None:
        """Those of the wanted that the catalog in force has."""
        try:
            answer = self._connection.get(
                full_path, params={"view": "full"}, deadline_s=_left(until), bytes_max=FULL_BYTES_MAX
            )
        except Oversize:
            return
        entries = answer.json().get("entries")
        for entry in entries if isinstance(entries, list) else ():
            contract, digest = (entry.get("contract"), entry.get("digest")) if isinstance(entry, dict) else (None, None)
            if not (isinstance(contract, dict) and isinstance(digest, str) and digest in wanted):
                continue
            body = _canonical(contract)
            # One that is not what its digest names is asked for by itself, and then refused by name.
            if digest_of(body) == digest:
                self._learn(digest, read_document(body, digest))
                self._cache.write("documents", digest, body)

    def _learn(self, digest: str, document: Document) -> Document:
        with self._changing:
            return self._known.setdefault(digest, document)


def _left(until: float) -> float:
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise Unavailable("the registry is too slow: its catalog did not come in time.")
    return left_s


def _canonical(contract: Mapping[str, Any]) -> bytes:
    try:
        return canonical(contract)
    except (ValueError, RecursionError):
        return b""
