"""A host's session start over stdio: from the bridge's process to its first tool result, beside a bare interpreter.

The cache is warm, and the server is on this machine or not to be reached.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from support import GIT_ENVIRONMENT, Process, Repository, Row, folder, median, playbook, ratio, registry, rounds, table

OWN = 20
REPOSITORY = "local/acme/app"
START_GOAL_S = 0.6
CPU_GOAL_S = 0.25
COMMAND = str(Path(sys.executable).with_name("registry"))
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
SEARCH = {"name": "search_playbooks", "arguments": {"task": "the checkout service is down after a deploy"}}


@dataclass(frozen=True, slots=True)
class Start:
    """One start: seconds until the answer was read, and seconds of CPU that the process had used at its end."""

    wall_s: float
    cpu_s: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--playbooks", type=int, default=400)
    options.add_argument("--rounds", type=int, default=11)
    chosen = options.parse_args()
    with folder() as place:
        central = Repository(place / "git" / "acme" / "playbooks")
        central.commit({f"playbooks/central-{n:04}.yaml": playbook(f"central-{n:04}") for n in range(chosen.playbooks)})
        app = Repository(place / "git" / "acme" / "app")
        app.commit({f"playbooks/own-{n:02}.yaml": playbook(f"own-{n:02}") for n in range(OWN)})
        copy = place / "copy"
        subprocess.run(["git", "clone", "--quiet", app.url, str(copy)], env=GIT_ENVIRONMENT, check=True)
        with registry(place / "data", central) as server:
            register(server, app)
            environment = {
                **GIT_ENVIRONMENT,
                "REGISTRY_URL": f"http://127.0.0.1:{server.port}",
                "REGISTRY_CACHE_DIR": str(place / "cache"),
            }
            command = [COMMAND, "mcp", "--repo", str(copy), "--repository", REPOSITORY]
            start(command, environment, request("tools/call", SEARCH))
            kept: dict[str, list[Start]] = {"bare": [], "handshake": [], "online": [], "offline": []}
            subjects = {
                "bare": lambda: bare(environment),
                "handshake": lambda: start(command, environment, request("initialize", HELLO)),
                "online": lambda: start(command, environment, request("tools/call", SEARCH)),
                "offline": lambda: start(command, environment, request("tools/call", SEARCH)),
            }

            def noted(name: str) -> float:
                kept[name].append(subjects[name]())
                return kept[name][-1].wall_s

            rounds(chosen.rounds, *(lambda name=name: noted(name) for name in ("bare", "handshake", "online")))
        # The server is gone from here on: the same address, and nobody there.
        rounds(chosen.rounds, lambda: noted("offline"))
    rows = [
        row("a bare interpreter", kept["bare"], kept["bare"], None),
        row("handshake", kept["handshake"], kept["bare"], cpu(kept["handshake"]) <= CPU_GOAL_S),
        row("first result, warm cache", kept["online"], kept["bare"], wall(kept["online"]) <= START_GOAL_S),
        row("first result, offline", kept["offline"], kept["bare"], wall(kept["offline"]) <= START_GOAL_S),
    ]
    table(
        f"bridge: session start with {chosen.playbooks + OWN} playbooks",
        ["wall s", "CPU s", "CPU : bare"],
        rows,
        f"The goals are {START_GOAL_S:g} s to the first result, online and offline, and {CPU_GOAL_S:g} s of CPU for a "
        "start that answers the handshake.",
    )


def request(method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def start(command: list[str], environment: dict[str, str], asked: bytes) -> Start:
    """A process that is asked one thing, and ended once it has answered."""
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(asked)
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    wall_s = time.perf_counter() - began
    if "error" in answer or answer["result"].get("isError"):
        raise SystemExit(f"the bridge answered {json.dumps(answer)[:500]}")
    process.stdin.close()
    return Start(wall_s, ended_cpu_s(process))


def bare(environment: dict[str, str]) -> Start:
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", "print(1)"], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return Start(time.perf_counter() - began, ended_cpu_s(process))


def ended_cpu_s(process: "subprocess.Popen[bytes]") -> float:
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.stdout is not None:
        process.stdout.close()
    return used.ru_utime + used.ru_stime


def register(server: Process, app: Repository) -> None:
    status, _, body = server.call(
        "PUT", f"/v1/repositories/{REPOSITORY}", {"url": app.url, "team": "acme"}, {"prefer": "wait=30"}
    )
    if status >= 300:
        raise SystemExit(f"registering answered {status}: {body.decode()}")


def wall(starts: list[Start]) -> float:
    return median([each.wall_s for each in starts])


def cpu(starts: list[Start]) -> float:
    return median([each.cpu_s for each in starts])


def row(what: str, starts: list[Start], peers: list[Start], met: bool | None) -> Row:  # noqa: FBT001
    times = ratio([each.cpu_s for each in starts], [each.cpu_s for each in peers])
    return Row(what, (f"{wall(starts):.2f}", f"{cpu(starts):.2f}", f"{times:.1f}"), met)


if __name__ == "__main__":
    main()
