"""registry.git.checkout: where a working copy comes from, and what its author changed in it."""

import os
import subprocess
from pathlib import Path

import pytest
from gitserver import ENVIRONMENT

from registry.git.checkout import changed_since, detect_remote, open_checkout


@pytest.fixture(autouse=True)
def _nobody_elses_configuration(monkeypatch):
    for key, value in ENVIRONMENT.items():
        monkeypatch.setenv(key, value)


def git(root: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *args], check=True, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}
    )
    return done.stdout.strip()


def checkout(tmp_path: Path, files: dict[str, str] | None = None) -> Path:
    root = tmp_path / "copy"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    write(root, files or {})
    return root


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def commit(root: Path, files: dict[str, str]) -> str:
    write(root, files)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "a change")
    return git(root, "rev-parse", "HEAD")


def test_the_remote_is_the_one_named_origin(tmp_path):
    root = checkout(tmp_path)
    git(root, "remote", "add", "fork", "https://git.acme.example/me/app")
    git(root, "remote", "add", "origin", "git@git.acme.example:acme/app.git")
    assert detect_remote(root) == "git@git.acme.example:acme/app.git"


def test_a_remote_is_found_from_a_folder_inside(tmp_path):
    root = checkout(tmp_path, {"p/a": "1"})
    git(root, "remote", "add", "upstream", "https://git.acme.example/acme/app")
    assert detect_remote(root / "p") == "https://git.acme.example/acme/app"


def test_a_remote_comes_without_the_credentials_in_its_url(tmp_path):
    root = checkout(tmp_path)
    git(root, "remote", "add", "origin", "https://x-token:hunter2@git.acme.example/acme/app")
    assert detect_remote(root) == "https://git.acme.example/acme/app"


def test_a_remote_is_spelled_as_git_would_reach_it(tmp_path):
    root = checkout(tmp_path)
    git(root, "remote", "add", "origin", "work:acme/app")
    git(root, "config", "url.https://git.acme.example/.insteadOf", "work:")
    assert detect_remote(root) == "https://git.acme.example/acme/app"


def test_a_checkout_without_a_remote_has_none(tmp_path):
    assert detect_remote(checkout(tmp_path)) is None


def test_a_folder_that_is_no_checkout_is_none(tmp_path):
    assert (detect_remote(tmp_path), open_checkout(tmp_path)) == (None, None)


def test_a_checkout_without_a_commit_has_none(tmp_path):
    found = open_checkout(checkout(tmp_path))
    assert (found.head, found.branch) == (None, "main")


def test_the_commit_and_the_branch_that_are_checked_out_are_named(tmp_path):
    root = checkout(tmp_path)
    head = commit(root, {"a": "1"})
    found = open_checkout(root)
    assert (found.root, found.head, found.branch) == (root, head, "main")


def test_a_detached_head_is_on_no_branch(tmp_path):
    root = checkout(tmp_path)
    head = commit(root, {"a": "1"})
    git(root, "checkout", "--quiet", "--detach")
    assert (open_checkout(root).head, open_checkout(root).branch) == (head, None)


def test_a_hook_of_another_repository_does_not_mislead(tmp_path, monkeypatch):
    root = checkout(tmp_path)
    commit(root, {"a": "1"})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert open_checkout(root).root == root


def test_what_was_edited_committed_added_and_deleted_counts_as_changed(tmp_path):
    root = checkout(tmp_path)
    base = commit(root, {"p/edited": "1", "p/committed": "1", "p/deleted": "1", "p/same": "1", "elsewhere": "1"})
    commit(root, {"p/committed": "2"})
    write(root, {"p/edited": "2", "p/ünt racked": "1", "elsewhere": "2"})
    (root / "p/deleted").unlink()
    assert changed_since(root, [base], ["p"]) == {"p/edited", "p/committed", "p/deleted", "p/ünt racked"}


def test_what_others_changed_since_the_copy_branched_off_does_not_count(tmp_path):
    root = checkout(tmp_path)
    commit(root, {"p/a": "1", "p/b": "1"})
    git(root, "checkout", "--quiet", "-b", "mine")
    commit(root, {"p/b": "2"})
    git(root, "checkout", "--quiet", "main")
    served = commit(root, {"p/a": "2", "p/c": "1"})
    git(root, "checkout", "--quiet", "mine")
    assert changed_since(root, [served], ["p"]) == {"p/b"}


def test_what_git_ignores_is_nobodys_change(tmp_path):
    root = checkout(tmp_path)
    base = commit(root, {".gitignore": "p/private\n", "p/a": "1"})
    write(root, {"p/private": "1"})
    assert changed_since(root, [base], ["p"]) == frozenset()


def test_a_commit_that_git_does_not_know_leaves_the_next_one(tmp_path):
    root = checkout(tmp_path)
    base = commit(root, {"p/a": "1"})
    write(root, {"p/a": "2"})
    assert changed_since(root, ["0" * 40, None, base], ["p"]) == {"p/a"}


@pytest.mark.parametrize("name", ["0" * 40, "--output=/etc/passwd", "no such ref"])
def test_without_a_commit_in_common_nobody_can_tell(tmp_path, name):
    root = checkout(tmp_path)
    commit(root, {"p/a": "1"})
    assert changed_since(root, [name], ["p"]) is None
