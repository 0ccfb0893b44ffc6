"""Opening: the schema brought to this program's version, by one process at a time, or a sentence why not."""

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, inspect, text

from registry.errors import StoreFault
from registry.store import models
from registry.store.engine import IN_MEMORY
from registry.store.faults import place, translated

MIGRATIONS = Path(__file__).parent / "migrations"
FILE_MODE = 0o600
WAL_WAIT_S = 10.0
WAL_PAUSE_S = 0.02
CHECKED_BYTES = 64 * 1024 * 1024
# Any number will do, as long as every version of this program uses the same.
ADVISORY_LOCK = 7_205_759_403_792_793


def known_versions() -> tuple[str, ...]:
    """The schema versions this program knows, oldest first: how the files of the migrations begin."""
    return tuple(sorted(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py")))


def bring_up_to_date(engine: Engine) -> None:
    """Run the migrations that are missing; safe where several processes start at once.

    Raises StoreFault where the database is damaged, cannot be written, holds another program's tables or has a newer
    schema than this program knows, and Unavailable where it cannot be reached.
    """
    with translated(engine.url):
        if engine.dialect.name == "sqlite" and engine.url.database not in IN_MEMORY:
            _prepare_file(engine.url)
        with engine.connect() as connection, connection.begin():
            if engine.dialect.name != "sqlite":  # whose BEGIN IMMEDIATE is a lock already
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
            found = _version(connection)
            known = known_versions()
            if found is not None and found not in known:
                raise StoreFault(
                    f"{place(engine.url)} has the schema {found}, and this program knows {known[-1]} at most. Start "
                    "the newer version of the program, or restore the backup that was made before it was upgraded."
                )
            if found != known[-1]:
                _migrate(connection)


def _prepare_file(url: URL) -> None:
    path = Path(url.database or "")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Made here and not by SQLite, which would let everybody on the machine read it; its side files take its mode.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))
    except OSError as exc:
        raise StoreFault(
            f"{place(url)} cannot be opened for writing ({exc.strerror}). Give the registry's user write access to the "
            "file and its folder."
        ) from exc
    with closing(sqlite3.connect(path, timeout=WAL_WAIT_S, isolation_level=None)) as connection:
        _switch_to_wal(connection)
        # A torn page is better found now than under somebody's request; a large file would make every start wait.
        if path.stat().st_size <= CHECKED_BYTES and connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise StoreFault(f"{place(url)} is damaged. Stop the registry and restore the file from a backup.")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # The switch needs the file for itself for a moment, and SQLite does not wait for that by the busy timeout.
    deadline = time.monotonic() + WAL_WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(WAL_PAUSE_S)
        else:
            return


def _version(connection: Connection) -> str | None:
    tables = set(inspect(connection).get_table_names())
    if models.SCHEMA_VERSION_TABLE in tables:
        found = connection.execute(text(f"SELECT version_num FROM {models.SCHEMA_VERSION_TABLE}")).scalars().all()  # noqa: S608 (a constant)
        if len(found) == 1:
            return str(found[0])
    elif not tables & set(models.METADATA.tables):
        return None
    raise StoreFault(
        f"{place(connection.engine.url)} holds tables that this program did not make. "
        "Give the store a database of its own."
    )


def _migrate(connection: Connection) -> None:
    # Imported where it is needed: it costs every start a second, and there is something to migrate once a release.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _quiet():
        command.upgrade(config, "head")


@contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("alembic")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
