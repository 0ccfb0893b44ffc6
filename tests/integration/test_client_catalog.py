"""registry.client against a real server: a catalog followed, a working copy laid over it, and life without a network."""

import os
import subprocess
from pathlib import Path

import pytest
from gitserver import ENVIRONMENT, GitRepo
from serving import ADMIN, Registry, serving

from registry.client import Catalog
from registry.errors import (
    Forbidden,
    InputsInvalid,
    PlaybookUnavailable,
    Refused,
    RepositoryInvalid,
    Unauthenticated,
    Unavailable,
    Unknown,
)

CENTRAL_ID = "local/acme/playbooks"


def playbook(name: str, version: str = "1.0.0", purpose: str = "", **fields: str) -> str:
    lines = [
        "playbook: 1",
        f"name: {name}",
        f'version: "{version}"',
        "owner: platform",
        f"purpose: {purpose or f'Do the {name} of a service.'}",
        "inputs: {type: object, properties: {service: {type: string}}, required: [service]}",
        'steps: [{id: one, tool: shell.run, instruction: "Look at {{ inputs.service }}."}]',
        *(f"{key}: {value}" for key, value in fields.items()),
    ]
    return "\n".join(lines) + "\n"


class Place:
    """A central repository, a service's repository with a working copy of it, and a registry that reads both."""

    def __init__(self, folder: Path, registry: Registry, central: GitRepo, app: GitRepo) -> None:
        self.folder = folder
        self.registry = registry
        self.central = central
        self.app = app
        self.id = f"local/acme/{app.path.name}"
        self.copy = folder / "copy"
        self.git("clone", "--quiet", app.url, str(self.copy), cwd=folder)

    def git(self, *args: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *args], cwd=cwd or self.copy, check=True, capture_output=True, text=True,
            env={**os.environ, **ENVIRONMENT},
        )  # fmt: skip
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        place = self.copy / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def open(self, **options: object) -> Catalog:
        chosen = {
            "url": str(self.registry.client.base_url), "token": ADMIN, "cache": self.folder / "cache", "refresh_s": 0.0,
            "repository": self.id,
        }  # fmt: skip
        return Catalog.open(**{**chosen, **options})

    def over_copy(self, **options: object) -> Catalog:
        return self.open(path=self.copy, **options)


def central_of(folder: Path) -> GitRepo:
    central = GitRepo(folder / "acme" / "playbooks")
    central.commit({
        "playbooks/deploy.yaml": playbook("deploy"),
        "playbooks/rotate-key.yaml": playbook("rotate-key", purpose="Rotate the signing key of a service."),
        "playbooks/rollback.yaml": playbook("rollback", required="true"),
    })  # fmt: skip
    return central


def place_of(folder: Path, registry: Registry, central: GitRepo) -> Place:
    app = GitRepo(folder / "acme" / f"app-{folder.name}")
    app.commit({"playbooks/deploy.yaml": playbook("deploy", "2.0.0"), "playbooks/own.yaml": playbook("own")})
    place = Place(folder, registry, central, app)
    registry.register(place.id, app.url)
    return place


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    central = central_of(folder)
    with serving(folder / "data", central_url=central.url) as registry:
        yield registry, central


@pytest.fixture
def place(tmp_path, shared):
    """A repository of its own at a registry that other tests use too."""
    return place_of(tmp_path, *shared)


@pytest.fixture
def alone(tmp_path):
    """A repository with a central one and a registry of their own, to be changed and ended."""
    central = central_of(tmp_path)
    with serving(tmp_path / "data", central_url=central.url) as registry:
        yield place_of(tmp_path, registry, central)


def sources(catalog: Catalog) -> dict[str, tuple[str, str]]:
    return {entry["name"]: (entry["source"]["kind"], entry["version"]) for entry in catalog.entries()}


