"""Opening a store: fresh, up to date, of another version, damaged, not ours, and from two processes at once."""

import logging
import sqlite3
import subprocess
import sys
from contextlib import closing
from threading import Timer

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, make_url, text
from store_places import NOON, PLACES, entry, mark, place, registration

from registry.errors import StoreFault, Unavailable
from registry.store.models import METADATA
from registry.store.schema import MIGRATIONS, known_versions
from registry.store.sql import open_store

OPEN_AND_MARK = """
import sys
from store_places import entry, mark
from registry.store.sql import open_store
store = open_store(sys.argv[1])
store.put_mark(mark(sys.argv[2]), entry())
store.close()
"""


@pytest.fixture(params=PLACES)
def url(request, tmp_path):
    with place(request.param, tmp_path) as found:
        yield found


def execute(url: str, statement: str) -> None:
    engine = create_engine(make_url(url))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_the_migrations_make_what_the_models_say(url):
    open_store(url).close()
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "schema_version"})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()


def test_the_last_file_of_the_migrations_is_their_head():
    assert ScriptDirectory(str(MIGRATIONS)).get_heads() == [known_versions()[-1]]


def test_opening_again_changes_nothing(url):
    open_store(url).close()
    with closing(open_store(url)) as again:
        assert again.sequence() == 0


def test_a_newer_schema_is_refused_with_what_to_do(url):
    open_store(url).close()
    execute(url, "UPDATE schema_version SET version_num = '9999'")
    with pytest.raises(StoreFault, match=r"has the schema 9999, .* Start the newer version"):
        open_store(url)


def test_a_newer_schema_is_left_as_it_is(url):
    open_store(url).close()
    execute(url, "UPDATE schema_version SET version_num = '9999'")
    with pytest.raises(StoreFault):
        open_store(url)
    execute(url, f"UPDATE schema_version SET version_num = '{known_versions()[-1]}'")
    with closing(open_store(url)) as store:
        assert store.sequence() == 0


def test_another_program_s_tables_of_our_names_are_refused(url):
    execute(url, "CREATE TABLE tokens (secret TEXT)")
    with pytest.raises(StoreFault, match=r"holds tables that this program did not make\. Give"):
        open_store(url)


def test_tables_of_other_names_may_stand_beside(url):
    execute(url, "CREATE TABLE invoices (id TEXT)")
    with closing(open_store(url)) as store:
        assert store.sequence() == 0


def test_processes_that_open_at_once_make_one_schema(url):
    names = [f"mark-{number}" for number in range(4)]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_MARK, url, name],
            env={"PYTHONPATH": ":".join(sys.path)},
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    errors = [child.communicate(timeout=60)[1].decode() for child in children]
    assert errors == [""] * 4
    with closing(open_store(url)) as store:
        assert [found.name for found in store.changes_since(0).rules.marks] == names


def test_opening_leaves_logging_as_it_was(url, caplog):
    logger = logging.getLogger("alembic")
    before = (logger.level, list(logger.handlers), logging.getLogger().level)
    with caplog.at_level(logging.INFO):
        open_store(url).close()
    assert (logger.level, list(logger.handlers), logging.getLogger().level) == before
    assert [record.name for record in caplog.records if record.name.startswith("alembic")] == []


def test_a_file_that_is_no_database_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "registry.db"
    path.write_bytes(b"These are the minutes of a meeting. " * 200)
    with pytest.raises(StoreFault, match=r"registry\.db is not a SQLite database\. Give the store a file of its own"):
        open_store(f"sqlite:///{path}")


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path):
    path = tmp_path / "registry.db"
    path.write_bytes(b"These are the minutes of a meeting. " * 200)
    before = path.read_bytes()
    with pytest.raises(StoreFault):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before


def filled(path) -> str:
    url = f"sqlite:///{path}"
    with closing(open_store(url)) as store:
        store.put_documents({f"sha256:{number}": bytes([number]) * 4_000 for number in range(100)})
    return url


def test_a_file_that_was_cut_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "registry.db"
    url = filled(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StoreFault, match=r"registry\.db is damaged\. Stop the registry and restore"):
        open_store(url)


def test_a_file_with_a_torn_page_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "registry.db"
    url = filled(path)
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(value ^ 0x5A for value in data[4096:])
    path.write_bytes(data)
    with pytest.raises(StoreFault, match=r"registry\.db is damaged\. Stop the registry and restore"):
        open_store(url)


@pytest.mark.parametrize("where", ["a-file/registry.db", "a-folder"])
def test_a_place_that_cannot_be_written_is_refused_with_what_to_do(tmp_path, where):
    (tmp_path / "a-file").write_text("")
    (tmp_path / "a-folder").mkdir()
    with pytest.raises(StoreFault, match=r"cannot be opened for writing .* Give the registry's user write access"):
        open_store(f"sqlite:///{tmp_path / where}")


def test_the_folder_of_the_file_is_made(tmp_path):
    path = tmp_path / "not" / "yet" / "registry.db"
    open_store(f"sqlite:///{path}").close()
    assert path.is_file()


def test_only_its_user_may_read_the_file(tmp_path):
    with closing(open_store(f"sqlite:///{tmp_path / 'registry.db'}")) as store:
        store.register(registration(), entry())
        assert {found.name: oct(found.stat().st_mode & 0o777) for found in tmp_path.iterdir()} == {
            "registry.db": "0o600",
            "registry.db-shm": "0o600",
            "registry.db-wal": "0o600",
        }


def test_the_file_is_written_ahead_and_synced_in_full(tmp_path):
    with closing(open_store(f"sqlite:///{tmp_path / 'registry.db'}")) as store, store._database.reading() as connection:
        modes = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert modes == ["wal", 2, 1]


def test_a_store_in_memory_needs_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with closing(open_store("sqlite://")) as store:
        store.put_mark(mark(), entry())
        assert (store.sequence(), list(tmp_path.iterdir())) == (1, [])


@pytest.mark.parametrize(
    "url", ["mysql://u:geheim@h/d", "geheim", "sqlite+aiosqlite:///geheim", "postgresql+asyncpg://u:geheim@h/d"]
)
def test_a_url_of_another_kind_is_refused_without_quoting_it(url):
    with pytest.raises(StoreFault, match="Give sqlite:") as refused:
        open_store(url)
    assert "geheim" not in str(refused.value)


def test_a_postgresql_that_does_not_answer_is_unavailable_without_its_password():
    with pytest.raises(Unavailable, match=r"The store d at 127\.0\.0\.1:1 cannot be reached") as refused:
        open_store("postgresql://u:geheim@127.0.0.1:1/d")
    assert "geheim" not in f"{refused.value!r} {refused.value.__cause__}"


def test_reading_waits_for_no_writer(tmp_path):
    path = tmp_path / "registry.db"
    with (
        closing(open_store(f"sqlite:///{path}")) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        assert store.changes_since(0).registrations == ()


def test_writing_waits_for_the_writer_of_another_process(tmp_path):
    path = tmp_path / "registry.db"
    with (
        closing(open_store(f"sqlite:///{path}")) as store,
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        release = Timer(0.2, other.execute, ["COMMIT"])
        release.start()
        store.add_audit(entry(at=NOON))
        release.join()
        assert store.sequence() == 1


def test_writing_gives_up_where_another_process_never_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("registry.store.engine.LOCK_WAIT_S", 0.1)
    path = tmp_path / "registry.db"
    with (
        closing(open_store(f"sqlite:///{path}")) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match=r"locked by another process\. Try again"):
            store.add_audit(entry(at=NOON))
