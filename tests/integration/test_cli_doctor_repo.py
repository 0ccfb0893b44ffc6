"""`registry doctor --repo`: each thing that keeps a host from its playbooks shows its line, before a real registry."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cli import answers, run
from gitserver import GitRepo
from serving import ADMIN, Registry, serving
from workingcopy import working_copy
from world import playbook


class Desk:
    """A working copy of a registered repository, set up by `registry init`, and the registry."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self.registry = registry
        self.repo = GitRepo(folder / "git" / "acme" / folder.name)
        self.repo.commit({"playbooks/own.yaml": playbook("own")})
        self.id = f"local/acme/{folder.name}"
        self.copy = folder / "copy"
        self.cache = folder / "cache"
        subprocess.run(["git", "clone", "-q", self.repo.url, str(self.copy)], check=True)

    @property
    def url(self) -> str:
        return str(self.registry.client.base_url).rstrip("/")

    def init(self, *options: str) -> None:
        result = run("init", str(self.copy), *options, REGISTRY_URL=self.url, REGISTRY_TOKEN=ADMIN)
        assert result.exit_code == 0, result.output

    def register(self) -> None:
        self.registry.register(self.id, self.repo.url, team="desk")

    def look(self, *options: str, **variables: str | None) -> dict[str, list[dict]]:
        """Check -> its findings."""
        given = {"REGISTRY_URL": self.url, "REGISTRY_TOKEN": ADMIN, "REGISTRY_CACHE_DIR": str(self.cache), **variables}
        result = run("doctor", "--repo", str(self.copy), "--json", *options, **given)
        body = json.loads(result.stdout)
        assert result.exit_code == (1 if body["grade"] == "error" else 0)
        found: dict[str, list[dict]] = {}
        for item in body["findings"]:
            found.setdefault(item["check"], []).append(item)
        return found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder = tmp_path_factory.mktemp("doctor-repo")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    with serving(folder / "data", central_url=central.url, poll_interval_s=3600) as registry:
        yield registry


@pytest.fixture
def desk(tmp_path: Path, shared: Registry) -> Desk:
    return Desk(tmp_path, shared)


def worst(found: dict[str, list[dict]], check: str) -> tuple[str, str]:
    """(grade, everything said) of a check."""
    grades = [item["grade"] for item in found[check]]
    grade = next(each for each in ("error", "warning", "ok") if each in grades)
    return grade, " ".join(f"{item['found']} -> {item['todo']}" for item in found[check])


