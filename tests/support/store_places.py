"""Where tests put a store, and values to put in it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, make_url, text

from policies.rules import Mark, Waiver, Withdrawal
from registry.digest import digest_of
from registry.ports import AuditEntry, Counts, Publication, Recipe, Registration, Role, SyncStatus, Token

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
APP = "git.example/acme/app"
PLACES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.service)]


@contextmanager
def place(kind: str, folder: Path) -> Iterator[str]:
    """The URL of an empty database of that kind, which is gone afterwards."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'registry.db'}"
        return
    given = os.environ.get("TEST_POSTGRES_URL")
    if not given:
        pytest.skip(
            "TEST_POSTGRES_URL names no PostgreSQL to test with, for example postgresql://postgres@127.0.0.1/postgres"
        )
    schema = f"test_{uuid4().hex}"
    url = make_url(given).set(drivername="postgresql+psycopg")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    try:
        yield url.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(hide_password=False)
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
        engine.dispose()


def entry(action: str = "test", **values) -> AuditEntry:
    return AuditEntry(**{"at": NOON, "principal": "ada", "action": action, "subject": "something", **values})


def registration(repository: str = APP, **values) -> Registration:
    given = {
        "id": repository,
        "role": Role.SERVICE,
        "url": f"https://{repository}.git",
        "ref": None,
        "team": "payments",
        "paths": None,
        "aliases": (),
        "credential": None,
        "registered_at": NOON,
    }
    return Registration(**{**given, **values})


def status(repository: str = APP, **values) -> SyncStatus:
    return SyncStatus(repository, **values)


def publication(
    body: bytes, *, repository: str = APP, expected: bytes | None = None, documents: tuple[bytes, ...] = (), **counts
) -> Publication:
    """The step of a repository from the revision with the body `expected` to the one with `body`."""
    return Publication(
        repository=repository,
        expected=None if expected is None else digest_of(expected),
        revision=digest_of(body),
        body=body,
        documents={digest_of(document): document for document in documents},
        counts=Counts(**counts),
    )


def recipe(**values) -> Recipe:
    given = {
        "repository": APP,
        "central": "sha256:c",
        "local": "sha256:l",
        "rules": "sha256:r",
        "rule_date": date(2026, 3, 1),
    }
    return Recipe(**{**given, **values})


def mark(name: str = "rotate-keys", reason: str = "an audit asked for it") -> Mark:
    return Mark(origin="api", name=name, tag=None, reason=reason)


def waiver(name: str = "rotate-keys", repository: str = APP, until: date = date(2026, 6, 30)) -> Waiver:
    return Waiver(name, repository, until, reason="being moved", approved_by="grace", origin="api")


def withdrawal(
    name: str = "rotate-keys", digest: str = "sha256:bad", reason: str = "deletes the wrong key"
) -> Withdrawal:
    return Withdrawal(name, digest, reason)


def token(name: str = "one", **values) -> Token:
    given = {
        "id": name,
        "hash": f"sha256:{name}",
        "principal": "ci",
        "team": "payments",
        "scopes": frozenset({"write", "read"}),
        "created_at": NOON,
    }
    return Token(**{**given, **values})
