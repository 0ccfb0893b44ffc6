"""`registry init` in real working copies, before a real registry: what it writes, what it leaves alone, what it says."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli import run
from click.testing import Result
from gitserver import GitRepo
from serving import ADMIN, Registry, serving
from workingcopy import git, working_copy
from world import playbook

from registry.cli.hosts import HOSTS, USUAL

ROOT = Path(__file__).resolve().parents[2]
FILES = tuple(HOSTS[name].path for name in USUAL)
EXAMPLE = "playbooks/rotate-signing-key.yaml"
WORKFLOW = ".github/workflows/playbooks.yml"


@dataclass
class Forge:
    """A registry, and repositories that it can read."""

    folder: Path
    registry: Registry

    @property
    def url(self) -> str:
        return str(self.registry.client.base_url).rstrip("/")

    def clone(self, name: str, files: dict[str, str] | None = None) -> Path:
        """A working copy of a new repository, which nobody registered."""
        repo = GitRepo(self.folder / "git" / "acme" / name)
        repo.commit(files or {"README.md": "Nothing yet.\n"})
        copy = self.folder / "copies" / name
        subprocess.run(["git", "clone", "-q", repo.url, str(copy)], check=True)
        return copy

    def token(self, *scopes: str, team: str | None = None) -> str:
        body = {"name": "ada", "scopes": list(scopes), **({"team": team} if team else {})}
        made = self.registry.client.post("/v1/tokens", json=body, headers={"Authorization": f"Bearer {ADMIN}"})
        assert made.status_code == 201, made.text
        return made.json()["token"]

    def init(self, copy: Path, *options: str, token: str | None = None) -> Result:
        return run("init", str(copy), *options, REGISTRY_URL=self.url, REGISTRY_TOKEN=token)

    def registered(self, name: str) -> dict | None:
        answer = self.registry.get(f"/v1/repositories/local/acme/{name}")
        return answer.json() if answer.status_code == 200 else None


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    folder = tmp_path_factory.mktemp("init")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    with serving(folder / "data", central_url=central.url, poll_interval_s=3600) as registry:
        yield Forge(folder, registry)


def everything(copy: Path) -> dict[str, bytes]:
    """Path -> bytes of what lies in a copy, git's own apart."""
    return {
        str(path.relative_to(copy)): path.read_bytes()
        for path in sorted(copy.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(copy).parts[:1]
    }


def test_a_copy_is_registered_for_the_tokens_team_and_its_hosts_files_are_made(forge: Forge):
    copy = forge.clone("first", {"playbooks/own.yaml": playbook("own")})
    result = forge.init(copy, token=forge.token("repository:write", "catalog:read", team="payments"))
    assert result.exit_code == 0, result.output
    assert forge.registered("first")["team"] == "payments"
    assert "local/acme/first" in result.stdout
    assert set(everything(copy)) == {"playbooks/own.yaml", *FILES}
    entry = json.loads((copy / ".mcp.json").read_text())["mcpServers"]["playbooks"]
    assert entry["url"] == f"{forge.url}/mcp/r/local/acme/first"
    assert " add .mcp.json .codex/config.toml" in result.stderr


def test_a_second_time_not_a_byte_is_changed(forge: Forge):
    copy = forge.clone("twice")
    forge.init(copy)
    before = {path: (copy / path).stat().st_mtime_ns for path in everything(copy)}
    result = forge.init(copy)
    assert (result.exit_code, "Nothing to do." in result.stderr) == (0, True)
    assert {path: (copy / path).stat().st_mtime_ns for path in everything(copy)} == before


def test_a_dry_run_shows_it_and_changes_nothing(forge: Forge):
    copy = forge.clone("dry")
    before = everything(copy)
    result = forge.init(copy, "--dry-run", token=forge.token("repository:write", team="dry"))
    assert (result.exit_code, everything(copy), forge.registered("dry")) == (0, before, None)
    assert "would register" in result.stdout
    assert '+      "url": "' in result.stdout
    assert "+++ b/.codex/config.toml" in result.stdout


def test_without_a_token_it_says_what_to_run_later_and_goes_on(forge: Forge):
    copy = forge.clone("tokenless")
    result = forge.init(copy)
    assert (result.exit_code, forge.registered("tokenless")) == (0, None)
    assert "registry register file://" in result.stdout
    assert set(FILES) <= set(everything(copy))


def test_a_token_without_the_scope_is_told_and_the_files_are_made(forge: Forge):
    copy = forge.clone("scopeless")
    result = forge.init(copy, token=forge.token("catalog:read", team="x"))
    assert (result.exit_code, "no repository:write" in result.stdout) == (0, True)
    assert set(FILES) <= set(everything(copy))


def test_a_team_that_was_asked_for_and_cannot_be_is_no_success(forge: Forge):
    copy = forge.clone("foreign-team")
    result = forge.init(copy, "--team", "theirs", token=forge.token("repository:write", "catalog:read", team="ours"))
    assert (result.exit_code, forge.registered("foreign-team")) == (1, None)
    assert set(FILES) <= set(everything(copy))


def test_nobody_is_registered_where_that_is_not_wanted(forge: Forge):
    copy = forge.clone("unwanted")
    forge.init(copy, "--no-register", token=forge.token("repository:write", team="x"))
    assert forge.registered("unwanted") is None


def test_a_repository_that_is_registered_stays_with_its_team(forge: Forge):
    copy = forge.clone("known")
    forge.registry.register("local/acme/known", f"file://{forge.folder}/git/acme/known", team="owners")
    result = forge.init(copy, token=forge.token("repository:write", "catalog:read", team="others"))
    assert (result.exit_code, forge.registered("known")["team"]) == (0, "owners")
    assert "of team owners" in result.stdout


def test_no_file_and_no_line_holds_the_token(forge: Forge):
    copy = forge.clone("secretive")
    token = forge.token("repository:write", "catalog:read", "playbook:execute", team="x")
    result = forge.init(copy, "--with-token", token=token)
    assert token not in result.output
    assert token.encode() not in b"".join(everything(copy).values())
    assert b"REGISTRY_TOKEN" in everything(copy)[".codex/config.toml"]


def test_where_reading_needs_a_token_every_file_names_it(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    with serving(tmp_path / "data", central_url=central.url, anonymous_read=False) as registry:
        forge = Forge(tmp_path, registry)
        copy = forge.clone("closed")
        result = forge.init(copy)
    assert (result.exit_code, "reading needs a token here" in result.stdout) == (0, True)
    made = everything(copy)
    assert [path for path in FILES if b"REGISTRY_TOKEN" not in made[path]] == []


def test_a_registry_out_of_reach_keeps_nobody_from_the_files(forge: Forge):
    copy = forge.clone("far")
    result = run("init", str(copy), REGISTRY_URL="http://127.0.0.1:1", REGISTRY_TOKEN=None)
    assert (result.exit_code, set(FILES) <= set(everything(copy))) == (3, True)


def test_something_else_that_answers_stops_it_before_a_file_is_written(forge: Forge):
    copy = forge.clone("elsewhere")
    before = everything(copy)
    result = run("init", str(copy), "--url", f"{forge.url}/healthz", REGISTRY_TOKEN=None)
    assert (result.exit_code, everything(copy)) == (2, before)


def test_a_token_that_is_not_valid_stops_it_before_a_file_is_written(forge: Forge):
    copy = forge.clone("expired")
    before = everything(copy)
    result = forge.init(copy, token="pbr_nobodys")
    assert (result.exit_code, everything(copy)) == (2, before)


# Folders that are none, and names that are none


def test_a_folder_that_is_no_copy_is_told(forge: Forge, tmp_path: Path):
    result = forge.init(tmp_path)
    assert (result.exit_code, "no git working copy" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("remote", "said"), [(None, "git remote add origin"), ("/srv/git/app.git", "--repository")])
def test_a_copy_that_nobody_could_know_is_told_how_to_name_it(forge: Forge, tmp_path: Path, remote, said: str):
    copy = working_copy(tmp_path / "copy", remote)
    result = forge.init(copy)
    assert (result.exit_code, said in result.stderr, everything(copy)) == (2, True, {})
    assert forge.init(copy, "--repository", "github.com/acme/named").exit_code == 0
    assert "github.com/acme/named" in (copy / ".mcp.json").read_text()


@pytest.mark.parametrize("url", ["https://ada:pbr_x@registry.acme.example", "https://ada@registry.acme.example"])
def test_a_url_with_a_secret_is_never_written(tmp_path: Path, url: str):
    copy = working_copy(tmp_path / "copy", "https://github.com/acme/app.git")
    result = run("init", str(copy), "--url", url, REGISTRY_TOKEN=None)
    assert (result.exit_code, everything(copy), "pbr_x" in result.output) == (2, {}, False)


def test_without_a_url_it_asks_for_one(tmp_path: Path):
    copy = working_copy(tmp_path / "copy", "https://github.com/acme/app.git")
    result = run("init", str(copy), REGISTRY_URL=None)
    assert (result.exit_code, "Give --url" in result.stderr, everything(copy)) == (2, True, {})


# Files that are there


def test_what_cannot_be_changed_is_left_alone_and_the_rest_is_done(forge: Forge, tmp_path: Path):
    copy = forge.clone("occupied")
    (tmp_path / "outside").mkdir()
    (copy / ".gemini").symlink_to(tmp_path / "outside")
    (copy / ".mcp.json").write_text('{"mcpServers": {"playbooks": {"command": "npx"}}}')
    (copy / ".cursor").mkdir()
    (copy / ".cursor" / "mcp.json").write_text('{\n  // mine\n  "mcpServers": {}\n}\n')
    before = everything(copy)
    result = forge.init(copy)
    after = everything(copy)
    assert result.exit_code == 1
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) == {".codex/config.toml", "opencode.json", EXAMPLE}
    assert list((tmp_path / "outside").iterdir()) == []
    assert [line.split()[2] for line in result.stdout.splitlines() if "left alone" in line] == [
        ".mcp.json",
        ".cursor/mcp.json",
        ".gemini/settings.json",
    ]


def test_a_file_with_comments_that_says_it_all_is_as_it_is(forge: Forge):
    copy = forge.clone("commented")
    forge.init(copy, "--host", "gemini-cli")
    place = copy / ".gemini" / "settings.json"
    place.write_text("// ours\n" + place.read_text())
    result = forge.init(copy, "--host", "gemini-cli")
    assert (result.exit_code, "as it is" in result.stdout) == (0, True)


def test_a_link_to_a_file_is_not_written_through(forge: Forge, tmp_path: Path):
    copy = forge.clone("linked")
    target = tmp_path / "theirs.json"
    target.write_text("{}")
    (copy / ".mcp.json").symlink_to(target)
    result = forge.init(copy, "--host", "claude-code")
    assert (result.exit_code, target.read_text(), (copy / ".mcp.json").is_symlink()) == (1, "{}", True)


def test_a_folder_in_the_place_of_a_file_is_told(forge: Forge):
    copy = forge.clone("folders")
    (copy / ".mcp.json").mkdir()
    (copy / ".codex").write_text("a file")
    result = forge.init(copy, "--host", "claude-code", "--host", "codex")
    assert (result.exit_code, result.stdout.count("left alone")) == (1, 2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_told(forge: Forge):
    copy = forge.clone("read-only")
    copy.chmod(0o555)
    try:
        result = forge.init(copy, "--host", "claude-code", "--no-example")
    finally:
        copy.chmod(0o755)
    assert (result.exit_code, "may not write" in result.stdout) == (1, True)


def test_a_file_keeps_its_mode(forge: Forge):
    copy = forge.clone("modes")
    (copy / ".mcp.json").write_text("{}\n")
    (copy / ".mcp.json").chmod(0o600)
    forge.init(copy, "--host", "claude-code")
    assert stat.S_IMODE((copy / ".mcp.json").stat().st_mode) == 0o600
    assert "playbooks" in (copy / ".mcp.json").read_text()


def test_nothing_is_left_beside_the_files(forge: Forge):
    copy = forge.clone("tidy")
    forge.init(copy)
    assert set(everything(copy)) == {"README.md", EXAMPLE, *FILES}


def test_a_diff_shows_no_secret_of_others(forge: Forge):
    copy = forge.clone("foreign-secrets")
    theirs = {"command": "npx", "env": {"API_KEY": "hunter2"}, "headers": {"Authorization": "Bearer hunter3"}}
    (copy / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": theirs}}))
    result = forge.init(copy, "--host", "claude-code", "--with-token", "--dry-run")
    assert ("hunter" in result.output, "REGISTRY_TOKEN" in result.output) == (False, True)


def test_a_file_that_git_ignores_is_told(forge: Forge):
    copy = forge.clone("ignoring", {".gitignore": ".cursor/\n"})
    result = forge.init(copy)
    assert "git ignores .cursor/mcp.json" in result.stderr
    assert ".cursor" not in result.stderr.partition("Commit them")[2].partition("\n")[0]


# Hosts and forms


def test_only_the_hosts_that_are_named_are_set_up(forge: Forge):
    copy = forge.clone("some-hosts")
    forge.init(copy, "--host", "vscode", "--host", "codex", "--no-example")
    assert set(everything(copy)) == {"README.md", ".vscode/mcp.json", ".codex/config.toml"}


def test_a_bridge_that_was_chosen_stays_one(forge: Forge):
    copy = forge.clone("bridged")
    forge.init(copy, "--bridge")
    before = everything(copy)
    assert (forge.init(copy).exit_code, everything(copy)) == (0, before)
    assert b'"command": "registry"' in before[".mcp.json"]


def test_a_url_of_this_machine_is_told_as_one(forge: Forge):
    assert "leads to this machine only" in forge.init(forge.clone("loopback")).stderr


# The example and the check


def test_an_example_is_added_where_there_is_no_playbook_and_passes_the_check(forge: Forge):
    copy = forge.clone("bare")
    forge.init(copy)
    assert (copy / EXAMPLE).read_text().rstrip() == run("schema", "playbook", "--example").stdout.rstrip()
    assert run("check", str(copy)).exit_code == 0


@pytest.mark.parametrize("path", ["playbooks/own.yaml", ".claude/skills/tidy/SKILL.md", "playbooks/notes.md"])
def test_no_example_is_added_where_something_is(forge: Forge, path: str):
    copy = forge.clone(f"stocked-{path.replace('/', '-').lower()}", {path: playbook("own")})
    forge.init(copy)
    assert EXAMPLE not in everything(copy)


def test_no_example_goes_before_what_the_company_has(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/key.yaml": playbook("rotate-signing-key")})
    with serving(tmp_path / "data", central_url=central.url) as registry:
        forge = Forge(tmp_path, registry)
        copy = forge.clone("app")
        result = forge.init(copy)
    assert (EXAMPLE in everything(copy), "would go before it" in result.stdout) == (False, True)


def test_the_check_of_pull_requests_is_the_one_of_the_examples(tmp_path: Path):
    copy = working_copy(tmp_path / "copy", "git@github.com:acme/app.git")
    run("init", str(copy), REGISTRY_URL="http://127.0.0.1:1", REGISTRY_TOKEN=None)
    assert (copy / WORKFLOW).read_text() == (ROOT / "examples" / "ci" / "github-workflow.yml").read_text()


def test_another_forge_gets_the_check_only_where_it_is_asked_for(forge: Forge):
    copy = forge.clone("other-forge")
    forge.init(copy)
    assert WORKFLOW not in everything(copy)
    forge.init(copy, "--ci", "github")
    assert WORKFLOW in everything(copy)


def test_a_check_that_is_there_under_another_name_is_enough(tmp_path: Path):
    copy = working_copy(tmp_path / "copy", "git@github.com:acme/app.git")
    (copy / ".github" / "workflows").mkdir(parents=True)
    (copy / ".github" / "workflows" / "ours.yaml").write_text("jobs:\n  a:\n    steps: [{run: registry check .}]\n")
    run("init", str(copy), REGISTRY_URL="http://127.0.0.1:1", REGISTRY_TOKEN=None)
    assert not (copy / WORKFLOW).exists()


# Monorepos


def test_a_service_of_a_monorepo_goes_by_the_id_that_it_is_registered_under(forge: Forge):
    copy = forge.clone("mono", {"services/pay/README.md": "Pay.\n"})
    identity = "local/acme/mono/-/services/pay"
    forge.registry.register(identity, f"file://{forge.folder}/git/acme/mono", team="pay")
    result = forge.init(copy / "services" / "pay")
    assert result.exit_code == 0, result.output
    made = everything(copy)
    assert {path for path in made if path.endswith(".mcp.json")} == {"services/pay/.mcp.json"}
    assert f"{forge.url}/mcp/r/{identity}".encode() in made["services/pay/.mcp.json"]
    assert "services/pay/playbooks/rotate-signing-key.yaml" in made


def test_a_service_of_a_monorepo_can_be_named_before_it_is_registered(forge: Forge):
    copy = forge.clone("mono-new", {"services/pay/README.md": "Pay.\n"})
    identity = "local/acme/mono-new/-/services/pay"
    token = forge.token("repository:write", "catalog:read", team="pay")
    result = forge.init(copy, "--repository", identity, token=token)
    assert result.exit_code == 0, result.output
    assert (copy / "services/pay/.mcp.json").exists()
    assert forge.registered("mono-new/-/services/pay")["team"] == "pay"


def test_a_plain_folder_of_a_repository_is_not_taken_for_a_service(forge: Forge):
    copy = forge.clone("plain", {"src/main.py": "pass\n"})
    result = forge.init(copy / "src")
    assert (copy / ".mcp.json").exists()
    assert "--repository local/acme/plain/-/src" in result.stderr


def test_git_is_not_touched(forge: Forge):
    copy = forge.clone("git-alone")
    forge.init(copy)
    assert git(copy, "diff", "--cached", "--name-only") == ""
