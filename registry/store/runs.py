"""The record of runs in the store."""

from sqlalchemy import insert, or_, select

from registry.runs.record import Run
from registry.store import models, rows
from registry.store.engine import Transactions


class Runs(Transactions):
    """The part of the store that remembers which runs were opened."""

    def put_run(self, run: Run) -> None:
        """Insert a run; Conflict where its id is taken, or its request's key by another run of that principal."""
        with self._database.writing() as writing:
            writing.connection.execute(insert(models.runs), [{**rows.run_row(run), "sequence": writing.sequence}])

    def run(self, run_id: str) -> Run | None:
        """The run of that id, or None."""
        chosen = select(models.runs).where(models.runs.c.id == run_id)
        with self._database.reading() as connection:
            row = connection.execute(chosen).mappings().one_or_none()
            return None if row is None else rows.run(row)

    def run_by_key(self, principal: str, key: str) -> Run | None:
        """The run that a principal opened with that key of a request, or None."""
        table = models.runs
        chosen = select(table).where(table.c.principal == principal, table.c.request_key == key)
        with self._database.reading() as connection:
            row = connection.execute(chosen).mappings().one_or_none()
            return None if row is None else rows.run(row)

    def runs(
        self,
        *,
        repository: str | None = None,
        name: str | None = None,
        seen_by: tuple[str, str | None] | None = None,
        limit: int,
        before: str | None = None,
    ) -> tuple[Run, ...]:
        """Runs, newest first, at most `limit` of those that fit."""
        table = models.runs
        chosen = select(table).order_by(table.c.id.desc()).limit(limit)
        if repository is not None:
            chosen = chosen.where(table.c.repository == repository)
        if name is not None:
            chosen = chosen.where(table.c.name == name)
        if seen_by is not None:
            principal, team = seen_by
            is_own = table.c.principal == principal
            chosen = chosen.where(is_own if team is None else or_(is_own, table.c.team == team))
        if before is not None:
            chosen = chosen.where(table.c.id < before)
        with self._database.reading() as connection:
            return tuple(rows.run(row) for row in connection.execute(chosen).mappings())
