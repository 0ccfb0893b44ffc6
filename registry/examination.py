"""The facts of this installation, gathered beside a running registry and without changing anything.

The adapters are looked at and not opened: opening a store migrates it, opening an index or a mirror makes folders.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from indexer.census import take_census
from registry import wiring
from registry.errors import AddressRefused, RepositoryInvalid, SettingsInvalid, SourceFault
from registry.git.child import ChildSettings
from registry.git.mirror import MirrorLimits
from registry.git.program import VERSION_MIN, git_version
from registry.git.refs import RefPoller
from registry.git.remote import parse_remote, redact
from registry.processes import LOCK_NAME
from registry.service.installation import (
    CentralFacts,
    Facts,
    FolderFacts,
    GitFacts,
    IndexFacts,
    ServerFacts,
    StoreFacts,
)
from registry.settings import Settings, load_settings, unknown_variables
from registry.store.inspection import inspect_store

POLL_DEADLINE_S = 10.0
LOCK_BYTES_MAX = 20


def examine(environment: Mapping[str, str], server: ServerFacts, data_dir: Path | None = None) -> Facts:
    """Everything that a diagnosis is made of; `server` is what was seen at REGISTRY_URL, `data_dir` as in `serve`."""
    doubts = unknown_variables(environment)
    git = GitFacts(VERSION_MIN, git_version())
    try:
        settings = load_settings(data_dir=data_dir)
    except SettingsInvalid as fault:
        faults = tuple(str(fault).splitlines())
        return Facts(wiring.now(), faults, doubts, None, None, None, git, None, server)
    folder = look_at_folder(settings.data_dir)
    store = inspect_store(settings.store_url)
    index = look_at_index(wiring.Folders(settings.data_dir).index)
    central = poll_central(settings, store)
    server = replace(server, listen=settings.listen)
    return Facts(wiring.now(), (), doubts, folder, store, index, git, central, server)


def look_at_folder(path: Path) -> FolderFacts:
    """The data folder; of a missing one, its nearest parent says whether it could be made and what is free."""
    there = next((place for place in (path, *path.absolute().parents) if place.exists()), Path("/"))
    is_folder = there.is_dir()
    return FolderFacts(
        path=str(path),
        exists=there == path,
        is_folder=is_folder,
        is_writable=is_folder and os.access(there, os.R_OK | os.W_OK | os.X_OK),
        free_bytes=shutil.disk_usage(there).free if is_folder else None,
        free_bytes_min=MirrorLimits().free_bytes_min,
        owner=_owner(path / LOCK_NAME),
    )


def look_at_index(path: Path) -> IndexFacts:
    """The index in its folder."""
    try:
        census = take_census(path)
    except OSError as error:
        return IndexFacts(version=0, exists=True, damage=f"its folder cannot be read ({error.strerror})")
    return IndexFacts(census.version, census.exists, census.others, census.damage, census.documents)


def poll_central(settings: Settings, store: StoreFacts) -> CentralFacts:
    """What the central remote says now, asked as a sync asks; the store names it where the settings do not."""
    url = settings.central_url or store.central_url
    if url is None:
        return CentralFacts(None)
    is_configured = bool(settings.central_url)
    ref = settings.central_ref if is_configured else store.central_ref
    try:
        remote = parse_remote(url, policy=wiring.remote_policy(settings))
    except (AddressRefused, RepositoryInvalid) as refusal:
        return CentralFacts(
            redact(url), is_configured=is_configured, state="address-refused", fault=refusal.detail.rstrip(".")
        )
    found = CentralFacts(remote.url, remote.id, is_configured)
    try:
        # Faults call the folder that git runs in "the mirror": a folder that no remote's address has in it.
        with RefPoller(ChildSettings(), work_folder=Path(sys.prefix)) as poller:
            head = poller.poll(remote, ref, deadline_s=POLL_DEADLINE_S)
    except SourceFault as fault:
        return replace(found, state=fault.state, fault=fault.detail.rstrip("."))
    except OSError as error:
        return replace(found, state="unreachable", fault=f"git cannot be started ({error.strerror})")
    return replace(found, commit=head.commit, ref=head.ref)


def _owner(lock: Path) -> int | None:
    """The process that wrote its id into the lock file, if it still runs."""
    try:
        with lock.open("rb") as stream:
            owner = int(stream.read(LOCK_BYTES_MAX))
    except (OSError, ValueError):
        return None
    try:
        os.kill(owner, 0)
    except PermissionError:  # it runs, as another user
        return owner
    except (OSError, OverflowError):
        return None
    return owner
