"""The p99 of catalog GETs while 200 files a second are read, beside that of an idle registry."""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

from load import paced
from support import Process, Repository, Row, bare, folder, median, playbook, ratio, registry, rounds, table

GOAL = 1.5
FILES_PER_S = 200
REQUESTS_PER_S = 500
CONNECTIONS = 4
CATALOG = "/v1/catalogs"
NOISY = "github.com/acme/noisy"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--seconds", type=float, default=4)
    chosen = options.parse_args()
    with folder() as place:
        central = Repository(place / "git" / "acme" / "playbooks")
        central.commit({f".playbooks/{name}.yaml": playbook(name) for name in ("roll-back", "drain-node")})
        noisy = Repository(place / "git" / "acme" / "noisy")
        noisy.commit(files(0))
        with registry(place / "data", central) as server:
            server.call("PUT", f"/v1/repositories/{NOISY}", {"url": noisy.url, "team": "n"}, {"prefer": "wait=30"})
            read: list[int] = []
            answers = place / "answers"
            record(server, answers)
            with bare(answers) as peer:
                idle, busy, bare_idle, bare_busy = rounds(
                    chosen.rounds,
                    lambda: p99_ms(server, CATALOG, chosen.seconds),
                    lambda: beside_reading(server, noisy, read, lambda: p99_ms(server, CATALOG, chosen.seconds)),
                    lambda: p99_ms(peer, "/catalog", chosen.seconds),
                    lambda: beside_reading(server, noisy, read, lambda: p99_ms(peer, "/catalog", chosen.seconds)),
                )
    share = ratio(busy, idle)
    rows = [
        Row("idle", (f"{median(idle):.2f} ms", "1.00", "")),
        Row(
            f"{FILES_PER_S} files a second asked for",
            (f"{median(busy):.2f} ms", f"{share:.2f}", f"{median(read) / chosen.seconds:.0f}/s"),
            share <= GOAL,
        ),
        Row("a bare function: idle", (f"{median(bare_idle):.2f} ms", "1.00", "")),
        Row(
            "a bare function beside the same reading",
            (f"{median(bare_busy):.2f} ms", f"{ratio(bare_busy, bare_idle):.2f}", ""),
        ),
    ]
    table(
        f"noisy: p99 of a catalog GET of 2 KB, {REQUESTS_PER_S} a second over {CONNECTIONS} connections",
        ["p99", "ratio", "files read"],
        rows,
        f"The goal is a ratio of {GOAL} or less. The reading is the worker's, in a process of its own at nice 10; the\n"
        "load generator and git share the same cores: what happens to a bare function beside it is the machine's.",
    )


def files(round_number: int) -> dict[str, bytes]:
    names = [f"unit-{number:03}" for number in range(FILES_PER_S)]
    return {f".playbooks/{name}.yaml": playbook(name, version=f"1.0.{round_number}") for name in names}


def record(server: Process, answers: Path) -> None:
    """Write what the registry answers, for the peer to answer the same."""
    answers.mkdir()
    body = server.get(CATALOG)[2]
    (answers / "catalog.body").write_bytes(body)
    (answers / "catalog.json").write_text(json.dumps({"status": 200, "headers": [["content-length", str(len(body))]]}))


def p99_ms(server: Process, path: str, seconds: float) -> float:
    return paced(server, path, seconds=seconds, per_s=REQUESTS_PER_S, connections=CONNECTIONS).p99_ms


def beside_reading(server: Process, noisy: Repository, read: list[int], measure: Callable[[], float]) -> float:
    """The p99 while every second a push changes each of 200 files and a sync reads them."""
    stop, pushed = multiprocessing.Event(), multiprocessing.Value("i", 0)
    # In a process of its own, so that writing the pushes does not hold up whoever measures.
    pusher = multiprocessing.Process(target=push, args=(server, noisy, stop, pushed))
    pusher.start()
    try:
        return measure()
    finally:
        stop.set()
        pusher.join()
        read.append(pushed.value)


def push(server: Process, noisy: Repository, stop: Event, pushed: Synchronized) -> None:
    while not stop.is_set():
        began = time.monotonic()
        noisy.commit(files(time.monotonic_ns()))
        status, _, _ = server.call("POST", f"/v1/repositories/{NOISY}/sync", headers={"prefer": "wait=10"})
        pushed.value += FILES_PER_S if status == 200 else 0
        stop.wait(max(0.0, 1.0 - (time.monotonic() - began)))


if __name__ == "__main__":
    main()
