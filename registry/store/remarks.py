"""Remarks in the store: beside what is in force, so that none of them moves a digest."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row as SqlRow
from sqlalchemy import delete, func, select

from registry.catalog.revision import read_problem
from registry.playbook.model import Level
from registry.ports import Remarks
from registry.store import models
from registry.store.engine import Row, Transactions, batches
from registry.store.sources import registered


class RemarkBook(Transactions):
    """The part of the store that knows what was remarked on each source, and counts problems."""

    def put_remarks(self, remarks: Sequence[Remarks]) -> None:
        """Replace the remarks on registered sources; those on a source that is not registered are dropped."""
        if not remarks:
            return
        tallies = models.tallies
        with self._database.writing() as writing:
            known = registered(writing.connection, [item.repository for item in remarks])
            kept = {item.repository: item for item in remarks if item.repository in known}
            if not kept:
                writing.abandon()
                return
            writing.put(models.remarks, [_row(item) for item in kept.values()])
            for batch in batches(sorted(kept)):
                writing.connection.execute(delete(tallies).where(tallies.c.repository.in_(batch)))
            writing.put(tallies, [row for item in kept.values() for row in _tally_rows(item)])

    def remarks(self, repositories: Collection[str]) -> dict[str, Remarks]:
        """Repository -> the remarks on it, for those of `repositories` that have been looked at."""
        table = models.remarks
        found: dict[str, Remarks] = {}
        with self._database.reading() as connection:
            for batch in batches(sorted(set(repositories))):
                for row in connection.execute(select(table).where(table.c.repository.in_(batch))):
                    found[row.repository] = _remarks(row)
        return found

    def remarked(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Repository -> (what its remarks are made of, the names that it shadows), for all that have been looked at."""
        table = models.remarks
        with self._database.reading() as connection:
            chosen = select(table.c.repository, table.c.made_of, table.c.shadows)
            return {row.repository: (row.made_of, tuple(row.shadows)) for row in connection.execute(chosen)}

    def repositories_with(self, codes: Collection[str] = (), level: Level | None = None) -> frozenset[str]:
        """The sources that have a problem of one of the codes (none: any) and of the level (None: any)."""
        table = models.tallies
        chosen = select(table.c.repository).distinct()
        if codes:
            chosen = chosen.where(table.c.code.in_(sorted(set(codes))))
        if level is not None:
            chosen = chosen.where(table.c.level == level.value)
        with self._database.reading() as connection:
            return frozenset(connection.execute(chosen).scalars())

    def tally(self) -> dict[tuple[str, Level], int]:
        """(code, level) -> how many such problems there are in all sources together."""
        table = models.tallies
        chosen = select(table.c.code, table.c.level, func.sum(table.c.problems).label("problems"))
        with self._database.reading() as connection:
            rows = connection.execute(chosen.group_by(table.c.code, table.c.level))
            return {(row.code, Level(row.level)): int(row.problems) for row in rows}


def _remarks(row: SqlRow[Any]) -> Remarks:
    body = json.loads(row.body)
    return Remarks(
        repository=row.repository,
        made_of=row.made_of,
        shadows=tuple(row.shadows),
        problems=tuple(read_problem(item) for item in body["problems"]),
        memory=body["memory"],
        tallies={(code, Level(level)): count for code, level, count in body["tallies"]},
    )


def _row(value: Remarks) -> Row:
    body = {
        "problems": [item.to_json() for item in value.problems],
        "memory": value.memory,
        "tallies": [[code, level.value, count] for (code, level), count in sorted(value.tallies.items())],
    }
    return {
        "repository": value.repository,
        "made_of": value.made_of,
        "shadows": list(value.shadows),
        # Bytes and not the database's JSON, which is particular about what text may hold.
        "body": json.dumps(body, separators=(",", ":")).encode(),
    }


def _tally_rows(value: Remarks) -> list[Row]:
    return [
        {"repository": value.repository, "code": code, "level": level.value, "problems": count}
        for (code, level), count in sorted(value.tallies.items())
    ]
