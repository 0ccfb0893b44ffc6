"""Every registered source's way to git: its remote polled, its mirror fetched, its commits read."""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from registry.errors import AddressRefused, RepositoryInvalid, SourceAddressRefused
from registry.git.child import ChildSettings
from registry.git.mirror import Mirror
from registry.git.refs import RefPoller
from registry.git.remote import Remote, RemotePolicy, parse_remote
from registry.git.tree import TreeReader
from registry.ports import Registration, RemoteHead, Role


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """One (remote, ref): central as a full mirror, a service repository as a slim one (git.md, Three layers)."""

    remote: Remote
    tracked: str | None
    poller: RefPoller
    mirror: Mirror

    def poll(self) -> RemoteHead:
        """What the remote says of the tracked ref now. Raises SourceFault."""
        return self.poller.poll(self.remote, self.tracked)

    def fetch(self, head: RemoteHead) -> None:
        """Bring the mirror to that head. Raises SourceFault."""
        self.mirror.fetch(head.ref, head.commit)

    def read(self, commit: str) -> TreeReader:
        """The tree of a fetched commit. Raises Corrupt."""
        return self.mirror.read(commit)


class GitSources:
    """Opens the sources of registrations. Safe to call from several threads; a source is one job's."""

    def __init__(self, folder: Path, policy: RemotePolicy, settings: ChildSettings) -> None:
        self._folder = folder
        self._policy = policy
        self._settings = settings
        self._poller: RefPoller | None = None
        self._lock = Lock()

    def open(self, registration: Registration) -> RemoteSource:
        """The source of a registration. Raises SourceAddressRefused for a URL that is not allowed (any more)."""
        try:
            remote = parse_remote(registration.url, policy=self._policy)
        except (AddressRefused, RepositoryInvalid) as refusal:
            raise SourceAddressRefused(refusal.detail) from refusal
        slim = registration.role is not Role.CENTRAL
        mirror = Mirror(self._folder, remote, slim=slim, tracked=registration.ref, settings=self._settings)
        return RemoteSource(remote, registration.ref, self._shared_poller(), mirror)

    def close(self) -> None:
        """Close the connections that polling kept open."""
        if self._poller is not None:
            self._poller.close()

    def _shared_poller(self) -> RefPoller:
        with self._lock:
            if self._poller is None:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._poller = RefPoller(self._settings, work_folder=self._folder)
            return self._poller