SERVED = {
    "deploy": ("local", "2.0.0"),
    "own": ("local", "1.0.0"),
    "rollback": ("central", "1.0.0"),
    "rotate-key": ("central", "1.0.0"),
}


def test_a_catalog_is_what_the_registry_serves(place):
    with place.open() as catalog:
        assert sources(catalog) == SERVED
        assert catalog.snapshot == place.registry.get(f"/v1/catalogs/{place.id}").headers["catalog-digest"]
        assert (catalog.state.freshness, catalog.state.registered) == ("fresh", True)


def test_a_search_gives_what_the_registry_finds(place):
    with place.open() as catalog:
        found = catalog.search("rotate the signing key")
    expected = place.registry.get("/v1/search", params={"repository": place.id, "q": "rotate the signing key"}).json()
    assert [(row["name"], row["score"]) for row in found.entries] == [
        (row["name"], row["score"]) for row in expected["results"]
    ][:5]
    assert found.weak == expected["weak"]


def test_a_playbook_comes_with_its_contract_and_why_it_serves(place):
    with place.open() as catalog:
        found = catalog.get("Deploy")
    assert found.serves
    assert found.entry["contract"]["steps"][0]["tool"] == "shell.run"
    assert found.why == "This repository's own copy serves: it goes before the central one."


def test_an_unknown_name_says_which_one_may_be_meant(place):
    with place.open() as catalog, pytest.raises(Unknown) as raised:
        catalog.get("rotate-keys")
    assert raised.value.extra["nearest"] == ["rotate-key"]


def test_another_copy_is_given_by_its_digest_and_does_not_serve(place):
    with place.open() as catalog:
        over = catalog.get("deploy").entry["decision"]["over"][0]
        found = catalog.get("deploy", over["digest"])
    assert (found.serves, found.entry["version"]) == (False, "1.0.0")


def test_a_run_is_opened_by_the_registry(place):
    with place.open() as catalog:
        opened = catalog.execute("deploy", {"service": "checkout"}, task="ship it")
    assert opened["procedure"]["steps"][0]["instruction"] == "Look at checkout."
    kept = place.registry.get(f"/v1/runs/{opened['run_id']}", headers={"Authorization": f"Bearer {ADMIN}"}).json()
    assert (kept["name"], kept["source"]["kind"], kept["task"]) == ("deploy", "local", "ship it")


def test_inputs_that_do_not_fit_are_refused_with_their_places(place):
    with place.open() as catalog, pytest.raises(InputsInvalid) as raised:
        catalog.execute("deploy", {"service": 7})
    assert raised.value.extra["violations"][0]["pointer"] == "/service"


def test_a_run_needs_a_token(place):
    with place.open(token=None) as catalog, pytest.raises(Unauthenticated):
        catalog.execute("deploy", {"service": "checkout"})


def test_a_change_is_seen_after_a_refresh(place):
    with place.open(refresh_s=1000) as catalog:
        before = catalog.snapshot
        place.app.commit({"playbooks/more.yaml": playbook("more")})
        place.registry.sync(place.id)
        assert catalog.snapshot == before
        assert catalog.refresh()
        assert "more" in sources(catalog)


def test_a_clean_working_copy_changes_nothing(place):
    with place.over_copy() as catalog:
        assert sources(catalog) == SERVED


def test_an_unpushed_playbook_is_there_and_says_that_nobody_reviewed_it(place):
    place.write("playbooks/fresh.yaml", playbook("fresh"))
    with place.over_copy() as catalog:
        assert sources(catalog) == {**SERVED, "fresh": ("worktree", "1.0.0")}
        assert "nobody has reviewed it" in catalog.get("fresh").why
        assert catalog.search("do the fresh of a service").entries[0]["name"] == "fresh"


def test_an_edit_is_seen_while_the_catalog_is_open(place):
    with place.over_copy() as catalog:
        assert sources(catalog)["own"] == ("local", "1.0.0")
        place.write("playbooks/own.yaml", playbook("own", "1.1.0"))
        catalog.refresh()
        assert sources(catalog)["own"] == ("worktree", "1.1.0")


