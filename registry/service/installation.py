"""What was seen of one installation: the facts from which a diagnosis is made, each gathered without changing anything.

A fact that could not be had is None; `fault` is then the sentence why. Instants are aware UTC.
"""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """The data folder. Of one that does not exist, `is_writable` says whether it could be made.

    `free_bytes_min` is the floor below which no mirror is fetched. `owner` is the process of the `serve` that has it.
    """

    path: str
    exists: bool
    is_folder: bool
    is_writable: bool
    free_bytes: int | None
    free_bytes_min: int
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """The store at `place`, a text without secrets.

    `schema` is None for a store without tables; `known` are the versions that this program knows, oldest first.
    `documents` is how many copies the pointers want in the index.
    """

    place: str
    exists: bool
    fault: str | None = None
    schema: str | None = None
    known: tuple[str, ...] = ()
    damage: str | None = None
    newest_at: datetime | None = None
    rule_date: date | None = None
    repositories: int = 0
    documents: int | None = None
    central: str | None = None
    central_url: str | None = None
    central_ref: str | None = None


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """The index of this program's format `version`; `others` names what else lies in its folder."""

    version: int
    exists: bool
    others: tuple[str, ...] = ()
    damage: str | None = None
    documents: int | None = None


@dataclass(frozen=True, slots=True)
class GitFacts:
    """The git program: its version (None: there is none, or none that says its version), and the least one needed."""

    needed: tuple[int, int]
    version: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class CentralFacts:
    """The central remote. `url` is None where no setting and no store names one; `state` is a fault's `sync.state`."""

    url: str | None
    id: str | None = None
    is_configured: bool = False
    commit: str | None = None
    ref: str | None = None
    state: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What answers at `url`: nothing (status None), a registry, or something else. `said` is its reason or the fault.

    `listen` is where a registry with these settings would listen; None where the settings are not known.
    """

    url: str
    status: int | None
    is_registry: bool = False
    said: str = ""
    date: datetime | None = None
    listen: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that was looked at; `now` is this machine's clock. Without valid settings the first three are None."""

    now: datetime
    settings_faults: tuple[str, ...]
    settings_doubts: tuple[str, ...]
    folder: FolderFacts | None
    store: StoreFacts | None
    index: IndexFacts | None
    git: GitFacts
    central: CentralFacts | None
    server: ServerFacts
