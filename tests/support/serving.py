"""A real `registry serve`: started as a user starts it, on a free port, with a log to look into, and ended for good."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ADMIN = "admin-token-of-the-tests"
AS_ADMIN = {"Authorization": f"Bearer {ADMIN}"}
START_S = 60.0
STOP_S = 15.0


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(data: Path, **settings: object) -> dict[str, str]:
    """The environment of a registry with these settings (`poll_interval_s=1`); one that is None is left out."""
    chosen = {
        "data_dir": data,
        "allow_file_remotes": True,
        "allow_insecure_http": True,
        "admin_token": ADMIN,
        "poll_interval_s": 1,
        "log_format": "json",
        **settings,
    }
    shown = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in chosen.items()}
    return {
        "PATH": os.environ["PATH"],
        **{f"REGISTRY_{name.upper()}": shown[name] for name, value in chosen.items() if value is not None},
    }


def refusal(data: Path, *arguments: str, **settings: object) -> tuple[int, str]:
    """(exit code, everything printed) of a `registry serve` that is expected to end by itself."""
    done = subprocess.run(
        [sys.executable, "-m", "registry.cli", "serve", *arguments],
        env=environment(data, **{"listen": f"127.0.0.1:{free_port()}", **settings}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=START_S,
        check=False,
    )
    return done.returncode, done.stdout


@dataclass
class Registry:
    """A running `registry serve`, and a client for it."""

    process: "subprocess.Popen[bytes]"
    client: httpx.Client
    log_path: Path
    known: set[int] = field(default_factory=set)
    """Every process id that `children` ever found."""

    @property
    def log(self) -> str:
        """What it and its processes wrote so far."""
        return self.log_path.read_text(errors="replace")

    def get(self, path: str, **options: object) -> httpx.Response:
        """The answer to a GET."""
        return self.client.get(path, **options)

    def register(self, identity: str, url: str, *, team: str = "team", wait_s: float = 20, **members: object) -> dict:
        """Register a repository; its view, after its first outcome unless `wait_s` is 0."""
        answer = self.client.put(
            f"/v1/repositories/{identity}",
            json={"url": url, "team": team, **members},
            headers={**AS_ADMIN, **({"Prefer": f"wait={wait_s:g}"} if wait_s else {})},
        )
        assert answer.status_code in {200, 201, 202}, answer.text
        return answer.json()

    def sync(self, identity: str, wait_s: float = 20) -> dict:
        """Have a repository read now; its view afterwards."""
        answer = self.client.post(
            f"/v1/repositories/{identity}/sync", headers={**AS_ADMIN, "Prefer": f"wait={wait_s:g}"}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def state(self, identity: str) -> str:
        """The sync state of a repository."""
        return self.get(f"/v1/repositories/{identity}").json()["sync"]["state"]

    def is_ready(self) -> bool:
        """Whether it answers and has something to serve."""
        try:
            return self.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def worker(self) -> int:
        """The process id of the sync worker."""
        return next(pid for pid in self.children() if b"registry.worker" in _command(pid))

    def server(self) -> int:
        """The process id of the process that answers."""
        return next(pid for pid in self.children() if b"registry.worker" not in _command(pid))

    def children(self) -> list[int]:
        """The process ids of what `serve` runs now."""
        found = children_of(self.process.pid)
        self.known |= set(found)
        return found

    def terminate(self) -> tuple[int, float]:
        """(exit code, seconds until the end) after SIGTERM."""
        self.children()
        began_at = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_S), time.monotonic() - began_at

    def kill(self) -> None:
        """SIGKILL to the supervising process alone; what it had started must end by itself."""
        self.children()
        self.process.kill()
        self.process.wait()

    def survivors(self) -> list[int]:
        """What of its processes still runs."""
        return [pid for pid in sorted(self.known) if is_running(pid)]


@contextmanager
def serving(data: Path, *, ready: bool = True, **settings: object) -> Iterator[Registry]:
    """A `registry serve` over a data folder, answering and (unless `ready` is false) with something to serve."""
    listen = str(settings.pop("listen", f"127.0.0.1:{free_port()}"))
    log_path = data.parent / f"{data.name}.log"
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "registry.cli", "serve"],
            env=environment(data, listen=listen, **settings),
            cwd=data.parent,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    with httpx.Client(base_url=f"http://{listen}", timeout=30) as client:
        registry = Registry(process, client, log_path)
        try:
            _wait_until_answering(registry, "/readyz" if ready else "/healthz")
            registry.children()
            yield registry
        finally:
            _end(registry)


def eventually(check: Callable[[], object], timeout_s: float = 20.0) -> object:
    """The first true value of `check`; an assertion that says its last value where there is none in time."""
    end = time.monotonic() + timeout_s
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, f"still {found!r} after {timeout_s:g} s"
        time.sleep(0.05)


def children_of(pid: int) -> list[int]:
    """The process ids of a process's children."""
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").glob("*/children")
        for child in task.read_text().split()
        if is_running(int(child))
    ]


def is_running(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _wait_until_answering(registry: Registry, path: str) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and registry.process.poll() is None:
        try:
            if registry.client.get(path).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"the registry does not answer {path} with 200:\n{registry.log[-4000:]}")


def _end(registry: Registry) -> None:
    if registry.process.poll() is None:
        registry.terminate()
    for pid in registry.survivors():
        os.kill(pid, signal.SIGKILL)
