"""What the database's errors mean for the registry: wait and try again, or a person has to look."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from registry.errors import Conflict, StoreFault, Unavailable

_PRIMARY_CODE = 0xFF  # SQLite's extended codes keep the primary one in their lowest byte
_SENTENCES = {
    sqlite3.SQLITE_NOTADB: "is not a SQLite database. Give the store a file of its own, or restore it from a backup.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Stop the registry and restore the file from a backup.",
    sqlite3.SQLITE_READONLY: "cannot be written. Give the registry's user write access to the file and its folder.",
    sqlite3.SQLITE_PERM: "cannot be written. Give the registry's user write access to the file and its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Check that it is a file and that its folder can be written.",
}
_PASSING = {
    sqlite3.SQLITE_BUSY: "The store is locked by another process. Try again in a moment.",
    sqlite3.SQLITE_LOCKED: "The store is locked by another process. Try again in a moment.",
    sqlite3.SQLITE_FULL: "The disk that holds the store is full. Make room, then try again.",
    sqlite3.SQLITE_IOERR: "The disk that holds the store failed to read or write. Check the disk, then try again.",
}


def place(url: URL) -> str:
    """Where a store is, in words and without a password."""
    if url.get_backend_name() == "sqlite":
        return f"The store {url.database or 'in memory'}"
    return f"The store {url.database} at {url.host or 'the local socket'}:{url.port or 5432}"


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """A block whose database errors come out as this project's own.

    Unavailable where waiting may help, StoreFault where it will not, Conflict where a key is taken. The driver's text
    stays in the cause, for the log: it can quote rows.
    """
    try:
        yield
    except PoolExhausted as exc:
        raise Unavailable("Every connection to the store is in use. Try again in a moment.") from exc
    except IntegrityError as exc:
        raise Conflict(
            "This contradicts what is stored: the id is taken, or names something that is not there."
        ) from exc
    except DBAPIError as exc:
        raise _meaning(exc, url) from exc
    except sqlite3.Error as exc:  # from the first statements of a connection, which SQLAlchemy does not see
        raise _sqlite_meaning(exc, url) from exc


def _meaning(exc: DBAPIError, url: URL) -> StoreFault | Unavailable:
    if isinstance(exc.orig, sqlite3.Error):
        return _sqlite_meaning(exc.orig, url)
    # Of PostgreSQL's errors, those of the connection and of the server's state pass (classes 08, 40, 53, 55, 57).
    state = getattr(exc.orig, "sqlstate", None)
    if exc.connection_invalidated or state is None or state[:2] in {"08", "40", "53", "55", "57"}:
        return Unavailable(
            f"{place(url)} cannot be reached, or does not accept this user and database. Check that it runs and "
            "that the database URL is right, then try again."
        )
    return StoreFault(f"{place(url)} refused a statement; the log has the cause.")


def _sqlite_meaning(exc: sqlite3.Error, url: URL) -> StoreFault | Unavailable:
    # The driver's own complaints (a closed connection, a wrong type) carry no code.
    code = getattr(exc, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in _PASSING:
        return Unavailable(_PASSING[code])
    return StoreFault(f"{place(url)} {_SENTENCES.get(code, 'refused a statement; the log has the cause.')}")
