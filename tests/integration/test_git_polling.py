"""RefPoller against a real git server: each answer is a head, a clear absence, or a fault; never a guess."""

import time
from pathlib import Path

import pytest
from gitserver import GitRepo, serving

from registry.errors import (
    BranchMissing,
    EmptyRepository,
    RateLimited,
    SourceAddressRefused,
    Unauthorized,
    Unreachable,
)
from registry.git.refs import RefPoller
from registry.git.remote import RemotePolicy, parse_remote

OPEN = RemotePolicy(allow_file_remotes=True, allow_insecure_http=True)


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path / "srv") as running:
        yield running


@pytest.fixture
def poller():
    with RefPoller() as made:
        yield made


def repo(server, *, branch: str = "main") -> GitRepo:
    return GitRepo(server.root / "acme" / "app.git", branch=branch)


def over_http(server):
    return parse_remote(f"{server.url}/acme/app.git", policy=OPEN)


def over_file(server):
    return parse_remote(f"file://{server.root}/acme/app.git", policy=OPEN)


BOTH = pytest.mark.parametrize("remote_of", [over_http, over_file], ids=["http", "file"])


@BOTH
def test_no_ref_follows_the_head_of_the_remote(server, poller, remote_of):
    commit = repo(server, branch="trunk").commit({"a": "1"}, ref="trunk")
    head = poller.poll(remote_of(server), None)
    assert (head.ref, head.commit) == ("refs/heads/trunk", commit)


@BOTH
@pytest.mark.parametrize("ref", ["feat/one", "refs/heads/feat/one"])
def test_a_branch_is_found_by_short_and_full_name(server, poller, remote_of, ref):
    made = repo(server)
    made.commit({"a": "1"})
    commit = made.commit({"a": "2"}, ref="feat/one")
    head = poller.poll(remote_of(server), ref)
    assert (head.ref, head.commit) == ("refs/heads/feat/one", commit)


@BOTH
def test_a_branch_is_not_taken_for_a_longer_one_that_begins_like_it(server, poller, remote_of):
    made = repo(server)
    commit = made.commit({"a": "1"})
    made.commit({"a": "2"}, ref="main-old")
    made.commit({"a": "3"}, ref="x/main")
    assert poller.poll(remote_of(server), "main").commit == commit


@BOTH
def test_an_annotated_tag_gives_the_commit_that_it_names(server, poller, remote_of):
    made = repo(server)
    commit = made.commit({"a": "1"})
    made.git("tag", "-a", "-m", "one", "v1", commit)
    head = poller.poll(remote_of(server), "v1")
    assert (head.ref, head.commit) == ("refs/tags/v1", commit)


@BOTH
def test_a_branch_wins_over_a_tag_of_its_name(server, poller, remote_of):
    made = repo(server)
    made.git("tag", "same", made.commit({"a": "1"}))
    commit = made.commit({"a": "2"}, ref="same")
    assert poller.poll(remote_of(server), "same").commit == commit


@BOTH
def test_a_detached_head_is_followed_as_head(server, poller, remote_of):
    made = repo(server)
    commit = made.commit({"a": "1"})
    made.git("update-ref", "--no-deref", "HEAD", commit)
    made.git("symbolic-ref", "HEAD", "refs/heads/main")
    (made.path / "HEAD").write_text(commit + "\n")
    assert poller.poll(remote_of(server), None).ref == "HEAD"


@BOTH
def test_a_repository_without_commits_is_empty(server, poller, remote_of):
    repo(server)
    with pytest.raises(EmptyRepository):
        poller.poll(remote_of(server), None)


@BOTH
def test_a_tracked_branch_of_a_repository_without_commits_is_empty_too(server, poller, remote_of):
    repo(server)
    with pytest.raises(EmptyRepository):
        poller.poll(remote_of(server), "main")


@BOTH
def test_a_repository_with_tags_only_is_empty(server, poller, remote_of):
    made = repo(server)
    made.git("tag", "v1", made.commit({"a": "1"}))
    made.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(EmptyRepository):
        poller.poll(remote_of(server), None)


@BOTH
def test_an_unborn_head_beside_other_branches_is_a_missing_branch(server, poller, remote_of):
    repo(server).commit({"a": "1"}, ref="other")
    with pytest.raises(BranchMissing):
        poller.poll(remote_of(server), None)


@BOTH
def test_a_deleted_branch_is_missing(server, poller, remote_of):
    made = repo(server)
    made.commit({"a": "1"})
    made.commit({"a": "1"}, ref="feat")
    made.git("update-ref", "-d", "refs/heads/feat")
    with pytest.raises(BranchMissing, match="feat"):
        poller.poll(remote_of(server), "feat")


@BOTH
def test_a_ref_that_became_a_folder_is_missing(server, poller, remote_of):
    made = repo(server)
    made.commit({"a": "1"})
    made.commit({"a": "1"}, ref="feat/one")
    with pytest.raises(BranchMissing):
        poller.poll(remote_of(server), "feat")


