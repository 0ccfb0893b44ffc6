"""The original bytes of what loaded are in the store before anything that names them is in force."""

import json
from contextlib import closing

import pytest
from gitserver import GitRepo
from sqlalchemy import create_engine, text
from world import opened, playbook, running

from registry.digest import digest_of
from registry.errors import Corrupt
from registry.git.mirror import Mirror
from registry.git.remote import RemotePolicy, parse_remote
from registry.store.sql import open_store
from registry.sync import originals, publisher, source
from registry.sync.originals import keep_originals

SKILL = "---\nname: roll-back\ndescription: Take a deploy back.\n---\nRun scripts/back.sh.\n"


def digest(content: str | bytes) -> str:
    return digest_of(content if isinstance(content, bytes) else content.encode())


def entry(world, name, repository="payments"):
    return world.services.catalogs.playbook(name, world.identity(repository))


def named(found: dict) -> list[str]:
    """Every digest of bytes that an entry and its document name."""
    return [found["source"]["blob"], *(each["digest"] for each in found["contract"].get("files", ()))]


def test_the_file_of_every_playbook_is_kept_as_it_was_written(tmp_path):
    written = "# A note of ours.\r\n" + playbook("deploy").replace("\n", "\r\n")
    with running(tmp_path, {"playbooks/deploy.yaml": written}) as world:
        found = world.services.catalogs.playbook("deploy", None)
        assert world.store.blob(found["source"]["blob"]) == written.encode()


def test_a_skills_other_files_are_kept_as_they_are(tmp_path):
    files = {
        "skills/roll-back/SKILL.md": SKILL,
        "skills/roll-back/scripts/back.sh": "#!/bin/sh\n",
        "skills/roll-back/logo.png": b"\x89PNG\x00\xff",
        "skills/roll-back/empty": "",
    }
    with running(tmp_path, {}) as world:
        world.service("payments", files)
        kept = [world.store.blob(each) for each in named(entry(world, "roll-back"))]
    assert sorted(kept) == sorted(each if isinstance(each, bytes) else each.encode() for each in files.values())


def test_what_did_not_load_is_not_kept(tmp_path):
    broken, stray = "playbook: 1\nname: [broken\n", "no playbook at all\n"
    with running(tmp_path, {}) as world:
        world.service(
            "payments",
            {
                "playbooks/broken.yaml": broken,
                "playbooks/stray.yaml": stray,
                "skills/x/SKILL.md": "none",
                "skills/x/a": "a",
            },
        )
        digests = {digest(each) for each in (broken, stray, "none", "a")}
        assert world.store.missing_blobs(digests) == digests


def test_a_file_that_loads_and_does_not_serve_is_kept(tmp_path):
    one, other = playbook("deploy"), playbook("deploy", version="2.0.0")
    with running(tmp_path, {}) as world:
        world.service("payments", {"playbooks/one.yaml": one, "playbooks/other.yaml": other})
        assert world.store.missing_blobs([digest(one), digest(other)]) == frozenset()


def test_the_bytes_of_a_held_copy_are_kept(tmp_path):
    repo = GitRepo(tmp_path / "git" / "acme" / "payments")
    repo.commit(
        {"playbooks/deploy.yaml": playbook("deploy"), "skills/roll-back/SKILL.md": SKILL, "skills/roll-back/a": "a"}
    )
    repo.commit(
        {"playbooks/deploy.yaml": "playbook: 1\n", "skills/roll-back/SKILL.md": "broken", "skills/roll-back/a": "b"}
    )
    with running(tmp_path, {}) as world:
        world.register("payments", repo)
        held = [entry(world, name) for name in ("deploy", "roll-back")]
        assert all(each["held"] for each in held)
        assert [world.store.blob(each) for found in held for each in named(found)] == [
            playbook("deploy").encode(),
            SKILL.encode(),
            b"a",
        ]


