"""TreeReader on real repositories: what is listed, where links lead, and how far back a file is found."""

import pytest
from gitserver import GitRepo, Link, Submodule

from registry.errors import SourceTooLarge
from registry.git.mirror import Mirror
from registry.git.remote import RemotePolicy, parse_remote
from registry.git.tree import Oversize, TreeReader
from registry.git.walk import WalkLimits

OPEN = RemotePolicy(allow_file_remotes=True)
MAIN = "refs/heads/main"


@pytest.fixture
def repo(tmp_path):
    return GitRepo(tmp_path / "srv" / "app.git")


@pytest.fixture(params=[True, False], ids=["slim", "full"])
def read(request, tmp_path, repo):
    """A function from a commit to its reader, in a slim and in a full mirror."""
    mirror = Mirror(tmp_path / "mirrors", parse_remote(repo.url, policy=OPEN), slim=request.param)

    def reader_of(commit: str) -> TreeReader:
        mirror.fetch(MAIN, commit)
        return mirror.read(commit)

    return reader_of


def everything(path: str) -> bool:
    return True


def nothing(path: str) -> bool:
    return False


def below(folder: str):
    return lambda path: path == folder or path.startswith(folder + "/")


def listed(reader: TreeReader, *, enter=everything, wanted=everything, limits=None):
    files = reader.list_files(enter=enter, wanted=wanted, limits=limits)
    return [(file.path, file.kind, file.target) for file in files]


def test_files_are_listed_sorted_by_path(read, repo):
    reader = read(repo.commit({"b": "1", "a/z": "2", "a/b/c": "3"}))
    assert [path for path, _, _ in listed(reader)] == ["a/b/c", "a/z", "b"]


def test_only_wanted_files_are_listed(read, repo):
    reader = read(repo.commit({"a.yaml": "1", "a.txt": "2"}))
    assert [path for path, _, _ in listed(reader, wanted=lambda path: path.endswith(".yaml"))] == ["a.yaml"]


def test_a_folder_that_is_not_entered_is_never_looked_into(read, repo):
    reader = read(repo.commit({"playbooks/a": "1", "node_modules/b": "2"}))
    asked = []
    reader.list_files(enter=below("playbooks"), wanted=lambda path: bool(asked.append(path)))
    assert asked == ["playbooks/a"]


def test_an_executable_file_is_a_file(read, repo):
    commit = repo.commit({"a": "1"})
    tree = repo.git("mktree", stdin=f"100755 blob {repo.blob(commit, 'a')}\trun\n".encode())
    commit = repo.git("commit-tree", tree, "-m", "x")
    repo.git("update-ref", MAIN, commit)
    assert listed(read(commit)) == [("run", "file", None)]


def test_a_link_to_a_file_is_listed_with_the_content_of_its_target(read, repo):
    commit = repo.commit({"docs/a.yaml": "1", "playbooks/a.yaml": Link("../docs/a.yaml")})
    reader = read(commit)
    [file] = reader.list_files(enter=below("playbooks"), wanted=everything)
    assert (file.path, file.kind, file.target) == ("playbooks/a.yaml", "symlink", "docs/a.yaml")
    assert file.blob_id == repo.blob(commit, "docs/a.yaml")


def test_a_linked_folder_is_walked_under_its_own_path_and_says_where_its_files_stand(read, repo):
    reader = read(repo.commit({"docs/x/y/a.yaml": "1", "playbooks": Link("docs/x")}))
    assert listed(reader, enter=below("playbooks")) == [("playbooks/y/a.yaml", "file", "docs/x/y/a.yaml")]


def test_a_link_in_a_linked_folder_is_followed_from_where_it_stands(read, repo):
    reader = read(repo.commit({"docs/b": "1", "docs/x/l": Link("../b"), "playbooks": Link("docs/x")}))
    assert listed(reader, enter=below("playbooks")) == [("playbooks/l", "symlink", "docs/b")]


@pytest.mark.parametrize(
    "target",
    ["../../etc/passwd", "/etc/passwd", "nowhere", "../..", "a/../../..", "a.yaml/..", "l", "\x01", "x" * 5000],
)
def test_a_link_out_of_the_tree_or_to_nowhere_leads_to_nothing(read, repo, target):
    reader = read(repo.commit({"playbooks/l": Link(target), "playbooks/a.yaml": "1"}))
    assert ("playbooks/l", "symlink", None) in listed(reader)
    assert reader.resolve_symlink("playbooks/l") is None