@pytest.mark.parametrize("ref", ["", "-x", "a b", "a..b", "*", "a\nb", "--upload-pack=x", "a^{}", "a" * 300])
def test_what_cannot_be_a_ref_is_never_asked_for(server, poller, ref):
    repo(server).commit({"a": "1"})
    with pytest.raises(BranchMissing):
        poller.poll(over_http(server), ref)
    assert server.requests == []


def test_an_unchanged_poll_is_one_request(server, poller):
    repo(server).commit({"a": "1"})
    poller.poll(over_http(server), "main")
    assert server.requests == ["POST /acme/app.git/git-upload-pack"]


def test_a_server_without_version_2_is_asked_by_git(server, poller):
    commit = repo(server).commit({"a": "1"})
    server.knobs.no_version_2 = True
    assert poller.poll(over_http(server), "main").commit == commit


def test_a_server_without_version_2_is_remembered(server, poller):
    repo(server).commit({"a": "1"})
    server.knobs.no_version_2 = True
    poller.poll(over_http(server), "main")
    server.requests.clear()
    poller.poll(over_http(server), "main")
    assert [request for request in server.requests if request.startswith("POST")] == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_or_hidden_repository_is_unauthorized(server, poller, status):
    server.knobs.status = status
    with pytest.raises(Unauthorized):
        poller.poll(over_http(server), None)


def test_a_token_opens_the_repository(server, poller):
    commit = repo(server).commit({"a": "1"})
    server.knobs.token = "t0ken"
    assert poller.poll(over_http(server), None, headers={"Authorization": "Bearer t0ken"}).commit == commit


@pytest.mark.parametrize("status", [429, 503])
def test_a_pause_is_asked_for_in_seconds(server, poller, status):
    server.knobs.status, server.knobs.headers = status, {"Retry-After": "17"}
    with pytest.raises(RateLimited) as caught:
        poller.poll(over_http(server), None)
    assert caught.value.retry_after_s == 17


def test_a_pause_may_be_given_as_a_date(server, poller):
    server.knobs.status, server.knobs.headers = 429, {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}
    with pytest.raises(RateLimited) as caught:
        poller.poll(over_http(server), None)
    assert caught.value.retry_after_s == 3600


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failing_server_is_unreachable(server, poller, status):
    server.knobs.status = status
    with pytest.raises(Unreachable):
        poller.poll(over_http(server), None)


def test_a_redirect_is_not_followed(server, poller):
    server.knobs.status, server.knobs.headers = 301, {"Location": "http://u:hunter2@169.254.169.254/x"}
    with pytest.raises(SourceAddressRefused, match=r"169\.254") as caught:
        poller.poll(over_http(server), None)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"0",
        b"000",
        b"0004",
        b"0003",
        b"zzzz",
        b"<html>Welcome</html>",
        b"0008ok\n0000",
        b"003",
        b"0000junk",
        b"-001",
    ],
)
def test_an_odd_answer_never_reads_as_empty(server, poller, body):
    server.knobs.body = body
    with pytest.raises(Unreachable):
        poller.poll(over_http(server), None)


def test_a_well_formed_answer_of_another_type_never_reads_as_empty(server, poller):
    server.knobs.body, server.knobs.content_type = b"0000", "text/html"
    with pytest.raises(Unreachable):
        poller.poll(over_http(server), None)


def test_a_repository_that_is_gone_from_the_disk_is_a_fault_and_not_empty(server, poller):
    with pytest.raises(Unreachable):
        poller.poll(over_file(server), None)


def test_a_host_that_does_not_listen_is_unreachable(poller):
    with pytest.raises(Unreachable):
        poller.poll(parse_remote("http://127.0.0.1:9/acme/app", policy=OPEN), None)


@pytest.mark.parametrize("knob", ["silent", "trickle"])
def test_a_silent_or_trickling_server_is_left_at_the_deadline(server, poller, knob):
    setattr(server.knobs, knob, True)
    began = time.monotonic()
    with pytest.raises(Unreachable):
        poller.poll(over_http(server), None, deadline_s=0.5)
    assert time.monotonic() - began < 3


def test_an_endless_answer_is_cut_off(server, poller):
    row = b"1" * 40 + b" refs/heads/" + b"x" * 200 + b"\n"
    server.knobs.body = (b"%04x" % (len(row) + 4) + row) * 8000 + b"0000"
    with pytest.raises((Unreachable, BranchMissing)):
        poller.poll(over_http(server), "main")


def test_a_poll_survives_a_connection_that_the_server_has_closed(server, poller):
    commit = repo(server).commit({"a": "1"})
    poller.poll(over_http(server), None)
    server.knobs.status = 500
    with pytest.raises(Unreachable):
        poller.poll(over_http(server), None)
    server.knobs.status = None
    assert poller.poll(over_http(server), None).commit == commit


def test_a_work_folder_is_never_read_as_a_repository(server, tmp_path: Path):
    commit = repo(server).commit({"a": "1"})
    trap = GitRepo(tmp_path / "trap")
    trap.git("config", f"url.file://{tmp_path}/nowhere.insteadOf", f"file://{server.root}")
    with RefPoller() as poller:
        assert poller.poll(over_file(server), None).commit == commit
