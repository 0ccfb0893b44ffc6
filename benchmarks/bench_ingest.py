"""How long 5,000 playbooks of one repository take from fetched to in force, beside a bare reader of the same files."""

import argparse
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import yaml
from support import Repository, Row, folder, median, playbook, ratio, rounds, table

from indexer.writer import IndexWriter
from registry import wiring
from registry.git.child import ChildSettings
from registry.git.sources import GitSources
from registry.ports import AuditEntry, Registration, Role, SyncStatus
from registry.processes import collect_rarely
from registry.settings import Settings
from registry.sync.publisher import Publisher
from registry.sync.readings import ReadingCache
from registry.sync.step import Assignment, run_steps

GOAL = 3.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--playbooks", type=int, default=5_000)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    with folder() as place:
        repository = Repository(place / "git" / "acme" / "large")
        names = [f"restart-{number:05}" for number in range(chosen.playbooks)]
        repository.commit({f".playbooks/{name}.yaml": playbook(name, word=f"unit{name[-5:]}") for name in names})
        collect_rarely()  # as the worker does
        ours, bare = rounds(chosen.rounds, lambda: ingest(place, repository), lambda: read_bare(repository))
    share = ratio(ours, bare)
    rows = [
        Row("pygit2 and libyaml's C loader", (f"{median(bare):.2f} s", "1.00")),
        Row("fetched to in force", (f"{median(ours):.2f} s", f"{share:.2f}"), share <= GOAL),
    ]
    table(
        f"ingest: {chosen.playbooks:,} playbooks of 1 KB in one repository",
        ["median", "ratio"],
        rows,
        f"In force means: read, checked, digested, stored durably, indexed and committed. The goal is a ratio of "
        f"{GOAL:.0f} or less.",
    )


def ingest(place: Path, repository: Repository) -> float:
    """Seconds from a fetched mirror to a moved pointer, in an empty registry, by the worker's own steps."""
    data = place / "data"
    shutil.rmtree(data, ignore_errors=True)
    settings = Settings(data_dir=data, central_url=f"{repository.url}-central", allow_file_remotes=True)
    store = wiring.prepare(settings)
    at = datetime.now(UTC)
    registration = Registration("github.com/acme/large", Role.SERVICE, repository.url, None, "acme", None, (), None, at)
    store.register(registration, AuditEntry(at, "bench", "repository-registered", registration.id))
    index = IndexWriter(data / "index")
    sources = GitSources(data / "mirrors", wiring.remote_policy(settings), ChildSettings())
    try:
        source = sources.open(registration)
        source.fetch(source.poll())
        assignment = Assignment(registration, wiring.plan_for(settings), SyncStatus(registration.id), None)
        publisher = Publisher(store, index, lambda: at)
        began = time.perf_counter()
        results = run_steps(
            source, (assignment,), load_revision=store.revision, blobs=store, cache=ReadingCache(), now=lambda: at
        )
        if publisher.publish(results) != (True,) or results[0].read is None:
            raise SystemExit(f"not in force: {results[0].status}")
        return time.perf_counter() - began
    finally:
        sources.close()
        index.close()
        store.close()


def read_bare(repository: Repository) -> float:
    """Seconds to read the same blobs and parse them, with nothing else done."""
    began = time.perf_counter()
    git = pygit2.Repository(str(repository.path))
    tree = git.revparse_single("refs/heads/main:.playbooks")
    for entry in tree:
        yaml.load(git[entry.id].data, Loader=yaml.CSafeLoader)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
