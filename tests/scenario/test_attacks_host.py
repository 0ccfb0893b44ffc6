"""Ways to get round a required playbook on the host's side: a working copy, a cache, a moment between two calls.

The server's side is test_attacks.py. Each must fail: what serves under the name is central's, or nothing, and no run
opens for anything else. What a host cannot know, it says.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from gitserver import ENVIRONMENT, GitRepo
from relay import Relay, relaying
from serving import ADMIN, AS_ADMIN, Registry, serving
from standin import document, entry, snapshot
from world import playbook

from registry.client import Catalog
from registry.client import catalog as module
from registry.client.cache import DiskCache
from registry.client.following import Held
from registry.client.snapshot import read_snapshot
from registry.client.view import Views
from registry.digest import canonical, digest_of
from registry.errors import (
    Forbidden,
    PlaybookUnavailable,
    Refused,
    RegistryError,
    Unavailable,
    Unknown,
)
from registry.mcp.bridge import Bridge

CENTRAL_ID = "local/acme/playbooks"
NAME = "deploy-rollback"
MINE = "9.9.9"
BROKEN = "playbook: 1\nname: {name}\nsteps: [\n"
CENTRAL = {
    "policy.yaml": "policy: 1\nrequired:\n  - {name: deploy-rollback, reason: audited}\n",
    "playbooks/deploy-rollback.yaml": playbook(NAME),
    "playbooks/erase.yaml": playbook("erase", required="true"),
    "playbooks/free.yaml": playbook("free"),
    "playbooks/never-loaded.yaml": BROKEN.format(name="never-loaded"),
    # One for each test that marks one: the registry is the same for all.
    **{f"playbooks/{name}.yaml": playbook(name) for name in ("one", "two", "three", "four", "five")},
}
OWN = {f"playbooks/{name}.yaml": playbook(name, version="2.0.0") for name in ("one", "two", "three", "four", "five")}
SKILL = "---\nname: {name}\ndescription: Do it my way.\n---\nGo.\n"


class Place:
    """A service's repository, a working copy of it, and a host in that copy."""

    def __init__(self, folder: Path, registry: Registry, central: GitRepo, relay: Relay) -> None:
        self.folder = folder
        self.registry = registry
        self.relay = relay
        self.central = central
        self.app = GitRepo(folder / "acme" / f"app-{folder.name}")
        self.app.commit({"README.md": "x", **OWN})
        self.id = f"local/acme/{self.app.path.name}"
        self.cache = folder / "cache"
        self.copy = folder / "copy"
        self.clone(self.app, self.copy)
        registry.register(self.id, self.app.url)

    def clone(self, repo: GitRepo, copy: Path) -> None:
        self.git("clone", "--quiet", repo.url, str(copy), cwd=self.folder)

    def git(self, *arguments: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *arguments], cwd=cwd or self.copy, check=True, capture_output=True, env=ENVIRONMENT)

    def write(self, path: str, text: str) -> None:
        place = self.copy / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def open(self, **options: object) -> Catalog:
        chosen = {"path": self.copy, "url": self.relay.url, "token": ADMIN, "cache": self.cache,
                  "refresh_s": 0.0, "repository": self.id}  # fmt: skip
        return Catalog.open(**{**chosen, **options})

    def mark(self, name: str) -> None:
        answer = self.registry.client.put(f"/v1/policy/required/{name}", json={"reason": "audited"}, headers=AS_ADMIN)
        assert answer.status_code == 200, answer.text


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, GitRepo]]:
    folder = tmp_path_factory.mktemp("attacks")
    central = GitRepo(folder / "acme" / "playbooks")
    central.commit(CENTRAL)
    with serving(folder / "data", central_url=central.url, poll_interval_s=3_600) as registry:
        yield registry, central


@contextmanager
def placed(folder: Path, registry: Registry, central: GitRepo) -> Iterator[Place]:
    address = registry.client.base_url
    with relaying(address.host, address.port or 80) as relay:
        yield Place(folder, registry, central, relay)


