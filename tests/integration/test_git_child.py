"""The git child process: what it may do, how it ends, and what is left of it."""

import os
import time
from pathlib import Path

import pytest

from registry.errors import (
    BranchMissing,
    Corrupt,
    DiskFull,
    HostKeyMismatch,
    RateLimited,
    SourceFault,
    SourceTooLarge,
    Unauthorized,
    Unreachable,
)
from registry.git.child import ChildSettings, DeadlineMissed, environment, fault_of, run_git


def git(tmp_path, *args, deadline_s=20.0, **options):
    return run_git(args, cwd=tmp_path, deadline_s=deadline_s, allow=("https",), **options)


def test_the_output_comes_back(tmp_path):
    assert git(tmp_path, "version").startswith(b"git version")


def test_input_is_passed_on(tmp_path):
    assert git(tmp_path, "stripspace", stdin=b"a  \n\n\n").strip() == b"a"


def test_a_large_input_and_output_do_not_block_each_other(tmp_path):
    data = b"line\n" * 400_000
    assert git(tmp_path, "stripspace", stdin=data, stdout_bytes_max=10_000_000) == data


def test_too_much_output_ends_the_child(tmp_path):
    with pytest.raises(SourceTooLarge):
        git(tmp_path, "stripspace", stdin=b"line\n" * 400_000, stdout_bytes_max=1000)


def test_the_environment_of_the_process_does_not_reach_the_child(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("SECRET", "hunter2")
    assert b"hunter2" not in git(tmp_path, "-c", "alias.reveal=!env", "reveal")


def test_a_configuration_of_the_user_does_not_reach_the_child(tmp_path, monkeypatch):
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = trap\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SourceFault):
        git(tmp_path, "config", "user.name")


@pytest.mark.parametrize(
    "url",
    ["file:///etc", "http://127.0.0.1:9/a/b", "ext::sh -c touch% owned", "ssh://127.0.0.1:9/a/b", "git://127.0.0.1/a"],
)
def test_a_protocol_that_was_not_allowed_is_not_spoken(tmp_path, url):
    with pytest.raises(SourceFault, match="not allowed"):
        git(tmp_path, "ls-remote", "--", url)
    assert list(tmp_path.iterdir()) == []


def test_a_child_is_ended_at_its_deadline(tmp_path):
    began = time.monotonic()
    with pytest.raises(DeadlineMissed, match=r"0\.3 s"):
        git(tmp_path, "-c", "alias.rest=!sleep 60", "rest", deadline_s=0.3)
    assert time.monotonic() - began < 3


def test_a_child_that_ignores_the_request_to_end_is_killed_with_its_group(tmp_path, monkeypatch):
    monkeypatch.setattr("registry.git.child.GRACE_S", 0.3)
    with pytest.raises(DeadlineMissed):
        git(
            tmp_path, "-c", "alias.rest=!trap '' TERM; sleep 60 & echo $$ > pid; wait; sleep 60", "rest", deadline_s=0.5
        )
    deadline = time.monotonic() + 3
    while alive(int((tmp_path / "pid").read_text())) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(int((tmp_path / "pid").read_text()))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_credentials_travel_in_the_environment_scoped_to_their_host():
    scoped = ("http.https://git.acme.example/.extraHeader", "Authorization: Bearer x")
    env = environment(("https",), ChildSettings(config=(scoped,)))
    number = int(env["GIT_CONFIG_COUNT"]) - 1
    assert (env[f"GIT_CONFIG_KEY_{number}"], env[f"GIT_CONFIG_VALUE_{number}"]) == scoped


def test_only_path_comes_from_outside(monkeypatch):
    monkeypatch.setattr(os, "environ", {"PATH": "/here", "HOME": "/x", "SSH_AUTH_SOCK": "/y", "https_proxy": "z"})
    env = environment(("https",), ChildSettings())
    assert (env["PATH"], env["HOME"]) == ("/here", "/nonexistent")
    assert not {"SSH_AUTH_SOCK", "https_proxy"} & env.keys()


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("Host key verification failed.\nfatal: Could not read from remote repository.", HostKeyMismatch),
        ("git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.", Unauthorized),
        ("ERROR: Repository not found.\nfatal: Could not read from remote repository.", Unauthorized),
        ("remote: Repository not found.\nfatal: repository 'https://h/a/b/' not found", Unauthorized),
        ("fatal: could not read Username for 'https://h': terminal prompts disabled", Unauthorized),
        ("fatal: unable to access 'https://h/a/': The requested URL returned error: 403", Unauthorized),
        ("fatal: unable to access 'https://h/a/': The requested URL returned error: 429", RateLimited),
        ("fatal: unable to access 'https://h/a/': The requested URL returned error: 502", Unreachable),
        ("fatal: unable to access 'https://h/a/': Could not resolve host: h", Unreachable),
        ("fatal: couldn't find remote ref refs/heads/x", BranchMissing),
        ("fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output", DiskFull),
        ("fatal: write error: File too large\nfatal: fetch-pack: invalid index-pack output", SourceTooLarge),
        ("error: object 12 is a tree: fsck error\nfatal: fsck error in packed object", Corrupt),
        ("fatal: bad object refs/registry/tracked", Corrupt),
        ("remote: fatal: bad object HEAD\nfatal: the remote end hung up unexpectedly", Unreachable),
        ("", Unreachable),
        ("something entirely new", Unreachable),
    ],
)
def test_what_git_says_becomes_the_fault_that_it_means(said, fault):
    assert type(fault_of(said, 128)) is fault


def test_a_fault_never_repeats_a_password_or_a_place_on_this_disk(tmp_path):
    fault = fault_of(f"fatal: unable to access 'https://u:hunter2@h/a': {tmp_path}/x failed", 128, tmp_path)
    assert "hunter2" not in fault.detail
    assert str(tmp_path) not in fault.detail


def test_a_fault_is_a_short_message_however_much_git_says():
    assert len(fault_of("fatal: " + "x" * 100_000, 128).detail) <= 300


@pytest.mark.parametrize(
    "piece", ["x", "no ", "https://", "://", "@", "error: ", "repository '", "token=", "\n", "remote: "]
)
def test_no_words_of_a_remote_keep_the_reading_of_them_busy(piece):
    began = time.monotonic()
    fault_of(piece * (16_384 // len(piece)), 128)
    assert time.monotonic() - began < 1
