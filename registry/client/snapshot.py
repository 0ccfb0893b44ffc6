"""A snapshot as a host holds it: checked bytes, and what of it serves at an instant. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from registry.digest import digest_of
from registry.errors import Untrusted

FORMAT: Final = "playbook-catalog/1"

Entry = Mapping[str, Any]
"""An element of a snapshot's lists, as on the wire (http-api.md, The snapshot and its documents)."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One catalog, named by the digest of its bytes. Entries are sorted by name; names are keys."""

    digest: str
    body: bytes
    entries: tuple[Entry, ...]
    refused: tuple[Entry, ...]
    unavailable: tuple[Entry, ...]
    repository: str | None
    sources: Mapping[str, Any]
    valid_until: datetime | None

    @property
    def central(self) -> str:
        """The central repository's id."""
        return str(_object(self.sources.get("central")).get("repository", ""))

    @property
    def local_commit(self) -> str | None:
        """The commit that the repository's own playbooks were read at, None where it has none."""
        commit = _object(self.sources.get("local")).get("commit")
        return commit if isinstance(commit, str) else None

    def serving(self, now: datetime) -> dict[str, Entry]:
        """Name -> what serves at `now`: without the waived entries once the snapshot is past `valid_until`."""
        over = self.valid_until is not None and now > self.valid_until
        return {str(entry["name"]): entry for entry in self.entries if not (over and entry.get("waiver"))}


def read_snapshot(body: bytes, digest: str) -> Snapshot:
    """The snapshot that `digest` names. Raises Untrusted for other bytes and for a format that is not known."""
    if digest_of(body) != digest:
        raise Untrusted(f"the catalog's bytes are not those that its digest {digest[:19]}… names: none of it is used.")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise Untrusted("the catalog has a format that this version does not read: upgrade it.")
    try:
        return Snapshot(
            digest=digest,
            body=body,
            entries=_entries(value["entries"]),
            refused=_entries(value["refused"]),
            unavailable=_entries(value["unavailable"]),
            repository=value["repository"],
            sources=_object(value["sources"]),
            valid_until=_instant(value["valid_until"]),
        )
    except (KeyError, TypeError, ValueError):
        raise Untrusted("the catalog is not as its format says: none of it is used.") from None


def _entries(value: object) -> tuple[Entry, ...]:
    items = cast("Sequence[object]", value)
    if not all(isinstance(item, dict) and isinstance(item["name"], str) for item in items):
        raise TypeError
    return tuple(cast("Sequence[Entry]", items))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _instant(value: object) -> datetime | None:
    return None if value is None else datetime.fromisoformat(str(value))
