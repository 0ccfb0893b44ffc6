"""Ways to get round a required playbook (merge.md, Proof). Each must fail, through the whole pipeline.

Those of a host's side, with a working copy or a cache, are in test_attacks_host.py.
"""

from datetime import UTC, datetime, timedelta

import pytest
from world import ADMIN, PLATFORM, playbook, running, team

from policies.access import Principal
from registry.errors import Conflict, Forbidden, Refused, RepositoryInvalid, Unknown
from registry.service.repositories import RegistrationRequest
from registry.service.runs import WorktreeCopy

POLICY = "policy: 1\nrequired:\n  - {name: deploy-rollback, reason: audited}\n  - {tag: data-deletion, reason: irreversible}\n"
CENTRAL = {
    "policy.yaml": POLICY,
    "playbooks/deploy-rollback.yaml": playbook("deploy-rollback"),
    "playbooks/erase.yaml": playbook("erase", tags="[data-deletion]"),
    "playbooks/own-word.yaml": playbook("own-word", required="true"),
}
MINE = "9.9.9"


def mine(name="deploy-rollback", **members):
    return playbook(name, version=MINE, **members)


def holds(world, repository="checkout", name="deploy-rollback"):
    """Whether nothing of the service repository serves under the required name, anywhere one can look."""
    told = world.explain(name, repository)
    entry = told["serving"]
    rows = world.services.search.search(world.identity(repository), name)["results"]
    found = [row for row in rows if row["name"] == name and row["source"]["kind"] != "central"]
    return not found and (entry is None or entry["source"]["kind"] == "central")


@pytest.mark.parametrize(
    "spelling",
    [
        "deploy_rollback",
        "Deploy-Rollback",
        "deploy.rollback",
        "deploy  rollback",
        "\uff44eploy-rollback",
        " deploy-rollback ",
    ],
)
def test_another_spelling(tmp_path, spelling):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine().replace("name: deploy-rollback", f"name: '{spelling}'")})
        assert holds(world)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("playbooks/a.json", '{"playbook": 1, "name": "deploy-rollback", "version": "9.9.9", "owner": "x", "purpose": "x", "steps": [{"id": "a", "tool": "t", "instruction": "i"}]}'),
        ("playbooks/a.md", "---\nplaybook: 1\nname: deploy-rollback\nversion: 9.9.9\nowner: x\npurpose: x\n---\nDo it my way.\n"),
        ("playbooks/deep/er/a.yml", mine()),
        (".playbooks/a.yaml", mine()),
        (".claude/skills/deploy-rollback/SKILL.md", "---\nname: deploy-rollback\ndescription: Do it my way.\n---\nGo.\n"),
        ("skills/x/SKILL.md", "---\nname: Deploy_Rollback\ndescription: Do it my way.\n---\nGo.\n"),
        ("playbooks/a.runbook.json", '{"runbook_id": "deploy-rollback", "mode": "advisory", "description": "x", "checkpoints": []}'),
        ("playbooks/a.openplaybook.json", '{"name": "deploy-rollback", "version": "9.9.9", "purpose": "x", "tools": [], "requires": {}, "steps": [{"kind": "agent", "id": "a", "prompt": "go"}]}'),
    ],
)  # fmt: skip
def test_another_format_folder_or_root(tmp_path, path, content):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {path: content})
        assert holds(world)
        assert world.outcome("deploy-rollback", "checkout") == "required_holds"


def test_a_symlink_to_a_file_elsewhere_in_the_repository(tmp_path):
    from gitserver import Link

    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"elsewhere.yaml": mine(), "playbooks/a.yaml": Link("../elsewhere.yaml")})
        assert world.outcome("deploy-rollback", "checkout") == "required_holds"
        assert holds(world)


def test_twins_of_which_neither_is_chosen(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine(), "playbooks/b.yaml": mine(tags="[x]")})
        assert holds(world)


def test_a_local_copy_that_breaks_and_is_held(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", {"playbooks/a.yaml": mine()})
        repo.commit({"playbooks/a.yaml": "playbook: 1\nname: deploy-rollback\nsteps: [\n"})
        world.sync("checkout")
        assert holds(world)


def test_a_service_repository_that_calls_its_own_copy_required(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine(required="true")})
        assert holds(world)
        assert "required-not-yours" in world.codes("checkout")


def test_a_policy_file_in_the_service_repository(tmp_path):
    waiver = "policy: 1\nwaivers:\n  - {name: deploy-rollback, repository: github.com/acme/checkout, until: 2099-01-01, reason: x, approved_by: me}\n"
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine(), "policy.yaml": waiver})
        assert holds(world)


