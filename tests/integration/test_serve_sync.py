"""The sync loop over real git, a real store and a real index: what happens when things happen at the same time."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from gitserver import GitRepo
from world import ADMIN, World, opened, playbook, running

from registry import wiring
from registry.errors import Unavailable
from registry.git.sources import GitSources
from registry.ports import Registration, RemoteHead, SyncState, SyncStatus
from registry.service.repositories import RegistrationRequest

PAYMENTS = "github.com/acme/payments"
CENTRAL = {"playbooks/rotate.yaml": playbook("rotate")}
BROKEN = "playbook: 1\nname: payments\nsteps: 7\n"


class Gate:
    """Holds every poll of the sources whose URL ends in `name` until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.polls = 0
        real = GitSources.open

        def open_gated(sources: GitSources, registration: Registration) -> object:
            source = real(sources, registration)
            return _Gated(source, self) if registration.url.endswith(name) else source

        monkeypatch.setattr(GitSources, "open", open_gated)


@dataclass
class _Gated:
    source: object
    gate: Gate

    def poll(self) -> RemoteHead:
        head = self.source.poll()
        self.gate.polls += 1
        self.gate.reached.set()
        assert self.gate.opened.wait(20)
        return head

    def __getattr__(self, name: str) -> object:
        return getattr(self.source, name)


@contextmanager
def payments(folder) -> Iterator[tuple[World, GitRepo]]:
    """A running registry, and the repository payments that is not registered yet."""
    with running(folder, CENTRAL) as world:
        repo = GitRepo(folder / "git" / "acme" / "payments")
        repo.commit({"playbooks/payments.yaml": playbook("payments")})
        yield world, repo


def put(world: World, repo: GitRepo, wait_s: float = 20, **members: object):
    """Register payments with that repository as its remote."""
    return world.services.repositories.register(
        ADMIN, PAYMENTS, RegistrationRequest(repo.url, "payments", **members), wait_s
    )


def names(world: World) -> set[str]:
    """The names in payments' own part of its catalog."""
    _, catalog = world.services.catalogs.catalog_of(PAYMENTS)
    return {name for name, verdict in catalog.own.items() if verdict is not None}


def test_a_first_read_that_is_under_way_shows_as_syncing(tmp_path, monkeypatch):
    gate = Gate(monkeypatch, "/payments")
    with payments(tmp_path) as (world, repo):
        put(world, repo, 0)
        assert gate.reached.wait(20)
        world.services.refresh()
        assert world.services.repositories.get(PAYMENTS)["sync"]["state"] == "syncing"
        with pytest.raises(Unavailable):
            world.services.catalogs.current(PAYMENTS)
        gate.opened.set()
        assert world.sync("payments")["sync"]["state"] == "ok"


def test_a_wish_that_arrives_during_a_read_is_met_by_a_later_one(tmp_path, monkeypatch):
    gate = Gate(monkeypatch, "/payments")
    with payments(tmp_path) as (world, repo):
        put(world, repo, 0)
        assert gate.reached.wait(20)
        newest = repo.commit({"playbooks/later.yaml": playbook("later")})
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(world.sync("payments")))
        waiting.start()
        time.sleep(0.3)
        gate.opened.set()
        waiting.join(20)
        assert answers[0]["sync"]["commit"] == newest
        assert gate.polls == 2


def test_folders_that_change_during_a_read_are_read_afterwards(tmp_path, monkeypatch):
    gate = Gate(monkeypatch, "/payments")
    with payments(tmp_path) as (world, repo):
        repo.commit({"elsewhere/other.yaml": playbook("other")})
        put(world, repo, 0)
        assert gate.reached.wait(20)
        put(world, repo, 0, paths=("elsewhere/*.yaml",))
        gate.opened.set()
        world.sync("payments")
        assert names(world) == {"other"}


def test_a_source_that_is_deregistered_during_a_read_does_not_come_back(tmp_path, monkeypatch):
    gate = Gate(monkeypatch, "/payments")
    with payments(tmp_path) as (world, repo):
        put(world, repo, 0)
        assert gate.reached.wait(20)
        world.services.repositories.deregister(ADMIN, PAYMENTS)
        gate.opened.set()
        world.sync_central()
        time.sleep(0.5)
        world.services.refresh()
        assert PAYMENTS not in world.services.in_force.view.pointers
        assert PAYMENTS not in world.services.in_force.view.statuses