def test_a_committed_change_of_a_branch_counts_as_the_authors(place):
    place.git("switch", "--quiet", "--create", "mine")
    place.write("playbooks/own.yaml", playbook("own", "1.1.0"))
    place.git("commit", "--quiet", "--all", "--message", "mine")
    with place.over_copy() as catalog:
        assert sources(catalog)["own"] == ("worktree", "1.1.0")


def test_a_branch_that_is_behind_does_not_bring_old_copies_back(place):
    place.app.commit({"playbooks/own.yaml": playbook("own", "3.0.0"), "playbooks/later.yaml": playbook("later")})
    place.registry.sync(place.id)
    place.git("fetch", "--quiet")
    with place.over_copy() as catalog:
        assert sources(catalog)["own"] == ("local", "3.0.0")
        assert sources(catalog)["later"] == ("local", "1.0.0")


def test_a_deleted_copy_lets_the_central_one_serve_again(place):
    (place.copy / "playbooks/deploy.yaml").unlink()
    (place.copy / "playbooks/own.yaml").unlink()
    with place.over_copy() as catalog:
        assert sources(catalog) == dict.fromkeys(("deploy", "rollback", "rotate-key"), ("central", "1.0.0"))
        assert catalog.get("deploy").entry["contract"]["version"] == "1.0.0"


@pytest.mark.parametrize("spelling", ["rollback", "Rollback", "roll.back", "ROLLBACK"])
def test_a_working_copy_never_replaces_a_required_playbook(place, spelling):
    place.write("playbooks/mine.yaml", playbook("rollback", "9.0.0"))
    skill = f"---\nname: {spelling}\ndescription: Another way to roll back.\n---\nJust do it.\n"
    place.write(f".claude/skills/{spelling}/SKILL.md", skill)
    with place.over_copy() as catalog:
        assert sources(catalog)["rollback"] == ("central", "1.0.0")
        assert "rollback is required" in catalog.state.note
        opened = catalog.execute("rollback", {"service": "checkout"})
    assert opened["run"]["source"]["kind"] == "central"


def test_a_run_of_a_working_copys_playbook_is_bound_here_and_recorded_there(place):
    place.write("playbooks/fresh.yaml", playbook("fresh"))
    with place.over_copy() as catalog:
        opened = catalog.execute("fresh", {"service": "checkout"})
    assert opened["procedure"]["steps"][0]["instruction"] == "Look at checkout."
    assert opened["run"]["source"]["kind"] == "worktree"
    assert opened["run"]["source"]["unreviewed"] is True


def test_a_mark_that_the_cache_does_not_know_is_obeyed_when_the_run_is_recorded(alone):
    alone.write("playbooks/own.yaml", playbook("rotate-key", "9.0.0"))
    with alone.over_copy(refresh_s=1000) as catalog:
        assert sources(catalog)["rotate-key"] == ("worktree", "9.0.0")
        marked = alone.registry.client.put(
            "/v1/policy/required/rotate-key", json={"reason": "audited"}, headers={"Authorization": f"Bearer {ADMIN}"}
        )
        assert marked.status_code == 200
        with pytest.raises(Refused, match="required"):
            catalog.execute("rotate-key", {"service": "checkout"})


def test_a_file_that_does_not_load_leaves_what_is_served_and_is_said(place):
    place.write("playbooks/own.yaml", "playbook: 1\nname: own\nsteps: [")
    with place.over_copy() as catalog:
        assert sources(catalog) == SERVED
        assert "playbooks/own.yaml:" in catalog.state.note


def test_the_copy_of_the_central_repository_stands_in_for_central(place):
    copy = place.folder / "central-copy"
    place.git("clone", "--quiet", place.central.url, str(copy), cwd=place.folder)
    (copy / "playbooks/rollback.yaml").write_text(playbook("rollback", "2.0.0", required="true"))
    with place.open(repository=CENTRAL_ID, path=copy) as catalog:
        assert sources(catalog)["rollback"] == ("worktree", "2.0.0")