def test_links_are_followed_for_eight_hops(read, repo):
    chain = {f"l{number}": Link(f"l{number + 1}") for number in range(8)}
    assert read(repo.commit({**chain, "l8": "end"})).resolve_symlink("l0") == "l8"


def test_links_are_not_followed_for_nine_hops(read, repo):
    chain = {f"l{number}": Link(f"l{number + 1}") for number in range(9)}
    assert read(repo.commit({**chain, "l9": "end"})).resolve_symlink("l0") is None


@pytest.mark.parametrize("target", [".", "..", "../a", "self"])
def test_a_link_that_leads_back_up_its_own_path_ends_the_walk(read, repo, target):
    reader = read(repo.commit({"a/b/c.yaml": "1", "a/b/self": Link(target)}))
    assert [path for path, kind, _ in listed(reader) if kind == "file"] == ["a/b/c.yaml"]


def test_folders_that_link_to_each_other_are_walked_only_so_far(read, repo):
    reader = read(repo.commit({"a/x": "1", "a/b": Link("../b"), "b/y": "2", "b/a": Link("../a")}))
    assert len(listed(reader)) < 40


def test_a_submodule_is_named_and_not_entered(read, repo):
    reader = read(repo.commit({"playbooks/sub": Submodule("2" * 40), "playbooks/a": "1"}))
    assert ("playbooks/sub", "submodule", None) in listed(reader)


def test_a_path_that_is_not_utf8_is_named_escaped(read, repo):
    reader = read(repo.commit({b"playbooks/\xff.yaml": "1"}))
    assert listed(reader) == [("playbooks/\\xff.yaml", "path-not-utf8", None)]


def test_a_folder_that_is_not_utf8_is_named_and_not_entered(read, repo):
    reader = read(repo.commit({b"a/\xc3\x28/b.yaml": "1"}))
    assert listed(reader) == [("a/\\xc3(", "path-not-utf8", None)]


def test_a_submodule_whose_path_is_not_utf8_is_named_escaped(read, repo):
    reader = read(repo.commit({b"p/\xff": Submodule(), "p/a": "1"}))
    assert listed(reader) == [("p/\\xff", "path-not-utf8", None), ("p/a", "file", None)]


def test_a_path_beyond_ascii_is_itself(read, repo):
    reader = read(repo.commit({"playbooks/größe.yaml": "1"}))
    assert reader.blob_id("playbooks/größe.yaml") is not None


def test_a_tree_bomb_is_given_up(read, repo):
    commit = repo.commit({"f": "x"})
    entry = f"100644 blob {repo.blob(commit, 'f')}"
    tree = repo.git("mktree", stdin="".join(f"{entry}\tf{number}\n" for number in range(10)).encode())
    for _ in range(9):
        tree = repo.git("mktree", stdin="".join(f"040000 tree {tree}\td{number}\n" for number in range(10)).encode())
    commit = repo.git("commit-tree", tree, "-m", "bomb")
    repo.git("update-ref", MAIN, commit)
    with pytest.raises(SourceTooLarge, match="20000 entries"):
        read(commit).list_files(enter=everything, wanted=nothing, limits=WalkLimits(entries_max=20_000))


def test_a_tree_of_too_many_levels_is_given_up(read, repo):
    reader = read(repo.commit({"d/" * 200 + "f": "x"}))
    with pytest.raises(SourceTooLarge, match="folders deep"):
        reader.list_files(enter=everything, wanted=everything)


def test_levels_that_are_not_entered_do_no_harm(read, repo):
    reader = read(repo.commit({"d/" * 200 + "f": "x", "playbooks/a": "1"}))
    assert listed(reader, enter=below("playbooks")) == [("playbooks/a", "file", None)]


def test_a_path_that_is_too_long_is_given_up(read, repo):
    reader = read(repo.commit({"playbooks/" + "x" * 250: "1"}))
    with pytest.raises(SourceTooLarge, match="100 bytes"):
        reader.list_files(enter=everything, wanted=everything, limits=WalkLimits(path_bytes_max=100))


def test_too_many_matching_files_are_given_up(read, repo):
    reader = read(repo.commit({f"f{number}": "x" for number in range(12)}))
    with pytest.raises(SourceTooLarge, match="narrow"):
        reader.list_files(enter=everything, wanted=everything, limits=WalkLimits(files_max=10))


