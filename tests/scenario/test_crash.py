"""kill -9 at any moment: what was acknowledged is there afterwards, and everything is read to its end."""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from typing import Self

import httpx
import pytest
from gitserver import GitRepo
from serving import AS_ADMIN, Registry, eventually, serving
from world import playbook

ROUNDS = 2
LONGEST_RUN_S = 1.5
VICTIMS = ("supervisor", "server", "worker")


class Writing:
    """A client that registers, marks and reads catalogs until the registry is gone; it keeps what was acknowledged."""

    def __init__(self, registry: Registry, repos: dict[str, GitRepo], word: str) -> None:
        self.registered: set[str] = set()
        self.marked: set[str] = set()
        self.snapshots: dict[str, bytes] = {}
        self._registry = registry
        self._repos = repos
        self._word = word
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with httpx.Client(base_url=self._registry.client.base_url, headers=AS_ADMIN, timeout=10) as client:
            for number, (name, repo) in enumerate(self._repos.items()):
                if self._stop.is_set():
                    return
                with suppress(httpx.TransportError):
                    self._step(client, f"github.com/{self._word}/{name}", repo.url, f"central-{number % 30:02d}")

    def _step(self, client: httpx.Client, identity: str, url: str, mark: str) -> None:
        if client.put(f"/v1/repositories/{identity}", json={"url": url, "team": "team"}).status_code in {200, 201}:
            self.registered.add(identity)
        if client.put(f"/v1/policy/required/{mark}", json={"reason": "Audited."}).status_code == 200:
            self.marked.add(mark)
        for path in ("/v1/catalogs", f"/v1/catalogs/{identity}"):
            answer = client.get(path)
            if answer.status_code == 200:
                self.snapshots[answer.headers["catalog-digest"]] = answer.content


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(victim, tmp_path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({f"playbooks/central-{number:02d}.yaml": playbook(f"central-{number:02d}") for number in range(30)})
    repos = {
        f"service-{number:02d}": GitRepo(tmp_path / "git" / "acme" / f"service-{number:02d}") for number in range(40)
    }
    for name, repo in repos.items():
        repo.commit({f"playbooks/{name}.yaml": playbook(name)})
    registered: set[str] = set()
    marked: set[str] = set()
    snapshots: dict[str, bytes] = {}
    for number in range(ROUNDS):
        with serving(tmp_path / "data", central_url=central.url) as registry:
            with Writing(registry, repos, f"round-{number}") as written:
                time.sleep(random.uniform(0.1, LONGEST_RUN_S))
                _kill(registry, victim)
            registered |= written.registered
            marked |= written.marked
            snapshots |= written.snapshots
            if victim == "supervisor":
                eventually(lambda: not registry.survivors())
    assert registered
    with serving(tmp_path / "data", central_url=central.url) as registry:
        eventually(lambda: _unread(registry) == set(), 60)
        listed = {item["id"] for item in _repositories(registry)}
        assert registered - listed == set()
        assert marked - {mark["name"] for mark in registry.get("/v1/policy").json()["required"]} == set()
        for digest, body in snapshots.items():
            assert registry.get(f"/v1/snapshots/{digest}").content == body
        for identity in listed - {"local/acme/playbooks"}:
            names = [entry["name"] for entry in registry.get(f"/v1/catalogs/{identity}").json()["entries"]]
            assert identity.rpartition("/")[2] in names
        assert "Traceback" not in registry.log


def _kill(registry: Registry, victim: str) -> None:
    if victim == "supervisor":
        registry.kill()
    else:
        os.kill(registry.worker() if victim == "worker" else registry.server(), signal.SIGKILL)


def _repositories(registry: Registry) -> list[dict]:
    return registry.get("/v1/repositories", params={"limit": 200}).json()["items"]


def _unread(registry: Registry) -> set[str]:
    return {item["id"] for item in _repositories(registry) if item["sync"]["state"] != "ok"}
