"""Working copies that git made, and what `registry check` says of them."""

import json
import os
import subprocess
from pathlib import Path

from cli import run

GOOD = """\
playbook: 1
name: {name}
version: 1.0.0
owner: payments
purpose: Replace the key a service signs with.
not_for: [Passwords.]
inputs: {{type: object}}
preconditions: [{{id: ready, state: The new key exists.}}]
steps: [{{id: publish, instruction: Publish the new key{extra}.}}]
stop: [{{when: A verifier refuses the new key., then: escalate}}]
verification: [{{state: Nothing is signed with the old key.}}]
"""


def playbook(name: str = "rotate-key", extra: str = "") -> str:
    return GOOD.format(name=name, extra=extra)


def working_copy(folder: Path, remote: str | None = None, **files: str) -> Path:
    """A git working copy in `folder`; `__` in a keyword is a slash and `_` a dot of the file's path."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    if remote:
        subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", remote], check=True)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def report(folder: Path, *options: str) -> dict:
    return json.loads(run("check", str(folder), "--format", "json", *options).stdout)


def codes(folder: Path, *options: str) -> set[str]:
    return {problem["code"] for problem in report(folder, *options)["problems"]}


def git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{what}": "a@b.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True, env={**os.environ, **who}
    )
    return done.stdout.strip()


def committed(folder: Path, remote: str | None = None, **files: str) -> Path:
    """A working copy with one commit on main, on the branch `change`."""
    working_copy(folder, remote, **files)
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    git(folder, "checkout", "-q", "-B", "change")
    return folder


def told(folder: Path, *options: str) -> dict[str, bool]:
    """Code -> whether the change brought it."""
    return {problem["code"]: problem["new"] for problem in report(folder, "--base", "main", *options)["problems"]}


def changes(folder: Path, *options: str) -> dict[str, list[str]]:
    """Sort -> names, of the effect since main."""
    effect = report(folder, "--base", "main", *options)["effect"]["effect"]
    return {sort: [row["name"] for row in listed["items"]] for sort, listed in effect.items() if listed["count"]}
