"""The README's first set-up, typed as it stands there, against real repositories and a real server."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from serving import free_port
from shellblocks import ROOT, commands, page, section

SET_UP = section(page("README.md"), "A first set-up with your own repositories")
MARK = "=== "
ENDS_WITHIN_S = 90


def remotes(folder: Path) -> dict[str, str]:
    """An empty central repository and a service repository with one commit, as a forge would have them."""
    made = {}
    for name, variable in (("playbooks", "CENTRAL"), ("payments", "SERVICE")):
        bare = folder / "acme" / f"{name}.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
        made[variable] = bare.as_uri()
    tree = (
        subprocess.run(["git", "mktree"], cwd=bare, input=b"", stdout=subprocess.PIPE, check=True)
        .stdout.decode()
        .strip()
    )
    commit = (
        subprocess.run(["git", "commit-tree", "-m", "Begin", tree], cwd=bare, stdout=subprocess.PIPE, check=True)
        .stdout.decode()
        .strip()
    )
    subprocess.run(["git", "update-ref", "refs/heads/main", commit], cwd=bare, check=True)
    return made


def script(values: dict[str, str]) -> str:
    """The README's commands as one bash script, each announced, with the reader's own values filled in."""
    lines = ["set -euo pipefail"]
    for command in commands(SET_UP):
        if command.startswith("make "):
            continue
        found = re.fullmatch(r"export (\w+)=.*", command)
        typed = f"export {found[1]}={values[found[1]]}" if found and found[1] in values else command
        lines += [f"echo '{MARK}'{shell_quoted(command)}", typed]
    return "\n".join([*lines, "wait"])


def shell_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """command -> what it wrote, for every command of the set-up."""
    folder = tmp_path_factory.mktemp("readme")
    clone = folder / "clone"
    (clone / ".venv").mkdir(parents=True)
    (clone / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    shutil.copytree(ROOT / "examples", clone / "examples")
    port = free_port()
    values = {**remotes(folder), "REGISTRY_URL": f"http://127.0.0.1:{port}"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REGISTRY_")}
    environment |= {"REGISTRY_LISTEN": f"127.0.0.1:{port}", "REGISTRY_ALLOW_FILE_REMOTES": "true"}
    process = subprocess.Popen(
        ["bash", "-c", script(values)],
        cwd=clone,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        stop(process)
        raise
    if process.returncode:
        stop(process)
        pytest.fail(f"{output}\n{(clone / 'registry.log').read_text() if (clone / 'registry.log').exists() else ''}")
    parts = [part.partition("\n") for part in output.split(MARK)[1:]]
    return {command: answer for command, _, answer in parts}


def stop(process: subprocess.Popen) -> None:
    """Ask everything in the script's session to end: the server then takes its worker with it."""
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(30)


def test_every_command_of_the_first_set_up_runs(told: dict[str, str]):
    assert len(told) >= 20


def test_the_registry_says_that_it_is_ready(told: dict[str, str]):
    (answer,) = [answer for command, answer in told.items() if "readyz" in command]
    assert '{"status":"ready"}' in answer


def test_the_services_copy_serves_at_home(told: dict[str, str]):
    assert "local_wins" in told['registry explain rotate-signing-key --repository "$SERVICE"']


def test_everybody_else_gets_the_companys(told: dict[str, str]):
    assert "central_only" in told["registry explain rotate-signing-key"]


def test_a_search_finds_the_services_copy(told: dict[str, str]):
    (answer,) = [answer for command, answer in told.items() if "/v1/search" in command]
    assert "1.4.0-payments.2" in answer
