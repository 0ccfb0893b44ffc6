"""What examples/ci tells others to run is run here, in a working copy and against a real registry."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from forge import Forge, forging, write
from serving import ADMIN
from workingcopy import git


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    with forging(tmp_path_factory.mktemp("forge")) as made:
        yield made


EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ci"
ROOT = EXAMPLES.parents[1]


def lines_of(workflow: dict) -> list[str]:
    """What the steps of a workflow's one job run."""
    (job,) = workflow["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def load(path: Path) -> dict | list:
    return yaml.safe_load(path.read_text())


def tool_in(copy: Path) -> None:
    """The tool's own clone where the workflow checks it out, set up already: what `make setup` would find done."""
    clone = copy / ".playbook-registry"
    clone.mkdir()
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, clone / name)
        os.utime(clone / name, (0, 0))
    venv = Path(sys.prefix)
    (clone / ".venv").symlink_to(venv)


def workflow_run(forge: Forge, copy: Path, summary: Path) -> subprocess.CompletedProcess[str]:
    """The run of the example's steps as a runner would do it, each by bash with -e."""
    text = "\n".join(lines_of(load(EXAMPLES / "github-workflow.yml")))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(copy.parent),
        "REGISTRY_URL": forge.url,
        "REGISTRY_TOKEN": ADMIN,
        "BASE_BRANCH": "main",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", text], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def test_the_workflow_fails_a_bad_pull_request_with_an_annotation_and_a_summary(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    tool_in(copy)
    write(copy, "deploy", purpose="Skip the queue.")
    git(copy, "add", "playbooks")
    git(copy, "commit", "-qm", "shortcut")
    done = workflow_run(forge, copy, tmp_path / "summary.md")
    assert done.returncode == 1, done.stderr
    assert "::error file=playbooks/deploy.yaml,line=1,col=1,title=shadows-required::" in done.stdout
    assert "**refused** deploy" in (tmp_path / "summary.md").read_text()


def test_the_workflow_passes_a_good_pull_request(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    tool_in(copy)
    write(copy, "refund", purpose="Give the money back.")
    done = workflow_run(forge, copy, tmp_path / "summary.md")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "**added** refund" in (tmp_path / "summary.md").read_text()


def test_the_workflow_names_no_host_and_takes_nothing_from_the_pull_request_as_a_command():
    text = (EXAMPLES / "github-workflow.yml").read_text()
    assert "://" not in text
    assert all("${{" not in line for line in lines_of(load(EXAMPLES / "github-workflow.yml")))


def hook() -> dict:
    (only,) = load(ROOT / ".pre-commit-hooks.yaml")
    return only


def test_the_example_configuration_uses_a_hook_that_there_is():
    (repo,) = load(EXAMPLES / "pre-commit-config.yaml")["repos"]
    assert [item["id"] for item in repo["hooks"]] == [hook()["id"]]


@pytest.mark.parametrize(
    ("path", "concerned"),
    [
        ("playbooks/a.yaml", True),
        ("services/pay/.playbooks/a.md", True),
        (".claude/skills/tidy/SKILL.md", True),
        ("policy.yaml", True),
        ("src/main.py", False),
        ("docs/policy.yaml", False),
    ],
)
def test_the_hook_runs_where_a_playbook_is_touched(path: str, concerned: bool):
    assert bool(re.search(hook()["files"], path)) is concerned


def commit_through_hook(copy: Path, message: str) -> subprocess.CompletedProcess[str]:
    """A commit with git's own hook, which runs what pre-commit would run with the example's arguments."""
    (repo,) = load(EXAMPLES / "pre-commit-config.yaml")["repos"]
    arguments = " ".join(repo["hooks"][0]["args"])
    script = copy / ".git" / "hooks" / "pre-commit"
    script.write_text(f"#!/bin/sh\nexec {hook()['entry']} {arguments}\n")
    script.chmod(0o755)
    git(copy, "add", "--all")
    venv = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{venv}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["git", "-C", str(copy), "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", message],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_hook_keeps_a_broken_playbook_out_of_a_commit(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    (copy / "playbooks" / "drain.yaml").write_text("playbook: 1\nname: drain\n")
    done = commit_through_hook(copy, "broken")
    assert (done.returncode, "field-missing" in done.stdout + done.stderr) == (1, True)


def test_the_hook_lets_a_good_playbook_through(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    text = (ROOT / "examples" / "payments" / "playbooks" / "reconcile-ledger.yaml").read_text()
    (copy / "playbooks" / "reconcile-ledger.yaml").write_text(text)
    done = commit_through_hook(copy, "good")
    assert done.returncode == 0, done.stdout + done.stderr
