"""A registry whose repositories are put in force directly: no git, no worker, the real store and the real services."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from policies.decision import CopyState
from policies.rules import Withdrawal
from registry import wiring
from registry.catalog.revision import Copy, Held, Revision, Source, head_of
from registry.digest import digest_of
from registry.playbook.companions import Companion
from registry.playbook.model import Level, Problem
from registry.playbook.reading import read_file
from registry.ports import AuditEntry, Publication, Registration, Role, Store
from registry.service.services import Services
from registry.settings import Settings

CENTRAL = "github.com/acme/playbooks"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AUDIT = AuditEntry(NOON, "tests", "test", "skills")


@dataclass(frozen=True)
class Item:
    """One playbook of a repository: its file, what stands beside it, and how it stands before the merge."""

    path: str
    data: bytes
    companions: Mapping[str, bytes] = field(default_factory=dict)
    state: CopyState = CopyState.GOOD
    required: bool = False
    keeps: bool = True
    """Whether its original bytes are in the store."""


class Shelf:
    """The store and the services of a registry, and what is in force in it."""

    def __init__(self, store: Store, services: Services) -> None:
        self.store = store
        self.services = services
        self._in_force: dict[str, str] = {}

    def register(self, repository: str) -> None:
        """Register a service repository."""
        made = Registration(repository, Role.SERVICE, f"https://{repository}", None, "team", None, (), None, NOON)
        self.store.register(made, AUDIT)

    def put(self, repository: str, items: Sequence[Item]) -> dict[str, Copy]:
        """Put these playbooks in force as a repository's next revision; its copies by name."""
        kind = "central" if repository == CENTRAL else "local"
        documents: dict[str, bytes] = {}
        blobs: dict[str, bytes] = {}
        copies: dict[str, Copy] = {}
        for item in items:
            found = [Companion(path, digest_of(data), len(data)) for path, data in item.companions.items()]
            reading = read_file(item.path, item.data, companions=found)
            playbook = reading.playbook
            assert playbook is not None, reading.problems
            problem = Problem("yaml-syntax", Level.ERROR, item.path, 1, 1, "a colon is missing.", playbook.key)
            source = Source(kind, repository, "c" * 40, item.path, playbook.blob)
            held = Held("9" * 40, problem) if item.state is CopyState.HELD else None
            head = head_of(playbook, source, held) if item.state in {CopyState.GOOD, CopyState.HELD} else None
            shown = None if item.state is CopyState.GOOD else problem
            copies[playbook.key] = Copy(playbook.key, item.state, head, item.required, shown, item.path)
            documents[playbook.digest] = playbook.contract_bytes
            if item.keeps:
                blobs[playbook.blob] = item.data
                blobs |= {digest_of(data): data for data in item.companions.values()}
        self.store.put_blobs(blobs)
        body = Revision(
            repository,
            kind,
            "refs/heads/main",
            "c" * 40,
            "tests",
            "f",
            tuple(copies[name] for name in sorted(copies)),
            (),
        ).to_bytes()
        step = Publication(repository, self._in_force.get(repository), digest_of(body), body, documents)
        if step.revision != step.expected:
            assert self.store.publish([step]) == (True,)
        self._in_force[repository] = step.revision
        self.services.refresh()
        return copies

    @contextmanager
    def withdrawn(self, copies: Sequence[Copy]) -> Iterator[None]:
        """These copies are withdrawn for as long as the block lasts."""
        gone = [Withdrawal(copy.name, copy.digest or "", "it deletes the wrong key") for copy in copies]
        for each in gone:
            self.store.put_withdrawal(each, AUDIT)
        self.services.refresh()
        try:
            yield
        finally:
            for each in gone:
                self.store.delete_withdrawal(each.name, each.digest, AUDIT)
            self.services.refresh()


@contextmanager
def shelf(folder: Path) -> Iterator[Shelf]:
    """A registry over a fresh store in `folder`, with nothing in force."""
    settings = Settings(data_dir=folder / "data", central_url=f"https://{CENTRAL}")
    store = wiring.prepare(settings)
    services = wiring.open_services(settings, store)
    try:
        yield Shelf(store, services)
    finally:
        services.close()
