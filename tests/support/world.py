"""A whole registry in one process: real git repositories, the real store, index, sync worker and services."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from gitserver import GitRepo

from policies.access import Principal
from registry import wiring
from registry.ports import Store
from registry.service.repositories import RegistrationRequest
from registry.service.services import Services
from registry.settings import Settings

ADMIN = Principal("root", None, frozenset({"admin"}))
PLATFORM = Principal("ci-platform", "platform", frozenset({"catalog:read", "policy:write"}))
WAIT_S = 20.0


def team(name: str) -> Principal:
    """A service team's token."""
    return Principal(f"ci-{name}", name, frozenset({"catalog:read", "repository:write"}))


def playbook(name: str, *, version: str = "1.0.0", purpose: str | None = None, **members: str) -> str:
    """A small valid native playbook; `members` are further top-level lines, written as they are."""
    more = "".join(f"{key}: {value}\n" for key, value in members.items())
    return (
        "playbook: 1\n"
        f"name: {name}\nversion: {version}\nowner: platform\n"
        f"purpose: {purpose or f'Do what {name} is for.'}\n"
        f"{more}"
        "steps:\n  - {id: act, tool: shell.run, instruction: Do it.}\n"
    )


class World:
    """One running registry. Repositories are made with `central` and `service`, and read with `sync`."""

    def __init__(self, folder: Path, settings: Settings, store: Store, services: Services) -> None:
        self.folder = folder
        self.settings = settings
        self.store = store
        self.services = services
        self.central = GitRepo(folder / "git" / "acme" / "playbooks")

    def service(self, name: str, files: dict[str, str], *, paths: tuple[str, ...] | None = None) -> GitRepo:
        """A service repository with one commit, registered as github.com/acme/<name> and read."""
        repo = GitRepo(self.folder / "git" / "acme" / name)
        repo.commit(files)
        self.register(name, repo, paths=paths)
        return repo

    def register(self, name: str, repo: GitRepo, *, paths: tuple[str, ...] | None = None) -> dict:
        """Register a repository as github.com/acme/<name> and wait for its outcome."""
        request = RegistrationRequest(repo.url, name, paths=paths)
        outcome = self.services.repositories.register(ADMIN, f"github.com/acme/{name}", request, WAIT_S)
        assert outcome.done, outcome.value
        return outcome.value

    def sync(self, repository: str) -> dict:
        """Read a repository now; its view afterwards."""
        outcome = self.services.repositories.sync(ADMIN, self.identity(repository), WAIT_S)
        assert outcome.done, outcome.value
        return outcome.value

    def sync_central(self) -> dict:
        """Read central now; its view afterwards."""
        return self.sync(self.services.in_force.view.central)

    def identity(self, repository: str) -> str:
        """A service's short name or a full id, as an id."""
        return repository if "/" in repository else f"github.com/acme/{repository}"

    def explain(self, name: str, repository: str) -> dict:
        """The explanation of a name in a repository's catalog."""
        return self.services.catalogs.explain(name, self.identity(repository))

    def outcome(self, name: str, repository: str) -> str:
        """Just the outcome of a name in a repository's catalog."""
        return self.explain(name, repository)["outcome"]

    def codes(self, repository: str) -> list[str]:
        """The codes of a repository's problems."""
        identity = self.identity(repository)
        return [item["code"] for item in self.services.problems.of(identity)["problems"]]


@contextmanager
def running(
    folder: Path, central_files: dict[str, str], now: datetime | None = None, **settings: object
) -> Iterator[World]:
    """A running registry over a central repository with one commit of these files."""
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit(central_files)
    made = Settings(
        **{
            "data_dir": folder / "data",
            "central_url": central.url,
            "allow_file_remotes": True,
            "poll_interval_s": 3600,
            **settings,
        }
    )
    with opened(folder, made) as world:
        world.sync_central()
        yield world


@contextmanager
def opened(folder: Path, settings: Settings) -> Iterator[World]:
    """A running registry over what the folder holds already."""
    store = wiring.prepare(settings)
    stop = threading.Event()
    worker = threading.Thread(target=wiring.work, args=(settings, store, stop), name="worker")
    worker.start()
    try:
        yield World(folder, settings, store, wiring.open_services(settings, store))
    finally:
        stop.set()
        worker.join(30)
        store.close()
        assert not worker.is_alive()