@pytest.fixture
def place(tmp_path: Path, shared: tuple[Registry, GitRepo]) -> Iterator[Place]:
    """A place of its own."""
    with placed(tmp_path, *shared) as made:
        yield made


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory, shared: tuple[Registry, GitRepo]) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("common"), *shared) as made:
        yield made


@pytest.fixture
def tree(common: Place) -> Place:
    """A place for tests that change nothing but its working copy, as it was cloned."""
    common.git("switch", "--quiet", "--force", "main")
    common.git("reset", "--quiet", "--hard", "origin/main")
    common.git("clean", "--quiet", "-dffx")
    return common


def assert_holds(catalog: Catalog, name: str = NAME) -> None:
    """Nothing but central's copy is found, read or run under the name, in whatever spelling."""
    served = {entry["name"]: entry["source"]["kind"] for entry in catalog.entries()}
    assert served.get(name, "central") == "central"
    rows = catalog.search(name.replace("-", " "), limit=20).entries
    assert {row["source"]["kind"] for row in rows if row["name"] == name} <= {"central"}
    for spelling in (name, name.upper(), name.replace("-", "_"), f" {name.replace('-', ' ')} "):
        try:
            found = catalog.get(spelling)
            assert (found.entry["source"]["kind"], found.entry["version"]) == ("central", "1.0.0")
            opened = catalog.execute(spelling, {})
            assert opened["run"]["source"]["kind"] == "central"
        except (PlaybookUnavailable, Unknown):
            assert name not in served


# The working copy

