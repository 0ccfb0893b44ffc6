"""The problems of 5,000 repositories with 20 playbooks each under a central of 400: asked for, and found out.

Git is left out: what a look at a source needs of it is its own, and most looks need nothing.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stocked import central_repository, identity, stock
from support import Row, folder, median, ratio, registry, rounds, table

from registry.ports import Registration, RemoteHead, Store
from registry.service.catalogs import Catalogs
from registry.service.inforce import InForce
from registry.service.problems import Problems
from registry.service.repositories import Repositories
from registry.store.signals import SocketSignal
from registry.store.sql import open_store
from registry.sync.examination import Facts, Seen, Task, api_digest, central_made_of, examine

CACHE_BYTES = 256 * 1024 * 1024
CODE = "owner-not-in-codeowners"
OWNERS = b"/.playbooks/local-00-* @acme/somebody-else\n"
"""Of one playbook in each repository: a page of 200 rows is then of 200 repositories, which is the most."""
LOOKS_CPU_S_MAX = 40.0
QUERY_S_MAX = 0.5
FACTOR_MAX = 0.5
"""Of a page of problems to a page of registrations with as many rows."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repositories", type=int, default=5_000)
    options.add_argument("--rounds", type=int, default=7)
    chosen = options.parse_args()
    with folder() as place:
        central = central_repository(place / "git" / "acme" / "playbooks")
        stock(place / "data", central, chosen.repositories)
        with registry(place / "data", central):
            pass  # the real worker has read central
        store = open_store(f"sqlite:///{place / 'data' / 'registry.db'}")
        try:
            rows = measure(place, store, chosen.repositories, chosen.rounds)
        finally:
            store.close()
    table(
        f"problems: {chosen.repositories:,} repositories with 20 playbooks each, central of 400",
        ["measured", "limit or peer", "ratio"],
        rows,
        "A page has 200 rows, each of another repository. `first` is in a process that has read nothing yet, `again`\n"
        "the same later; its peer is a page of as many registrations. A look is the worker's, in CPU of one core, and\n"
        "goes on beside syncs. All purposes are from one template, which is the most to compare.",
    )


def measure(place: Path, store: Store, count: int, number: int) -> list[Row]:
    looked_s = look_at_all(store, [identity(item) for item in range(count)])
    again_s = look_at_all(store, [identity(item) for item in range(count)])
    problems, repositories = opened(place, store)
    first_s = taken_s(lambda: problems.page(codes=[CODE], limit=200))
    rare_s = taken_s(lambda: problems.page(codes=["shadow-drift"], limit=200))
    page, peer = rounds(
        number,
        lambda: taken_s(lambda: problems.page(codes=[CODE], limit=200)),
        lambda: taken_s(lambda: repositories.list(limit=200)),
    )
    tally_s = taken_s(problems.tally)
    share = ratio(page, peer)
    return [
        limit("first look at all", looked_s, LOOKS_CPU_S_MAX),
        limit("a look at all after a change of central", again_s, LOOKS_CPU_S_MAX),
        limit("a page of one code, first", first_s, QUERY_S_MAX),
        limit("a page of a code that nobody has", rare_s, QUERY_S_MAX),
        limit("the counts by code", tally_s, QUERY_S_MAX),
        Row(
            "a page of one code, again",
            (f"{median(page) * 1e3:.1f} ms", f"{median(peer) * 1e3:.1f} ms", f"{share:.2f}"),
            share <= FACTOR_MAX,
        ),
    ]


def limit(what: str, value: float, most: float) -> Row:
    return Row(what, (f"{value:.3f} s", f"{most:.3f} s", f"{value / most:.2f}"), value <= most)


def look_at_all(store: Store, identities: Sequence[str]) -> float:
    """CPU seconds of a look at every source, central's first, written as the worker does."""
    changes = store.changes_since(0)
    pointers = {item.repository: item.revision for item in changes.pointers}
    statuses = {item.repository: item for item in changes.statuses}
    rules = changes.rules
    if rules is None:
        raise SystemExit("a store without rules")
    began = time.process_time()
    facts = {
        item.id: Facts(item, Seen(statuses[item.id].ref or "", statuses[item.id].head or ""), pointers[item.id])
        for item in changes.registrations
        if item.id in pointers
    }
    central = next(item for item in facts.values() if item.is_central)
    wanted: frozenset[str] = frozenset()
    side = examine(Task(central, None, rules), NoGit(), store).side
    for start in range(0, len(identities), 250):
        found = [
            examine(Task(facts[item], side, rules, wanted), NoGit(), store) for item in identities[start : start + 250]
        ]
        store.put_remarks([item.remarks for item in found])
    if central_made_of(central, api_digest(rules)) == "":
        raise SystemExit("central was not looked at")
    return time.process_time() - began


def opened(place: Path, store: Store) -> tuple[Problems, Repositories]:
    """The services of a process that has just started."""
    in_force = InForce(store, now=now, cache_bytes=CACHE_BYTES)
    in_force.refresh()
    catalogs = Catalogs(in_force, store, now=now, poll_interval_s=60, cache_bytes=CACHE_BYTES)
    worker = SocketSignal(place / "signals")
    repositories = Repositories(in_force, catalogs, store, worker=worker, check_remote=str, now=now)
    return Problems(in_force, store), repositories


def taken_s(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def now() -> datetime:
    return datetime.now(UTC)


class NoGit:
    """Sources with a line of CODEOWNERS, and without history."""

    def open(self, registration: Registration) -> "NoGit":  # noqa: ARG002 - here and below, the ports' signatures
        return self

    def poll(self) -> RemoteHead:
        return Seen("", "")

    def fetch(self, head: RemoteHead) -> None:
        pass

    def read(self, commit: str) -> "NoGit":  # noqa: ARG002
        return self

    def list_files(self, **_: object) -> tuple[()]:
        return ()

    def tree_id(self, path: str) -> None:
        pass

    def blob_id(self, path: str) -> str | None:
        return "owners" if path == "CODEOWNERS" else None

    def hydrate(self, blob_ids: object) -> None:
        pass

    def read_blob(self, blob_id: str, max_bytes: int) -> bytes:  # noqa: ARG002
        return OWNERS

    def history(self, path: str, limit: int) -> Iterable[tuple[str, object]]:  # noqa: ARG002
        return ()

    def contents(self, paths: object, limit: int) -> Iterable[tuple[str, str, str | None]]:  # noqa: ARG002
        return ()

    def is_ancestor(self, old: str, new: str) -> bool:  # noqa: ARG002
        return False

    def close(self) -> None:
        pass


if __name__ == "__main__":
    main()
