"""Whose catalog a URL or Codex's metadata asks for."""

import json

import pytest

from registry.errors import RepositoryInvalid, Unknown
from registry.mcp.routing import CODEX_META, repository_of_meta, repository_of_path


@pytest.mark.parametrize(
    ("path", "repository"),
    [
        (b"/mcp", None),
        (b"/mcp/", None),
        (b"/mcp/r/github.com/acme/payments", "github.com/acme/payments"),
        (b"/mcp/r/git@github.com:acme/payments.git", "git@github.com:acme/payments.git"),
        (b"/mcp/r/github.com%2Facme%2Fpayments", "github.com/acme/payments"),
        (b"/mcp/r/https://github.com/acme/payments", "https://github.com/acme/payments"),
        (b"/mcp/r/github.com/acme/mono/-/services/Pay", "github.com/acme/mono/-/services/Pay"),
        (b"/mcp/r/github.com/acme/sync", "github.com/acme/sync"),
        (b"/mcp/r/github.com/acme/payments/", "github.com/acme/payments"),
    ],
)
def test_a_path_names_a_repository(path: bytes, repository: str | None):
    assert repository_of_path(path) == repository


@pytest.mark.parametrize("path", [b"/mcp/x", b"/mcp/r", b"/mcp/r/", b"/mcp//", b"/mcp/repository/a/b"])
def test_another_path_is_not_there(path: bytes):
    with pytest.raises(Unknown):
        repository_of_path(path)


@pytest.mark.parametrize("path", [b"/mcp/r/a/../b", b"/mcp/r/a//b", b"/mcp/r/a/%00", b"/mcp/r/a/%zz", b"/mcp/r/a/%ff"])
def test_a_bad_path_is_refused(path: bytes):
    with pytest.raises(RepositoryInvalid):
        repository_of_path(path)


def codex(*workspaces: object) -> dict:
    return {CODEX_META: {"turn_id": "1", "workspaces": {f"/w/{n}": each for n, each in enumerate(workspaces)}}}


def remotes(**urls: object) -> dict:
    return {"associated_remote_urls": urls, "latest_git_commit_hash": "0" * 40, "has_changes": True}


URL = "https://github.com/acme/payments.git"


def test_codex_names_its_working_copys_origin():
    assert repository_of_meta(codex(remotes(origin=URL, upstream="https://github.com/other/payments"))) == URL


def test_codex_may_send_the_same_as_text():
    assert repository_of_meta({CODEX_META: json.dumps(codex(remotes(origin=URL))[CODEX_META])}) == URL


def test_the_only_remote_counts_whatever_its_name():
    assert repository_of_meta(codex(remotes(forge=URL))) == URL


def test_a_user_in_a_remote_is_left_out():
    assert (
        repository_of_meta(codex(remotes(origin="https://ada:secret@github.com/acme/a"))) == "https://github.com/acme/a"
    )


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        {CODEX_META: None},
        {CODEX_META: "no json"},
        {CODEX_META: "[" * 100_000},
        {CODEX_META: "[" * 5_000},
        {CODEX_META: {"workspaces": []}},
        {CODEX_META: {"workspaces": {str(n): remotes(origin=URL) for n in range(1_000)}}},
        codex("x"),
        codex({"associated_remote_urls": "x"}),
        codex(remotes()),
        codex(remotes(a=URL, b=URL)),
        codex(remotes(origin=1)),
        codex(remotes(origin="x" * 10_000)),
        codex(remotes(origin="https://github.com/a/../b")),
        codex(remotes(origin="https://github.com/a\x00/b")),
        codex(remotes(origin=URL), remotes(origin="https://github.com/acme/other")),
    ],
)
def test_what_is_not_told_for_certain_is_not_taken(meta: dict | None):
    assert repository_of_meta(meta) is None


def test_two_workspaces_of_one_repository_are_one():
    assert repository_of_meta(codex(remotes(origin=URL), remotes(origin=URL))) == URL
