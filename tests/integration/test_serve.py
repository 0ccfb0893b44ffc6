"""`registry serve` as processes: refusals in one sentence, stops, deaths, and what they leave behind."""

import os
import shutil
import signal
import socket

import pytest
from gitserver import GitRepo
from serving import AS_ADMIN, eventually, free_port, refusal, serving
from world import playbook

PAYMENTS = "github.com/acme/payments"


def central(folder, **files):
    """A central repository with one playbook, and more of them by name."""
    repo = GitRepo(folder / "git" / "acme" / "playbooks")
    names = ("rotate", *files)
    repo.commit({f"playbooks/{name}.yaml": playbook(name, purpose=f"Do {name} well.") for name in names})
    return repo


def service(folder, name="payments", **texts):
    """A service repository with one playbook of the same name as it."""
    repo = GitRepo(folder / "git" / "acme" / name)
    repo.commit({f"playbooks/{name}.yaml": playbook(name, purpose=f"Do {name} here.")})
    return repo


def sentence(printed):
    """What was printed, which must be a message and no stack trace."""
    assert "Traceback" not in printed, printed
    return " ".join(printed.split())


def test_without_a_central_url_it_says_which_variable_to_set_and_exits_2(tmp_path):
    code, printed = refusal(tmp_path / "data")
    assert code == 2
    assert "REGISTRY_CENTRAL_URL=https://" in sentence(printed)


def test_a_central_url_that_may_not_be_read_is_refused_with_the_setting_that_would_allow_it(tmp_path):
    code, printed = refusal(tmp_path / "data", central_url="file:///srv/git/acme/playbooks", allow_file_remotes=False)
    assert code == 2
    assert "REGISTRY_CENTRAL_URL" in sentence(printed)
    assert "REGISTRY_ALLOW_FILE_REMOTES" in printed


def test_listening_beyond_loopback_needs_a_word_about_anonymous_reading(tmp_path):
    code, printed = refusal(tmp_path / "data", central_url="file:///srv/git/a/b", listen=f"0.0.0.0:{free_port()}")
    assert code == 2
    assert "REGISTRY_ANONYMOUS_READ=true or =false" in sentence(printed)


@pytest.mark.parametrize("data_dir", ["/proc/registry", "/dev/null", "/dev/null/registry"])
def test_a_data_folder_that_cannot_be_written_is_named_and_exits_2(tmp_path, data_dir):
    code, printed = refusal(tmp_path / "data", data_dir=data_dir, central_url="file:///srv/git/a/b")
    assert code == 2
    assert f"REGISTRY_DATA_DIR is {data_dir}" in sentence(printed)


def test_a_damaged_database_is_named_and_exits_2(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "registry.db").write_bytes(b"no database, but a text that somebody put there" * 100)
    code, printed = refusal(tmp_path / "data", central_url="file:///srv/git/a/b")
    assert code == 2
    assert "registry.db is not a SQLite database" in sentence(printed)


