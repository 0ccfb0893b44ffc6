"""A registry to be asked over HTTP: a served one with its worker, or the bare application over a store."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from gitserver import GitRepo
from pydantic import SecretStr

from registry import wiring
from registry.api.answers import Application
from registry.api.app import create_app
from registry.ports import Store
from registry.service.services import Services
from registry.settings import Settings

ADMIN = "admin-token-of-the-tests"
AS_ADMIN = {"Authorization": f"Bearer {ADMIN}"}
START_S = 40.0


def playbook(name: str, purpose: str = "Do the thing that this playbook is about.", *, version: str = "1.0.0") -> str:
    """A small valid playbook."""
    return (
        f"playbook: 1\nname: {name}\nversion: {version}\nowner: payments\npurpose: {purpose}\n"
        "steps:\n  - {id: look, instruction: Look at the thing.}\n  - {id: act, instruction: Do it and look again.}\n"
    )


def files(*names: str, version: str = "1.0.0") -> dict[str, str]:
    """path -> text of one small playbook per name, where playbooks are looked for."""
    return {f"playbooks/{name}.yaml": playbook(name, f"Do {name} well.", version=version) for name in names}


@dataclass
class Served:
    """A running registry: a client for it, and the folder in which its remotes lie."""

    client: httpx.Client
    forge: Path

    def repository(self, name: str) -> GitRepo:
        """The new repository `local/acme/<name>`."""
        return GitRepo(self.forge / "acme" / name)

    def register(self, name: str, *, team: str = "payments") -> httpx.Response:
        """The answer to its registration, waited for until it is published."""
        return self.client.put(
            f"/v1/repositories/local/acme/{name}",
            json={"url": f"file://{self.forge}/acme/{name}", "team": team},
            headers={**AS_ADMIN, "Prefer": "wait=20"},
        )


@contextmanager
def served(folder: Path, central: dict[str, str]) -> Iterator[Served]:
    """`registry serve` over a central repository with those files; ended by SIGTERM."""
    GitRepo(folder / "forge" / "acme" / "central").commit(central)
    url = f"http://127.0.0.1:{_free_port()}"
    environment = {
        "PATH": os.environ["PATH"],
        "REGISTRY_DATA_DIR": str(folder / "data"),
        "REGISTRY_LISTEN": url.removeprefix("http://"),
        "REGISTRY_CENTRAL_URL": f"file://{folder}/forge/acme/central",
        "REGISTRY_ALLOW_FILE_REMOTES": "true",
        "REGISTRY_ADMIN_TOKEN": ADMIN,
        "REGISTRY_POLL_INTERVAL_S": "1",
    }
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "registry.cli", "serve"], env=environment, stdout=log, stderr=log
        )
    try:
        with httpx.Client(base_url=url, timeout=30) as client:
            _wait_until_ready(client, process, folder / "registry.log")
            yield Served(client, folder / "forge")
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(12)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass
class Bare:
    """The application over a store, without a worker: nothing is ever published."""

    application: Application
    services: Services
    store: Store

    def ask(self, method: str, path: str, **options: object) -> httpx.Response:
        """The answer to one request, made in this process."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.application, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://registry.example") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def register_known(self) -> None:
        """Register `github.com/acme/known`, which nothing reads."""
        body = {"url": "https://github.com/acme/known", "team": "known"}
        made = self.ask("PUT", "/v1/repositories/github.com/acme/known", json=body, headers=AS_ADMIN)
        assert made.status_code == 201, made.text

    def token(self, *scopes: str, team: str | None = None) -> dict[str, str]:
        """The headers of a caller with a new token."""
        body = {"name": "caller", "scopes": list(scopes), **({"team": team} if team else {})}
        made = self.ask("POST", "/v1/tokens", json=body, headers=AS_ADMIN)
        assert made.status_code == 201, made.text
        return {"Authorization": f"Bearer {made.json()['token']}"}


@contextmanager
def bare(folder: Path, *, anonymous_read: bool) -> Iterator[Bare]:
    """The application over a fresh store in `folder`, whose central repository was not read yet."""
    GitRepo(folder / "forge" / "acme" / "central").commit(files("deploy-rollback"))
    settings = Settings(
        data_dir=folder / "data",
        central_url=f"file://{folder}/forge/acme/central",
        allow_file_remotes=True,
        admin_token=SecretStr(ADMIN),
    )
    store = wiring.prepare(settings)
    services = wiring.open_services(settings, store)
    try:
        yield Bare(create_app(services, anonymous_read=anonymous_read), services, store)
    finally:
        services.close()


def _wait_until_ready(client: httpx.Client, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"the registry did not become ready:\n{log.read_text()[-4000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
