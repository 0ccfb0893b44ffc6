"""The only place that names concrete adapters: settings in, services or a running worker out."""

import contextlib
import os
import random
import re
import secrets
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from indexer import folder as index_folder
from indexer.reader import IndexReader
from indexer.writer import IndexLockedError, IndexWriter
from registry import logs, processes
from registry.errors import AddressRefused, RegistryError, RepositoryInvalid, SettingsInvalid, SourceFault, Unavailable
from registry.git.child import ChildSettings
from registry.git.remote import RemotePolicy, parse_remote
from registry.git.sources import GitSources
from registry.names import SUB_PATH_MARK
from registry.playbook.roots import Roots
from registry.ports import AuditEntry, Registration, Role, Store
from registry.service.audit import Audit
from registry.service.catalogs import Catalogs
from registry.service.evaluation import Evaluations
from registry.service.inforce import InForce
from registry.service.policy import Policy
from registry.service.previewing import Previews
from registry.service.problems import Problems
from registry.service.repositories import Repositories
from registry.service.runs import Runs
from registry.service.search import Search
from registry.service.services import Health, Services
from registry.service.skill_index import SkillIndexes
from registry.service.skills import Skills
from registry.service.tokens import Issuer, Tokens
from registry.settings import Settings
from registry.store.signals import SocketSignal
from registry.store.sql import open_store
from registry.sync.source import SourcePlan
from registry.sync.worker import Worker, WorkerOptions

