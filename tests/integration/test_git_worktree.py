"""registry.git.worktree: a checkout on disk reads by the same rules as a commit."""

import os
import subprocess
from pathlib import Path

import pytest
from gitserver import ENVIRONMENT

from registry.git.walk import Oversize
from registry.git.worktree import list_files, read_file


def checkout(tmp_path: Path, files: dict[str, str] | None = None) -> Path:
    root = tmp_path / "copy"
    root.mkdir()
    git(root, "init", "--quiet")
    for path, text in (files or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout


def everything(path: str) -> bool:
    return True


def listed(root: Path):
    files = list_files(root, enter=everything, wanted=everything)
    return [(file.path, file.kind, file.target) for file in files]


def test_files_are_listed_whether_tracked_or_not_and_git_itself_is_left_out(tmp_path):
    assert listed(checkout(tmp_path, {"p/b": "1", "a": "2"})) == [("a", "file", None), ("p/b", "file", None)]


def test_a_link_inside_is_followed(tmp_path):
    root = checkout(tmp_path, {"docs/a": "1", "p/x": ""})
    (root / "p/a").symlink_to("../docs/a")
    assert ("p/a", "symlink", "docs/a") in listed(root)
    assert read_file(root, "p/a") == b"1"


@pytest.mark.parametrize("target", ["../../secret", "/etc/hostname", "../p/../../secret", "nowhere", "a"])
def test_a_link_out_of_the_checkout_is_never_read(tmp_path, target):
    (tmp_path / "secret").write_text("hunter2")
    root = checkout(tmp_path, {"p/x": ""})
    (root / "p/a").symlink_to(target)
    assert ("p/a", "symlink", None) in listed(root)
    assert read_file(root, "p/a") is None


def test_a_folder_that_links_out_of_the_checkout_is_never_entered(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a").write_text("hunter2")
    root = checkout(tmp_path)
    (root / "p").symlink_to("../other")
    assert listed(root) == [("p", "symlink", None)]
    assert read_file(root, "p/a") is None


@pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "p/../../secret", "", "p", "p/x/y", "nowhere"])
def test_a_path_out_of_the_checkout_or_to_no_file_reads_nothing(tmp_path, path):
    (tmp_path / "secret").write_text("hunter2")
    assert read_file(checkout(tmp_path, {"p/x": "1"}), path) is None


def test_a_file_over_the_limit_is_not_read(tmp_path):
    assert read_file(checkout(tmp_path, {"a": "x" * 2000}), "a", 1000) == Oversize(2000)


def test_a_pipe_neither_blocks_nor_reads(tmp_path):
    root = checkout(tmp_path)
    os.mkfifo(root / "a")
    assert (listed(root), read_file(root, "a")) == ([], None)


def test_a_name_that_is_not_utf8_is_named_escaped(tmp_path):
    root = checkout(tmp_path)
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.yaml")).write_text("1")
    assert listed(root) == [("\\xff.yaml", "path-not-utf8", None)]


def test_a_checkout_within_the_checkout_is_a_submodule(tmp_path):
    root = checkout(tmp_path, {"p/sub/a": "1"})
    git(root / "p/sub", "init", "--quiet")
    assert listed(root) == [("p/sub", "submodule", None)]
