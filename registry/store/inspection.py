"""A look at a store that neither makes nor migrates nor locks anything, while a registry may be using it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, create_engine, func, inspect, make_url, select, text
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from registry.errors import StoreFault, Unavailable
from registry.ports import Role
from registry.service.installation import StoreFacts
from registry.store import models
from registry.store.engine import IN_MEMORY, LOCK_WAIT_S, open_database
from registry.store.faults import place, translated
from registry.store.schema import known_versions
from registry.store.sql import DRIVERS

_INSTANTS = (
    models.registrations.c.registered_at,
    models.registrations.c.deregistered_at,
    models.statuses.c.checked_at,
    models.statuses.c.synced_at,
    models.snapshots.c.handed_out_at,
    models.tokens.c.created_at,
    models.audit_log.c.at,
)
"""When something was written; what lies in the future on purpose (an expiry, the next poll) is not among them."""


def inspect_store(url: str) -> StoreFacts:
    """What is in the store at a SQLAlchemy URL. Never raises for the store's own faults: they are in the answer."""
    try:
        checked = make_url(url)
    except (ArgumentError, ValueError):
        return _unusable()
    if checked.drivername not in DRIVERS:
        return _unusable()
    checked = checked.set(drivername=DRIVERS[checked.drivername])
    where = place(checked)
    if checked.get_backend_name() == "sqlite" and (
        checked.database in IN_MEMORY or not Path(str(checked.database)).exists()
    ):
        return StoreFacts(where, exists=False)
    try:
        with _reading(checked) as connection:
            return _facts(connection, where)
    except (StoreFault, Unavailable) as fault:
        return StoreFacts(where, exists=True, fault=str(fault))
    except ModuleNotFoundError:
        return StoreFacts(where, exists=True, fault="PostgreSQL needs its driver. Install playbook-registry[postgres].")


def _unusable() -> StoreFacts:
    # The text itself is not quoted: it may hold a password.
    return StoreFacts(
        "the store",
        exists=False,
        fault="REGISTRY_DATABASE_URL is not one the store can use. Give sqlite:///<path of a file> or "
        "postgresql://<user>@<host>/<database>.",
    )


@contextmanager
def _reading(url: URL) -> Iterator[Connection]:
    """A connection that cannot write, in one transaction."""
    if url.get_backend_name() != "sqlite":
        database = open_database(url)
        try:
            with database.reading() as connection:
                yield connection
        finally:
            database.close()
        return
    engine = create_engine("sqlite://", creator=lambda: _open_file(Path(str(url.database))), poolclass=NullPool)
    with translated(url), engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        yield connection


def _open_file(path: Path) -> sqlite3.Connection:
    side_files = (path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm"))
    # Even a reader makes SQLite's side files where they are missing; then nobody writes, and none are needed.
    mode = "mode=ro" if any(file.exists() for file in side_files) else "mode=ro&immutable=1"
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?{mode}", uri=True, isolation_level=None, timeout=LOCK_WAIT_S
    )


def _facts(connection: Connection, where: str) -> StoreFacts:
    known = known_versions()
    if connection.dialect.name == "sqlite":
        said = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
        if said != "ok":
            return StoreFacts(where, exists=True, known=known, damage=" ".join(str(said).split())[:200])
    tables = set(inspect(connection).get_table_names())
    if models.SCHEMA_VERSION_TABLE not in tables:
        if not tables & set(models.METADATA.tables):
            return StoreFacts(where, exists=True, known=known)
        raise StoreFault(f"{where} holds tables that this program did not make. Give it a database of its own.")
    schema = connection.execute(text(f"SELECT version_num FROM {models.SCHEMA_VERSION_TABLE}")).scalar()  # noqa: S608 (a constant)
    if schema != known[-1]:
        return StoreFacts(where, exists=True, schema=str(schema), known=known)
    return _counted(connection, where, str(schema), known)


def _counted(connection: Connection, where: str, schema: str, known: tuple[str, ...]) -> StoreFacts:
    found = models.registrations
    central = connection.execute(
        select(found.c.id, found.c.url, found.c.ref).where(
            found.c.role == Role.CENTRAL.value, found.c.deregistered_at.is_(None)
        )
    ).first()
    registered = select(func.count()).select_from(found).where(found.c.deregistered_at.is_(None))
    return StoreFacts(
        where,
        exists=True,
        schema=schema,
        known=known,
        newest_at=_newest(connection),
        rule_date=connection.execute(select(models.state.c.rule_date)).scalar(),
        repositories=int(connection.execute(registered).scalar_one()),
        documents=int(connection.execute(select(func.coalesce(func.sum(models.pointers.c.playbooks), 0))).scalar_one()),
        central=central.id if central is not None else None,
        central_url=central.url if central is not None else None,
        central_ref=central.ref if central is not None else None,
    )


def _newest(connection: Connection) -> datetime | None:
    found = (connection.execute(select(func.max(column))).scalar() for column in _INSTANTS)
    return max((instant for instant in found if instant is not None), default=None)