def files_of(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_copy_that_was_set_up_is_well_in_every_line(desk: Desk):
    desk.register()
    desk.init("--with-token")
    found = desk.look()
    assert {item["grade"] for items in found.values() for item in items} == {"ok"}, found
    assert list(found) == [
        "working copy", "repository", "server", "clock", "registration", "token", "catalog", "own files", "host", "mcp",
        "cache",
    ]  # fmt: skip


def test_it_changes_nothing(desk: Desk):
    desk.init()
    before = files_of(desk.copy)
    desk.look()
    assert (files_of(desk.copy), desk.cache.exists()) == (before, False)


def test_a_bridge_is_found_on_the_path(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.register()
    desk.init("--bridge", "--host", "claude-code")
    monkeypatch.setattr(shutil, "which", lambda _command: "/opt/registry/bin/registry")
    assert worst(desk.look(), "host")[0] == "ok"
    monkeypatch.setattr(shutil, "which", lambda _command: None)
    grade, said = worst(desk.look(), "host")
    assert (grade, "not on the PATH" in said) == ("error", True)


def test_a_folder_that_is_no_copy(tmp_path: Path, shared: Registry):
    result = run("doctor", "--repo", str(tmp_path), REGISTRY_URL=str(shared.client.base_url), REGISTRY_TOKEN=None)
    assert (result.exit_code, "no git working copy" in result.stdout) == (1, True)


def test_a_copy_without_a_remote(tmp_path: Path, shared: Registry):
    copy = working_copy(tmp_path / "copy")
    result = run("doctor", "--repo", str(copy), REGISTRY_URL=str(shared.client.base_url), REGISTRY_TOKEN=None)
    assert (result.exit_code, "has no remote" in result.stdout) == (1, True)


def test_a_registry_that_does_not_answer(desk: Desk):
    found = desk.look(REGISTRY_URL="http://127.0.0.1:1")
    grade, said = worst(found, "server")
    assert (grade, "no registry answers at http://127.0.0.1:1" in said) == ("error", True)


def test_something_else_that_answers(desk: Desk):
    with answers(200, {"hello": "world"}):
        found = desk.look(REGISTRY_URL="http://registry.test")
    assert worst(found, "server")[0] == "error"


def test_a_repository_that_is_not_registered(desk: Desk):
    grade, said = worst(desk.look(), "registration")
    assert (grade, f"registry register {desk.repo.url}" in said) == ("warning", True)


def test_a_repository_that_could_not_be_read(desk: Desk):
    desk.register()
    moved = desk.repo.path.with_name("moved")
    desk.repo.path.rename(moved)
    desk.registry.sync(desk.id)
    grade, said = worst(desk.look(), "registration")
    moved.rename(desk.repo.path)
    assert (grade, f"registry sync {desk.id}" in said) == ("error", True), said


def test_problems_of_the_last_sync(desk: Desk):
    desk.repo.commit({"playbooks/broken.yaml": "playbook: 1\nname: broken\nsteps: ["})
    desk.register()
    grade, said = worst(desk.look(), "registration")
    assert (grade, "--problems" in said) == ("warning", True)


def test_a_token_that_is_not_valid(desk: Desk):
    grade, said = worst(desk.look(REGISTRY_TOKEN="pbr_nobodys"), "token")
    assert (grade, "refused" in said) == ("error", True)


def test_no_token(desk: Desk):
    grade, said = worst(desk.look(REGISTRY_TOKEN=None), "token")
    assert (grade, "execute nothing" in said) == ("warning", True)


def test_a_token_that_may_not_execute(desk: Desk):
    made = desk.registry.client.post(
        "/v1/tokens", json={"name": "ada", "scopes": ["catalog:read"]}, headers={"Authorization": f"Bearer {ADMIN}"}
    )
    grade, said = worst(desk.look(REGISTRY_TOKEN=made.json()["token"]), "token")
    assert (grade, "playbook:execute" in said) == ("warning", True)


def test_a_playbook_that_does_not_load_and_a_file_that_is_none(desk: Desk):
    desk.register()
    (desk.copy / "playbooks" / "mine.yaml").write_text("playbook: 1\nname: mine\nsteps: [")
    (desk.copy / "playbooks" / "notes.md").write_text("Remember the milk.\n")
    grade, said = worst(desk.look(), "own files")
    assert (grade, "playbooks/mine.yaml:3:" in said, "passed over: playbooks/notes.md" in said) == (
        "warning",
        True,
        True,
    )


def test_what_the_author_changed_and_what_a_required_playbook_keeps_out(desk: Desk):
    desk.register()
    (desk.copy / "playbooks" / "own.yaml").write_text(playbook("own", version="2.0.0"))
    _, said = worst(desk.look(), "own files")
    assert "own not as served" in said


def test_no_hosts_file(desk: Desk):
    grade, said = worst(desk.look(), "host")
    assert (grade, "registry init" in said) == ("warning", True)


def test_a_hosts_file_that_cannot_be_read(desk: Desk):
    (desk.copy / ".mcp.json").write_text('{"mcpServers": ')
    grade, said = worst(desk.look(), "host")
    assert (grade, ".mcp.json cannot be read" in said) == ("error", True)


def test_a_hosts_file_of_another_registry_and_of_another_repository(desk: Desk):
    desk.register()
    desk.init("--host", "claude-code", "--host", "cursor")
    place = desk.copy / ".mcp.json"
    place.write_text(place.read_text().replace(desk.url, "http://127.0.0.1:1"))
    other = desk.copy / ".cursor" / "mcp.json"
    other.write_text(other.read_text().replace(desk.id, "github.com/acme/other"))
    grade, said = worst(desk.look(), "host")
    assert grade == "error"
    assert "leads to http://127.0.0.1:1, where no registry answers" in said
    assert "names github.com/acme/other" in said


def test_a_variable_that_codex_needs(desk: Desk):
    desk.register()
    desk.init("--host", "codex", "--with-token")
    grade, said = worst(desk.look(REGISTRY_TOKEN=None), "host")
    assert (grade, "leaves the server out" in said) == ("error", True)


def test_a_token_in_clear(desk: Desk):
    entry = {"url": f"{desk.url}/mcp/r/{desk.id}", "headers": {"Authorization": "Bearer pbr_secret"}}
    (desk.copy / ".mcp.json").write_text(json.dumps({"mcpServers": {"playbooks": entry}}))
    grade, said = worst(desk.look(), "host")
    assert (grade, "in clear" in said, "pbr_secret" in said) == ("warning", True, False)


def test_without_a_url_the_one_in_a_file_is_asked_and_never_shown_the_token(desk: Desk):
    desk.register()
    desk.init("--host", "claude-code")
    found = desk.look(REGISTRY_URL=None)
    assert "asked without a token" in worst(found, "server")[1]
    assert "REGISTRY_TOKEN is not set" in worst(found, "token")[1]


def test_whatever_a_file_leads_to_is_never_shown_the_token(desk: Desk):
    seen: list[str | None] = []

    class Stranger(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            body = b'{"status":"ready"}' if self.path == "/readyz" else b'{"scopes":[],"reads":true}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - as the server looks it up

    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        entry = {"url": f"{url}/mcp/r/{desk.id}"}
        (desk.copy / ".mcp.json").write_text(json.dumps({"mcpServers": {"playbooks": entry}}))
        desk.look(REGISTRY_URL=None)
        server.shutdown()
    assert len(seen) > 3
    assert set(seen) == {None}


def test_a_name_that_the_endpoint_does_not_answer_to(desk: Desk):
    port = desk.url.rpartition(":")[2]
    found = desk.look(REGISTRY_URL=f"http://127.0.0.2:{port}")
    # Whether this machine listens there is another matter; where it does, the name is refused.
    if found["server"][0]["grade"] == "ok":
        grade, said = worst(found, "mcp")
        assert (grade, "REGISTRY_MCP_ALLOWED_HOSTS" in said) == ("error", True)


def test_an_endpoint_that_is_too_old_to_have_one(desk: Desk):
    grade, said = worst(desk.look("--repository", "github.com/acme/elsewhere"), "mcp")
    assert (grade, "github.com/acme/elsewhere" in said) == ("ok", True)


def test_a_service_of_a_monorepo_is_found_by_its_folder(tmp_path: Path, shared: Registry):
    desk = Desk(tmp_path, shared)
    desk.repo.commit({"services/pay/playbooks/pay.yaml": playbook("pay")})
    subprocess.run(["git", "-C", str(desk.copy), "pull", "-q"], check=True)
    identity = f"{desk.id}/-/services/pay"
    desk.registry.register(identity, desk.repo.url, team="pay")
    desk.copy = desk.copy / "services" / "pay"
    desk.init("--host", "claude-code")
    found = desk.look()
    assert identity in worst(found, "repository")[1]
    assert worst(found, "host")[0] == "ok"


def test_a_cache_that_cannot_be_written(desk: Desk):
    (desk.cache.parent / "file").write_text("")
    grade, said = worst(desk.look(REGISTRY_CACHE_DIR=str(desk.cache.parent / "file" / "below")), "cache")
    assert (grade, "REGISTRY_CACHE_DIR" in said) == ("warning", True)


def test_a_closed_registry_says_that_reading_needs_a_token(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    with serving(tmp_path / "data", central_url=central.url, anonymous_read=False) as registry:
        desk = Desk(tmp_path, registry)
        desk.init("--host", "claude-code", "--without-token")
        found = desk.look(REGISTRY_TOKEN=None)
    assert [worst(found, check)[0] for check in ("token", "catalog", "host", "mcp")] == ["error"] * 4
    assert "--with-token" in worst(found, "host")[1]


@pytest.mark.parametrize("options", [("--repository", "x"), ("--repo", ".", "--data-dir", "d")])
def test_options_that_do_not_go_together_are_refused(options: tuple[str, ...]):
    assert run("doctor", *options).exit_code == 2
