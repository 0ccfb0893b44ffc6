"""A running registry over real repositories, and working copies in which somebody prepares a pull request."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli import run
from gitserver import GitRepo
from serving import AS_ADMIN, Registry, serving
from workingcopy import git
from world import playbook

POLICY = """policy: 1
required:
  - {name: deploy, reason: The path is audited.}
waivers:
  - {name: deploy, repository: local/acme/legacy, until: 2099-12-31, reason: Old deployer., approved_by: platform}
"""
CENTRAL = {
    "policy.yaml": POLICY,
    "playbooks/deploy.yaml": playbook("deploy", purpose="Bring a release to production."),
    "playbooks/drain.yaml": playbook("drain", purpose="Take a node out of service."),
    "playbooks/rotate.yaml": playbook("rotate", purpose="Replace the key that a service signs with."),
}
SERVICES = {
    "payments": {"playbooks/drain.yaml": playbook("drain", version="9.0.0", purpose="Empty the till before closing.")},
    "search": {
        "playbooks/reindex.yaml": playbook("reindex", purpose="Build the index of products anew."),
        "playbooks/old.yaml": playbook(
            "old", purpose="Build it by hand.", deprecated="{since: 2026-01-01, replaced_by: reindex}"
        ),
    },
    "legacy": {"playbooks/deploy.yaml": playbook("deploy", version="0.1.0", purpose="Copy the files over.")},
    "quiet": {},
}


class Forge:
    """A running registry over real repositories, and working copies of them."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self.folder = folder
        self.registry = registry
        self.url = str(registry.client.base_url)

    def clone(self, name: str, into: Path) -> Path:
        """A working copy of a repository on a branch of its own."""
        copy = into / name
        subprocess.run(["git", "clone", "-q", f"file://{self.folder}/git/acme/{name}", str(copy)], check=True)
        git(copy, "checkout", "-q", "-b", "change")
        return copy

    def check(self, copy: Path, *options: str) -> dict:
        """The report of `registry check --registry … --base origin/main`."""
        result = run("check", str(copy), *self.asked(), "--format", "json", *options, REGISTRY_TOKEN=None)
        return {**json.loads(result.stdout), "exit": result.exit_code, "stderr": result.stderr}

    def text(self, copy: Path, *options: str) -> str:
        """The same for people."""
        return run("check", str(copy), *self.asked(), *options, REGISTRY_TOKEN=None).stdout

    def asked(self) -> tuple[str, ...]:
        return "--registry", self.url, "--base", "origin/main"

    def call(self, method: str, path: str, body: object = None) -> None:
        answer = self.registry.client.request(method, path, json=body, headers=AS_ADMIN)
        assert answer.is_success, answer.text


@contextmanager
def forging(folder: Path) -> Iterator[Forge]:
    """A registry over central and four service repositories, ready."""
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit(CENTRAL)
    with serving(folder / "data", central_url=central.url, poll_interval_s=3600) as registry:
        for name, files in SERVICES.items():
            repo = GitRepo(folder / "git" / "acme" / name)
            repo.commit(files or {"README.md": "Nothing yet.\n"})
            assert registry.register(f"local/acme/{name}", repo.url, team=name)["sync"]["state"] == "ok"
        yield Forge(folder, registry)


def write(copy: Path, name: str, **members: str) -> None:
    """Put a playbook into a working copy."""
    (copy / "playbooks").mkdir(exist_ok=True)
    (copy / "playbooks" / f"{name}.yaml").write_text(playbook(name, **members))
