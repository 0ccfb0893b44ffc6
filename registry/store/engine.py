"""Transactions: how the store reads one consistent state and writes one whole step, on SQLite and on PostgreSQL.

Reading sees one snapshot. Writing is one after the other: in the process by a lock, between processes by the
database, so that the order of the sequence is the order of the commits.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from threading import RLock
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import StaticPool

from registry.errors import Unavailable
from registry.store import models
from registry.store.faults import translated

LOCK_WAIT_S = 30
CONNECT_WAIT_S = 10
POOL_SIZE = 8
POOL_OVERFLOW = 24
BATCH_ROWS = 500
IN_MEMORY = frozenset({None, "", ":memory:"})
JOURNAL_KEPT_BYTES = 64 * 1024 * 1024

Row = Mapping[str, Any]  # a column's value is as wide as SQL's types are


@dataclass(slots=True)
class Writing:
    """One open writing transaction with the sequence that all its rows carry."""

    connection: Connection
    sequence: int
    abandoned: bool = False

    def insert_missing(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert the rows whose primary key is not there yet, stamped; those that are there stay as they are."""
        statement = _insert(self.connection, table).on_conflict_do_nothing(index_elements=list(table.primary_key))
        self._execute_stamped(statement, rows)

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert or replace whole rows by primary key, stamped."""
        statement = _insert(self.connection, table)
        replaced = {column.name: statement.excluded[column.name] for column in table.columns if not column.primary_key}
        self._execute_stamped(
            statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=replaced), rows
        )

    def rules_changed(self, **values: object) -> None:
        """Stamp the rules as a whole, so that followers read them again; `values` are columns of the state row."""
        self.connection.execute(update(models.state).values(rules_sequence=self.sequence, **values))

    def abandon(self) -> None:
        """Undo this transaction at its end, sequence included: there was nothing to change."""
        self.abandoned = True

    def _execute_stamped(self, statement: sqlite.Insert | postgresql.Insert, rows: Sequence[Row]) -> None:
        for batch in batches(rows):
            self.connection.execute(statement, [{**row, "sequence": self.sequence} for row in batch])


@dataclass(frozen=True, slots=True)
class Database:
    """The engine, with the two kinds of transactions that the store knows."""

    engine: Engine
    snapshots: Engine
    single: bool
    writer: RLock = field(default_factory=RLock)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read-only transaction that sees one state of the database from its first statement to its last."""
        # A database in memory has one connection, which a transaction must have for itself.
        with (
            translated(self.engine.url),
            self.writer if self.single else nullcontext(),
            self.snapshots.connect() as found,
        ):
            yield found

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """A transaction that alone may write, committed at its end unless it raised or was abandoned."""
        if not self.writer.acquire(timeout=LOCK_WAIT_S):
            raise Unavailable("The store has been busy with other writes for too long. Try again in a moment.")
        try:
            with translated(self.engine.url), self.engine.connect() as connection:
                writing = Writing(connection, _next_sequence(connection))
                yield writing
                if not writing.abandoned:
                    connection.commit()
        finally:
            self.writer.release()

    def close(self) -> None:
        """Release every connection."""
        self.engine.dispose()


class Transactions:
    """What every part of the store has: the database that it reads and writes."""

    def __init__(self, database: Database) -> None:
        self._database = database


def open_database(url: URL) -> Database:
    """The database at `url`; nothing is connected yet. SQLite or PostgreSQL, which the caller has checked."""
    if url.get_backend_name() == "sqlite":
        single = url.database in IN_MEMORY
        engine = _sqlite_engine(url, single=single)
        return Database(engine, engine.execution_options(only_reads=True), single=single)
    engine = _postgresql_engine(url)
    reads = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return Database(engine, reads, single=False)


def batches(rows: Sequence[Any] | Mapping[Any, Any]) -> Iterator[list[Any]]:
    """The items in order, in lists of at most `BATCH_ROWS`: databases bound the parameters of one statement."""
    items = iter(rows)
    while batch := list(islice(items, BATCH_ROWS)):
        yield batch


def _next_sequence(connection: Connection) -> int:
    # The first statement of every write: on PostgreSQL it holds the row until the commit, so that no other write
    # gets a later number and commits earlier.
    connection.execute(update(models.state).values(sequence=models.state.c.sequence + 1))
    return int(connection.execute(select(models.state.c.sequence)).scalar_one())


def _insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def _postgresql_engine(url: URL) -> Engine:
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        # A database that was restarted costs a reconnect and not an error.
        pool_pre_ping=True,
        connect_args={"connect_timeout": CONNECT_WAIT_S},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: DBAPIConnection, _record: object) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"SET lock_timeout = '{LOCK_WAIT_S}s'")
        connection.commit()

    return engine


def _sqlite_engine(url: URL, *, single: bool) -> Engine:
    # isolation_level=None keeps the driver from opening transactions of its own; `begin` below opens them.
    connect_args = {"isolation_level": None, "timeout": LOCK_WAIT_S, "check_same_thread": False}
    engine = (
        create_engine(url, hide_parameters=True, connect_args=connect_args, poolclass=StaticPool)
        if single
        else create_engine(
            url, hide_parameters=True, connect_args=connect_args, pool_size=POOL_SIZE, max_overflow=POOL_OVERFLOW
        )
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        # FULL: what was acknowledged is on the disk, and not only with the operating system.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute(f"PRAGMA journal_size_limit={JOURNAL_KEPT_BYTES}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # IMMEDIATE: a transaction that reads first and writes later fails where two of them meet.
        reads = connection.get_execution_options().get("only_reads", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine
