"""The load generators: as many requests as go, or so many a second."""

import asyncio
import itertools
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from support import Process

LATENCY_BUCKET = re.compile(r"^\s+(50|99)%\s+([\d.]+)(us|ms|s)\s*$", re.MULTILINE)
UNIT_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


@dataclass(frozen=True, slots=True)
class Load:
    """What a load generator saw."""

    per_s: float
    p50_ms: float
    p99_ms: float


def load(
    process: Process, path: str, headers: Mapping[str, str], *, seconds: float, connections: int = 32, status: int = 200
) -> Load:
    """Requests for one path over kept connections for some seconds: by wrk if it is there, else by this process."""
    found = process.get(path, headers)[0]
    if found != status:
        raise SystemExit(f"{path} answered {found}, expected {status}: nothing was measured.")
    if shutil.which("wrk"):
        return _wrk(process, path, headers, seconds, connections)
    return asyncio.run(_load(process, path, headers, seconds, connections))


def _wrk(process: Process, path: str, headers: Mapping[str, str], seconds: float, connections: int) -> Load:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency"]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    done = subprocess.run(
        [*command, f"http://127.0.0.1:{process.port}{path}"], check=True, capture_output=True, text=True
    )
    latency = {share: float(value) * UNIT_MS[unit] for share, value, unit in LATENCY_BUCKET.findall(done.stdout)}
    found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    return Load(float(found[1]) if found else 0.0, latency.get("50", 0.0), latency.get("99", 0.0))


def paced(process: Process, path: str, *, seconds: float, per_s: float, connections: int) -> Load:
    """What so many requests a second see; a generator at full speed would only measure its own queue."""
    return asyncio.run(_paced(process, path, seconds, per_s, connections))


def in_turn(
    process: Process, requests: Sequence[bytes], *, seconds: float, connections: int, per_s: float | None = None
) -> Load:
    """Whole requests, each connection sending the next of them as soon as it has its answer; every one must be 200.

    With `per_s`, so many a second over all connections together.
    """
    return asyncio.run(_in_turn(process, requests, seconds, connections, per_s))


async def _in_turn(
    process: Process, requests: Sequence[bytes], seconds: float, connections: int, per_s: float | None
) -> Load:
    start = time.perf_counter()
    end = start + seconds
    taken_ms: list[float] = []
    turn = itertools.count()

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
        due = itertools.count(number, connections)
        while True:
            if per_s is not None:
                await asyncio.sleep(start + next(due) / per_s - time.perf_counter())
            if (began := time.perf_counter()) >= end:
                break
            writer.write(requests[next(turn) % len(requests)])
            if not (await _read_answer(reader)).startswith(b"HTTP/1.1 200"):
                raise SystemExit("an answer was not 200: nothing was measured.")
            taken_ms.append(1_000 * (time.perf_counter() - began))
        writer.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    return _summary(taken_ms, seconds)


async def _paced(process: Process, path: str, seconds: float, per_s: float, connections: int) -> Load:
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{process.port}\r\n\r\n".encode()
    taken_ms: list[float] = []
    start = time.perf_counter() + 0.05

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
        for due in range(number, round(seconds * per_s), connections):
            await asyncio.sleep(start + due / per_s - time.perf_counter())
            began = time.perf_counter()
            writer.write(request)
            await _read_answer(reader)
            taken_ms.append(1_000 * (time.perf_counter() - began))
        writer.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    return _summary(taken_ms, seconds)


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    await reader.readexactly(int(length[1]) if length and b" 304 " not in head else 0)
    return head


def _summary(taken_ms: list[float], seconds: float) -> Load:
    taken_ms.sort()
    return Load(len(taken_ms) / seconds, taken_ms[len(taken_ms) // 2], taken_ms[int(0.99 * (len(taken_ms) - 1))])


async def _load(process: Process, path: str, headers: Mapping[str, str], seconds: float, connections: int) -> Load:
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{process.port}", *(f"{k}: {v}" for k, v in headers.items())]
    request = "\r\n".join([*lines, "", ""]).encode()
    end = time.perf_counter() + seconds
    taken_ms: list[float] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
        while (began := time.perf_counter()) < end:
            writer.write(request)
            await _read_answer(reader)
            taken_ms.append(1_000 * (time.perf_counter() - began))
        writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    return _summary(taken_ms, seconds)