def test_a_port_in_use_is_named_and_exits_2(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        code, printed = refusal(tmp_path / "data", central_url="file:///srv/git/a/b", listen=listen)
    assert code == 2
    assert f"REGISTRY_LISTEN is {listen}" in sentence(printed)


def test_a_second_serve_on_the_same_data_folder_is_refused_and_the_first_goes_on(tmp_path):
    repo = central(tmp_path)
    with serving(tmp_path / "data", central_url=repo.url) as first:
        code, printed = refusal(tmp_path / "data", central_url=repo.url)
        assert code == 2
        assert f"another `registry serve` uses (process {first.process.pid})" in sentence(printed)
        assert first.get("/readyz").status_code == 200


def test_sigterm_ends_everything_within_10_seconds_with_exit_0(tmp_path):
    with serving(tmp_path / "data", central_url=central(tmp_path).url) as registry:
        assert len(registry.children()) == 2
        code, took_s = registry.terminate()
        assert code == 0
        assert took_s < 10
        assert registry.survivors() == []
        assert "Traceback" not in registry.log


def test_sigterm_does_not_wait_for_a_remote_that_hangs(tmp_path):
    # Accepts connections and never says a word.
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        with serving(tmp_path / "data", central_url=central(tmp_path).url) as registry:
            port = silent.getsockname()[1]
            registry.register(f"127.0.0.1:{port}/a/b", f"http://127.0.0.1:{port}/a/b", wait_s=0)
            eventually(lambda: registry.state(f"127.0.0.1:{port}/a/b") == "syncing")
            code, took_s = registry.terminate()
            assert (code, registry.survivors()) == (0, [])
            assert took_s < 10


def test_a_killed_sync_worker_is_started_again_and_syncs_on(tmp_path):
    repo = central(tmp_path)
    with serving(tmp_path / "data", central_url=repo.url) as registry:
        worker = registry.worker()
        os.kill(worker, signal.SIGKILL)
        repo.commit({"playbooks/new.yaml": playbook("new")})
        eventually(lambda: registry.get("/v1/playbooks/new").status_code == 200)
        assert registry.worker() != worker
        assert "the sync worker ended; starting it again" in registry.log


def test_a_killed_serving_process_is_started_again(tmp_path):
    with serving(tmp_path / "data", central_url=central(tmp_path).url) as registry:
        server = registry.server()
        os.kill(server, signal.SIGKILL)
        eventually(lambda: server not in registry.children() and len(registry.children()) == 2)
        eventually(registry.is_ready)


def test_a_killed_supervisor_leaves_no_process_behind(tmp_path):
    with serving(tmp_path / "data", central_url=central(tmp_path).url) as registry:
        registry.kill()
        assert len(registry.known) == 2
        eventually(lambda: not registry.survivors(), 6)


def test_after_a_kill_every_registration_mark_and_handed_out_snapshot_is_there(tmp_path):
    repo, own = central(tmp_path), service(tmp_path)
    with serving(tmp_path / "data", central_url=repo.url) as registry:
        registry.register(PAYMENTS, own.url)
        before = registry.get(f"/v1/catalogs/{PAYMENTS}")
        mark = {"reason": "The rotation is audited."}
        assert registry.client.put("/v1/policy/required/rotate", json=mark, headers=AS_ADMIN).status_code == 200
        after = registry.get(f"/v1/catalogs/{PAYMENTS}")
        registry.kill()
        eventually(lambda: not registry.survivors(), 6)
    assert before.headers["catalog-digest"] != after.headers["catalog-digest"]
    with serving(tmp_path / "data", central_url=repo.url) as registry:
        assert registry.get(f"/v1/repositories/{PAYMENTS}").json()["team"] == "team"
        assert [mark["name"] for mark in registry.get("/v1/policy").json()["required"]] == ["rotate"]
        assert registry.get(f"/v1/catalogs/{PAYMENTS}").content == after.content
        for answer in (before, after):
            again = registry.get(f"/v1/snapshots/{answer.headers['catalog-digest']}")
            assert again.content == answer.content


def test_it_is_ready_once_central_was_published_and_stays_so_without_it(tmp_path):
    repo = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    with serving(tmp_path / "data", ready=False, central_url=repo.url) as registry:
        eventually(lambda: registry.get("/v1/repositories").json()["items"][0]["sync"]["state"] == "empty")
        assert registry.get("/readyz").status_code == 503
        assert registry.get("/v1/catalogs").status_code == 503
        central(tmp_path)
        eventually(lambda: registry.get("/readyz").status_code == 200)
        digest = registry.get("/v1/catalogs").headers["catalog-digest"]
    shutil.rmtree(repo.path)
    shutil.rmtree(tmp_path / "data" / "mirrors")
    with serving(tmp_path / "data", central_url=repo.url) as registry:
        assert registry.get("/v1/catalogs").headers["catalog-digest"] == digest
        state = eventually(lambda: registry.get("/v1/repositories").json()["items"][0]["sync"]["state"] != "ok")
        assert state
        assert registry.get("/readyz").status_code == 200


def test_a_deleted_index_is_built_again_from_the_store_without_git(tmp_path):
    repo, own = central(tmp_path), service(tmp_path)
    with serving(tmp_path / "data", central_url=repo.url) as registry:
        registry.register(PAYMENTS, own.url)
        found = registry.get("/v1/search", params={"q": "payments here", "repository": PAYMENTS}).json()["results"]
        assert found[0]["name"] == "payments"
    for gone in (tmp_path / "data" / "index", tmp_path / "data" / "mirrors", tmp_path / "git"):
        shutil.rmtree(gone)
    with serving(tmp_path / "data", central_url=repo.url) as registry:

        def names():
            answer = registry.get("/v1/search", params={"q": "payments here", "repository": PAYMENTS}).json()
            return [row["name"] for row in answer.get("results", ())]  # 503 while it is built

        assert eventually(names)[0] == "payments"


def test_a_bad_token_is_401_even_where_reading_is_open(tmp_path):
    with serving(tmp_path / "data", central_url=central(tmp_path).url) as registry:
        assert registry.get("/v1/catalogs").status_code == 200
        for value in ("Bearer nonsense", "Basic YTpi", "nonsense"):
            answer = registry.get("/v1/catalogs", headers={"Authorization": value})
            assert answer.status_code == 401, value
            assert answer.headers["www-authenticate"].startswith("Bearer")
        assert registry.client.put("/v1/policy/required/rotate", json={"reason": "x"}).status_code == 401


def test_a_registered_repository_that_was_never_published_is_503_and_never_central_only(tmp_path):
    with serving(tmp_path / "data", central_url=central(tmp_path).url) as registry:
        registry.register(PAYMENTS, f"file://{tmp_path}/git/acme/not-there")
        answer = registry.get(f"/v1/catalogs/{PAYMENTS}")
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert registry.state(PAYMENTS) not in {"ok", "pending", "syncing"}


def test_an_unregistered_repository_gets_central_and_is_told_so_unless_it_must_be_registered(tmp_path):
    with serving(tmp_path / "data", central_url=central(tmp_path).url) as registry:
        answer = registry.get(f"/v1/catalogs/{PAYMENTS}")
        assert answer.content == registry.get("/v1/catalogs").content
        assert answer.headers["catalog-state"].endswith("; unregistered")
        assert registry.get(f"/v1/catalogs/{PAYMENTS}?registered=required").status_code == 404


def test_two_parts_of_one_repository_share_its_mirror_and_its_poll(tmp_path):
    mono = GitRepo(tmp_path / "git" / "acme" / "mono")
    mono.commit(
        {
            f"services/{part}/playbooks/{part}.yaml": playbook(part, purpose=f"Do {part} well.")
            for part in ("payments", "billing")
        }
    )
    with serving(tmp_path / "data", central_url=central(tmp_path).url) as registry:
        parts = [f"github.com/acme/mono/-/services/{part}" for part in ("payments", "billing")]
        for part in parts:
            assert registry.register(part, mono.url)["sync"]["state"] == "ok"
        for part in parts:
            names = [entry["name"] for entry in registry.get(f"/v1/catalogs/{part}").json()["entries"]]
            assert names == sorted({"rotate", part.rpartition("/")[2]})
        assert len(list((tmp_path / "data" / "mirrors").glob("[0-9a-f]*"))) == 2  # central's and mono's
        mono.commit({"services/billing/playbooks/billing.yaml": playbook("billing", version="2.0.0")})
        registry.sync(parts[0])
        statuses = [registry.get(f"/v1/repositories/{part}").json()["sync"] for part in parts]
        assert [status["commit"] for status in statuses] == [mono.head()] * 2
        entries = registry.get(f"/v1/catalogs/{parts[1]}").json()["entries"]
        assert [entry["version"] for entry in entries if entry["name"] == "billing"] == ["2.0.0"]


def test_a_log_line_never_has_a_token_or_an_escape_in_it(tmp_path):
    with serving(tmp_path / "data", central_url=central(tmp_path).url, log_format="console") as registry:
        registry.register(PAYMENTS, f"file://{tmp_path}/git/acme/not-there")
        registry.get("/v1/catalogs", headers=AS_ADMIN)
        assert "admin-token" not in registry.log
        assert "\x1b" not in registry.log