WORKER_NICE = 10
FOLLOW_INTERVAL_S = 0.5
INDEX_WAIT_S = 15.0
"""How long a worker waits for the index of one that was killed and is still ending."""
MIRROR_NAME = re.compile(r"[0-9a-f]{32}")
CONFIGURATION = "configuration"
"""Principal of what the environment says, in the audit log."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Folders:
    """Where a process keeps what (architecture.md, What is kept where)."""

    data: Path

    @property
    def mirrors(self) -> Path:
        """Bare mirrors; rebuilt by themselves."""
        return self.data / "mirrors"

    @property
    def index(self) -> Path:
        """The full-text index; rebuilt from the store."""
        return self.data / "index"

    @property
    def to_worker(self) -> Path:
        """Sockets on which the worker is woken."""
        return self.data / "signals" / "worker"

    @property
    def to_servers(self) -> Path:
        """Sockets on which serving processes are woken."""
        return self.data / "signals" / "servers"


def now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


def remote_policy(settings: Settings) -> RemotePolicy:
    """Which remotes may be read."""
    return RemotePolicy(
        allowed_hosts=frozenset(settings.allowed_hosts),
        allow_file_remotes=settings.allow_file_remotes,
        allow_insecure_http=settings.allow_insecure_http,
        case_sensitive_hosts=frozenset(settings.case_sensitive_hosts),
    )


def prepare(settings: Settings) -> Store:
    """The opened and migrated store, with the configured central repository registered in it.

    Raises SettingsInvalid without a usable central URL, StoreFault for a store that cannot be opened.
    """
    if not settings.central_url:
        raise SettingsInvalid(
            "REGISTRY_CENTRAL_URL is not set: give the remote of the central playbook repository, for example "
            "https://github.com/acme/playbooks."
        )
    processes.make_folder(settings.data_dir)
    try:
        remote = parse_remote(settings.central_url, policy=remote_policy(settings))
    except (AddressRefused, RepositoryInvalid) as refusal:
        raise SettingsInvalid(f"REGISTRY_CENTRAL_URL cannot be used: {refusal.detail}") from None
    store = open_store(settings.store_url)
    try:
        _ensure_central(store, settings, remote.id)
    except BaseException:
        store.close()
        raise
    return store


def open_services(settings: Settings, store: Store) -> Services:
    """The services of a serving process over an opened store."""
    folders = Folders(settings.data_dir)
    reader = IndexReader(folders.index)
    case_sensitive_hosts = frozenset(settings.case_sensitive_hosts)
    in_force = InForce(
        store,
        now=now,
        cache_bytes=settings.cache_bytes,
        case_sensitive_hosts=case_sensitive_hosts,
        before_adopting=lambda: _reload(reader),
    )
    catalogs = Catalogs(
        in_force, store, now=now, poll_interval_s=settings.poll_interval_s, cache_bytes=settings.cache_bytes
    )
    skills = Skills(catalogs, store)
    worker = SocketSignal(folders.to_worker)
    policy = remote_policy(settings)
    repositories = Repositories(
        in_force,
        catalogs,
        store,
        worker=worker,
        check_remote=lambda url: parse_remote(url, policy=policy).id,
        now=now,
        case_sensitive_hosts=case_sensitive_hosts,
    )
    bootstrap = settings.admin_token.get_secret_value() if settings.admin_token is not None else None
    in_force.refresh()
    index = _IndexFollower(reader, folders.index)

    def refresh() -> bool:
        index.follow()
        return in_force.refresh()

    return Services(
        catalogs=catalogs,
        search=Search(catalogs, reader, store),
        skills=skills,
        skill_indexes=SkillIndexes(skills, catalogs),
        evaluations=Evaluations(catalogs),
        repositories=repositories,
        problems=Problems(in_force, store),
        policy=Policy(in_force, store, repositories, now=now),
        previews=Previews(in_force, store),
        runs=Runs(in_force, catalogs, store, now=now, randomness=secrets.token_bytes),
        tokens=Tokens(store, now=now, randomness=secrets.token_urlsafe, bootstrap=bootstrap, issuer=_issuer(settings)),
        audit=Audit(store),
        health=Health(in_force),
        in_force=in_force,
        refresh=refresh,
        close=store.close,
    )


def _issuer(settings: Settings) -> Issuer | None:
    """Who else's tokens are taken, None where nobody's are."""
    if settings.oauth_issuer is None or settings.oauth_jwks_url is None:
        return None
    # Cryptography is slow to import, and most registries make their own tokens.
    from registry.oauth.claims import Mapped  # noqa: PLC0415
    from registry.oauth.keys import Keys, fetch  # noqa: PLC0415
    from registry.oauth.verifier import Expected, JwtVerifier  # noqa: PLC0415

    audience = settings.oauth_audience or settings.mcp_resource or ""
    return JwtVerifier(
        Keys(settings.oauth_jwks_url, fetch=fetch),
        Expected(settings.oauth_issuer, audience),
        Mapped(settings.oauth_team_claim, settings.oauth_scopes_claim, settings.oauth_allow_admin),
        now=now,
    )


class _IndexFollower:
    """Reloads a reader when the index has changed without a pointer that moved: a lost one was built again."""

    def __init__(self, reader: IndexReader, path: Path) -> None:
        self._reader = reader
        self._path = path
        self._seen: tuple[str, int] | None = None

    def follow(self) -> None:
        found = index_folder.current(self._path)
        if found is None:
            return
        with contextlib.suppress(FileNotFoundError):
            now_there = (found.name, (found / "meta.json").stat().st_mtime_ns)
            if now_there != self._seen:
                self._reader.reload()
                self._seen = now_there


def follow(services: Services, settings: Settings, stop: threading.Event) -> None:
    """Keep a serving process's view at the store's, woken by the worker, until `stop` is set."""
    inbox = SocketSignal(Folders(settings.data_dir).to_servers)
    try:
        while not stop.is_set():
            inbox.wait(FOLLOW_INTERVAL_S)
            try:
                services.refresh()
            except Unavailable as pause:
                log.warning("the store cannot be read now; trying again", reason=str(pause))
                stop.wait(FOLLOW_INTERVAL_S)
            except Exception:
                log.exception("could not follow the store; trying again")
                stop.wait(FOLLOW_INTERVAL_S)
    finally:
        inbox.close()


def run_worker(settings: Settings, parent: int | None = None) -> None:
    """Run the sync worker in this process until SIGTERM, SIGINT or the death of the process `parent`.

    Ends the process itself: a git child that hangs must not hold up a stop.
    """
    os.nice(WORKER_NICE)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if parent is not None:
        processes.watch_parent(parent, stop.set)
    code = 0
    try:
        store = prepare(settings)
        try:
            work(settings, store, stop)
        finally:
            store.close()
    except RegistryError as fault:
        log.error("the sync worker cannot work", reason=str(fault))  # noqa: TRY400 - the sentence says it all
        code = 1
    except Exception:
        log.exception("the sync worker failed")
        code = 1
    processes.end_children()
    sys.stderr.flush()
    # Threads that still wait for a remote would be waited for by an ordinary exit.
    os._exit(code)


def work(settings: Settings, store: Store, stop: threading.Event) -> None:
    """Run the sync loop over an opened store until `stop` is set."""
    folders = Folders(settings.data_dir)
    index = _open_index(folders.index, stop)
    if index is None:
        return
    incoming = SocketSignal(folders.to_worker)
    sources = GitSources(folders.mirrors, remote_policy(settings), ChildSettings())
    drop_mirrors(folders.mirrors, sources, store)
    try:
        worker = Worker(
            store=store,
            git=sources,
            index=index,
            incoming=incoming,
            outgoing=SocketSignal(folders.to_servers),
            now=now,
            jitter=random.random,
            options=WorkerOptions(settings.poll_interval_s, settings.sync_threads, plan_for(settings)),
        )
        worker.run(stop)
    finally:
        sources.close()
        incoming.close()
        index.close()


def _open_index(path: Path, stop: threading.Event) -> IndexWriter | None:
    """The index's writer, or None when `stop` was set while another process still had it."""
    end = time.monotonic() + INDEX_WAIT_S
    while True:
        try:
            return IndexWriter(path)
        except IndexLockedError:
            if time.monotonic() > end:
                raise
            if stop.wait(FOLLOW_INTERVAL_S):
                return None


