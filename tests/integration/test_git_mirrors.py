"""Mirror against a real git server: every fault ends in what the remote says, and nothing is lost on the way."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from gitserver import GitRepo, serving

from registry.errors import BranchMissing, Corrupt, DiskFull, SourceFault, SourceTooLarge, Unauthorized, Unreachable
from registry.git.bare import sweep
from registry.git.child import ChildSettings, DeadlineMissed
from registry.git.mirror import Mirror, MirrorLimits
from registry.git.pointer import read_pointer
from registry.git.refs import RefPoller
from registry.git.remote import RemotePolicy, parse_remote

OPEN = RemotePolicy(allow_file_remotes=True, allow_insecure_http=True)
MAIN = "refs/heads/main"


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path / "srv") as running:
        yield running


@pytest.fixture
def repo(server):
    return GitRepo(server.root / "acme" / "app.git")


def mirror_of(server, *, slim: bool = True, by: str = "http", **options) -> Mirror:
    base = server.url if by == "http" else f"file://{server.root}"
    remote = parse_remote(f"{base}/acme/app.git", policy=OPEN)
    return Mirror(server.root.parent / "mirrors", remote, slim=slim, **options)


def text_at(mirror: Mirror, commit: str, path: str) -> bytes:
    reader = mirror.read(commit)
    blob_id = reader.blob_id(path)
    assert blob_id is not None
    reader.hydrate([blob_id])
    data = reader.read_blob(blob_id)
    assert isinstance(data, bytes)
    return data


def generation(mirror: Mirror):
    return mirror.folder / str(read_pointer(mirror.folder).generation)


def pack_of(mirror: Mirror):
    return max(generation(mirror).glob("objects/pack/*.pack"), key=lambda pack: pack.stat().st_size)


EVERY = pytest.mark.parametrize(
    ("slim", "by"), [(True, "http"), (False, "http"), (True, "file"), (False, "file")], ids=str
)


@EVERY
def test_a_commit_is_fetched_and_read(server, repo, slim, by):
    commit = repo.commit({"playbooks/a.yaml": "playbook: 1\n"})
    mirror = mirror_of(server, slim=slim, by=by)
    mirror.fetch(MAIN, commit)
    assert text_at(mirror, commit, "playbooks/a.yaml") == b"playbook: 1\n"


@EVERY
def test_the_next_commit_is_fetched_into_the_same_repository(server, repo, slim, by):
    mirror = mirror_of(server, slim=slim, by=by)
    mirror.fetch(MAIN, repo.commit({"a": "1"}))
    before = generation(mirror)
    commit = repo.commit({"a": "2"})
    mirror.fetch(MAIN, commit)
    assert (generation(mirror), text_at(mirror, commit, "a")) == (before, b"2")


@EVERY
def test_a_force_push_is_followed(server, repo, slim, by):
    mirror = mirror_of(server, slim=slim, by=by)
    mirror.fetch(MAIN, repo.commit({"a": "1"}))
    commit = repo.commit({"a": "other"}, anew=True)
    mirror.fetch(MAIN, commit)
    assert text_at(mirror, commit, "a") == b"other"


def test_a_force_push_is_no_descendant_in_a_full_mirror(server, repo):
    mirror = mirror_of(server, slim=False)
    old = repo.commit({"a": "1"})
    mirror.fetch(MAIN, old)
    new = repo.commit({"a": "other"}, anew=True)
    mirror.fetch(MAIN, new)
    assert not mirror.read(new).is_ancestor(old, new)


def test_a_further_commit_is_a_descendant_in_a_full_mirror(server, repo):
    mirror = mirror_of(server, slim=False)
    old = repo.commit({"a": "1"})
    new = repo.commit({"a": "2"})
    mirror.fetch(MAIN, new)
    assert mirror.read(new).is_ancestor(old, new)


def test_a_slim_mirror_leaves_unwanted_blobs_out(server, repo):
    commit = repo.commit({"playbooks/a.yaml": "a", "big.bin": os.urandom(2_000_000)})
    mirror = mirror_of(server)
    mirror.fetch(MAIN, commit)
    text_at(mirror, commit, "playbooks/a.yaml")
    assert sum(file.stat().st_size for file in mirror.folder.rglob("*") if file.is_file()) < 50_000


def test_a_blob_that_was_not_hydrated_is_never_fetched_by_reading(server, repo):
    commit = repo.commit({"a": "1"})
    mirror = mirror_of(server)
    mirror.fetch(MAIN, commit)
    reader = mirror.read(commit)
    server.requests.clear()
    with pytest.raises(Corrupt):
        reader.read_blob(repo.blob(commit, "a"))
    assert server.requests == []


def test_a_blob_that_a_full_mirror_has_lost_is_never_asked_for(server, repo):
    commit = repo.commit({"a": "1"})
    mirror = mirror_of(server, slim=False)
    mirror.fetch(MAIN, commit)
    reader = mirror.read(commit)
    server.requests.clear()
    reader.hydrate(["4" * 40])
    with pytest.raises(Corrupt):
        reader.read_blob("4" * 40)
    assert server.requests == []


def test_a_hundred_blobs_are_hydrated_in_one_round_trip(server, repo):
    commit = repo.commit({f"playbooks/{number}.yaml": str(number) for number in range(100)})
    mirror = mirror_of(server)
    mirror.fetch(MAIN, commit)
    reader = mirror.read(commit)
    ids = [reader.blob_id(f"playbooks/{number}.yaml") or "" for number in range(100)]
    server.requests.clear()
    reader.hydrate(ids)
    assert len([request for request in server.requests if request.startswith("POST")]) == 1
    assert reader.read_blob(ids[99]) == b"99"


def test_a_commit_that_is_held_costs_no_request(server, repo):
    commit = repo.commit({"a": "1"})
    mirror = mirror_of(server)
    mirror.fetch(MAIN, commit)
    server.requests.clear()
    mirror.fetch(MAIN, commit)
    assert server.requests == []


@pytest.mark.parametrize("knob", ["refuse_filters", "no_filters", "no_version_2"])
def test_a_server_that_refuses_filters_or_version_2_is_mirrored_all_the_same(server, repo, knob):
    setattr(server.knobs, knob, True)
    commit = repo.commit({"a": "1"})
    mirror = mirror_of(server)
    mirror.fetch(MAIN, commit)
    assert text_at(mirror, commit, "a") == b"1"


def test_a_server_that_begins_to_refuse_filters_is_followed(server, repo):
    mirror = mirror_of(server)
    mirror.fetch(MAIN, repo.commit({"a": "1"}))
    server.knobs.refuse_filters = True
    commit = repo.commit({"a": "2"})
    mirror.fetch(MAIN, commit)
    assert text_at(mirror, commit, "a") == b"2"


def test_a_branch_that_moved_on_since_the_poll_gives_what_was_polled(server, repo):
    commit = repo.commit({"a": "1"})
    repo.commit({"a": "2"})
    mirror = mirror_of(server)
    mirror.fetch(MAIN, commit)
    assert text_at(mirror, commit, "a") == b"1"


def test_a_commit_that_the_remote_no_longer_has_is_a_passing_fault(server, repo):
    repo.commit({"a": "1"})
    with pytest.raises(Unreachable, match="moved on"):
        mirror_of(server).fetch(MAIN, "1" * 40)


def test_a_branch_that_is_gone_is_missing(server, repo):
    repo.commit({"a": "1"})
    with pytest.raises(BranchMissing):
        mirror_of(server).fetch("refs/heads/gone", "1" * 40)


def test_what_was_held_stays_readable_when_a_fetch_fails(server, repo):
    commit = repo.commit({"a": "1"})
    mirror = mirror_of(server)
    mirror.fetch(MAIN, commit)
    server.knobs.status = 500
    with pytest.raises(Unreachable):
        mirror.fetch(MAIN, repo.commit({"a": "2"}))
    assert mirror.read(commit).blob_id("a") is not None


def test_a_ref_that_became_a_folder_is_followed(server, repo):
    repo.commit({"a": "0"})
    mirror = mirror_of(server)
    mirror.fetch("refs/heads/feat", repo.commit({"a": "1"}, ref="feat"))
    repo.git("update-ref", "-d", "refs/heads/feat")
    commit = repo.commit({"a": "2"}, ref="feat/one")
    mirror.fetch("refs/heads/feat/one", commit)
    assert text_at(mirror, commit, "a") == b"2"


def test_a_renamed_default_branch_is_followed(server, repo):
    mirror = mirror_of(server)
    with RefPoller() as poller:
        remote = parse_remote(f"{server.url}/acme/app.git", policy=OPEN)
        repo.commit({"a": "1"})
        first = poller.poll(remote, None)
        mirror.fetch(first.ref, first.commit)
        commit = repo.commit({"a": "2"}, ref="trunk")
        repo.git("symbolic-ref", "HEAD", "refs/heads/trunk")
        repo.git("update-ref", "-d", MAIN)
        second = poller.poll(remote, None)
        mirror.fetch(second.ref, second.commit)
    assert (second.ref, text_at(mirror, commit, "a")) == ("refs/heads/trunk", b"2")


def damage_truncate(mirror):
    pack = pack_of(mirror)
    pack.chmod(0o600)
    os.truncate(pack, pack.stat().st_size // 2)


def damage_bits(mirror):
    pack = pack_of(mirror)
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    for at in range(12, len(data) - 20, 7):
        data[at] ^= 0xFF
    pack.write_bytes(data)


def damage_index(mirror):
    pack_of(mirror).with_suffix(".idx").unlink()


def damage_head(mirror):
    (generation(mirror) / "HEAD").unlink()


def damage_pointer(mirror):
    (mirror.folder / "mirror.json").write_text("{")


def damage_folder(mirror):
    generation(mirror).rename(mirror.folder / "elsewhere")


DAMAGES = [damage_truncate, damage_bits, damage_index, damage_head, damage_pointer, damage_folder]


@pytest.mark.parametrize("slim", [True, False], ids=["slim", "full"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_mirror_is_cloned_anew_into_a_new_path(server, repo, damage, slim):
    mirror = mirror_of(server, slim=slim)
    mirror.fetch(MAIN, repo.commit({"a": "1" * 5000, "b/c": "2"}))
    before = generation(mirror)
    damage(mirror)
    commit = repo.commit({"a": "3"})
    mirror.fetch(MAIN, commit)
    assert generation(mirror) != before
    assert text_at(mirror, commit, "a") == b"3"


@pytest.mark.parametrize("damage", [damage_truncate, damage_bits, damage_index])
def test_damage_that_is_met_while_reading_is_healed_by_fetching_the_same_commit(server, repo, damage):
    commit = repo.commit({"a": os.urandom(5000), "b/c": "2"})
    mirror = mirror_of(server, slim=False)
    mirror.fetch(MAIN, commit)
    damage(mirror)
    with pytest.raises(Corrupt):
        text_at(mirror, commit, "a")
    mirror.fetch(MAIN, commit)
    assert len(text_at(mirror, commit, "a")) == 5000


def test_leftovers_of_killed_fetches_are_swept_before_the_next(server, repo):
    mirror = mirror_of(server)
    mirror.fetch(MAIN, repo.commit({"a": "1"}))
    place = generation(mirror)
    leftovers = [
        place / "objects/pack/tmp_pack_Ab12",
        place / "objects/pack/tmp_idx_Ab12",
        place / "shallow.lock",
        place / "refs/registry/tracked.lock",
        place / "config.lock",
    ]
    for leftover in leftovers:
        leftover.write_bytes(b"x" * 1000)
    mirror.fetch(MAIN, repo.commit({"a": "2"}))
    assert [leftover for leftover in leftovers if leftover.exists()] == []
    assert generation(mirror) == place


def test_sweeping_leaves_a_healthy_repository_alone(server, repo):
    mirror = mirror_of(server)
    mirror.fetch(MAIN, repo.commit({"a": "1"}))
    assert sweep(generation(mirror)) == 0


def test_a_worn_mirror_is_cloned_anew_and_the_old_one_is_removed_later(server, repo):
    mirror = mirror_of(server, limits=MirrorLimits(fetches_max=2))
    kept = set()
    for number in range(6):
        commit = repo.commit({"a": str(number)})
        mirror.fetch(MAIN, commit)
        kept.add(generation(mirror))
    assert len(kept) == 2
    mirror.fetch(MAIN, repo.commit({"a": "x"}))
    assert len([place for place in kept if place.exists()]) == 1


def test_many_packs_make_a_mirror_worn(server, repo):
    mirror = mirror_of(server, limits=MirrorLimits(packs_max=3))
    mirror.fetch(MAIN, repo.commit({"a": "0"}))
    before = generation(mirror)
    for number in range(1, 5):
        mirror.fetch(MAIN, repo.commit({"a": str(number)}))
    assert generation(mirror) != before


def test_too_little_space_is_said_before_anything_is_written(server, repo):
    commit = repo.commit({"a": "1"})
    mirror = mirror_of(server, limits=MirrorLimits(free_bytes_min=2**62))
    with pytest.raises(DiskFull, match="MiB"):
        mirror.fetch(MAIN, commit)
    assert list(mirror.folder.iterdir()) == []


def test_a_pack_over_the_limit_for_files_is_too_large(server, repo):
    commit = repo.commit({"a": os.urandom(3_000_000)})
    mirror = mirror_of(server, slim=False, settings=ChildSettings(file_bytes_max=1_000_000))
    with pytest.raises(SourceTooLarge):
        mirror.fetch(MAIN, commit)
    assert [entry.name for entry in mirror.folder.iterdir()] == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_fetch_is_unauthorized(server, repo, status):
    commit = repo.commit({"a": "1"})
    server.knobs.status = status
    with pytest.raises(Unauthorized):
        mirror_of(server).fetch(MAIN, commit)


def test_a_redirected_fetch_is_not_followed(server, repo):
    commit = repo.commit({"a": "1"})
    server.knobs.status, server.knobs.headers = 302, {"Location": "http://127.0.0.1:9/x"}
    with pytest.raises(SourceFault):
        mirror_of(server).fetch(MAIN, commit)


def test_a_header_scoped_to_the_host_opens_the_repository(server, repo):
    commit = repo.commit({"a": "1"})
    server.knobs.token = "t0ken"
    scoped = ((f"http.{server.url}/.extraHeader", "Authorization: Bearer t0ken"),)
    mirror = mirror_of(server, settings=ChildSettings(config=scoped))
    mirror.fetch(MAIN, commit)
    assert text_at(mirror, commit, "a") == b"1"


def test_a_header_scoped_to_another_host_stays_at_home(server, repo):
    commit = repo.commit({"a": "1"})
    server.knobs.token = "t0ken"
    scoped = (("http.http://git.acme.example/.extraHeader", "Authorization: Bearer t0ken"),)
    with pytest.raises(Unauthorized):
        mirror_of(server, settings=ChildSettings(config=scoped)).fetch(MAIN, commit)


def test_settings_never_show_a_credential():
    assert "t0ken" not in repr(ChildSettings(config=(("http.extraHeader", "t0ken"),)))


@pytest.mark.parametrize("knob", ["silent", "trickle"])
def test_a_silent_or_trickling_server_leaves_nothing_running_after_the_deadline(server, repo, knob):
    commit = repo.commit({"a": "1"})
    setattr(server.knobs, knob, True)
    mirror = mirror_of(server, limits=MirrorLimits(fetch_s=0.5))
    began = time.monotonic()
    with pytest.raises(DeadlineMissed):
        mirror.fetch(MAIN, commit)
    assert time.monotonic() - began < 4
    assert processes_in(str(mirror.folder)) == []


def test_a_deadline_that_was_too_short_is_doubled(server, repo):
    commit = repo.commit({"a": "1"})
    server.knobs.silent = True
    mirror = mirror_of(server, limits=MirrorLimits(fetch_s=0.2, patience_max=2))
    for _ in range(4):
        with pytest.raises(DeadlineMissed):
            mirror.fetch(MAIN, commit)
    assert read_pointer(mirror.folder).patience == 2


def test_a_half_made_clone_is_removed(server, repo):
    commit = repo.commit({"a": "1"})
    server.knobs.status = 500
    mirror = mirror_of(server)
    with pytest.raises(Unreachable):
        mirror.fetch(MAIN, commit)
    assert [entry for entry in mirror.folder.iterdir() if entry.is_dir()] == []


def test_two_tracked_refs_of_one_remote_have_two_mirrors(server, repo):
    assert mirror_of(server, tracked="a").folder != mirror_of(server, tracked="b").folder


def test_a_deleted_mirror_leaves_no_file(server, repo):
    mirror = mirror_of(server)
    mirror.fetch(MAIN, repo.commit({"a": "1"}))
    mirror.delete()
    assert not mirror.folder.exists()


def test_a_tree_that_git_itself_would_refuse_never_enters_a_mirror(server, repo):
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"x")
    tree = repo.git(
        "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=b"100644 .git\0" + bytes.fromhex(blob)
    )
    commit = repo.git("commit-tree", tree, "-m", "x")
    repo.git("update-ref", MAIN, commit)
    with pytest.raises(Corrupt):
        mirror_of(server).fetch(MAIN, commit)


def test_a_file_remote_is_not_spoken_where_http_was_registered(server, repo):
    commit = repo.commit({"a": "1"})
    mirror = mirror_of(server)
    mirror.fetch(MAIN, commit)
    config = generation(mirror) / "config"
    config.write_text(config.read_text().replace(server.url, f"file://{server.root}"))
    with pytest.raises(SourceFault, match="not allowed"):
        mirror.fetch(MAIN, repo.commit({"a": "2"}))


def processes_in(folder: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "cwd").readlink()).startswith(folder):
                    found.append(entry.name)
            except OSError:
                continue
    return found


def test_the_search_for_leftover_processes_finds_one(tmp_path):
    with subprocess.Popen(["sleep", "5"], cwd=tmp_path) as child:
        found = processes_in(str(tmp_path))
        child.kill()
    assert found == [str(child.pid)]
