"""The facts of a working copy and its way to a registry, gathered without changing anything in either."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from registry.cli import working_copy
from registry.cli.contact import Caller, ask_caller
from registry.cli.copy_files import FILE_BYTES_MAX
from registry.cli.host_entries import TOKEN, Server, is_started_here
from registry.cli.hosts import HOSTS, Endpoint, Host
from registry.cli.init_steps import ignored
from registry.cli.inquiry import Inquiry
from registry.cli.json_edit import NotEditable
from registry.cli.mcp_probe import probe
from registry.cli.outcome import Misused, No, Unreachable
from registry.cli.remote import Remote, segment
from registry.client.cache import DiskCache, default_folder
from registry.client.connection import Connection
from registry.errors import RegistryError, RepositoryInvalid
from registry.git import worktree
from registry.git.checkout import Checkout, ids_of, open_checkout
from registry.names import SUB_PATH_MARK, repository_id
from registry.playbook.model import Level
from registry.ports import Role
from registry.service.workplace import (
    CacheFacts,
    CatalogFacts,
    CopyFacts,
    EntryFacts,
    FilesFacts,
    HostFacts,
    RegistrationFacts,
    TokenFacts,
    Workplace,
)
from registry.wiring import now

if TYPE_CHECKING:
    from registry.client.catalog import Catalog

DISTRIBUTION: Final = "playbook-registry"
_WORKTREE: Final = "worktree"
Failure = No | Misused | Unreachable


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: a folder, the repository that the caller says it is, and the registry with its token."""

    path: Path
    spelling: str | None
    url: str
    remote: Remote
    token: str | None
    url_from: str | None = None


def registry_in(path: Path) -> tuple[str, str] | None:
    """(the registry that the hosts' files of the copy at `path` lead to, the first file that says so), or None."""
    checkout = open_checkout(path)
    for folder in dict.fromkeys((path.resolve(), *([] if checkout is None else [checkout.root]))):
        for host, servers in _read_hosts(folder):
            for server in servers if not isinstance(servers, str) else ():
                if server.registry:
                    return server.registry, host.path
    return None


def look_at(subject: Subject) -> Workplace:
    """Everything that a diagnosis of a working copy is made of."""
    checkout = open_checkout(subject.path)
    ids = _ids(subject, checkout)
    copy = _copy(subject, checkout, ids[-1] if ids else None)
    cache = default_folder(os.environ)
    found = Workplace(
        now=now(),
        version=version(DISTRIBUTION),
        copy=copy,
        server=subject.remote.look(),
        cache=CacheFacts(str(cache or "a home folder"), cache is not None and _may_write(cache)),
        url_from=subject.url_from,
    )
    if checkout is None:
        return found
    if found.server.status is None or not found.server.is_registry:
        return replace(found, hosts=_hosts(checkout, checkout.root, subject.url), files=_files(checkout, None))
    token, registration, faulted = _asked(subject, ids)
    identity = str(registration["id"]) if registration is not None else copy.identity
    part = (identity or "").partition(SUB_PATH_MARK)[2]
    folder = checkout.root / part if (checkout.root / part).is_dir() else checkout.root
    if identity is None:
        return replace(found, token=token, hosts=_hosts(checkout, folder, subject.url), files=_files(checkout, None))
    return replace(
        found,
        copy=replace(copy, identity=identity),
        token=token,
        registration=faulted or _registration(subject.remote, registration),
        catalog=_catalog(subject, folder, identity),
        files=_files(checkout, registration),
        hosts=_hosts(checkout, folder, subject.url),
        endpoint=probe(Endpoint(subject.url, identity).url, subject.token),
    )


def _ids(subject: Subject, checkout: Checkout | None) -> list[str]:
    try:
        if subject.spelling is not None:
            return [str(repository_id(subject.spelling))]
        return ids_of(subject.path, checkout)
    except RepositoryInvalid:
        return []


def _copy(subject: Subject, checkout: Checkout | None, identity: str | None) -> CopyFacts:
    path = str(subject.path.resolve())
    if checkout is None:
        return CopyFacts(path, is_copy=False)
    named = subject.spelling is not None
    return CopyFacts(path, True, checkout.remote, checkout.branch, checkout.head, identity, named)  # noqa: FBT003


def _asked(subject: Subject, ids: list[str]) -> tuple[TokenFacts, Mapping[str, Any] | None, RegistrationFacts | None]:
    """(what the token may, the repository as it is registered, why that could not be asked)."""
    try:
        caller = ask_caller(subject.remote, has_token=subject.token is not None)
    except (No, Misused, Unreachable) as failure:
        said = _sentence(failure)
        return TokenFacts(subject.token is not None, fault=said), None, RegistrationFacts(fault=said)
    token = _token(caller)
    try:
        for identity in ids:
            registration = Inquiry(subject.remote).registration(identity)
            if registration is not None:
                return token, registration, None
    except (No, Misused, Unreachable) as failure:
        return token, None, RegistrationFacts(fault=_sentence(failure))
    return token, None, None


def _token(caller: Caller) -> TokenFacts:
    return TokenFacts(caller.has_token, caller.principal, caller.team, caller.scopes, caller.reads)


def _registration(remote: Remote, found: Mapping[str, Any] | None) -> RegistrationFacts:
    if found is None:
        return RegistrationFacts()
    identity, status = str(found["id"]), found.get("sync") or {}
    problems = _problems(remote, identity)
    return RegistrationFacts(
        identity=identity,
        is_central=found.get("role") == Role.CENTRAL,
        team=found.get("team"),
        state=status.get("state"),
        message=str(status.get("message") or ""),
        playbooks=int(found.get("playbooks") or 0),
        problems=tuple(_at_its_place(each) for each in problems if each.get("level") == Level.ERROR),
        remarks=sum(each.get("level") != Level.ERROR for each in problems),
    )


