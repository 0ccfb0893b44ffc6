"""`registry check` of 200 playbooks, the interpreter's start included, and a preview over a whole fleet.

The peer is an interpreter that imports what reads YAML and git and does nothing: what no such command can do without.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from load import paced
from stocked import CENTRAL_PLAYBOOKS, WORDS, central_file, central_repository, identity, stock
from support import GIT_ENVIRONMENT, Process, Row, folder, median, playbook, ratio, registry, rounds, table

PLAYBOOKS = 200
HELP_MAX_S = 0.3
CHECK_MAX_S = 2.0
PREVIEW_MAX_S = 5.0
REQUESTS_PER_S = 200
BARE = (sys.executable, "-c", "import yaml, pygit2")
REGISTRY = (sys.executable, "-m", "registry.cli")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--repositories", type=int, default=5_000)
    chosen = options.parse_args()
    with folder() as place:
        copy = working_copy(place / "copy")
        central = central_repository(place / "git" / "acme" / "playbooks")
        stock(place / "data", central, chosen.repositories)
        with registry(place / "data", central) as server:
            measure_commands(copy, server, chosen.rounds)
            measure_previews(server, chosen.repositories)


def measure_commands(copy: Path, server: Process, count: int) -> None:
    """CPU and wall-clock time of each way to call the command."""
    url = f"http://127.0.0.1:{server.port}"
    asking = ("--registry", url, "--repository", identity(0), "--base", "main")
    commands = {
        "an interpreter with yaml and pygit2": BARE,
        "registry --help": (*REGISTRY, "--help"),
        "registry check --help": (*REGISTRY, "check", "--help"),
        "registry check": (*REGISTRY, "check", str(copy)),
        "registry check --base": (*REGISTRY, "check", str(copy), "--base", "main"),
        "registry check --registry --base": (*REGISTRY, "check", str(copy), *asking),
    }
    limits = {name: HELP_MAX_S if "--help" in name else CHECK_MAX_S for name in list(commands)[1:]}
    walls: dict[str, list[float]] = {name: [] for name in commands}

    def timed(name: str) -> float:
        cpu_s, wall_s = cost(commands[name])
        walls[name].append(wall_s)
        return cpu_s

    taken = rounds(count, *(lambda name=name: timed(name) for name in commands))
    bare = taken[0]
    table(
        f"check: {PLAYBOOKS} playbooks, {count} rounds",
        ["CPU", "to the interpreter", "wall clock", "limit"],
        [
            Row(
                name,
                (
                    f"{median(cpu):.2f} s",
                    f"{ratio(cpu, bare):.1f}",
                    f"{median(walls[name]):.2f} s",
                    f"{limits[name]:g} s" if name in limits else "",
                ),
                median(cpu) <= limits[name] if name in limits else None,
            )
            for name, cpu in zip(commands, taken, strict=True)
        ],
        "The limit is held against the CPU time, which other work of the machine leaves alone. Selection cases are\n"
        f"tried in all of them, with a registry over its {CENTRAL_PLAYBOOKS} central playbooks too.",
    )


def measure_previews(server: Process, repositories: int) -> None:
    """How long a change of central takes to be worked out, and what it does to those who fetch catalogs meanwhile."""
    names = [central_file(number)[0].partition("/")[2].removesuffix(".yaml") for number in range(CENTRAL_PLAYBOOKS)]
    base = copies(names)
    bodies = {
        "a name required that all have": {"revision": copies(names, required=names[:1]), "base": base},
        "the same again": {"revision": copies(names, required=names[:1]), "base": base},
        "a name required that none has": {"revision": copies(names, required=names[-1:]), "base": base},
        "everything changed": {"revision": base},
    }
    rows = []
    for what, body in bodies.items():
        began_at, cpu_s = time.perf_counter(), server.cpu_s()
        status, _, _ = server.call("POST", "/v1/preview", {"role": "central", **body})
        wall_s, used_s = time.perf_counter() - began_at, server.cpu_s() - cpu_s
        if status != 200:
            raise SystemExit(f"{what}: {status}")
        rows.append(Row(what, (f"{wall_s:.2f} s", f"{used_s:.2f} s"), used_s <= PREVIEW_MAX_S))
    idle_ms = paced(server, "/v1/catalogs", seconds=4, per_s=REQUESTS_PER_S, connections=4).p99_ms
    beside = subprocess.Popen(
        [sys.executable, __file__, "--ask", str(server.port), ",".join(names[:1])], stdout=subprocess.DEVNULL
    )
    busy_ms = paced(server, "/v1/catalogs", seconds=4, per_s=REQUESTS_PER_S, connections=4).p99_ms
    beside.terminate()
    beside.wait()
    rows.append(Row("p99 of a catalog, idle", (f"{idle_ms:.1f} ms", "")))
    rows.append(Row("p99 of a catalog, beside previews without a pause", (f"{busy_ms:.1f} ms", "")))
    table(
        f"preview: a change of central over {repositories:,} repositories",
        ["measured", "CPU"],
        rows,
        f"The limit of a preview is {PREVIEW_MAX_S:g} s of CPU. One is worked out at a time, in a thread.",
    )


def ask_on(port: int, required: Sequence[str]) -> None:
    """Previews without a pause, until this process is ended."""
    server = Process(os.getpid(), port)
    names = [central_file(number)[0].partition("/")[2].removesuffix(".yaml") for number in range(CENTRAL_PLAYBOOKS)]
    body = {"role": "central", "revision": copies(names, required=required), "base": copies(names)}
    while True:
        server.call("POST", "/v1/preview", body)


def copies(names: Sequence[str], required: Sequence[str] = ()) -> dict[str, list[dict[str, object]]]:
    """A central working copy with a good copy of each name."""
    return {
        "copies": [
            {
                "name": name,
                "state": "good",
                "path": f".playbooks/{name}.yaml",
                "version": "1.0.0",
                "digest": f"sha256:{number:064x}",
                "required": name in required,
            }
            for number, name in enumerate(names)
        ]
    }


def working_copy(place: Path) -> Path:
    """A git working copy with the playbooks, one of them changed since main."""
    (place / "playbooks").mkdir(parents=True)
    for number in range(PLAYBOOKS):
        text = playbook(f"handle-{number}-{WORDS[number % 10]}", size_bytes=2_500, word=WORDS[number % 10])
        (place / "playbooks" / f"handle-{number}.yaml").write_bytes(text)
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "first"),
        ("switch", "--quiet", "--create", "change"),
    ):
        subprocess.run(["git", *arguments], cwd=place, env=GIT_ENVIRONMENT, check=True)
    (place / "playbooks" / "handle-0.yaml").write_bytes(
        playbook("handle-0-payments", size_bytes=2_500, version="2.0.0", word="payments")
    )
    return place


def cost(command: Sequence[str]) -> tuple[float, float]:
    """(CPU seconds, wall-clock seconds) of one run of a command and its children."""
    began_at = time.perf_counter()
    before = os.times()
    done = subprocess.run(command, capture_output=True, check=False)
    after = os.times()
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{' '.join(command)} exited {done.returncode}: {done.stderr.decode()[-500:]}")
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return used, time.perf_counter() - began_at


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ask"]:
        ask_on(int(sys.argv[2]), sys.argv[3].split(","))
    else:
        main()
