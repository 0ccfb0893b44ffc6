"""What the benchmarks share: real processes, real git repositories, a load generator, and tables of medians.

Every benchmark runs its subject and its peer in turns (interleaved rounds) and compares medians: machines drift, and a
number that was measured alone says little. A goal is a ratio to the peer or a limit, never a bare duration of some
other machine.
"""

import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADMIN_TOKEN = "pbr_benchmarks-only"
READY_S = 60.0
GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


# Tables


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what was measured, in words of numbers, and whether its goal is met (None: it has no goal)."""

    what: str
    values: tuple[str, ...]
    met: bool | None = None


def table(title: str, columns: Sequence[str], rows: Sequence[Row], reading: str) -> None:
    """Print the rows with how to read them. A missed goal is said and fails nothing: machines differ."""
    lines = [("", *columns, "goal")]
    lines += [(row.what, *row.values, {True: "met", False: "MISSED", None: ""}[row.met]) for row in rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    print(f"\n{title}\n")
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        print("  " + "   ".join(cells).rstrip())
    print(f"\n{reading}\n", flush=True)


def rounds(count: int, *subjects: Callable[[], float]) -> list[list[float]]:
    """What each subject gave in each of `count` rounds; every round runs all of them, each time in the other order."""
    taken: list[list[float]] = [[] for _ in subjects]
    for number in range(count):
        order = range(len(subjects)) if number % 2 == 0 else reversed(range(len(subjects)))
        for place in order:
            taken[place].append(subjects[place]())
    return taken


def median(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def ratio(subject: Sequence[float], peer: Sequence[float]) -> float:
    """The median of the ratios of each round, in which both were measured next to each other."""
    return statistics.median(one / other for one, other in zip(subject, peer, strict=True))


# Processes


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder, gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="registry-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def free_port() -> int:
    """A port of loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Process:
    """One started process, answering at `port` of loopback."""

    pid: int
    port: int

    def tree(self) -> tuple[int, ...]:
        """The process and all its descendants."""
        found = [self.pid]
        for pid in found:
            with suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    found += [int(child) for child in (task / "children").read_text().split()]
        return tuple(found)

    def cpu_s(self) -> float:
        """Seconds of CPU that the process and its living descendants have used."""
        ticks = 0
        for pid in self.tree():
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident_mib(self) -> tuple[float, float]:
        """(proportional, plain) resident MiB of the whole tree; the first counts shared pages once."""
        totals = {"Pss": 0, "Rss": 0}
        for pid in self.tree():
            with suppress(OSError):
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
                for name in totals:
                    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
                    totals[name] += int(found[1]) if found else 0
        return totals["Pss"] / 1024, totals["Rss"] / 1024

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, Mapping[str, str], bytes]:
        """(status, headers in lower case, body) of one GET; 304 and errors included."""
        return self.call("GET", path, headers=headers)

    def call(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """(status, headers in lower case, body) of one call as the administrator, with a JSON body if one is given."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method)
        for name, value in {
            **({} if data is None else {"content-type": "application/json"}),
            **(headers or {}),
        }.items():
            request.add_header(name, value)
        if method != "GET":
            request.add_header("authorization", f"Bearer {ADMIN_TOKEN}")
        try:
            with urllib.request.urlopen(request, timeout=READY_S) as answer:
                return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read()


@contextmanager
def started(command: Sequence[str], port: int, *, ready: str, environment: Mapping[str, str]) -> Iterator[Process]:
    """A process that answers `ready` with 200 within a minute; ended by its id afterwards."""
    child = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    process = Process(child.pid, port)
    try:
        end = time.monotonic() + READY_S
        while not _answers(process, ready):
            if child.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{' '.join(command)} did not get ready.")
            time.sleep(0.01)
        yield process
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextmanager
def registry(data: Path, central: "Repository", **settings: object) -> Iterator[Process]:
    """`registry serve` over a data folder, ready."""
    port = free_port()
    environment = {
        "REGISTRY_DATA_DIR": str(data),
        "REGISTRY_LISTEN": f"127.0.0.1:{port}",
        "REGISTRY_CENTRAL_URL": central.url,
        "REGISTRY_ALLOW_FILE_REMOTES": "true",
        "REGISTRY_ADMIN_TOKEN": ADMIN_TOKEN,
        "REGISTRY_POLL_INTERVAL_S": "86400",
        "REGISTRY_LOG_LEVEL": "error",
        **{f"REGISTRY_{name.upper()}": str(value) for name, value in settings.items()},
    }
    command = [sys.executable, "-m", "registry.cli", "serve"]
    with started(command, port, ready="/readyz", environment=environment) as process:
        yield process


@contextmanager
def bare(answers: Path) -> Iterator[Process]:
    """A plain ASGI function on granian that answers what the folder holds (see bare.py)."""
    port = free_port()
    command = [sys.executable, str(Path(__file__).parent / "bare.py"), str(port), str(answers)]
    with started(command, port, ready="/ready", environment={}) as process:
        yield process


def _answers(process: Process, path: str) -> bool:
    with suppress(OSError):
        return process.get(path)[0] == 200
    return False


# Repositories


class Repository:
    """A bare repository that commits are written into without a working copy."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._clock = 1_700_000_000
        if not path.exists():
            path.mkdir(parents=True)
            self.git("init", "--quiet", "--bare", "--initial-branch=main")
            self.git("config", "uploadpack.allowFilter", "true")
            self.git("config", "uploadpack.allowAnySHA1InWant", "true")

    @property
    def url(self) -> str:
        """Its file:// URL."""
        return f"file://{self.path}"

    def git(self, *arguments: str, stdin: bytes | None = None) -> str:
        """What a git command in it printed."""
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=self.path, env=GIT_ENVIRONMENT, input=stdin, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, bytes]) -> str:
        """The id of a new commit on main that writes these files."""
        self._clock = max(self._clock + 60, int(time.time()))
        parent = b"from refs/heads/main^0\n" if self._has_main() else b""
        who = b"bench <bench> %d +0000" % self._clock
        stream = [b"commit refs/heads/main\ncommitter " + who + b"\ndata 6\nchange\n" + parent]
        for path, data in files.items():
            stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
        self.git("fast-import", "--quiet", "--force", stdin=b"".join(stream))
        return self.git("rev-parse", "refs/heads/main")

    def _has_main(self) -> bool:
        return bool(self.git("for-each-ref", "refs/heads/main"))


def playbook(name: str, *, size_bytes: int = 1_000, version: str = "1.0.0", word: str = "service") -> bytes:
    """A valid native playbook of about that size, in YAML as people write it."""
    head = (
        f"playbook: 1\nname: {name}\nversion: {version}\nowner: platform\ntags: [operations, {word}]\n"
        f"purpose: Bring {word} back to the state that {name} describes, when its alarms say so.\n"
        f"not_for:\n  - Planned maintenance of {word}, which has a playbook of its own.\n"
        f"inputs:\n  type: object\n  properties:\n    service: {{type: string}}\n    count: {{type: integer}}\n"
        "  required: [service]\n  additionalProperties: false\n"
        f"selection:\n  should_find:\n    - {word} is down after a deploy\n    - get {name} going again\n"
        "steps:\n"
    )
    steps: list[str] = []
    length = len(head)
    while length < size_bytes or not steps:
        number = len(steps) + 1
        steps.append(
            f"  - id: step-{number}\n    tool: shell.run\n"
            f"    instruction: >-\n      Look at what {word} reports in its log for step {number}, compare it with\n"
            "      what the dashboard shows, and write down which of the two was right.\n"
        )
        length += len(steps[-1])
    return (head + "".join(steps)).encode()