def test_the_waiver_of_another_repository(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine()})
        world.service("legacy", {"playbooks/a.yaml": mine()})
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).date()
        world.services.policy.waive(PLATFORM, "deploy-rollback", "github.com/acme/legacy", tomorrow, "old deployer")
        assert world.outcome("deploy-rollback", "legacy") == "waiver"
        assert holds(world, "checkout")


def test_a_waiver_granted_by_the_service_team(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine()})
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).date()
        with pytest.raises(Forbidden):
            world.services.policy.waive(team("checkout"), "deploy-rollback", "github.com/acme/checkout", tomorrow, "me")
        assert holds(world)


def test_a_central_copy_that_breaks_and_was_good_is_held_and_stays_required(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine()})
        world.central.commit({"playbooks/deploy-rollback.yaml": "playbook: 1\nname: deploy-rollback\nsteps: [\n"})
        world.sync_central()
        assert holds(world)
        assert world.outcome("deploy-rollback", "checkout") == "required_holds"


def test_a_central_copy_that_breaks_while_saying_it_is_no_longer_required(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine("own-word")})
        world.central.commit({"playbooks/own-word.yaml": "playbook: 1\nname: own-word\nrequired: false\nsteps: [\n"})
        world.sync_central()
        assert holds(world, name="own-word")


def test_a_central_copy_that_never_loaded_counts_as_required(tmp_path):
    broken = {"playbooks/new.yaml": "playbook: 1\nname: brand-new\nsteps: [\n"}
    with running(tmp_path, {**CENTRAL, **broken}) as world:
        world.service("checkout", {"playbooks/a.yaml": mine("brand-new")})
        assert world.outcome("brand-new", "checkout") == "required_broken"
        assert holds(world, name="brand-new")


@pytest.mark.parametrize(
    "change",
    [{"policy.yaml": None}, {"policy.yaml": "policy: 1\nrequired: [\n"}, {"policy.yaml": None, "policy.yml": POLICY}],
)
def test_a_policy_file_that_is_deleted_broken_or_renamed(tmp_path, change):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine(), "playbooks/e.yaml": mine("erase")})
        world.central.commit(change)
        world.sync_central()
        assert holds(world)
        assert holds(world, name="erase")
        central = world.services.in_force.view.central
        assert {"policy-missing", "policy-invalid"} & set(world.codes(central))


def test_a_force_push_that_rewinds_central_past_a_mark_is_suspended(tmp_path):
    with running(tmp_path, {key: text for key, text in CENTRAL.items() if key != "policy.yaml"}) as world:
        before = world.central.head()
        world.service("checkout", {"playbooks/a.yaml": mine()})
        assert world.outcome("deploy-rollback", "checkout") == "local_wins"
        world.central.commit({"policy.yaml": POLICY})
        world.sync_central()
        assert holds(world)
        world.central.git("update-ref", "refs/heads/main", before)
        assert world.sync_central()["sync"]["state"] == "suspended"
        assert holds(world)


def test_a_rewound_central_may_be_applied_only_by_the_platform(tmp_path):
    with running(tmp_path, {key: text for key, text in CENTRAL.items() if key != "policy.yaml"}) as world:
        before = world.central.head()
        world.service("checkout", {"playbooks/a.yaml": mine()})
        world.central.commit({"policy.yaml": POLICY})
        world.sync_central()
        world.central.git("update-ref", "refs/heads/main", before)
        world.sync_central()
        central = world.services.in_force.view.central
        with pytest.raises(Forbidden):
            world.services.repositories.apply(team("checkout"), central, before)
        assert holds(world)
        assert world.services.repositories.apply(PLATFORM, central, before, 20).value["sync"]["state"] == "ok"
        assert holds(world)
        assert "policy-missing" in world.codes(central)
        assert world.services.policy.accept(PLATFORM, before, 20).done
        assert world.outcome("deploy-rollback", "checkout") == "local_wins"


