"""A company's size: a central repository of 400 playbooks and 5,000 repositories with 20 of their own each.

What a central change, a mark and a start cost when they touch everybody, and what all processes hold in memory.
"""

import argparse
import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stocked import central_file, central_repository, identity, stock
from support import Process, Repository, Row, bare, folder, registry, table

CLIENTS = 32
RESIDENT_MIB_MAX = 600
READ_CPU_S_MAX = 5.0
CHANGE_S_MAX, MARK_S_MAX, START_S_MAX = 3.0, 1.0, 5.0
STORE_FACTOR_MAX = 0.02
"""What a reading of everything may add to the store, as a share of the bytes that were read."""
REREAD_MAX = 5
"""Of all repositories, how many may happen to be due within the first seconds."""
CHANGED = 7
MARKED = 3


@dataclass
class Watch:
    """The most that the processes held at any time; measured four times a second until it is stopped."""

    process: Process
    most_mib: float = 0.0
    plain_mib: float = 0.0
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.stopped.wait(0.25):
            self.look()

    def look(self) -> float:
        now, plain = self.process.resident_mib()
        self.most_mib, self.plain_mib = max(self.most_mib, now), max(self.plain_mib, plain)
        return now


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repositories", type=int, default=5_000)
    options.add_argument("--folder", type=Path, help="keep the prepared data here, and use what is there already")
    chosen = options.parse_args()
    with folder() as temporary:
        place = chosen.folder or temporary
        central = Repository(place / "git" / "acme" / "playbooks")
        if not (place / "data").exists():
            began = time.perf_counter()
            central = central_repository(place / "git" / "acme" / "playbooks")
            stock(place / "data", central, chosen.repositories)
            with registry(place / "data", central):
                pass
            print(f"  prepared in {time.perf_counter() - began:.0f} s", flush=True)
        rows = measure(place, central, [identity(number) for number in range(chosen.repositories)])
    table(
        f"fleet: central of 400 playbooks, {chosen.repositories:,} repositories with 20 each",
        ["measured", "limit", "measured : limit"],
        rows,
        "Durations are of the whole registry (server and worker), seen from a client. `read all` counts CPU of every\n"
        "process of the registry. Memory is proportional (shared pages once), the most at any time of the run.\n"
        "The repositories are put in force by the real publisher without git; central is a real repository.",
    )


def limit(what: str, value: float, most: float, unit: str) -> Row:
    return Row(what, (f"{value:,.2f} {unit}", f"{most:,.2f} {unit}", f"{value / most:.2f}"), value <= most)


def count(what: str, value: int) -> Row:
    return Row(what, (f"{value}", "0", ""), value == 0)


def measure(place: Path, central: Repository, ids: Sequence[str]) -> list[Row]:
    data = place / "data"
    began = time.perf_counter()
    with registry(data, central) as server:
        start_s = time.perf_counter() - began
        watch = Watch(server)
        threading.Thread(target=watch.run, daemon=True).start()
        rows = [limit("start: ready after", start_s, START_S_MAX, "s")]
        time.sleep(3)
        rows += [
            limit("start: repositories looked at again", reread(server), REREAD_MAX, ""),
            memory("resident, idle", watch.look()),
        ]
        rows += reading(server, data, ids, "read all, first time", lambda _body: True)
        rows += reading(server, data, ids, "read all, second time", lambda _body: True)
        rows += change(server, central, data, ids)
        rows += mark(server, data, ids)
        watch.stopped.set()
        rows.append(memory("resident, most", watch.most_mib))
        rows.append(
            Row("for comparison, the same bytes from a bare function: CPU", (floor(server, place, ids), "", ""))
        )
        rows.append(Row("resident, most, shared pages counted again", (f"{watch.plain_mib:,.0f} MiB", "", "")))
    return rows


def memory(what: str, value: float) -> Row:
    return limit(what, value, RESIDENT_MIB_MAX, "MiB")


def reread(server: Process) -> int:
    """How many repositories the worker looked into since the start: their state would no longer be `ok`."""
    # Their remotes lead nowhere, so whoever is looked at becomes unreachable.
    body = server.get("/v1/repositories?state=unreachable&limit=200")[2]
    return body.count(b'"id":')


