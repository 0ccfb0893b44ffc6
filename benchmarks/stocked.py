"""A data folder with thousands of repositories in force. Not a benchmark itself.

Making and fetching 5,000 git repositories would take longer than everything that is measured afterwards, so their
revisions are put in force by the real publisher and store, without git. Central is a real repository.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support import Repository, playbook

from indexer.writer import IndexWriter
from registry import wiring
from registry.catalog.copies import Origin, copies_of
from registry.catalog.revision import Revision
from registry.digest import digest_of
from registry.playbook.model import Playbook, Reading
from registry.playbook.reading import LOADER_VERSION, read_file
from registry.ports import AuditEntry, Registration, Role, SyncState, SyncStatus
from registry.settings import Settings
from registry.sync.publisher import Publisher
from registry.sync.source import SourceRead
from registry.sync.step import StepResult

CENTRAL_PLAYBOOKS = 400
LOCAL_PLAYBOOKS = 20
SHADOWING = 4
"""Local playbooks that have the name of a central one."""
CENTRAL_BYTES = 4_096
LOCAL_BYTES = 1_000
MARK = "0000marked0000"
BATCH = 250
WORDS = ("payments", "search", "login", "mail", "stock", "prices", "tax", "maps", "chat", "photos")


def central_file(number: int, version: str = "1.0.0") -> tuple[str, bytes]:
    """(path, bytes) of one central playbook."""
    name = f"central-{number:03}-{WORDS[number % len(WORDS)]}"
    text = playbook(name, size_bytes=CENTRAL_BYTES, version=version, word=WORDS[number % len(WORDS)])
    return f".playbooks/{name}.yaml", text


def central_repository(path: Path) -> Repository:
    """The central repository with its first commit."""
    repository = Repository(path)
    repository.commit(dict(central_file(number) for number in range(CENTRAL_PLAYBOOKS)))
    return repository


def identity(number: int) -> str:
    """The id of one service repository."""
    return f"github.com/acme/service-{number:05}"


def stock(data: Path, central: Repository, repositories: int) -> None:
    """Register the repositories and put a revision of each in force."""
    settings = Settings(data_dir=data, central_url=central.url, allow_file_remotes=True)
    store = wiring.prepare(settings)
    at = datetime.now(UTC)
    index = IndexWriter(data / "index")
    publisher = Publisher(store, index, lambda: at)
    templates = _templates()
    for start in range(0, repositories, BATCH):
        numbers = range(start, min(start + BATCH, repositories))
        registrations = [_registration(number, at) for number in numbers]
        for registration in registrations:
            store.register(registration, AuditEntry(at, "bench", "repository-registered", registration.id))
        results = list(_results(registrations, templates, at))
        if not all(publisher.publish(results)):
            raise SystemExit("a revision was not put in force")
        store.record_statuses([result.status for result in results])
    index.close()
    store.close()


def _templates() -> list[Playbook]:
    names = [central_file(number)[0].partition("/")[2].removesuffix(".yaml") for number in range(SHADOWING)]
    names += [f"local-{number:02}-{WORDS[number % len(WORDS)]}" for number in range(LOCAL_PLAYBOOKS - SHADOWING)]
    found = []
    for name in names:
        reading = read_file(f".playbooks/{name}.yaml", playbook(name, size_bytes=LOCAL_BYTES, word=MARK))
        if reading.playbook is None:
            raise SystemExit(f"{name}: {reading.problems}")
        found.append(reading.playbook)
    return found


def _registration(number: int, at: datetime) -> Registration:
    url = f"file:///nowhere/acme/service-{number:05}"
    return Registration(identity(number), Role.SERVICE, url, None, f"team-{number % 100}", None, (), None, at)


def _results(
    registrations: Sequence[Registration], templates: Sequence[Playbook], at: datetime
) -> Iterator[StepResult]:
    for registration in registrations:
        word = f"service{registration.id[-5:]}"
        commit = digest_of(word.encode())[7:47]
        playbooks = [_own(template, word) for template in templates]
        readings = [Reading(item.path, item.blob, item, (), None, None, candidate=True) for item in playbooks]
        origin = Origin("local", registration.id, commit)
        found = copies_of(readings, origin=origin, root_of=lambda _path: 0)
        revision = Revision(
            registration.id,
            "local",
            "refs/heads/main",
            commit,
            LOADER_VERSION,
            digest_of(commit.encode()),
            found.copies,
            found.problems,
        )
        body = revision.to_bytes()
        read = SourceRead(revision, body, digest_of(body), {item.digest: item.contract_bytes for item in playbooks}, {})
        status = SyncStatus(
            registration.id,
            SyncState.OK,
            at,
            "refs/heads/main",
            commit,
            commit,
            checked_at=at,
            synced_at=at,
            next_due_at=at + timedelta(days=1),
        )
        yield StepResult(registration, status, None, read)


def _own(template: Playbook, word: str) -> Playbook:
    contract = template.contract_bytes.replace(MARK.encode(), word.encode())
    return replace(
        template,
        contract_bytes=contract,
        digest=digest_of(contract),
        blob=digest_of(contract + b"file"),
        purpose=template.purpose.replace(MARK, word),
        not_for=tuple(item.replace(MARK, word) for item in template.not_for),
        tags=tuple(item.replace(MARK, word) for item in template.tags),
    )
