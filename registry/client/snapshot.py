"""A snapshot as a host holds it: checked bytes, and what of it serves at an instant. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from registry.client.shapes import check_entry, check_list, check_lost, is_commit
from registry.client.wire import read_object
from registry.digest import digest_of
from registry.errors import Untrusted

FORMAT: Final = "playbook-catalog/1"

Entry = Mapping[str, Any]
"""An element of a snapshot's lists, as on the wire (http-api.md, The snapshot and its documents)."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One catalog, named by the digest of its bytes. Entries are sorted by name; names are keys, each in one entry."""

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

    def commit(self, side: str) -> str | None:
        """The commit that the playbooks of `central` or `local` were read at, None where there is none."""
        commit = _object(self.sources.get(side)).get("commit")
        return commit if is_commit(commit) else None

    def is_over(self, entry: Entry, now: datetime) -> bool:
        """Whether an entry serves no longer, since a waiver that shapes this snapshot has ended."""
        return bool(entry["waiver"]) and self.valid_until is not None and now > self.valid_until

    def serving(self, now: datetime) -> dict[str, Entry]:
        """Name -> what serves at `now`: without the waived entries once the snapshot is past `valid_until`."""
        return {entry["name"]: entry for entry in self.entries if not self.is_over(entry, now)}


def read_snapshot(body: bytes, digest: str) -> Snapshot:
    """The snapshot that `digest` names. Raises Untrusted for other bytes and for a format that is not known."""
    if digest_of(body) != digest:
        raise Untrusted(f"the catalog's bytes are not those that its digest {digest[:19]}… names: none of it is used.")
    try:
        value = read_object(body)
    except ValueError:
        value = {}
    if value.get("format") != FORMAT:
        raise Untrusted("the catalog has a format that this version does not read: upgrade it.")
    try:
        entries, lost = check_list(value["entries"], check_entry), check_list(value["unavailable"], check_lost)
        _check_names([*entries, *lost])
        return Snapshot(
            digest=digest,
            body=body,
            entries=tuple(entries),
            refused=tuple(check_list(value["refused"], check_entry)),
            unavailable=tuple(lost),
            repository=_text(value["repository"]),
            sources=_object(value["sources"]),
            valid_until=_instant(value["valid_until"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Untrusted(f"the catalog is not as its format says ({str(error)[:80]}): none of it is used.") from None


def _check_names(listed: Sequence[Entry]) -> None:
    """Raises ValueError for a name that stands in the lists twice, so that it could be two things at once."""
    if len({entry["name"] for entry in listed}) != len(listed):
        raise ValueError("a name twice")


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    if not (value is None or isinstance(value, str)):
        raise TypeError("repository")
    return value


def _instant(value: object) -> datetime | None:
    """The instant, in UTC; one that says nothing of its zone is not as the format says."""
    if value is None:
        return None
    instant = datetime.fromisoformat(str(value))
    if instant.tzinfo is None:
        raise ValueError("valid_until")
    return instant.astimezone(UTC)