def test_registering_the_central_repository_again_in_any_spelling(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        central = world.services.in_force.view.central
        for name, url in (
            (central, world.central.url),
            (central.upper(), world.central.url + "/"),
            ("github.com/acme/other", world.central.url),
        ):
            with pytest.raises(Conflict):
                world.services.repositories.register(ADMIN, name, RegistrationRequest(url, "checkout"))


def test_registering_again_does_not_forget_the_mark(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", {"playbooks/a.yaml": mine()})
        world.services.repositories.deregister(ADMIN, "github.com/acme/checkout")
        world.register("checkout", repo)
        assert holds(world)


def test_a_deregistered_id_stays_reserved_to_its_team(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", {"playbooks/a.yaml": mine()})
        world.services.repositories.deregister(ADMIN, "github.com/acme/checkout")
        with pytest.raises(Forbidden):
            world.services.repositories.register(
                team("evil"), "github.com/acme/checkout", RegistrationRequest(repo.url, "evil")
            )


def test_a_repository_registered_under_another_ones_id(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        request = RegistrationRequest("https://github.com/evil/checkout", "checkout")
        with pytest.raises(RepositoryInvalid):
            world.services.repositories.register(team("checkout"), "github.com/acme/checkout", request)


def test_an_alias_that_is_another_repositorys_id(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("payments", {"README.md": "x"})
        repo = world.service("checkout", {"playbooks/a.yaml": mine()})
        for alias in ("github.com/acme/payments", world.services.in_force.view.central):
            with pytest.raises(Conflict):
                world.services.repositories.register(
                    ADMIN, "github.com/acme/checkout", RegistrationRequest(repo.url, "checkout", aliases=(alias,))
                )


def test_a_sub_path_of_a_monorepo(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("mono", {"services/pay/playbooks/a.yaml": mine()})
        world.register("mono/-/services/pay", repo)
        assert world.outcome("deploy-rollback", "github.com/acme/mono/-/services/pay") == "required_holds"


def test_paths_of_its_own(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"odd/a.yaml": mine()}, paths=("odd/*.yaml",))
        assert world.outcome("deploy-rollback", "checkout") == "required_holds"


def test_an_exact_digest_gives_the_refused_copy_only_marked_as_not_serving(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine()})
        copies = world.explain("deploy-rollback", "checkout")["copies"]
        (refused,) = [copy for copy in copies if copy["source"]["kind"] == "local"]
        found = world.services.catalogs.playbook(
            "deploy-rollback", "github.com/acme/checkout", digest=refused["digest"]
        )
        assert found["serves"] is False


def test_an_exact_digest_of_another_repository_is_not_found(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("legacy", {"playbooks/a.yaml": mine("only-here")})
        world.service("checkout", {"README.md": "x"})
        digest = world.explain("only-here", "legacy")["serving"]["digest"]
        with pytest.raises(Unknown):
            world.services.catalogs.playbook("only-here", "github.com/acme/checkout", digest=digest)


def test_an_old_snapshot_stays_readable_and_is_not_the_one_in_force(tmp_path):
    with running(tmp_path, {key: text for key, text in CENTRAL.items() if key != "policy.yaml"}) as world:
        world.service("checkout", {"playbooks/a.yaml": mine()})
        old = world.services.catalogs.current("github.com/acme/checkout")
        world.services.policy.mark(PLATFORM, "deploy-rollback", "audited")
        assert world.services.catalogs.snapshot(old.digest) == old.body
        assert world.services.catalogs.current("github.com/acme/checkout").digest != old.digest
        assert holds(world)


def test_a_mark_by_name_outlives_the_playbook(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine()})
        world.central.commit({"playbooks/deploy-rollback.yaml": None})
        world.sync_central()
        assert world.outcome("deploy-rollback", "checkout") == "required_missing"
        assert holds(world)


def test_a_typo_in_a_rule_is_named_with_the_nearest_playbook(tmp_path):
    typo = POLICY.replace("deploy-rollback", "deploy-rolback")
    with running(tmp_path, {**CENTRAL, "policy.yaml": typo}) as world:
        central = world.services.in_force.view.central
        (problem,) = [
            item for item in world.services.problems.of(central)["problems"] if item["code"] == "required-unmatched"
        ]
        assert "deploy-rollback" in problem["message"]


def test_losing_required_by_an_edit_of_tags_is_in_the_audit_log(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.central.commit(
            {"playbooks/erase.yaml": playbook("erase"), "playbooks/own-word.yaml": playbook("own-word")}
        )
        world.sync_central()
        entries = world.services.audit.list(ADMIN)["items"]
        lost = " ".join(item["reason"] for item in entries if item["action"] == "rules-weakened")
        assert "own-word" in lost
        assert "erase" in lost


def test_executing_a_refused_copy(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": mine()})
        agent = Principal("agent", "checkout", frozenset({"playbook:execute"}))
        (refused,) = [copy for copy in world.explain("deploy-rollback", "checkout")["copies"] if not copy["serves"]]
        for digest in (None, refused["digest"]):
            try:
                source = world.services.runs.open(
                    agent, "github.com/acme/checkout", "deploy_rollback", {}, digest
                ).run.source
                assert source["kind"] == "central"
            except Refused:
                assert digest is not None


def test_recording_a_run_of_a_copy_in_the_working_tree(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        agent = Principal("agent", "checkout", frozenset({"playbook:execute"}))
        for name in ("deploy_rollback", "erase", "own-word"):
            copy = WorktreeCopy(name, MINE, "sha256:" + "a" * 64, "playbooks/a.yaml")
            with pytest.raises(Refused):
                world.services.runs.record_worktree(agent, "github.com/acme/checkout", copy, {})