def test_a_blob_over_the_limit_is_not_read(read, repo):
    commit = repo.commit({"a": "x" * 2000})
    reader = read(commit)
    reader.hydrate([repo.blob(commit, "a")])
    assert reader.read_blob(repo.blob(commit, "a"), 1000) == Oversize(2000)


def test_a_folder_keeps_its_id_while_nothing_in_it_changes(read, repo):
    first = read(repo.commit({"playbooks/a": "1", "src/x": "1"})).tree_id("playbooks")
    second = read(repo.commit({"src/x": "2"})).tree_id("playbooks")
    assert first == second is not None


def test_a_folder_that_is_not_there_has_no_id(read, repo):
    reader = read(repo.commit({"playbooks/a": "1"}))
    assert (reader.tree_id("nowhere"), reader.tree_id("playbooks/a")) == (None, None)


def test_history_gives_each_version_of_a_file_newest_first(read, repo):
    one = repo.commit({"p/a": "1"})
    repo.commit({"x": "1"})
    two = repo.commit({"p/a": "2"})
    repo.commit({"x": "2"})
    three = repo.commit({"p/a": None})
    last = repo.commit({"p/a": "4"})
    versions = list(read(last).history("p/a"))
    assert [data for _, data in versions] == [b"4", None, b"2", b"1"]
    assert versions[0][0] == last
    assert versions[1][0] == three
    assert repo.git("rev-parse", f"{versions[2][0]}:p/a") == repo.blob(two, "p/a")
    assert repo.git("rev-parse", f"{versions[3][0]}:p/a") == repo.blob(one, "p/a")


def test_history_looks_a_hundred_commits_back_and_no_further(read, repo):
    repo.commit({"a": "old"})
    repo.commit({"a": "reached"})
    last = repo.commit_all([*({"x": str(number)} for number in range(99)), {"a": "new"}])
    assert [data for _, data in read(last).history("a")] == [b"new", b"reached"]


def test_history_ends_at_the_first_commit(read, repo):
    assert [data for _, data in read(repo.commit({"a": "1"})).history("a")] == [b"1"]


def test_the_history_of_many_files_is_fetched_once(tmp_path, repo):
    first = repo.commit({"a": "1", "b": "1"})
    mirror = Mirror(tmp_path / "mirrors", parse_remote(repo.url, policy=OPEN), slim=True)
    mirror.fetch(MAIN, first)
    asked = []

    class Counting:
        def __getattr__(self, name):
            return getattr(mirror, name)

        def deepen(self, commit, depth):
            asked.append(depth)
            return mirror.deepen(commit, depth)

    reader = TreeReader(next(mirror.folder.glob("*/")), first, Counting(), slim=True)
    assert [[data for _, data in reader.history(path)] for path in ("a", "b")] == [[b"1"], [b"1"]]
    assert len(asked) == len(set(asked)) > 0


def test_history_follows_first_parents_only(read, repo):
    base = repo.commit({"a": "base"})
    side = repo.commit({"a": "side"}, ref="side")
    tree = repo.git("rev-parse", f"{base}^{{tree}}")
    merge = repo.git("commit-tree", tree, "-p", base, "-p", side, "-m", "merge")
    repo.git("update-ref", MAIN, merge)
    assert [data for _, data in read(merge).history("a")] == [b"base"]


def test_history_follows_a_link_at_each_commit(read, repo):
    repo.commit({"docs/a": "1", "p/a": Link("../docs/a")})
    last = repo.commit({"docs/a": "2"})
    assert [data for _, data in read(last).history("p/a")] == [b"2", b"1"]


def test_history_gives_nothing_for_a_version_over_the_limit(read, repo):
    repo.commit({"a": "fine"})
    last = repo.commit({"a": "x" * 2000})
    assert [data for _, data in read(last).history("a", max_bytes=1000)] == [Oversize(2000), b"fine"]


def test_history_of_a_path_that_was_deleted_finds_it(read, repo):
    repo.commit({"a": "1"})
    last = repo.commit({"a": None, "b": "1"})
    assert [data for _, data in read(last).history("a")] == [None, b"1"]


def test_an_unknown_commit_is_no_ancestor(read, repo):
    commit = repo.commit({"a": "1"})
    assert not read(commit).is_ancestor("3" * 40, commit)


def test_a_commit_is_its_own_ancestor(read, repo):
    commit = repo.commit({"a": "1"})
    assert read(commit).is_ancestor(commit, commit)
