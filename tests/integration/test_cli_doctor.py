"""`registry doctor` over real folders, stores, indexes and remotes: it finds what is there and changes nothing."""

import json
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli import answers, refuses, run
from gitserver import GitRepo
from serving import environment, serving
from store_places import entry, publication, registration

from indexer.census import take_census
from indexer.document import Document, document_id
from indexer.writer import IndexWriter
from registry.git.program import VERSION_MIN, git_version
from registry.ports import Role
from registry.settings import unknown_variables
from registry.store.inspection import inspect_store
from registry.store.sql import open_store

NOW = datetime.now(UTC)


def made(data: Path, *, documents: int = 1, wanted: int = 1, at: datetime = NOW) -> Path:
    """A data folder as a `serve` leaves it: a store with one source in force, and an index."""
    data.mkdir()
    store = open_store(f"sqlite:///{data / 'registry.db'}")
    store.register(registration(role=Role.CENTRAL, registered_at=at), entry(at=at))
    store.publish([publication(b"{}", playbooks=wanted)])
    store.close()
    with IndexWriter(data / "index") as index:
        index.apply([document(f"sha256:{number}") for number in range(documents)], ())
    return data


def document(digest: str) -> Document:
    return Document(document_id("central", digest), "central", "rotate", (), "Rotate.", (), (), digest)


