"""Which commits brought in what a path held, on slim and full mirrors of real repositories."""

import pytest
from gitserver import GitRepo, Link, Submodule

from registry.git.mirror import Mirror
from registry.git.remote import RemotePolicy, parse_remote

MAIN = "refs/heads/main"


@pytest.fixture
def repo(tmp_path):
    return GitRepo(tmp_path / "srv" / "app.git")


@pytest.fixture(params=[True, False], ids=["slim", "full"])
def read(request, tmp_path, repo):
    """A function from a commit to its reader, in a slim and in a full mirror."""
    policy = RemotePolicy(allow_file_remotes=True)
    mirror = Mirror(tmp_path / "mirrors", parse_remote(repo.url, policy=policy), slim=request.param)

    def reader_of(commit: str):
        mirror.fetch(MAIN, commit)
        return mirror.read(commit)

    return reader_of


def test_each_content_of_a_file_comes_with_the_commit_that_brought_it_in(read, repo):
    one = repo.commit({"p/a": "1", "p/b": "1"})
    repo.commit({"x": "1"})
    two = repo.commit({"p/a": "2"})
    last = repo.commit({"x": "2"})
    found = list(read(last).contents(["p/a"]))
    assert found == [(two, "p/a", repo.blob(two, "p/a")), (one, "p/a", repo.blob(one, "p/a"))]


def test_a_file_that_was_away_had_nothing_meanwhile(read, repo):
    one = repo.commit({"p/a": "1"})
    two = repo.commit({"p/a": None, "b": "1"})
    three = repo.commit({"p/a": "1"})
    assert [(commit, bool(found)) for commit, _, found in read(three).contents(["p/a"])] == [
        (three, True),
        (two, False),
        (one, True),
    ]


def test_a_path_that_never_was_had_nothing(read, repo):
    one = repo.commit({"p/a": "1"})
    assert [found for *_, found in read(one).contents(["p/b", "p/a/b", "q/r"])] == [None, None, None]


def test_a_folder_has_another_content_when_anything_in_it_has(read, repo):
    one = repo.commit({"skills/x/SKILL.md": "1", "skills/x/scripts/go.sh": "1"})
    repo.commit({"skills/y/SKILL.md": "1"})
    two = repo.commit({"skills/x/scripts/go.sh": "2"})
    found = list(read(two).contents(["skills/x/", "skills/x/SKILL.md"]))
    assert [(commit, path) for commit, path, _ in found] == [
        (two, "skills/x/"),
        (one, "skills/x/"),
        (one, "skills/x/SKILL.md"),
    ]
    assert found[0][2] == repo.git("rev-parse", f"{two}:skills/x")


def test_what_the_oldest_commit_within_the_limit_has_counts_as_brought_in_by_it(read, repo):
    old = repo.commit({"a": "old"})
    oldest = repo.commit({"x": "1"})
    repo.commit({"x": "2"})
    last = repo.commit({"a": "new"})
    assert [commit for commit, *_ in read(last).contents(["a"], 2)] == [last, oldest]
    assert [commit for commit, *_ in read(last).contents(["a"], 3)] == [last, old]


def test_contents_follow_first_parents_only(read, repo):
    base = repo.commit({"a": "base"})
    side = repo.commit({"a": "side"}, ref="side")
    tree = repo.git("rev-parse", f"{side}^{{tree}}")
    merge = repo.git("commit-tree", tree, "-p", base, "-p", side, "-m", "merge")
    repo.git("update-ref", MAIN, merge)
    assert [commit for commit, *_ in read(merge).contents(["a"])] == [merge, base]


def test_what_is_no_file_of_this_tree_is_nothing(read, repo):
    last = repo.commit({"docs/a": "1", "link": Link("docs/a"), "module": Submodule()})
    asked = ["link", "module", "docs", "docs/a/"]
    assert [found for *_, found in read(last).contents(asked)] == [None] * 4


def test_a_file_that_was_a_folder_was_no_file_then(read, repo):
    repo.commit({"a/b": "1"})
    last = repo.commit({"a/b": None, "a": "2"})
    assert [bool(found) for *_, found in read(last).contents(["a"])] == [True, False]