def _problems(remote: Remote, identity: str) -> list[Mapping[str, Any]]:
    """What was wrong at the last sync; nothing where it was never read."""
    try:
        found = remote.get(f"/v1/repositories/{segment(identity)}/problems").json.get("problems")
    except (No, Misused, Unreachable):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _at_its_place(problem: Mapping[str, Any]) -> str:
    place = ":".join(str(problem.get(key)) for key in ("path", "line", "column"))
    return f"{place} {problem.get('message')}".rstrip(".")


def _catalog(subject: Subject, folder: Path, identity: str) -> CatalogFacts:
    from registry.client.catalog import Catalog  # noqa: PLC0415 - only where a registry answers

    # A cache of its own, which is gone afterwards: the user's may be what hides a fault, and is not ours to fill. And
    # no Catalog.open: that would show the environment's token to whatever a file of the repository leads to.
    with tempfile.TemporaryDirectory() as scratch:
        try:
            connection, cache = Connection(subject.url, subject.token), DiskCache(Path(scratch))
            with Catalog(connection, cache, [identity], checkout=open_checkout(folder)) as catalog:
                return _seen(catalog)
        except RegistryError as error:
            return CatalogFacts(fault=str(error).rstrip("."))


def _seen(catalog: "Catalog") -> CatalogFacts:
    entries, state = catalog.entries(), catalog.state
    return CatalogFacts(
        entries=len(entries),
        unavailable=tuple(str(entry["name"]) for entry in catalog.unavailable()),
        is_stale=state.freshness != "fresh",
        age_s=state.age_s,
        changed=tuple(str(entry["name"]) for entry in entries if entry["source"]["kind"] == _WORKTREE),
        notes=catalog.notes,
    )


def _files(checkout: Checkout, registration: Mapping[str, Any] | None) -> FilesFacts:
    central = registration is not None and registration.get("role") == Role.CENTRAL
    paths = None if registration is None else registration.get("paths")
    try:
        plan = working_copy.plan_for(
            checkout.root, Role.CENTRAL if central else Role.SERVICE, registration=registration
        )
        revision = working_copy.read(checkout.root, plan, None).now.revision
        wanted = working_copy.passed_over(checkout.root, plan)
    except Misused as fault:
        return FilesFacts(fault=_sentence(fault))
    good = {copy.head.source.path for copy in revision.copies if copy.head is not None}
    problems = [each for each in revision.problems if each.level is Level.ERROR]
    known = good | {each.path for each in revision.problems} | {copy.path for copy in revision.copies}
    return FilesFacts(
        playbooks=len(good),
        broken=tuple(_at_its_place(each.to_json()) for each in problems),
        passed_over=tuple(path for path in wanted if path not in known),
        looked_in=tuple(map(str, paths)) if isinstance(paths, list) else (),
    )


def _hosts(checkout: Checkout, folder: Path, asked: str) -> tuple[HostFacts, ...]:
    paths = {host.name: (folder / host.path).relative_to(checkout.root).as_posix() for host in HOSTS.values()}
    unseen = ignored(checkout.root, tuple(paths.values()))
    answering: dict[str, bool] = {asked: True}
    found = []
    for host, servers in _read_hosts(folder):
        path = paths[host.name]
        facts = HostFacts(host.name, host.title, path, (), host.needs_variable, path in unseen)
        if isinstance(servers, str):
            found.append(replace(facts, fault=servers))
            continue
        for server in servers:
            if server.registry is not None and server.registry not in answering:
                answering[server.registry] = _answers(server.registry)
        entries = tuple(_entry(server, answering.get(server.registry or asked, False)) for server in servers)
        found.append(replace(facts, entries=entries))
    return tuple(found)


def _answers(url: str) -> bool:
    """Whether a registry answers where a file leads, asked without a token."""
    try:
        remote = Remote(url)
    except Misused:
        return False
    try:
        return remote.look().is_registry
    finally:
        remote.close()


def _read_hosts(folder: Path) -> Iterator[tuple[Host, tuple[Server, ...] | str]]:
    """(host, our servers in its file or why it cannot be read) for each host whose file is there."""
    for host in HOSTS.values():
        data = worktree.read_file(folder, host.path, FILE_BYTES_MAX)
        try:
            if isinstance(data, bytes):
                yield host, host.find(data.decode())
            elif data is not None:
                yield host, f"it is larger than {FILE_BYTES_MAX >> 20} MiB"
            elif (folder / host.path).is_symlink():
                yield host, "it is a link that leads nowhere, or out of the copy"
        except NotEditable as error:
            yield host, str(error)
        except UnicodeDecodeError:
            yield host, "it is no UTF-8 text"


def _entry(server: Server, answers: bool) -> EntryFacts:  # noqa: FBT001 - a fact like the others
    bridge = is_started_here(server)
    return EntryFacts(
        name=server.name,
        url=server.url,
        command=server.command,
        is_bridge=bridge,
        is_on_path=server.command is None or shutil.which(server.command) is not None,
        registry=server.registry,
        repository=server.repository,
        token=server.token,
        is_token_set=bool(os.environ.get(server.token or TOKEN)),
        has_secret=server.has_secret,
        is_off=server.is_off,
        answers=answers,
    )


def _may_write(folder: Path) -> bool:
    there = next((place for place in (folder, *folder.absolute().parents) if place.exists()), Path("/"))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _sentence(failure: Failure) -> str:
    return failure.message.partition(" [")[0].rstrip(".")