def test_deregistering_and_registering_at_once_reads_the_source_anew(tmp_path):
    with payments(tmp_path) as (world, repo):
        put(world, repo)
        world.services.repositories.deregister(ADMIN, PAYMENTS)
        answer = put(world, repo)
        assert answer.done
        assert answer.value["sync"]["state"] == "ok"
        assert names(world) == {"payments"}


def test_another_remote_starts_held_copies_anew(tmp_path):
    with payments(tmp_path) as (world, repo):
        put(world, repo)
        other = GitRepo(tmp_path / "git" / "acme" / "payments-moved")
        other.commit({"playbooks/payments.yaml": BROKEN})
        assert put(world, other).value["held"] == 0
        assert world.outcome("payments", "payments") == "broken"


def test_a_repository_that_is_registered_while_the_worker_looks_at_the_store_gets_its_wish(tmp_path, monkeypatch):
    with payments(tmp_path) as (world, repo):
        look, is_first = world.store.changes_since, threading.Lock()

        def changes_since(sequence):
            seen = look(sequence)
            is_news = threading.current_thread().name == "worker" and seen.sequence != sequence
            if is_news and is_first.acquire(blocking=False):
                put(world, repo, 0)
            return seen

        monkeypatch.setattr(world.store, "changes_since", changes_since)
        world.services.repositories.request(world.services.in_force.view.central, None, 0)
        end = time.monotonic() + 20
        while world.services.in_force.view.statuses.get(PAYMENTS, SyncStatus(PAYMENTS)).handled == 0:
            assert time.monotonic() < end
            time.sleep(0.02)
            world.services.refresh()


def test_folders_that_changed_while_no_worker_ran_are_read_at_the_next_start(tmp_path):
    with payments(tmp_path) as (world, repo):
        repo.commit({"elsewhere/other.yaml": playbook("other")})
        put(world, repo)
        settings = world.settings
    store = wiring.prepare(settings)
    services = wiring.open_services(settings, store)
    request = RegistrationRequest(repo.url, "payments", paths=("elsewhere/*.yaml",))
    services.repositories.register(ADMIN, PAYMENTS, request, 0)
    store.close()
    with opened(tmp_path, settings) as world:
        world.sync("payments")
        assert names(world) == {"other"}


def test_an_unchanged_poll_of_a_failed_source_is_no_reason_to_stop_polling_it(tmp_path):
    with running(tmp_path, CENTRAL, poll_interval_s=0.2) as world:
        repo = GitRepo(tmp_path / "git" / "acme" / "payments")
        assert put(world, repo).value["sync"]["state"] == SyncState.EMPTY
        repo.commit({"playbooks/payments.yaml": playbook("payments")})
        end = time.monotonic() + 20
        while world.services.repositories.get(PAYMENTS)["sync"]["state"] != "ok" and time.monotonic() < end:
            time.sleep(0.05)
            world.services.refresh()
        assert names(world) == {"payments"}


def test_mirrors_that_no_registration_reads_any_more_are_removed_at_the_next_start(tmp_path):
    with payments(tmp_path) as (world, repo):
        put(world, repo)
        settings = world.settings
        assert len(list((settings.data_dir / "mirrors").iterdir())) == 2
        world.services.repositories.deregister(ADMIN, PAYMENTS)
    with opened(tmp_path, settings) as world:
        world.sync_central()
        assert len(list((settings.data_dir / "mirrors").iterdir())) == 1


def test_a_stop_gives_back_the_wish_that_it_did_not_meet(tmp_path, monkeypatch):
    with payments(tmp_path) as (world, repo):
        settings = world.settings
    with monkeypatch.context() as patched:
        gate = Gate(patched, "/payments")
        patched.setattr("registry.sync.worker.STOP_WAIT_S", 0.1)
        with opened(tmp_path, settings) as world:
            put(world, repo, 0)
            assert gate.reached.wait(20)
        gate.opened.set()
    store = wiring.prepare(settings)
    assert [request.repository for request in store.take_requests()] == [PAYMENTS]
    store.close()
