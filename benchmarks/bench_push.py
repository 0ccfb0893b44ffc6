"""How soon a push is served and found, in a registry of 1,000 repositories, beside a bare git fetch of it."""

import argparse
import json
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

from stocked import central_repository, identity, stock
from support import GIT_ENVIRONMENT, Process, Repository, Row, folder, median, playbook, registry, rounds, table

FACTOR, EXTRA_S = 1.5, 0.3
PUSHED = "github.com/acme/pushed"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repositories", type=int, default=1_000)
    options.add_argument("--rounds", type=int, default=11)
    chosen = options.parse_args()
    with folder() as place:
        central = central_repository(place / "git" / "acme" / "playbooks")
        stock(place / "data", central, chosen.repositories - 1)
        pushed = Repository(place / "git" / "acme" / "pushed")
        pushed.commit({f".playbooks/mine-{n:02}.yaml": playbook(f"mine-{n:02}") for n in range(20)})
        clone = place / "clone.git"
        subprocess.run(["git", "clone", "--quiet", "--bare", pushed.url, str(clone)], env=GIT_ENVIRONMENT, check=True)
        with registry(place / "data", central) as server:
            register(server, pushed)
            server.get(f"/v1/catalogs/{identity(0)}")
            ours, bare = rounds(chosen.rounds, lambda: push(server, pushed), lambda: fetch(pushed, clone))
    limit_s = FACTOR * median(bare) + EXTRA_S
    rows = [
        Row("bare git fetch of a push", (f"{1000 * median(bare):.0f} ms", "")),
        Row(f"limit: {FACTOR} times that + {1000 * EXTRA_S:.0f} ms", (f"{1000 * limit_s:.0f} ms", "1.00")),
        Row(
            "sync call to served and found",
            (f"{1000 * median(ours):.0f} ms", f"{median(ours) / limit_s:.2f}"),
            median(ours) <= limit_s,
        ),
    ]
    table(
        f"push: one changed file in one of {chosen.repositories:,} repositories",
        ["median", "of the limit"],
        rows,
        "Served and found means: the catalog carries the new version, and a search for its new words finds it.",
    )


def register(server: Process, pushed: Repository) -> None:
    status, _, body = server.call(
        "PUT", f"/v1/repositories/{PUSHED}", {"url": pushed.url, "team": "acme"}, {"prefer": "wait=30"}
    )
    if status >= 300:
        raise SystemExit(f"registering answered {status}: {body.decode()}")


def push(server: Process, pushed: Repository) -> float:
    """Seconds from the sync call until the pushed file is in the catalog and found."""
    word = f"kestrel{time.monotonic_ns()}"
    version = f"2.0.{time.monotonic_ns() % 1_000_000_000}"
    pushed.commit({".playbooks/mine-07.yaml": playbook("mine-07", version=version, word=word)})
    began = time.perf_counter()
    server.call("POST", f"/v1/repositories/{PUSHED}/sync", headers={"prefer": "wait=30"})
    while f'"version":"{version}"'.encode() not in server.get(f"/v1/catalogs/{PUSHED}")[2]:
        time.sleep(0.002)
    while not found(server, word):
        time.sleep(0.002)
    return time.perf_counter() - began


def found(server: Process, word: str) -> bool:
    body = json.loads(server.get(f"/v1/search?repository={PUSHED}&q={quote(f'{word} is down')}")[2])
    return any(word in row["purpose"] for row in body["results"][:1])


def fetch(pushed: Repository, clone: Path) -> float:
    """Seconds that git needs to bring a bare clone to a push of one file."""
    pushed.commit({".playbooks/mine-07.yaml": playbook("mine-07", word=f"bare{time.monotonic_ns()}")})
    began = time.perf_counter()
    command = ["git", "fetch", "--quiet", "origin", "+refs/heads/main:refs/heads/main"]
    subprocess.run(command, cwd=clone, env=GIT_ENVIRONMENT, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
