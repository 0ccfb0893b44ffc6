"""What was seen of a working copy and of its way to a registry: the facts from which is told why a host sees nothing.

Each was gathered without changing anything. A fact that could not be had is None; `fault` is then the sentence why.
"""

from dataclasses import dataclass
from datetime import datetime

from registry.service.installation import ServerFacts


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """The working copy. `identity` is the id that it goes by, `is_named` says that the caller gave it."""

    path: str
    is_copy: bool
    remote: str | None = None
    branch: str | None = None
    commit: str | None = None
    identity: str | None = None
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class RegistrationFacts:
    """How the registry knows the repository: `identity` None where it does not.

    `problems` are the files that did not load at its last sync, each a sentence with its place; `remarks` counts what
    is said besides.
    """

    identity: str | None = None
    is_central: bool = False
    team: str | None = None
    state: str | None = None
    message: str = ""
    playbooks: int = 0
    problems: tuple[str, ...] = ()
    remarks: int = 0
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """The token in REGISTRY_TOKEN and what it may. `reads` says whether a caller with it, or without one, may read."""

    is_set: bool
    principal: str | None = None
    team: str | None = None
    scopes: frozenset[str] = frozenset()
    reads: bool | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogFacts:
    """The catalog that serves: how much is in it, how current it is, and how much of it is the working copy's."""

    entries: int | None = None
    unavailable: tuple[str, ...] = ()
    is_stale: bool = False
    age_s: int = 0
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class FilesFacts:
    """The copy's own playbooks: `playbooks` that load, what keeps others from it, and files that are passed over.

    `looked_in` are the folders that are looked in, none for the usual ones.
    """

    playbooks: int = 0
    broken: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    looked_in: tuple[str, ...] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """One server in a host's file: where it leads, by its URL or by a `command`, which is on PATH or not.

    `token` is the variable that it takes a token from, `is_token_set` whether that is set here. `answers` says whether
    a registry is where it leads.
    """

    name: str
    url: str | None = None
    command: str | None = None
    is_bridge: bool = False
    is_on_path: bool = True
    registry: str | None = None
    repository: str | None = None
    token: str | None = None
    is_token_set: bool = False
    has_secret: bool = False
    is_off: bool = False
    answers: bool = True


@dataclass(frozen=True, slots=True)
class HostFacts:
    """A host's file that is there, and our servers in it. `needs_variable` as the host does; see registry.cli.hosts."""

    host: str
    title: str
    path: str
    entries: tuple[EntryFacts, ...] = ()
    needs_variable: bool = False
    is_ignored: bool = False
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointFacts:
    """What the registry's MCP endpoint said for the repository: `status` of the worst answer, None for none.

    `code` is a problem's. `own_origin` says whether a page of the registry's own origin is admitted.
    """

    url: str
    status: int | None = None
    code: str = ""
    said: str = ""
    version: str | None = None
    tools: tuple[str, ...] = ()
    own_origin: bool = True


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """Where the bridge and the library keep what they fetched."""

    path: str
    is_writable: bool


@dataclass(frozen=True, slots=True)
class Workplace:
    """Everything that was looked at; what needs something that is missing is None.

    `url_from` names the file that said where the registry is, where nobody else did: it was asked without the token.
    """

    now: datetime
    version: str
    copy: CopyFacts
    server: ServerFacts
    cache: CacheFacts
    url_from: str | None = None
    token: TokenFacts | None = None
    registration: RegistrationFacts | None = None
    catalog: CatalogFacts | None = None
    files: FilesFacts | None = None
    hosts: tuple[HostFacts, ...] = ()
    endpoint: EndpointFacts | None = None