def diagnosis(data: Path, central: str | None = None, **settings: str) -> dict[str, dict]:
    """Check -> finding of a doctor over that folder, with nothing listening at REGISTRY_URL."""
    variables = {f"REGISTRY_{name.upper()}": value for name, value in settings.items()}
    given = {"REGISTRY_URL": "http://127.0.0.1:1", "REGISTRY_ALLOW_FILE_REMOTES": "true", **variables}
    result = run("doctor", "--json", "--data-dir", str(data), REGISTRY_CENTRAL_URL=central, **given)
    body = json.loads(result.stdout)
    assert result.exit_code == (1 if body["grade"] == "error" else 0)
    return {item["check"]: item for item in body["findings"]}


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """Path -> (size, time of the last change) of all that lies in a folder."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))}


def test_an_empty_folder_is_left_empty_and_is_no_error(tmp_path: Path):
    found = diagnosis(tmp_path / "data")
    assert list(tmp_path.iterdir()) == []
    assert {item["grade"] for item in found.values()} == {"ok", "warning"}


def test_it_changes_nothing_of_what_a_server_left(tmp_path: Path):
    data = made(tmp_path / "data")
    before = everything(data)
    found = diagnosis(data, GitRepo(tmp_path / "git" / "central").url)
    assert (everything(data), found["store"]["grade"], found["index"]["grade"]) == (before, "ok", "ok")


def test_it_works_beside_a_running_registry(tmp_path: Path):
    repo = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    repo.commit({"playbooks/readme.txt": "none yet"})
    data = tmp_path / "data"
    with serving(data, central_url=repo.url) as registry:
        given = environment(data, central_url=repo.url, admin_token=None)
        before = {path for path in everything(data) if "index" in path or path.endswith((".db", "-wal", "-shm"))}
        result = run("doctor", "--json", **given, REGISTRY_URL=str(registry.client.base_url))
        after = {path for path in everything(data) if "index" in path or path.endswith((".db", "-wal", "-shm"))}
    grades = {item["check"]: item["grade"] for item in json.loads(result.stdout)["findings"]}
    assert (result.exit_code, set(grades.values()), after) == (0, {"ok"}, before), result.stdout


def test_a_damaged_store_is_found(tmp_path: Path):
    data = made(tmp_path / "data")
    path = data / "registry.db"
    path.write_bytes(path.read_bytes()[:8192] + b"\xff" * 4096 + path.read_bytes()[12288:])
    assert diagnosis(data)["store"]["grade"] == "error"


def test_a_file_that_is_no_database_is_found(tmp_path: Path):
    (tmp_path / "registry.db").write_text("no database at all, but long enough to be looked at " * 50)
    assert diagnosis(tmp_path)["store"]["grade"] == "error"


@pytest.mark.parametrize(("schema", "grade"), [("9999", "error"), ("0000", "error")])
def test_a_schema_that_this_program_does_not_know_is_found(tmp_path: Path, schema: str, grade: str):
    data = made(tmp_path / "data")
    with sqlite3.connect(data / "registry.db") as connection:
        connection.execute("UPDATE schema_version SET version_num = ?", (schema,))
    connection.close()
    found = diagnosis(data)["store"]
    assert (found["grade"], schema in found["found"]) == (grade, True)


def test_a_database_url_is_never_repeated():
    assert "hunter2" not in str(inspect_store("mysql://ada:hunter2@db/registry"))


def test_a_damaged_index_is_found(tmp_path: Path):
    data = made(tmp_path / "data")
    victim = next((data / "index").glob("v*/*.store"))
    victim.write_bytes(b"x" + victim.read_bytes()[1:])
    assert diagnosis(data)["index"]["grade"] == "error"


def test_a_lost_index_is_found(tmp_path: Path):
    data = made(tmp_path / "data")
    shutil.rmtree(data / "index")
    assert diagnosis(data)["index"]["grade"] == "warning"


def test_an_index_that_lacks_what_is_in_force_is_found(tmp_path: Path):
    assert diagnosis(made(tmp_path / "data", documents=1, wanted=3))["index"]["grade"] == "warning"


def test_the_census_counts_what_was_not_deleted(tmp_path: Path):
    with IndexWriter(tmp_path) as index:
        index.apply([document(f"sha256:{number}") for number in range(5)], ())
        index.apply([], [document_id("central", "sha256:1")])
    assert take_census(tmp_path).documents == 4


def test_a_store_from_the_future_is_a_wrong_clock(tmp_path: Path):
    assert diagnosis(made(tmp_path / "data", at=NOW + timedelta(days=1)))["clock"]["grade"] == "error"


def test_a_central_remote_that_answers_is_named_with_its_branch(tmp_path: Path):
    repo = GitRepo(tmp_path / "git" / "central")
    repo.commit({"a": "b"})
    found = diagnosis(tmp_path / "data", repo.url)["central"]
    assert (found["grade"], "refs/heads/main" in found["found"]) == ("ok", True)


def test_a_central_remote_that_is_not_there_is_named_as_it_is(tmp_path: Path):
    found = diagnosis(tmp_path / "data", f"file://{tmp_path}/nothing")["central"]
    assert (found["grade"], f"{tmp_path}/nothing" in found["found"]) == ("error", True)


def test_a_central_remote_is_asked_by_the_policy_of_the_settings(tmp_path: Path):
    repo = GitRepo(tmp_path / "git" / "central")
    found = diagnosis(tmp_path / "data", repo.url, allow_file_remotes="false")["central"]
    assert (found["grade"], "REGISTRY_ALLOW_FILE_REMOTES" in found["found"]) == ("error", True)


def test_without_a_setting_the_store_names_the_central_remote(tmp_path: Path):
    data = made(tmp_path / "data")
    assert "git.example/acme/app" in diagnosis(data, allowed_hosts="other.example")["central"]["found"]


def test_settings_that_do_not_work_are_an_error_and_the_rest_is_looked_at(tmp_path: Path):
    found = diagnosis(tmp_path / "data", listen="nowhere")
    assert (found["settings"]["grade"], found["git"]["grade"]) == ("error", "ok")


def test_a_misspelt_variable_is_a_warning(tmp_path: Path):
    found = diagnosis(tmp_path / "data", log_levl="debug")["settings"]
    assert (found["grade"], "REGISTRY_LOG_LEVEL" in found["found"]) == ("warning", True)


@pytest.mark.parametrize("variable", ["REGISTRY_URL", "REGISTRY_TOKEN", "REGISTRY_CACHE_DIR"])
def test_a_variable_of_a_client_is_no_misspelt_setting(variable: str):
    assert unknown_variables({variable: "x"}) == ()


def test_without_git_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_version() is None


def test_the_git_of_this_machine_is_new_enough():
    version = git_version()
    assert version is not None
    assert version >= VERSION_MIN


def test_a_registry_that_is_not_ready_is_an_error(tmp_path: Path):
    with refuses(503, "unavailable", "central was never published."):
        result = run("doctor", "--data-dir", str(tmp_path / "data"))
    assert (result.exit_code, "central was never published" in result.stdout) == (1, True)


def test_something_else_that_answers_is_an_error(tmp_path: Path):
    with answers(200, {"hello": "world"}):
        result = run("doctor", "--data-dir", str(tmp_path / "data"))
    assert (result.exit_code, "something else than a registry" in result.stdout) == (1, True)


def test_the_clock_of_the_server_is_compared(tmp_path: Path):
    with answers(200, {"status": "ready"}, Date="Thu, 01 Jan 2026 00:00:00 GMT"):
        result = run("doctor", "--json", "--data-dir", str(tmp_path / "data"))
    found = next(item for item in json.loads(result.stdout)["findings"] if item["check"] == "clock")
    assert (found["grade"], "clock and this machine's differ" in found["found"]) == ("error", True)
