"""Hosts that are installed on this machine read what `registry init` writes, and reach the registry by it.

Nothing is installed for this, and no model is asked. Where a host is missing its test is skipped, and says so.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import run
from gitserver import GitRepo
from serving import Registry, serving
from world import playbook

LISTS = {
    "claude-code": ("claude", "Connected"),
    "codex": ("codex", "enabled"),
    "gemini-cli": ("gemini", "Connected"),
    "opencode": ("opencode", "connected"),
}
SECONDS = 90


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, GitRepo]]:
    folder = tmp_path_factory.mktemp("hosts")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    app = GitRepo(folder / "git" / "acme" / "app")
    app.commit({"README.md": "A service.\n"})
    with serving(folder / "data", central_url=central.url) as registry:
        yield registry, app


def trusting(home: Path, copy: Path) -> dict[str, str]:
    """The environment of a user who has told every host that the copy may be trusted."""
    for name in (".claude", ".codex", ".gemini"):
        (home / name).mkdir(parents=True)
    project = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["playbooks"]}
    (home / ".claude.json").write_text(json.dumps({"projects": {str(copy): project}, "hasCompletedOnboarding": True}))
    (home / ".codex" / "config.toml").write_text(f'[projects."{copy}"]\ntrust_level = "trusted"\n')
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(copy): "TRUST_FOLDER"}))
    return {"PATH": os.environ["PATH"], "HOME": str(home), "DISABLE_AUTOUPDATER": "1", "NO_COLOR": "1"}


@pytest.mark.parametrize("name", LISTS)
def test_a_host_connects_by_the_file_that_is_written_without_a_variable_set(tmp_path: Path, served, name: str):
    command, said = LISTS[name]
    if shutil.which(command) is None:
        pytest.skip(f"NOT TRIED: {command} is not installed here")
    registry, app = served
    copy = tmp_path / "copy"
    subprocess.run(["git", "clone", "-q", app.url, str(copy)], check=True)
    url = str(registry.client.base_url).rstrip("/")
    option = "--without-token" if name == "codex" else "--with-token"
    assert run("init", str(copy), "--host", name, option, REGISTRY_URL=url, REGISTRY_TOKEN=None).exit_code == 0
    done = subprocess.run(
        [command, "mcp", "list"],
        cwd=copy,
        env=trusting(tmp_path / "home", copy),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    (line,) = [
        line for line in (done.stdout + done.stderr).splitlines() if "playbooks" in line and "/" not in line.split()[0]
    ][:1]
    assert said in line