COPIES = {
    "playbooks/a.yaml": playbook(NAME, version=MINE),
    "playbooks/deep/er/a.yml": playbook(NAME, version=MINE),
    ".playbooks/a.yaml": playbook(NAME, version=MINE),
    "playbooks/a.json": json.dumps(
        {"playbook": 1, "name": NAME, "version": MINE, "owner": "x", "purpose": "x",
         "steps": [{"id": "a", "tool": "t", "instruction": "i"}]}
    ),
    "playbooks/a.md": f"---\nplaybook: 1\nname: {NAME}\nversion: {MINE}\nowner: x\npurpose: x\n---\nDo it my way.\n",
    **{
        f"{root}/{NAME}/SKILL.md": SKILL.format(name=NAME)
        for root in (".agents/skills", ".claude/skills", ".github/skills", ".cursor/skills", "skills")
    },
    "skills/x/SKILL.md": SKILL.format(name="Deploy_Rollback"),
    "skills/deploy.rollback/SKILL.md": "---\ndescription: Do it my way.\n---\nGo.\n",
    "playbooks/a.runbook.json": json.dumps(
        {"runbook_id": NAME, "mode": "advisory", "description": "x", "checkpoints": []}
    ),
    "playbooks/a.openplaybook.json": json.dumps(
        {"name": NAME, "version": MINE, "purpose": "x", "tools": [], "requires": {},
         "steps": [{"kind": "agent", "id": "a", "prompt": "go"}]}
    ),
    "playbooks/deploy_rollback.openplaybook.json": json.dumps(
        {"purpose": "At once.", "tools": [], "requires": {}, "steps": [{"id": "a"}]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", COPIES)
def test_a_copy_in_the_working_tree_in_any_format_folder_and_root(tree: Place, path: str):
    tree.write(path, COPIES[path])
    with tree.open() as catalog:
        assert_holds(catalog)
        assert f"{NAME} is required, so the central copy holds here too" in catalog.state.note


@pytest.mark.parametrize("path", ["playbooks/a.yaml", "skills/x/SKILL.md", "playbooks/a.runbook.json"])
def test_the_same_copy_serves_where_nothing_requires_the_name(tree: Place, path: str):
    tree.write(path, COPIES[path].replace(NAME, "free").replace("Deploy_Rollback", "Free"))
    with tree.open() as catalog:
        assert catalog.get("free").entry["source"]["kind"] == "worktree"


@pytest.mark.parametrize(
    "spelling",
    ["deploy_rollback", "Deploy-Rollback", "deploy.rollback", "deploy  rollback", "\uff44eploy-rollback", " deploy-rollback "],
)  # fmt: skip
def test_another_spelling(tree: Place, spelling: str):
    tree.write("playbooks/a.yaml", playbook(NAME, version=MINE).replace(f"name: {NAME}", f"name: '{spelling}'"))
    with tree.open() as catalog:
        assert_holds(catalog)


def test_a_symlink_to_a_file_elsewhere(place: Place):
    place.write("elsewhere.yaml", playbook(NAME, version=MINE))
    (place.copy / "playbooks").mkdir(exist_ok=True)
    (place.copy / "playbooks" / "a.yaml").symlink_to("../elsewhere.yaml")
    outside = place.folder / "outside.yaml"
    outside.write_text(playbook("erase", version=MINE))
    (place.copy / "playbooks" / "b.yaml").symlink_to(outside)
    with place.open() as catalog:
        assert_holds(catalog)
        assert_holds(catalog, "erase")


def test_twins_of_which_neither_is_chosen(tree: Place):
    tree.write("playbooks/a.yaml", playbook(NAME, version=MINE))
    tree.write("playbooks/b.yaml", playbook(NAME, version="8.8.8"))
    with tree.open() as catalog:
        assert_holds(catalog)


def test_a_copy_that_calls_itself_required(tree: Place):
    tree.write("playbooks/a.yaml", playbook("erase", version=MINE, required="true"))
    tree.write("policy.yaml", "policy: 1\nrequired: []\n")
    with tree.open() as catalog:
        assert_holds(catalog, "erase")


@pytest.mark.parametrize("spelling", ["never-loaded", "Never_Loaded"])
def test_a_central_copy_that_never_loaded_so_that_nobody_knows_whether_it_is_required(tree: Place, spelling: str):
    tree.write("skills/x/SKILL.md", SKILL.format(name=spelling))
    with tree.open() as catalog:
        assert_holds(catalog, "never-loaded")
        with pytest.raises(PlaybookUnavailable) as raised:
            catalog.get("never-loaded")
    assert raised.value.extra["outcome"] == "required_broken"


def test_a_committed_copy_on_a_branch_that_nobody_pushed(tree: Place):
    tree.git("switch", "--quiet", "--create", "mine")
    tree.write("playbooks/a.yaml", playbook(NAME, version=MINE))
    tree.git("add", "--all")
    tree.git("commit", "--quiet", "--message", "mine")
    with tree.open() as catalog:
        assert_holds(catalog)


def test_deleting_the_copy_that_serves_does_not_run_it_by_its_name_either(tree: Place):
    (tree.copy / "playbooks/five.yaml").unlink()
    with tree.open() as catalog:
        assert catalog.get("five").entry["source"]["kind"] == "central"
        with pytest.raises(Refused, match="which the registry still serves"):
            catalog.execute("five", {})


def test_the_digest_of_a_copy_that_the_working_copy_goes_before(tree: Place):
    with tree.open() as catalog:
        digest = catalog.get("free").entry["digest"]
        tree.write("playbooks/free.yaml", playbook("free", version=MINE))
        catalog.refresh()
        shadowed = catalog.get("free", digest)
        assert (shadowed.serves, shadowed.entry["version"]) == (False, "1.0.0")
        with pytest.raises(Refused, match="another copy that serves in this working copy"):
            catalog.execute("free", {}, digest=digest)


def test_the_digest_of_the_copy_that_was_refused(tree: Place):
    tree.write("playbooks/a.yaml", playbook("other", version=MINE))
    with tree.open() as catalog:
        mine = catalog.get("other").entry["digest"]
        tree.write("playbooks/a.yaml", playbook(NAME, version=MINE))
        catalog.refresh()
        for digest in (mine, *(copy["digest"] for copy in refused(catalog))):
            with pytest.raises((Unknown, Refused)):
                catalog.execute(NAME, {}, digest=digest)
            with pytest.raises(RegistryError):
                catalog.get(NAME, digest)


def refused(catalog: Catalog) -> list[dict]:
    view, _ = catalog._seen()
    return [dict(entry) for entry in view.overlay.refused]


def test_a_run_of_a_copy_whose_name_is_written_otherwise(tree: Place):
    tree.write("skills/x/SKILL.md", SKILL.format(name="My_Own.Way"))
    with tree.open() as catalog:
        opened = catalog.execute("MY OWN way", {})
    assert (opened["run"]["name"], opened["run"]["source"]["kind"]) == ("my-own-way", "worktree")
    kept = tree.registry.get(f"/v1/runs/{opened['run_id']}", headers=AS_ADMIN).json()
    assert (kept["name"], kept["source"]["unreviewed"]) == ("my-own-way", True)


# Whose copy it is


def test_a_working_copy_whose_remote_claims_to_be_centrals(place: Place):
    place.git("remote", "set-url", "origin", place.central.url)
    place.write("playbooks/a.yaml", playbook(NAME, version=MINE))
    with place.open(repository=None) as catalog:
        found = catalog.get(NAME)
        # In central's own copy its author tries out what he writes: it says what it is, and never runs.
        assert (found.entry["source"]["kind"], found.entry["required"]) == ("worktree", True)
        assert "nobody has reviewed it" in found.why
        with pytest.raises(Refused, match="is required here: no working tree's copy runs in its place"):
            catalog.execute(NAME, {})


def test_a_working_copy_whose_remote_claims_to_be_another_services(place: Place):
    other = GitRepo(place.folder / "acme" / "waived")
    other.commit({"playbooks/a.yaml": playbook(NAME, version="3.0.0")})
    place.registry.register("local/acme/waived", other.url, team="waived")
    waive(place, "local/acme/waived", "2099-01-01")
    place.git("remote", "set-url", "origin", other.url)
    place.write("playbooks/a.yaml", playbook(NAME, version=MINE))
    token = agent_of(place, "evil")
    with place.open(repository=None, token=token) as catalog:
        assert catalog.get(NAME).entry["source"]["kind"] == "worktree"
        with pytest.raises(Forbidden):
            catalog.execute(NAME, {})


def waive(place: Place, repository: str, until: str) -> None:
    answer = place.registry.client.put(
        f"/v1/policy/waivers/{NAME}",
        params={"repository": repository},
        json={"until": until, "reason": "old deployer"},
        headers=AS_ADMIN,
    )
    assert answer.status_code in {200, 201}, answer.text


def agent_of(place: Place, team: str) -> str:
    body = {"name": f"agent-{team}", "team": team, "scopes": ["catalog:read", "playbook:execute"]}
    answer = place.registry.client.post("/v1/tokens", json=body, headers=AS_ADMIN)
    assert answer.status_code == 201, answer.text
    return answer.json()["token"]


def test_deleting_the_central_copy_in_centrals_own_working_copy(place: Place):
    copy = place.folder / "central-copy"
    place.clone(place.central, copy)
    (copy / "playbooks/deploy-rollback.yaml").unlink()
    with place.open(repository=CENTRAL_ID, path=copy) as catalog:
        with pytest.raises(PlaybookUnavailable) as raised:
            catalog.get(NAME)
        assert raised.value.extra["outcome"] == "required_missing"
        with pytest.raises(PlaybookUnavailable):
            catalog.execute(NAME, {})


def test_a_copy_that_drops_required_in_centrals_own_working_copy(place: Place):
    copy = place.folder / "central-copy"
    place.clone(place.central, copy)
    (copy / "playbooks/erase.yaml").write_text(playbook("erase", version=MINE))
    (copy / "policy.yaml").unlink()
    with place.open(repository=CENTRAL_ID, path=copy) as catalog:
        assert catalog.get("erase").entry["required"] is True
        with pytest.raises(Refused):
            catalog.execute("erase", {})


# Time


def test_a_mark_between_the_search_and_the_run_of_a_pushed_copy(place: Place):
    with place.open(refresh_s=1_000) as catalog:
        read = catalog.get("one")
        assert (read.entry["source"]["kind"], read.entry["version"]) == ("local", "2.0.0")
        place.mark("one")
        with pytest.raises(Refused):
            catalog.execute("one", {}, digest=read.entry["digest"])
        # And what is read now is what serves, a minute before the catalog would have been looked at again.
        assert catalog.get("one").entry["source"]["kind"] == "central"
        assert catalog.execute("one", {})["run"]["source"]["kind"] == "central"


def test_a_mark_between_the_search_and_the_run_of_a_copy_in_the_working_tree(place: Place):
    place.write("playbooks/two.yaml", playbook("two", version=MINE))
    with place.open(refresh_s=1_000) as catalog:
        assert catalog.get("two").entry["source"]["kind"] == "worktree"
        place.mark("two")
        with pytest.raises(Refused):
            catalog.execute("two", {})
        assert catalog.get("two").entry["source"]["kind"] == "central"


def test_an_offline_cache_older_than_the_mark_says_what_it_cannot_know_and_runs_nothing(place: Place):
    place.write("playbooks/three.yaml", playbook("three", version=MINE))
    with place.open() as catalog:
        catalog.search("three")
    place.mark("three")
    place.relay.cut()
    with place.open() as catalog:
        found = catalog.get("three")
        assert found.state.freshness == "offline"
        assert "What was marked required, waived or withdrawn since then is not known here" in found.state.note
        with pytest.raises(Unavailable):
            catalog.execute("three", {})


def test_a_waived_copy_past_the_end_of_its_waiver_offline(place: Place, monkeypatch: pytest.MonkeyPatch):
    place.app.commit({"playbooks/a.yaml": playbook(NAME, version="3.0.0")})
    place.registry.sync(place.id)
    place.git("pull", "--quiet")
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    waive(place, place.id, tomorrow.isoformat())
    with place.open() as catalog:
        catalog.search("roll back")
        assert catalog.get(NAME).entry["waiver"]["until"] == tomorrow.isoformat()
    place.relay.cut()
    with place.open() as catalog:
        assert catalog.get(NAME).entry["source"]["kind"] == "local"
    later = datetime.now(UTC) + timedelta(days=2)
    monkeypatch.setattr(module, "_now", lambda: later)
    with place.open() as catalog:
        with pytest.raises(PlaybookUnavailable, match=r"the waiver by which .* has ended"):
            catalog.get(NAME)
        assert NAME not in {row["name"] for row in catalog.search(NAME, limit=20).entries}
    place.write("playbooks/a.yaml", playbook(NAME, version=MINE))
    with place.open() as catalog:
        found = catalog.get(NAME)
    assert (found.entry["source"]["kind"], found.entry["version"]) == ("central", "1.0.0")


def test_a_clock_that_was_set_back_does_not_bring_a_waiver_back_to_life():
    waived = entry(document(NAME), "local", waiver={"until": "2026-11-29", "reason": "x", "approved_by": "y"})
    body = canonical(snapshot([waived], valid_until="2026-11-29T23:59:59Z"))
    checked_at = datetime(2026, 11, 30, tzinfo=UTC)
    held = Held(read_snapshot(body, digest_of(body)), checked_at, 0, True, True, None)

    class Followed:
        repository = "github.com/acme/app"

    views = Views(None, DiskCache(None), None)
    assert views.of(Followed(), held, checked_at - timedelta(days=9)).entry(NAME) is None


# The cache


def records(place: Place) -> list[tuple[Path, dict]]:
    kept = [(path, json.loads(path.read_text())) for path in (place.cache / "records").iterdir()]
    return [(path, record) for path, record in kept if "digest" in record]


def test_a_cache_whose_record_points_at_an_older_genuine_snapshot(place: Place):
    with place.open() as catalog:
        old = catalog.snapshot
        catalog.search("four")
    place.mark("four")
    with place.open() as catalog:
        catalog.search("four")
        new = catalog.snapshot
        assert catalog.get("four").entry["source"]["kind"] == "central"
    ((path, record),) = records(place)
    path.write_text(json.dumps({**record, "digest": old}))
    with place.open() as catalog:
        assert (catalog.snapshot, catalog.state.freshness) == (new, "fresh")
        assert catalog.get("four").entry["source"]["kind"] == "central"
    path.write_text(json.dumps({**record, "digest": old, "checked_at": "2099-01-01T00:00:00+00:00", "fresh": True}))
    place.relay.cut()
    with place.open() as catalog:
        state = catalog.state
        assert (catalog.snapshot, state.freshness) == (old, "offline")
        assert "is not known here" in state.note
        with pytest.raises(Unavailable):
            catalog.execute("four", {})


def test_a_cache_whose_bytes_were_changed(place: Place):
    with place.open() as catalog:
        catalog.search("free")
    for path in (*(place.cache / "snapshots").iterdir(), *(place.cache / "documents").iterdir()):
        path.write_bytes(path.read_bytes().replace(b'"required":true', b'"required":false').replace(b"Do it", b"Do I?"))
    with place.open() as catalog:
        assert_holds(catalog)
        assert catalog.get(NAME).entry["contract"]["steps"][0]["instruction"] == "Do it."
    for path in (place.cache / "snapshots").iterdir():
        path.write_bytes(path.read_bytes().replace(b'"required":true', b'"required":false'))
    place.relay.cut()
    with place.open() as catalog, pytest.raises(Unavailable):
        catalog.entries()


@pytest.mark.parametrize(
    "change",
    [
        {"checked_at": 7}, {"checked_at": "0001-01-01T00:00:00+23:59"}, {"age_s": 1e308}, {"age_s": "x"}, {"paths": ["/etc/**"]},
        {"paths": ["a"] * 1_000}, {"paths": 7}, {"digest": "../../../etc/passwd"}, {"digest": None}, {"registered": []},
    ],
)  # fmt: skip
def test_a_record_that_was_tampered_with_is_as_none(tree: Place, change: dict):
    with tree.open() as catalog:
        catalog.search("free")
    for path, record in records(tree):
        path.write_text(json.dumps({**record, **change}))
    with tree.open() as catalog:
        assert_holds(catalog)
        assert catalog.state.freshness == "fresh"


def test_records_of_the_search_that_were_tampered_with(place: Place):
    with place.open() as catalog:
        catalog.search("free")
    for path in (place.cache / "records").iterdir():
        text = path.read_text()
        path.write_text(text.replace("erase", "deploy-rollback"))
    place.write("playbooks/erase.yaml", playbook("erase", version=MINE))
    with place.open() as catalog:
        assert_holds(catalog)
        assert_holds(catalog, "erase")


def test_a_memo_that_nothing_was_changed_hides_no_mark(tree: Place):
    tree.write("playbooks/a.yaml", playbook(NAME, version=MINE))
    with tree.open() as catalog:
        assert_holds(catalog)
        snapshot = catalog.snapshot
    (tree.cache / "records" / "made-up.json").write_text(json.dumps({"snapshot": snapshot, "tree": "x"}))
    with tree.open() as catalog:
        assert_holds(catalog)


# The bridge says all this to a model


def test_the_bridge_answers_each_of_these_with_a_problem_that_says_why(place: Place):
    place.write("playbooks/a.yaml", playbook(NAME, version=MINE))
    bridge = Bridge(place.open)
    read = bridge.call("get_playbook", {"name": NAME})["structuredContent"]
    assert (read["source"]["kind"], read["version"]) == ("central", "1.0.0")
    assert f"{NAME} is required" in read["state"]["note"]
    lost = bridge.call("get_playbook", {"name": "never-loaded"})
    assert lost["isError"]
    assert (lost["structuredContent"]["type"], lost["structuredContent"]["outcome"]) == (
        "/problems/playbook-unavailable",
        "broken",
    )
    place.relay.cut()
    late = bridge.call("execute_playbook", {"name": NAME})["structuredContent"]
    assert late["type"] == "/problems/unavailable"
    assert late["snapshot"] == read["snapshot"]
    bridge.end()
    assert os.environ.get("REGISTRY_TOKEN") is None or ADMIN not in json.dumps(late)
