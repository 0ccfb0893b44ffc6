"""Sources in the store: registrations, statuses, sync requests, and what followers read of all that changes."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, RowMapping, Table, delete, select, true, update

from registry.errors import Unknown
from registry.ports import AuditEntry, Changes, Registration, SyncRequest, SyncStatus
from registry.store import models, rows
from registry.store.audit import log
from registry.store.engine import Transactions, batches
from registry.store.rules import api_rules


class Sources(Transactions):
    """The part of the store that knows the sources."""

    def sequence(self) -> int:
        """The sequence of the newest committed write."""
        with self._database.reading() as connection:
            return int(connection.execute(select(models.state.c.sequence)).scalar_one())

    def changes_since(self, sequence: int) -> Changes:
        """What was written after `sequence`, each kind in the order of writing; 0 gives everything.

        So does a sequence that is still to come: whoever asks from there has followed a database that was since
        replaced by an older backup.
        """
        with self._database.reading() as connection:
            state = connection.execute(select(models.state)).mappings().one()
            after = sequence if sequence <= state["sequence"] else 0
            if after == state["sequence"] and after > 0:
                return Changes(after, (), (), (), None)
            return Changes(
                sequence=state["sequence"],
                registrations=tuple(
                    rows.registration(row) for row in _written_after(connection, models.registrations, after)
                ),
                pointers=tuple(rows.pointer(row) for row in _written_after(connection, models.pointers, after)),
                statuses=tuple(rows.status(row) for row in _written_after(connection, models.statuses, after)),
                rules=api_rules(connection, state["rule_date"])
                if state["rules_sequence"] > after or after == 0
                else None,
            )

    def register(self, registration: Registration, audit: AuditEntry) -> None:
        """Insert or replace a registration (a deregistered id comes back to life)."""
        with self._database.writing() as writing:
            writing.put(models.registrations, [rows.registration_row(registration)])
            log(writing, audit)

    def deregister(self, repository: str, at: datetime, audit: AuditEntry) -> None:
        """End a registration: its pointer, status, sync request and API waivers go; the row stays.

        Nothing happens, and nothing is logged, where the repository is not registered.
        """
        table = models.registrations
        with self._database.writing() as writing:
            ended = writing.connection.execute(
                update(table)
                .where(table.c.id == repository, table.c.deregistered_at.is_(None))
                .values(deregistered_at=at, sequence=writing.sequence)
            )
            if ended.rowcount == 0:
                writing.abandon()
                return
            for owned in (
                models.pointers,
                models.statuses,
                models.sync_requests,
                models.remarks,
                models.tallies,
            ):
                writing.connection.execute(delete(owned).where(owned.c.repository == repository))
            waivers = models.waivers
            if writing.connection.execute(delete(waivers).where(waivers.c.repository == repository)).rowcount:
                writing.rules_changed()
            log(writing, audit)

    def request_sync(self, repository: str, apply: str | None = None) -> int:
        """The sequence of a newly stored sync request: one row a repository, and the later request counts.

        A wish to apply that waits is kept by a later one that names no commit. Raises Unknown where the repository is
        not registered.
        """
        with self._database.writing() as writing:
            if not registered(writing.connection, [repository]):
                raise Unknown("repository", f"{repository} is not registered. Register it first.")
            if apply is None:
                waiting = select(models.sync_requests.c.apply).where(models.sync_requests.c.repository == repository)
                apply = writing.connection.execute(waiting).scalar_one_or_none()
            writing.put(models.sync_requests, [{"repository": repository, "apply": apply}])
            return writing.sequence

    def take_requests(self, through: int | None = None) -> tuple[SyncRequest, ...]:
        """The stored sync requests up to that sequence (None: all), oldest first, removed from the store."""
        requests = models.sync_requests
        wanted = true() if through is None else requests.c.sequence <= through
        with self._database.reading() as connection:  # mostly there are none, and then nobody is locked out
            if connection.execute(select(requests.c.sequence).where(wanted).limit(1)).first() is None:
                return ()
        with self._database.writing() as writing:
            chosen = select(requests).where(wanted).order_by(requests.c.sequence)
            found = writing.connection.execute(chosen).mappings().all()
            writing.connection.execute(delete(requests).where(wanted))
            return tuple(rows.sync_request(row) for row in found)

    def record_statuses(self, statuses: Sequence[SyncStatus]) -> None:
        """Replace the statuses of registered sources; one of a source that is not registered is dropped."""
        if not statuses:
            return
        with self._database.writing() as writing:
            known = registered(writing.connection, [status.repository for status in statuses])
            kept = [rows.status_row(status) for status in statuses if status.repository in known]
            if kept:
                writing.put(models.statuses, kept)
            else:
                writing.abandon()


def registered(connection: Connection, repositories: Collection[str]) -> frozenset[str]:
    """Those of `repositories` that are registered now."""
    table = models.registrations
    return frozenset(
        found
        for batch in batches(sorted(set(repositories)))
        for found in connection.execute(
            select(table.c.id).where(table.c.id.in_(batch), table.c.deregistered_at.is_(None))
        ).scalars()
    )


def _written_after(connection: Connection, table: Table, sequence: int) -> Sequence[RowMapping]:
    chosen = select(table).where(table.c.sequence > sequence).order_by(table.c.sequence, *table.primary_key)
    return connection.execute(chosen).mappings().all()
