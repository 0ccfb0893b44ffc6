"""Putting what was read in force, in the order that a crash at any point can bear.

Original bytes, documents, index additions, then the pointer moves, then, once no reader can need them, index deletions.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from indexer.document import Document, document_id
from registry.catalog.documents import scope_of, to_document
from registry.catalog.revision import Revision
from registry.playbook.reading import LOADER_VERSION
from registry.ports import AuditEntry, IndexWriting, Pointer, Publication, Store
from registry.sync.step import StepResult

BATCH_MAX = 250
DELETION_GRACE = timedelta(seconds=30)
"""How long a copy that no longer serves stays in the index, for readers that still follow the old pointer."""
SYNC_PRINCIPAL = "registry-sync"


@dataclass(frozen=True, slots=True)
class _Deletion:
    due_at: datetime
    ids: frozenset[str]


class Publisher:
    """Publishes step results in batches and keeps the index equal to what is in force. Used by one thread."""

    def __init__(self, store: Store, index: IndexWriting, now: Callable[[], datetime]) -> None:
        self._store = store
        self._index = index
        self._now = now
        self._in_force: dict[str, frozenset[str]] = {}
        self._deletions: list[_Deletion] = []

    def reconcile(self, pointers: Iterable[Pointer]) -> frozenset[str]:
        """Make the index hold exactly what the pointers say; returns the sources that another loader has read.

        What is missing comes from the stored documents, so a lost or newly made index needs no git.
        """
        outdated: set[str] = set()
        wanted: dict[str, tuple[str, str, str]] = {}
        for pointer, body in self._bodies(pointers):
            loader, documents = _stored(body)
            if loader != LOADER_VERSION:
                outdated.add(pointer.repository)
            self._in_force[pointer.repository] = frozenset(documents)
            wanted.update(documents)
        present = set(self._index.ids())
        missing = {key: wanted[key] for key in wanted.keys() - present}
        surplus = present - wanted.keys()
        for start in range(0, len(missing), 5_000):
            keys = sorted(missing)[start : start + 5_000]
            self._index.apply(self._to_documents({key: missing[key] for key in keys}), ())
        if surplus:
            self._index.apply((), surplus)
        self._index.finish()
        return frozenset(outdated)

    def _bodies(self, pointers: Iterable[Pointer]) -> Iterator[tuple[Pointer, bytes]]:
        """Each pointer with its revision's bytes, where the store has it; few of them in memory at a time."""
        rest = iter(pointers)
        while batch := list(islice(rest, BATCH_MAX)):
            bodies = self._store.revisions([pointer.revision for pointer in batch])
            yield from ((pointer, bodies[pointer.revision]) for pointer in batch if pointer.revision in bodies)

    def publish(self, results: Sequence[StepResult]) -> tuple[bool, ...]:
        """Whether each result's revision is in force now; results without a revision count as true."""
        outcome: list[bool] = []
        for start in range(0, len(results), BATCH_MAX):
            outcome.extend(self._publish_batch(results[start : start + BATCH_MAX]))
        return tuple(outcome)

    def forget(self, repository: str) -> None:
        """Let a deregistered source's documents go."""
        self._delete_later(self._in_force.pop(repository, frozenset()))

    def delete_due(self) -> None:
        """Delete from the index what was superseded long enough ago and is not in force again."""
        now = self._now()
        due = [item for item in self._deletions if item.due_at <= now]
        if not due:
            return
        self._deletions = [item for item in self._deletions if item.due_at > now]
        in_force = frozenset().union(*self._in_force.values())
        ids = frozenset().union(*(item.ids for item in due)) - in_force
        if ids:
            self._index.apply((), ids)

    def _publish_batch(self, results: Sequence[StepResult]) -> list[bool]:
        reads = [result.read for result in results if result.read is not None]
        if not reads:
            return [True] * len(results)
        self._store.put_blobs({digest: data for result in results for digest, data in result.blobs.items()})
        documents = {digest: body for read in reads for digest, body in read.documents.items()}
        self._store.put_documents(documents)
        additions: dict[str, tuple[str, str, str]] = {}
        for read in reads:
            wanted = _documents(read.revision)
            known = self._in_force.get(read.revision.repository, frozenset())
            additions.update({key: wanted[key] for key in wanted.keys() - known})
        if additions:
            self._index.apply(self._to_documents(additions), ())
        moved = iter(self._store.publish([_publication(result) for result in results if result.read is not None]))
        outcome = []
        for result in results:
            outcome.append(True if result.read is None else next(moved))
            if result.read is not None:
                self._follow(result, moved=outcome[-1])
        return outcome

    def _follow(self, result: StepResult, *, moved: bool) -> None:
        if result.read is None:
            return
        repository = result.registration.id
        new = frozenset(_documents(result.read.revision))
        if not moved:
            self._delete_later(new - self._in_force.get(repository, frozenset()))
            return
        self._delete_later(self._in_force.get(repository, frozenset()) - new)
        self._in_force[repository] = new
        for sentence in result.lost:
            self._store.add_audit(
                AuditEntry(
                    self._now(), SYNC_PRINCIPAL, "rules-weakened", repository, sentence, _at(result.read.revision)
                )
            )

    def _delete_later(self, ids: Collection[str]) -> None:
        if ids:
            self._deletions.append(_Deletion(self._now() + DELETION_GRACE, frozenset(ids)))

    def _to_documents(self, wanted: dict[str, tuple[str, str, str]]) -> list[Document]:
        bodies = self._store.documents({digest for _, digest, _ in wanted.values()})
        return [
            to_document(bodies[digest], scope=scope, digest=digest, key=name)
            for scope, digest, name in wanted.values()
            if digest in bodies
        ]


def _publication(result: StepResult) -> Publication:
    if result.read is None:
        raise ValueError("a result without a revision is not published")
    return Publication(result.registration.id, result.expected, result.read.digest, result.read.body, {}, result.counts)


def _documents(revision: Revision) -> dict[str, tuple[str, str, str]]:
    """Index id -> (scope, digest, name) of every copy that could serve."""
    scope = scope_of(revision.kind, revision.repository)
    heads = (copy.head for copy in revision.copies if copy.head is not None)
    return {document_id(scope, head.digest): (scope, head.digest, head.name) for head in heads}


def _stored(body: bytes) -> tuple[str, dict[str, tuple[str, str, str]]]:
    """(loader, the same) of a revision's stored bytes, without making its objects: a start looks at every one."""
    data = json.loads(body)
    scope = scope_of(data["kind"], data["repository"])
    heads = (copy["head"] for copy in data["copies"] if copy["head"] is not None)
    documents = {document_id(scope, head["digest"]): (scope, head["digest"], head["name"]) for head in heads}
    return str(data["loader"]), documents


def _at(revision: Revision) -> dict[str, str]:
    return {"commit": revision.commit}