def test_offline_the_last_catalog_serves_and_says_how_old_it_is(alone):
    with alone.open() as catalog:
        catalog.search("rotate the key")
    alone.registry.terminate()
    with alone.open() as catalog:
        assert sources(catalog) == SERVED
        assert catalog.search("rotate the signing key").entries[0]["name"] == "rotate-key"
        assert catalog.get("deploy").entry["contract"]["version"] == "2.0.0"
        assert catalog.state.freshness == "offline"
        assert "is not known here" in catalog.state.note


def test_offline_nothing_is_executed(alone):
    with alone.open() as catalog:
        catalog.refresh()
        alone.registry.terminate()
        with pytest.raises(Unavailable):
            catalog.execute("deploy", {"service": "checkout"})


def test_offline_and_without_a_cache_there_is_no_catalog_and_not_an_empty_one(alone):
    alone.registry.terminate()
    with alone.open(cache=alone.folder / "empty") as catalog, pytest.raises(Unavailable, match="no registry answers"):
        catalog.entries()


def test_a_damaged_cache_is_fetched_again(place):
    with place.open() as catalog:
        catalog.search("rotate")
    for kept in (place.folder / "cache").glob("*/*"):
        kept.write_bytes(b"{}")
    with place.open() as catalog:
        assert sources(catalog) == SERVED
        assert catalog.search("rotate the signing key").entries[0]["name"] == "rotate-key"


def test_the_cache_is_its_users_alone(place):
    with place.open() as catalog:
        catalog.search("rotate")
    kept = list((place.folder / "cache").rglob("*"))
    assert kept
    assert {oct(path.stat().st_mode & 0o077) for path in kept} == {"0o0"}


def test_an_unregistered_repository_has_the_central_catalog_and_says_so(place):
    with place.open(repository="github.com/acme/elsewhere") as catalog:
        assert {kind for kind, _ in sources(catalog).values()} == {"central"}
        assert catalog.state.registered is False


def test_a_folder_that_is_no_working_copy_is_refused_with_a_sentence(place):
    with pytest.raises(RepositoryInvalid, match="is no git working copy"):
        Catalog.open(path=place.folder, url=str(place.registry.client.base_url))


def test_a_name_that_nobody_serves_says_why(alone):
    alone.central.commit({"playbooks/broken.yaml": "playbook: 1\nname: broken\nsteps: ["})
    alone.registry.sync(CENTRAL_ID)
    with alone.open() as catalog, pytest.raises(PlaybookUnavailable) as raised:
        catalog.get("broken")
    assert raised.value.extra["outcome"] == "broken"


def test_what_nobody_serves_is_listed(alone):
    alone.central.commit({"playbooks/broken.yaml": "playbook: 1\nname: broken\nsteps: ["})
    alone.registry.sync(CENTRAL_ID)
    with alone.open() as catalog:
        assert [(each["name"], each["outcome"]) for each in catalog.unavailable()] == [("broken", "broken")]


def test_what_is_not_as_it_looks_in_the_working_copy_is_told_apart_from_the_state(place):
    place.write("playbooks/own.yaml", "playbook: 1\nname: own\nsteps: [")
    with place.over_copy() as catalog:
        (note,) = catalog.notes
    assert note.startswith("playbooks/own.yaml:")


def test_a_rule_against_runs_of_working_copies_is_obeyed(alone):
    alone.central.commit({"policy.yaml": "policy: 1\nworktree: deny\n"})
    alone.registry.sync(CENTRAL_ID)
    alone.write("playbooks/fresh.yaml", playbook("fresh"))
    with alone.over_copy() as catalog, pytest.raises(Forbidden):
        catalog.execute("fresh", {"service": "checkout"})