def drop_mirrors(folder: Path, sources: GitSources, store: Store) -> None:
    """Remove the mirrors that no registration reads any more: their disk space is all that is left of them."""
    wanted = set()
    for registration in store.changes_since(0).registrations:
        if registration.deregistered_at is None:
            with contextlib.suppress(SourceFault):
                wanted.add(sources.open(registration).mirror.folder.name)
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry.is_dir() and entry.name not in wanted and MIRROR_NAME.fullmatch(entry.name):
            shutil.rmtree(entry, ignore_errors=True)


def plan_for(settings: Settings) -> Callable[[Registration], SourcePlan]:
    """What to read of a registration: its roots and, for central, the policy file."""

    def plan(registration: Registration) -> SourcePlan:
        is_central = registration.role is Role.CENTRAL
        sub_path = registration.id.partition(SUB_PATH_MARK)[2]
        return SourcePlan(
            repository=registration.id,
            role=registration.role,
            roots=Roots(registration.paths, sub_path),
            policy_path=settings.policy_path if is_central else None,
            case_sensitive_hosts=frozenset(settings.case_sensitive_hosts),
        )

    return plan


def _reload(reader: IndexReader) -> None:
    reader.reload()


def _ensure_central(store: Store, settings: Settings, identity: str) -> None:
    """Make the configured central repository the registered one; another one that was it before ends."""
    registrations = [item for item in store.changes_since(0).registrations if item.deregistered_at is None]
    central = next((item for item in registrations if item.role is Role.CENTRAL), None)
    wanted = Registration(
        id=identity,
        role=Role.CENTRAL,
        url=settings.central_url or "",
        ref=settings.central_ref,
        team=settings.central_team,
        paths=settings.central_paths or None,
        aliases=(),
        credential=None,
        registered_at=central.registered_at if central is not None and central.id == identity else now(),
    )
    if central == wanted:
        return
    if central is not None and central.id != identity:
        store.deregister(central.id, now(), AuditEntry(now(), CONFIGURATION, "central-replaced", central.id))
    store.register(wanted, AuditEntry(now(), CONFIGURATION, "central-configured", identity))


def configure_logs(settings: Settings) -> None:
    """Set up logging for this process."""
    logs.configure(settings.log_format, settings.log_level)
