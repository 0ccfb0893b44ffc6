"""Content in the store: documents, revisions, what is in force, and the snapshots that were handed out."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Table, select

from registry.ports import Publication, Recipe
from registry.store import models, rows
from registry.store.engine import Transactions, Writing, batches
from registry.store.sources import registered

PUBLICATIONS_PER_WRITE = 250


class Content(Transactions):
    """The part of the store that knows bytes by digest and which of them are in force."""

    def publish(self, publications: Sequence[Publication]) -> tuple[bool, ...]:
        """For each publication whether its pointer moved (False: it was not `expected`, or was deregistered).

        One transaction for every 250 of them, in their order.
        """
        moved: list[bool] = []
        for start in range(0, len(publications), PUBLICATIONS_PER_WRITE):
            with self._database.writing() as writing:
                moved += _publish(writing, publications[start : start + PUBLICATIONS_PER_WRITE])
        return tuple(moved)

    def revision(self, digest: str) -> bytes | None:
        """The body of a revision."""
        table = models.revisions
        with self._database.reading() as connection:
            body = connection.execute(select(table.c.body).where(table.c.digest == digest)).scalar_one_or_none()
            return None if body is None else bytes(body)

    def revisions(self, digests: Collection[str]) -> dict[str, bytes]:
        """Digest -> body of the stored revisions among `digests`."""
        return self._bodies(models.revisions, digests)

    def documents(self, digests: Collection[str]) -> dict[str, bytes]:
        """Digest -> bytes of the stored documents among `digests`."""
        return self._bodies(models.documents, digests)

    def _bodies(self, table: Table, digests: Collection[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        with self._database.reading() as connection:
            for batch in batches(sorted(set(digests))):
                chosen = select(table.c.digest, table.c.body).where(table.c.digest.in_(batch))
                found |= {digest: bytes(body) for digest, body in connection.execute(chosen)}
        return found

    def put_documents(self, documents: Mapping[str, bytes]) -> None:
        """Store immutable bytes by digest; what is there already stays."""
        if not documents:
            return
        with self._database.writing() as writing:
            _put_bodies(writing, models.documents, documents)

    def hand_out(self, recipes: Mapping[str, Recipe], at: datetime) -> None:
        """Remember snapshot digests before their bytes leave the house; known ones are left alone."""
        table = models.snapshots
        with self._database.reading() as connection:  # a digest is handed out often and written once
            known = {
                digest
                for batch in batches(sorted(recipes))
                for digest in connection.execute(select(table.c.digest).where(table.c.digest.in_(batch))).scalars()
            }
        fresh = [
            rows.snapshot_row(digest, recipe, at) for digest, recipe in sorted(recipes.items()) if digest not in known
        ]
        if fresh:
            with self._database.writing() as writing:
                writing.insert_missing(table, fresh)

    def recipe(self, digest: str) -> Recipe | None:
        """How a snapshot that was handed out is composed, or None for a digest never handed out."""
        table = models.snapshots
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.digest == digest)).mappings().one_or_none()
            return None if row is None else rows.recipe(row)


def _publish(writing: Writing, publications: Sequence[Publication]) -> list[bool]:
    # Nobody else writes meanwhile, so what is in force is read once; a second step of one source follows its first.
    repositories = [publication.repository for publication in publications]
    live = registered(writing.connection, repositories)
    in_force = _in_force(writing, repositories)
    moving: list[Publication] = []
    moved: list[bool] = []
    for publication in publications:
        moves = publication.repository in live and in_force.get(publication.repository) == publication.expected
        if moves:
            in_force[publication.repository] = publication.revision
            moving.append(publication)
        moved.append(moves)
    if not moving:
        writing.abandon()
        return moved
    _put_bodies(writing, models.documents, {digest: body for step in moving for digest, body in step.documents.items()})
    _put_bodies(writing, models.revisions, {step.revision: step.body for step in moving})
    last = {step.repository: step for step in moving}
    writing.put(models.pointers, [rows.pointer_row(last[repository]) for repository in sorted(last)])
    return moved


def _in_force(writing: Writing, repositories: Collection[str]) -> dict[str, str]:
    table = models.pointers
    chosen = select(table.c.repository, table.c.revision).where(table.c.repository.in_(sorted(set(repositories))))
    return {row.repository: row.revision for row in writing.connection.execute(chosen)}


def _put_bodies(writing: Writing, table: Table, bodies: Mapping[str, bytes]) -> None:
    # In the order of the digests, which is that of the key's index: a large batch then touches each page once.
    writing.insert_missing(table, [{"digest": digest, "body": bodies[digest]} for digest in sorted(bodies)])