def test_two_repositories_with_the_same_file_share_its_bytes(tmp_path):
    with running(tmp_path, {}) as world:
        for name in ("payments", "checkout"):
            world.service(name, {"playbooks/deploy.yaml": playbook("deploy")})
        with create_engine(f"sqlite:///{world.settings.data_dir / 'registry.db'}").connect() as connection:
            assert connection.execute(text("SELECT count(*) FROM blobs")).scalar() == 1


def test_a_registry_that_kept_no_bytes_has_them_after_an_upgrade(tmp_path, monkeypatch):
    with monkeypatch.context() as older:
        for module in (source, publisher):
            older.setattr(module, "LOADER_VERSION", "playbook-loader/0")
        with running(tmp_path, {"playbooks/deploy.yaml": playbook("deploy")}) as world:
            world.service("payments", {"skills/roll-back/SKILL.md": SKILL, "skills/roll-back/a": "a"})
            settings = world.settings
    database = f"sqlite:///{settings.data_dir / 'registry.db'}"
    with create_engine(database).begin() as connection:
        connection.execute(text("DELETE FROM blobs"))
    with opened(tmp_path, settings) as world:
        world.sync_central()
        world.sync("payments")
        digests = [
            *named(entry(world, "roll-back")),
            world.services.catalogs.playbook("deploy", None)["source"]["blob"],
        ]
        assert world.store.missing_blobs(digests) == frozenset()


class Blobs:
    """The files of a commit in a slim mirror, and where their bytes are."""

    def __init__(self, folder, *contents: bytes) -> None:
        repo = GitRepo(folder / "srv" / "app.git")
        commit = repo.commit({f"{number:02}": data for number, data in enumerate(contents)})
        mirror = Mirror(folder, parse_remote(repo.url, policy=RemotePolicy(allow_file_remotes=True)), slim=True)
        mirror.fetch("refs/heads/main", commit)
        self.tree = mirror.read(commit)
        self.ids = {digest_of(data): str(self.tree.blob_id(f"{number:02}")) for number, data in enumerate(contents)}


@pytest.fixture
def store():
    with closing(open_store("sqlite://")) as found:
        yield found


def test_what_is_stored_already_is_not_read_again(tmp_path, store):
    blobs = Blobs(tmp_path, b"x", b"y")
    store.put_blobs({digest_of(b"x"): b"x"})
    unreadable = {**blobs.ids, digest_of(b"x"): "0" * 40}
    assert keep_originals(blobs.tree, unreadable, store) == {digest_of(b"y"): b"y"}


def test_a_few_bytes_are_left_to_the_publication(tmp_path, store):
    blobs = Blobs(tmp_path, b"x")
    keep_originals(blobs.tree, blobs.ids, store)
    assert store.missing_blobs(blobs.ids) == frozenset(blobs.ids)


def test_many_bytes_are_stored_a_batch_at_a_time(tmp_path, store, monkeypatch):
    monkeypatch.setattr(originals, "BATCH_BYTES_MAX", 3_000)
    monkeypatch.setattr(originals, "LEFT_BYTES_MAX", 1_500)
    blobs = Blobs(tmp_path, *(bytes([number]) * 1_000 for number in range(10)))
    left = keep_originals(blobs.tree, blobs.ids, store)
    assert (len(left), store.missing_blobs(blobs.ids), store.sequence()) == (1, frozenset(left), 3)


def test_bytes_of_another_digest_are_never_kept(tmp_path, store):
    blobs = Blobs(tmp_path, b"x", b"y")
    swapped = dict(zip(blobs.ids, reversed(blobs.ids.values()), strict=True))
    with pytest.raises(Corrupt):
        keep_originals(blobs.tree, swapped, store)
    assert store.missing_blobs(blobs.ids) == frozenset(blobs.ids)


def test_the_document_of_a_skill_and_its_bytes_agree(tmp_path):
    with running(tmp_path, {}) as world:
        world.service("payments", {"skills/roll-back/SKILL.md": SKILL, "skills/roll-back/a": "a"})
        found = entry(world, "roll-back")
        document = json.loads(world.services.catalogs.document(found["digest"]))
        assert [(each["path"], world.store.blob(each["digest"])) for each in document["files"]] == [("a", b"a")]