def reading(server: Process, data: Path, ids: Sequence[str], what: str, is_right: Callable[[bytes], bool]) -> list[Row]:
    before_bytes, before_s, began = store_bytes(data), server.cpu_s(), time.perf_counter()
    read_bytes, wrong = asyncio.run(read_all(server.port, [f"/v1/catalogs/{item}" for item in ids], is_right))
    took_s, cpu_s = time.perf_counter() - began, server.cpu_s() - before_s
    grown = store_bytes(data) - before_bytes
    return [
        limit(f"{what}: CPU", cpu_s, READ_CPU_S_MAX, "s"),
        Row(f"{what}: took", (f"{took_s:.2f} s", "", "")),
        count(f"{what}: old or wrong answers", wrong),
        limit(f"{what}: store grew by", grown / 2**20, STORE_FACTOR_MAX * read_bytes / 2**20, "MiB"),
    ]


def change(server: Process, central: Repository, data: Path, ids: Sequence[str]) -> list[Row]:
    path, text = central_file(CHANGED, version=f"2.0.{int(time.time())}")
    version = re.search(rb"version: (\S+)", text)
    central.commit({path: text})
    is_new = b'"version":"' + (version[1] if version else b"") + b'"'
    began = time.perf_counter()
    central_id = find_central(server)
    status, _, body = server.call("POST", f"/v1/repositories/{central_id}/sync", headers={"prefer": "wait=30"})
    took_s = time.perf_counter() - began
    if status != 200:
        raise SystemExit(f"sync answered {status}: {body.decode()}")
    return [
        limit("central change: all keys current after", took_s, CHANGE_S_MAX, "s"),
        *reading(server, data, ids, "central change, read all", lambda body: is_new in body),
    ]


def mark(server: Process, data: Path, ids: Sequence[str]) -> list[Row]:
    name = central_file(MARKED)[0].partition("/")[2].removesuffix(".yaml")
    began = time.perf_counter()
    status, _, body = server.call("PUT", f"/v1/policy/required/{name}", {"reason": "measured"})
    took_s = time.perf_counter() - began
    if status != 200:
        raise SystemExit(f"the mark answered {status}: {body.decode()}")
    is_marked = re.compile(rb'"outcome":"required_holds"[^{}]*|"required":true')
    return [
        limit("mark: obeyed by all after", took_s, MARK_S_MAX, "s"),
        *reading(server, data, ids, "mark, read all", lambda body: is_marked.search(body) is not None),
    ]


def floor(server: Process, place: Path, ids: Sequence[str]) -> str:
    """The CPU that a plain ASGI function uses to send as many answers of that size."""
    answers = place / "answers"
    answers.mkdir(exist_ok=True)
    (answers / "all.body").write_bytes(server.get(f"/v1/catalogs/{ids[0]}")[2])
    length = str((answers / "all.body").stat().st_size)
    (answers / "all.json").write_text(json.dumps({"status": 200, "headers": [["content-length", length]]}))
    with bare(answers) as peer:
        before_s = peer.cpu_s()
        asyncio.run(read_all(peer.port, ["/all"] * len(ids), lambda _body: True))
        return f"{peer.cpu_s() - before_s:.2f} s"


def find_central(server: Process) -> str:
    found = re.search(rb'"id":"([^"]+)","role":"central"', server.get("/v1/repositories?team=platform")[2])
    if found is None:
        raise SystemExit("no central repository is registered")
    return found[1].decode()


def store_bytes(data: Path) -> int:
    return sum(path.stat().st_size for path in data.glob("registry.db*"))


async def read_all(port: int, paths: Sequence[str], is_right: Callable[[bytes], bool]) -> tuple[int, int]:
    """(bytes read, answers that were not right) of one GET for each path, 32 at a time."""
    waiting, read_bytes, wrong = list(reversed(paths)), 0, 0

    async def client() -> None:
        nonlocal read_bytes, wrong
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        while waiting:
            writer.write(f"GET {waiting.pop()} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            body = await reader.readexactly(int(length[1]) if length else 0)
            read_bytes += len(body)
            wrong += not (head.startswith(b"HTTP/1.1 200") and is_right(body))
        writer.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return read_bytes, wrong


if __name__ == "__main__":
    main()
