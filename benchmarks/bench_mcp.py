"""`search_playbooks` over MCP beside the same search over plain HTTP, at 10,000 documents, on the same server."""

import argparse
import itertools
import json
from collections.abc import Callable, Sequence
from urllib.parse import quote

from load import Load, in_turn
from support import Process, Repository, Row, folder, median, playbook, ratio, registry, rounds, table

DOCUMENTS = 10_000
CALLERS = 20
PACE_PER_S = 200
"""Of all callers together, where latency is measured: at full speed it would be that of their own queue."""
LIMIT = 5
SHARE_GOAL = 0.6
P99_GOAL_MS = 15.0
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
WORDS = (
    "payments", "search", "login", "mail", "stock", "prices", "tax", "maps", "chat", "photos", "orders", "cache",
    "queue", "certificate", "backup", "quota", "alert", "gateway", "catalogue", "invoice",
)  # fmt: skip
TROUBLES = ("is down after a deploy", "answers slowly since noon", "lost its newest data", "must go back one release")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=DOCUMENTS)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--seconds", type=float, default=2)
    chosen = options.parse_args()
    with folder() as place:
        central = Repository(place / "git" / "acme" / "playbooks")
        central.commit(dict(file(number) for number in range(chosen.documents)))
        with registry(place / "data", central) as server:
            rows = [measure(name, asked, chosen, server) for name, asked in subjects(server).items()]
    table(
        f"mcp: searches a second at {chosen.documents:,} documents, {CALLERS} callers, one serving process",
        ["mcp/s", "http/s", "mcp : http", "p99 ms", "paced p50 ms", "paced p99 ms", "http's paced p99 ms"],
        rows,
        "Every caller asks again as soon as it has its answer, so a request waits for those of all others; paced, they "
        f"ask {PACE_PER_S} times a second together.\nThe goals are a share of {SHARE_GOAL} or more, and a paced p99 of "
        f"{P99_GOAL_MS:g} ms or less.",
    )


def file(number: int) -> tuple[str, bytes]:
    """(path, bytes) of one playbook; words repeat as they do in a company's."""
    first, second = WORDS[number % len(WORDS)], WORDS[number // len(WORDS) % len(WORDS)]
    name = f"{first}-{second}-{number:05}"
    return f".playbooks/{name}.yaml", playbook(name, word=f"{first} {second}")


def tasks() -> list[str]:
    """What is searched for, each as an agent would say it."""
    return [
        f"our {one} {trouble}, and {two} waits for it"
        for one, trouble, two in itertools.product(WORDS, TROUBLES, WORDS)
    ]


def subjects(server: Process) -> dict[str, tuple[list[bytes], list[bytes]]]:
    """Case -> (requests over MCP, the same over HTTP)."""
    over_http = [get(server, f"/v1/search?limit={LIMIT}&q={quote(task)}") for task in tasks()]
    return {
        "2026-07-28": ([modern(server, task) for task in tasks()], over_http),
        "2025-06-18": ([legacy(server, task) for task in tasks()], over_http),
    }


def modern(server: Process, task: str) -> bytes:
    return post(
        server,
        call(task, META),
        {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "search_playbooks"},
    )


def legacy(server: Process, task: str) -> bytes:
    return post(server, call(task, {}), {"mcp-protocol-version": "2025-06-18"})


def call(task: str, meta: dict[str, object]) -> dict[str, object]:
    params = {
        "name": "search_playbooks",
        "arguments": {"task": task, "limit": LIMIT},
        **({"_meta": meta} if meta else {}),
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def get(server: Process, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()


def post(server: Process, body: dict[str, object], headers: dict[str, str]) -> bytes:
    data = json.dumps(body).encode()
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(data)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + data


def measure(name: str, asked: tuple[list[bytes], list[bytes]], chosen: argparse.Namespace, server: Process) -> Row:
    seen: tuple[list[Load], list[Load]] = ([], [])

    def reaching(place: int, requests: Sequence[bytes]) -> Callable[[], float]:
        def run() -> float:
            seen[place].append(in_turn(server, requests, seconds=chosen.seconds, connections=CALLERS))
            return seen[place][-1].per_s

        return run

    in_turn(server, asked[0], seconds=1, connections=CALLERS)  # what is made once was made
    over_mcp, over_http = rounds(chosen.rounds, *(reaching(place, requests) for place, requests in enumerate(asked)))
    share = ratio(over_mcp, over_http)
    paced = [
        [in_turn(server, requests, seconds=chosen.seconds, connections=CALLERS, per_s=PACE_PER_S) for requests in asked]
        for _ in range(chosen.rounds)
    ]
    p99_ms = median([load.p99_ms for load, _ in paced])
    return Row(
        name,
        (
            f"{median(over_mcp):,.0f}",
            f"{median(over_http):,.0f}",
            f"{share:.2f}",
            f"{median([load.p99_ms for load in seen[0]]):.1f}",
            f"{median([load.p50_ms for load, _ in paced]):.1f}",
            f"{p99_ms:.1f}",
            f"{median([load.p99_ms for _, load in paced]):.1f}",
        ),
        share >= SHARE_GOAL and p99_ms <= P99_GOAL_MS,
    )


if __name__ == "__main__":
    main()
