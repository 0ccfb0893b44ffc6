"""The store on SQL: `registry.ports.Store` over SQLite or PostgreSQL, through one adapter."""

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from registry.errors import StoreFault
from registry.store.audit import AuditLog
from registry.store.blobs import Blobs
from registry.store.content import Content
from registry.store.engine import open_database
from registry.store.remarks import RemarkBook
from registry.store.rules import Rules
from registry.store.runs import Runs
from registry.store.schema import bring_up_to_date
from registry.store.sources import Sources
from registry.store.tokens import Tokens

DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


class SqlStore(Sources, Content, Blobs, RemarkBook, Rules, Runs, Tokens, AuditLog):
    """Everything that must outlive the process, in SQL. Thread-safe; made by `open_store`.

    A method that finds nothing to change leaves the sequence alone. Any method may raise Unavailable (a later attempt
    may succeed) or StoreFault (a person has to look).
    """

    def close(self) -> None:
        """Release every connection."""
        self._database.close()


def open_store(url: str) -> SqlStore:
    """The store at a SQLAlchemy URL, with its schema up to date.

    `sqlite:///<path>` (the file and its folder are made where they are missing), `sqlite://` (in memory: ends with the
    object) or `postgresql://user@host/database`. Raises StoreFault for a database that cannot be used as it is, with a
    sentence that says what to do, and Unavailable where a later attempt may succeed.
    """
    checked = _checked(url)
    try:
        database = open_database(checked)
    except ModuleNotFoundError as exc:
        raise StoreFault("PostgreSQL needs its driver: install playbook-registry[postgres].") from exc
    try:
        bring_up_to_date(database.engine)
    except BaseException:
        database.close()
        raise
    return SqlStore(database)


def _checked(url: str) -> URL:
    # The text itself is not quoted in a message: it may hold a password.
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        found = None
    if found is None or found.drivername not in DRIVERS:
        raise StoreFault(
            "The database URL is not one the store can use. Give sqlite:///<path of a file> or "
            "postgresql://<user>@<host>/<database>."
        )
    return found.set(drivername=DRIVERS[found.drivername])
