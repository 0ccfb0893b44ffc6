"""Runs through the whole pipeline: real git, the real store, the real merge, and who may do what."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import structlog
from world import ADMIN, PLATFORM, World, playbook, running

from policies.access import Principal
from registry import wiring
from registry.digest import digest_of
from registry.errors import (
    Conflict,
    Forbidden,
    InputsInvalid,
    NameInvalid,
    PlaybookUnavailable,
    Refused,
    RepositoryInvalid,
    RequestInvalid,
    TooLarge,
    Unauthenticated,
    Unknown,
)
from registry.playbook.reading import read_file
from registry.service.runs import OpenedRun, WorktreeCopy

CLEAN_UP = """\
playbook: 1
name: clean-up
version: 1.0.0
owner: platform
tags: [experiments]
purpose: Remove an experiment.
inputs:
  type: object
  required: [key]
  additionalProperties: false
  properties:
    key: {type: string, pattern: "^[a-z]+$"}
    dry_run: {type: boolean, default: true}
steps:
  - {id: find, tool: code.search, instruction: "Find {{ inputs.key }}.", with: {query: "{{ inputs.key }}", dry: "{{ inputs.dry_run }}"}}
stop:
  - {when: Traffic is live., then: escalate, ask: Which variant wins?}
verification:
  - {state: No use is left.}
"""
PAY = playbook("pay", tags="[payments]", tools="[{name: bank.transfer, risk: money}]")
ACCESS = """\
access:
  - {deny: {}, risk: [money], unless: {teams: [finance-ops]}, reason: Money moves only by finance-ops.}
  - {deny: {teams: [interns]}, tags: [Experiments]}
"""
POLICY = "policy: 1\nrequired:\n  - {name: deploy-rollback, reason: audited}\n" + ACCESS
SKILL = "---\nname: triage\ndescription: Triage.\nallowed-tools: Bash, Read\n---\nLook at {{ inputs.x }}.\n"
RUNBOOK = {
    "runbook_id": "restore", "description": "Restore.", "mode": "required", "failure_policy": "fail_closed",
    "allowed_tools": ["db.restore"], "checkpoints": [{"id": "c", "kind": "tool_call", "match": {"tool": "db.restore"}}],
    "completion": {"condition": "final_output"},
}  # fmt: skip
OPENPLAYBOOK = {
    "name": "refund", "version": "1", "purpose": "Refund.", "requires": {"mcpServers": [], "secrets": []},
    "tools": [{"name": "bank.refund", "riskClass": "Money"}],
    "steps": [{"id": "a", "instruction": "Do {{ it }}.", "allowedTools": ["bank.refund"]}],
}  # fmt: skip
CENTRAL = {
    "policy.yaml": POLICY,
    "playbooks/clean-up.yaml": CLEAN_UP,
    "playbooks/deploy-rollback.yaml": playbook("deploy-rollback"),
    "playbooks/pay.yaml": PAY,
    "playbooks/restore.runbook.json": json.dumps(RUNBOOK),
    "playbooks/refund.openplaybook.json": json.dumps(OPENPLAYBOOK),
    "skills/triage/SKILL.md": SKILL,
}
OWN = CLEAN_UP.replace("1.0.0", "2.0.0-payments")


def caller(team: str | None = "payments", *scopes: str, name: str | None = None) -> Principal:
    return Principal(name or f"ci-{team}", team, frozenset(scopes or {"playbook:execute"}))


def run(world: World, name: str = "clean-up", repository: str | None = None, inputs=None, **options) -> OpenedRun:
    principal = options.pop("principal", caller())
    identity = None if repository is None else world.identity(repository)
    given = {"key": "a"} if inputs is None and name == "clean-up" else inputs or {}
    return world.services.runs.open(principal, identity, name, given, **options)


def copy_of(text: str, **values) -> WorktreeCopy:
    found = read_file("playbooks/a.yaml", text.encode()).playbook
    return WorktreeCopy(**{"name": found.key, "version": found.version, "digest": found.digest, "path": "playbooks/a.yaml", **values})  # fmt: skip


def record(world: World, text: str, repository: str = "payments", **options):
    principal = options.pop("principal", caller())
    copy = options.pop("copy", None) or copy_of(text)
    return world.services.runs.record_worktree(
        principal, world.identity(repository), copy, options.pop("inputs", {}), **options
    ).run


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A world that no test changes but by opening runs."""
    with running(tmp_path_factory.mktemp("runs"), CENTRAL) as made:
        made.service(
            "payments",
            {"playbooks/clean-up.yaml": OWN, "playbooks/deploy.yaml": playbook("deploy-rollback", version="9")},
        )
        made.service("checkout", {"playbooks/other.yaml": playbook("other")})
        yield made


# Which copy runs


def test_two_repositories_run_their_own_copies_of_one_name(world):
    own, central = run(world, repository="payments"), run(world, repository="checkout")
    assert [(each.run.version, each.run.source["kind"]) for each in (own, central)] == [
        ("2.0.0-payments", "local"),
        ("1.0.0", "central"),
    ]


def test_two_repositories_asked_in_parallel_are_never_mixed_up(world):
    def ask(repository: str) -> tuple[str, str, str]:
        opened = run(world, repository=repository)
        return repository, opened.run.version, opened.run.repository

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(ask, ["payments", "checkout"] * 20))
    assert found == {
        ("payments", "2.0.0-payments", "github.com/acme/payments"),
        ("checkout", "1.0.0", "github.com/acme/checkout"),
    }


@pytest.mark.parametrize("spelling", ["deploy-rollback", "Deploy_Rollback", " deploy.rollback "])
def test_a_required_name_runs_centrals_copy_in_any_spelling(world, spelling):
    opened = run(world, spelling, "payments")
    assert (opened.run.source["kind"], opened.procedure["required"]) == ("central", True)


def test_a_refused_copy_does_not_run_by_its_digest(world):
    refused = next(copy for copy in world.explain("deploy-rollback", "payments")["copies"] if not copy["serves"])
    with pytest.raises(Refused) as caught:
        run(world, "deploy-rollback", "payments", digest=refused["digest"])
    assert (caught.value.extra["asked"], caught.value.extra["serving"]["version"]) == (refused["digest"], "1.0.0")


def test_centrals_copy_does_not_run_where_another_one_serves(world):
    central = world.services.catalogs.playbook("clean-up", None)
    with pytest.raises(Refused, match=r"version 2\.0\.0-payments of local"):
        run(world, repository="payments", digest=central["digest"])


def test_the_digest_of_the_copy_that_serves_is_as_good_as_none(world):
    serving = world.services.catalogs.playbook("clean-up", world.identity("payments"))
    assert run(world, repository="payments", digest=serving["digest"]).run.digest == serving["digest"]


def test_a_repository_that_nobody_registered_runs_centrals_copies(world):
    opened = run(world, repository="new")
    assert (opened.run.source["kind"], opened.run.repository, opened.state["registered"]) == (
        "central",
        "github.com/acme/new",
        False,
    )


def test_without_a_repository_centrals_copies_run(world):
    assert run(world).run.repository is None


def test_an_unknown_name_is_told_the_nearest(world):
    with pytest.raises(Unknown) as caught:
        run(world, "clean-upp")
    assert caught.value.extra["nearest"] == ["clean-up"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"name": "/"}, NameInvalid),
        ({"repository": "https://"}, RepositoryInvalid),
        ({"digest": "latest"}, RequestInvalid),
        ({"task": "x" * 40_000}, TooLarge),
        ({"idempotency_key": "x" * 129}, RequestInvalid),
        ({"idempotency_key": "\n"}, RequestInvalid),
        ({"inputs": {"a": "x" * 300_000}}, TooLarge),
        ({"inputs": {"a": float("nan")}}, InputsInvalid),
        ({"inputs": []}, InputsInvalid),
    ],
)
def test_what_is_out_of_bounds_is_refused_before_anything_is_looked_up(world, options, error):
    given = {"repository": None, "name": "no-such-playbook", "inputs": {}, **options}
    with pytest.raises(error):
        world.services.runs.open(caller(), **given)


# What is to be done


def test_the_procedure_is_bound(world):
    procedure = run(world, inputs={"key": "cta"}).procedure
    assert procedure["steps"] == [
        {"id": "find", "tool": "code.search", "instruction": "Find cta.", "with": {"query": "cta", "dry": True}}
    ]
    assert (procedure["inputs"], procedure["defaulted"]) == ({"key": "cta", "dry_run": True}, ["/dry_run"])


def test_each_stop_condition_hands_back_one_question(world):
    assert [each["question"] for each in run(world).procedure["stop"]] == ["Which variant wins?"]


def test_the_answer_names_the_run_the_snapshot_and_how_current_it_is(world):
    answer = run(world, repository="payments").to_json()
    assert (answer["run_id"], answer["snapshot"]) == (answer["run"]["id"], answer["run"]["snapshot"])
    assert answer["state"].keys() == {"freshness", "age_s", "registered"}
    assert answer["procedure"]["report"]["run_id"] == answer["run_id"]


def test_inputs_that_do_not_fit_open_nothing(world):
    before = len(world.services.runs.list(ADMIN, limit=200)["items"])
    with pytest.raises(InputsInvalid) as caught:
        run(world, inputs={"key": "A", "kye": 1})
    assert [each["pointer"] for each in caught.value.extra["violations"]] == ["/key", "/kye"]
    assert len(world.services.runs.list(ADMIN, limit=200)["items"]) == before


def test_a_skill_is_run_by_its_instructions_which_have_no_templates(world):
    procedure = run(world, "triage", inputs={"x": 1}).procedure
    assert (procedure["instructions"].strip(), procedure["allowed_tools"], procedure["inputs_checked"]) == (
        "Look at {{ inputs.x }}.",
        ["Bash", "Read"],
        False,
    )


def test_a_skill_has_the_version_of_its_entry(world):
    opened = run(world, "triage")
    assert opened.procedure["version"] == opened.run.version != ""


def test_a_runbook_is_run_with_its_checkpoints(world):
    procedure = run(world, "restore").procedure
    assert (procedure["runbook"]["mode"], procedure["runbook"]["checkpoints"][0]["id"], procedure["allowed_tools"]) == (
        "required",
        "c",
        ["db.restore"],
    )


def test_an_open_playbook_is_run_as_it_is_written(world):
    procedure = run(world, "refund", principal=caller("finance-ops")).procedure
    assert procedure["steps"][0]["instruction"] == "Do {{ it }}."


# Who may


def test_nobody_runs_anything_without_a_token(world):
    with pytest.raises(Unauthenticated):
        run(world, principal=None)


@pytest.mark.parametrize("scope", ["catalog:read", "repository:write", "policy:write"])
def test_only_a_token_to_execute_runs_anything(world, scope):
    with pytest.raises(Forbidden, match="playbook:execute"):
        run(world, principal=caller("payments", scope))


def test_a_stranger_is_told_the_same_of_every_name(world):
    said = set()
    for name in ("clean-up", "no-such", "/"):
        with pytest.raises(Unauthenticated) as caught:
            run(world, name, principal=None)
        said.add((caught.value.detail, str(caught.value.extra)))
    assert len(said) == 1


@pytest.mark.parametrize("name", ["pay", "refund"])
def test_an_access_rule_by_risk_decides_whatever_the_format_and_spelling(world, name):
    with pytest.raises(Forbidden, match="Money moves only by finance-ops"):
        run(world, name)
    assert run(world, name, principal=caller("finance-ops")).run.name == name


def test_an_access_rule_by_tag_decides(world):
    with pytest.raises(Forbidden):
        run(world, principal=caller("interns"))
    assert run(world, "triage", principal=caller("interns")).run.name == "triage"


def test_who_may_not_run_a_playbook_learns_nothing_of_its_inputs(world):
    with pytest.raises(Forbidden):
        run(world, "pay", inputs={"wrong": 1})


def test_a_denied_attempt_is_in_the_log_without_its_inputs(world):
    with structlog.testing.capture_logs() as logged, pytest.raises(Forbidden):
        run(world, "pay", "https://user:hunter2@github.com/acme/payments.git", inputs={"iban": "DE-SECRET"})
    [line] = [each for each in logged if each["event"] == "a run was denied"]
    assert (line["code"], line["principal"], line["playbook"], line["repository"]) == (
        "forbidden",
        "ci-payments",
        "pay",
        "github.com/acme/payments",
    )
    assert "DE-SECRET" not in str(logged)
    assert "hunter2" not in str(logged)


def test_attempts_are_counted_by_what_they_came_to(world):
    before = world.services.runs.attempts.counts()
    run(world)
    for name, principal in (("pay", caller()), ("no-such", caller()), ("/", caller()), ("clean-up", None)):
        with pytest.raises(Exception):  # noqa: B017 - each another one
            run(world, name, principal=principal)
    after = world.services.runs.attempts.counts()
    assert {key: after[key] - before[key] for key in after if after[key] != before[key]} == {
        "opened": 1, "forbidden": 1, "playbook-unknown": 1, "invalid": 1, "unauthenticated": 1,
    }  # fmt: skip


# What is kept


def test_a_run_is_kept_with_everything_it_was_opened_with(world):
    opened = run(world, repository="git@github.com:Acme/Payments.git", inputs={"key": "cta"}, task="the test is over")
    kept = world.services.runs.get(caller(), opened.run.id)
    assert kept == opened.run.to_json()
    assert {key: kept[key] for key in ("name", "repository", "task", "principal", "inputs", "state")} == {
        "name": "clean-up",
        "repository": "github.com/acme/payments",
        "task": "the test is over",
        "principal": "ci-payments",
        "inputs": {"key": "cta", "dry_run": True},
        "state": "open",
    }


def test_a_run_is_pinned_to_a_snapshot_that_another_process_can_give_again(world):
    opened = run(world, repository="payments")
    with closing(wiring.prepare(world.settings)) as store:
        body = wiring.open_services(world.settings, store).catalogs.snapshot(opened.run.snapshot)
    assert digest_of(body) == opened.run.snapshot
    assert opened.run.digest in {entry["digest"] for entry in json.loads(body)["entries"]}


def test_a_run_gives_its_procedure_again(world):
    opened = run(world, repository="payments")
    assert world.services.runs.resume(caller(), opened.run.id).procedure == opened.procedure


@pytest.mark.parametrize(
    ("principal", "sees"),
    [
        (caller(name="somebody-else"), True),
        (caller("checkout"), False),
        (caller(None, name="nobody"), False),
        (caller("checkout", name="ci-payments"), True),
        (PLATFORM, True),
        (ADMIN, True),
    ],
)
def test_a_run_is_shown_to_its_opener_its_repositorys_team_and_the_platform(world, principal, sees):
    opened = run(world, repository="payments")
    listed = {each["id"] for each in world.services.runs.list(principal, limit=200)["items"]}
    assert (opened.run.id in listed) is sees
    if sees:
        assert world.services.runs.get(principal, opened.run.id)["id"] == opened.run.id
    else:
        with pytest.raises(Unknown):
            world.services.runs.get(principal, opened.run.id)


def test_somebody_elses_run_is_as_unknown_as_none(world):
    opened = run(world, repository="payments")
    said = []
    for run_id in (opened.run.id, opened.run.id[:-4] + "zzzz"):
        with pytest.raises(Unknown) as caught:
            world.services.runs.get(caller("checkout"), run_id)
        said.append((caught.value.code, caught.value.detail.replace(run_id, "X"), caught.value.extra))
    assert said[0] == said[1]


def test_whoever_registers_a_repository_later_does_not_see_what_ran_there_before(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        before = run(world, repository="late", principal=caller("payments"))
        world.service("late", {"playbooks/a.yaml": playbook("a")})
        with pytest.raises(Unknown):
            world.services.runs.get(caller("late"), before.run.id)


@pytest.mark.parametrize(
    "ask", [lambda runs: runs.list(None), lambda runs: runs.get(None, "x"), lambda runs: runs.resume(None, "x")]
)
def test_runs_are_shown_to_nobody_without_a_token(world, ask):
    with pytest.raises(Unauthenticated):
        ask(world.services.runs)


@pytest.mark.parametrize(
    "options", [{"limit": 0}, {"limit": 201}, {"cursor": "x"}, {"name": "/"}, {"repository": "https://"}]
)
def test_a_list_is_asked_for_within_bounds(world, options):
    with pytest.raises((RequestInvalid, NameInvalid, RepositoryInvalid)):
        world.services.runs.list(caller(), **options)


def test_a_list_goes_on_where_it_ended(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        opened = [run(world).run.id for _ in range(5)]
        seen, cursor = [], None
        while cursor is not None or not seen:
            page = world.services.runs.list(caller(), limit=2, cursor=cursor)
            seen += [each["id"] for each in page["items"]]
            cursor = page["next_cursor"]
        assert seen == sorted(opened, reverse=True)


# A request that comes again


def test_a_request_that_comes_again_opens_nothing_anew(world):
    first = run(world, idempotency_key="again")
    second = run(world, idempotency_key="again")
    assert (second.run, second.procedure, first.repeated, second.repeated) == (first.run, first.procedure, False, True)


@pytest.mark.parametrize(
    "change", [{"inputs": {"key": "b"}}, {"name": "triage"}, {"repository": "payments"}, {"task": "t"}]
)
def test_a_key_that_was_used_for_something_else_is_a_conflict(world, change):
    run(world, idempotency_key="used")
    with pytest.raises(Conflict):
        run(world, idempotency_key="used", **change)


def test_a_key_is_its_principals_own(world):
    assert (
        run(world, idempotency_key="mine").run.id
        != run(world, principal=caller("checkout"), idempotency_key="mine").run.id
    )


def test_one_request_sent_many_times_at_once_opens_one_run(world):
    with ThreadPoolExecutor(8) as pool:
        opened = list(
            pool.map(lambda _: run(world, repository="payments", idempotency_key="at-once").run.id, range(16))
        )
    assert len(set(opened)) == 1


# Rules that change


def test_a_waived_copy_runs_for_its_own_team_and_admins_alone(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("payments", {"playbooks/d.yaml": playbook("deploy-rollback", version="9")})
        until = datetime(2099, 1, 1, tzinfo=UTC).date()
        world.services.policy.waive(PLATFORM, "deploy-rollback", world.identity("payments"), until, "moving")
        for allowed in (caller(), caller(None, "admin")):
            opened = run(world, "deploy-rollback", "payments", principal=allowed)
            assert (opened.run.version, opened.procedure["waiver"]["reason"]) == ("9", "moving")
        with pytest.raises(Forbidden, match="own team"):
            run(world, "deploy-rollback", "payments", principal=caller("checkout"))
        assert run(world, "deploy-rollback", "checkout", principal=caller("checkout")).run.version == "1.0.0"


def test_a_waiver_that_has_ended_opens_no_run_even_before_anything_was_read_again(tmp_path, monkeypatch):
    clock = [datetime(2026, 3, 1, 12, tzinfo=UTC)]
    monkeypatch.setattr(wiring, "now", lambda: clock[0])
    with running(tmp_path, CENTRAL) as world:
        world.service("payments", {"playbooks/d.yaml": playbook("deploy-rollback", version="9")})
        world.services.policy.waive(PLATFORM, "deploy-rollback", world.identity("payments"), clock[0].date(), "today")
        assert run(world, "deploy-rollback", "payments").run.version == "9"
        clock[0] = datetime(2026, 3, 2, 0, 0, 1, tzinfo=UTC)
        assert run(world, "deploy-rollback", "payments").run.version == "1.0.0"


def test_a_withdrawn_copy_opens_no_run_and_an_open_run_goes_on_with_it(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        opened = run(world)
        world.services.policy.withdraw(PLATFORM, "clean-up", opened.run.digest, "wrong host")
        with pytest.raises(PlaybookUnavailable) as caught:
            run(world)
        assert caught.value.extra["outcome"] == "withdrawn"
        with pytest.raises(PlaybookUnavailable):
            run(world, digest=opened.run.digest)
        assert world.services.runs.resume(caller(), opened.run.id).procedure == opened.procedure


def test_an_open_run_goes_on_with_its_copy_when_a_new_one_serves(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        opened = run(world)
        world.central.commit({"playbooks/clean-up.yaml": CLEAN_UP.replace("Find {{", "Look for {{")})
        world.sync_central()
        assert run(world).procedure["steps"][0]["instruction"] == "Look for a."
        assert world.services.runs.resume(caller(), opened.run.id).procedure == opened.procedure
        with pytest.raises(Refused):
            run(world, digest=opened.run.digest)


def test_what_another_process_has_marked_holds_for_the_next_run(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("payments", {"playbooks/clean-up.yaml": OWN})
        assert run(world, repository="payments").run.source["kind"] == "local"
        with closing(wiring.prepare(world.settings)) as store:
            wiring.open_services(world.settings, store).policy.mark(PLATFORM, "clean-up", "now")
        assert run(world, repository="payments").run.source["kind"] == "central"


def test_a_required_playbook_that_is_missing_opens_no_run_of_a_local_copy(tmp_path):
    policy = POLICY.replace("name: deploy-rollback", "name: gone")
    with running(tmp_path, {**CENTRAL, "policy.yaml": policy}) as world:
        world.service("payments", {"playbooks/gone.yaml": playbook("gone")})
        with pytest.raises(PlaybookUnavailable) as caught:
            run(world, "gone", "payments")
        assert caught.value.extra["outcome"] == "required_missing"


# Copies in working trees


def test_a_working_trees_run_says_that_nobody_has_reviewed_it(world):
    found = record(world, CLEAN_UP.replace("1.0.0", "1.1.0-mine"), copy=None, inputs={"key": "a"}, task="try it")
    assert (found.source["kind"], found.source["unreviewed"], found.version, found.task, found.inputs) == (
        "worktree",
        True,
        "1.1.0-mine",
        "try it",
        {"key": "a"},
    )
    assert world.services.runs.get(caller(), found.id) == found.to_json()
    assert world.services.catalogs.snapshot(found.snapshot)


def test_a_new_name_of_a_working_tree_may_run(world):
    assert record(world, playbook("brand-new")).name == "brand-new"


def test_a_working_trees_run_is_pinned_to_the_catalog_that_it_was_laid_over(world):
    earlier = run(world, repository="payments").run.snapshot
    assert record(world, playbook("brand-new"), snapshot=earlier).snapshot == earlier
    with pytest.raises(Unknown):
        record(world, playbook("brand-new"), snapshot="sha256:" + "0" * 64)


@pytest.mark.parametrize("repository", ["payments", "checkout", "not-registered", "local/acme/playbooks"])
@pytest.mark.parametrize("spelling", ["deploy-rollback", "Deploy_Rollback"])
def test_a_working_trees_copy_never_runs_over_a_required_name(world, repository, spelling):
    copy = copy_of(playbook("deploy-rollback", version="9"), name=spelling)
    with pytest.raises(Refused, match="is required here"):
        record(world, "", repository, copy=copy, principal=ADMIN)


def test_a_working_trees_run_has_no_procedure_here(world):
    with pytest.raises(Conflict):
        world.services.runs.resume(caller(), record(world, playbook("brand-new")).id)


@pytest.mark.parametrize("principal", [caller("payments", "catalog:read"), caller("interns")])
def test_a_working_trees_copy_runs_for_who_may_run_the_reviewed_one(world, principal):
    with pytest.raises(Forbidden):
        record(world, CLEAN_UP.replace("tags: [experiments]\n", ""), principal=principal)


def test_a_working_trees_copy_does_not_lose_its_risk_by_not_saying_it(world):
    with pytest.raises(Forbidden, match="finance-ops"):
        record(world, playbook("pay"))


def test_a_working_trees_copy_has_the_risk_that_it_says(world):
    with pytest.raises(Forbidden, match="finance-ops"):
        record(world, "", copy=copy_of(playbook("brand-new"), risk=("Money",)))


def test_a_withdrawn_copy_does_not_run_from_a_working_tree(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        digest = run(world).run.digest
        world.services.policy.withdraw(PLATFORM, "clean-up", digest, "wrong host")
        with pytest.raises(PlaybookUnavailable):
            record(world, CLEAN_UP)


def test_the_policy_file_may_forbid_runs_from_working_trees(tmp_path):
    with running(tmp_path, {**CENTRAL, "policy.yaml": POLICY + "worktree: deny\n"}) as world:
        for principal in (caller(), ADMIN):
            with pytest.raises(Forbidden, match="working-tree copies"):
                record(world, playbook("brand-new"), principal=principal)
        assert world.services.policy.rules()["worktree"] == "deny"


def test_a_waived_name_runs_from_a_working_tree_for_its_own_team_alone(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("payments", {"playbooks/d.yaml": playbook("deploy-rollback", version="9")})
        until = datetime(2099, 1, 1, tzinfo=UTC).date()
        world.services.policy.waive(PLATFORM, "deploy-rollback", world.identity("payments"), until, "moving")
        assert record(world, playbook("deploy-rollback", version="10")).version == "10"
        with pytest.raises(Forbidden):
            record(world, playbook("deploy-rollback", version="10"), principal=caller("checkout"))


@pytest.mark.parametrize(
    "values",
    [
        {"digest": "x"}, {"blob": "x"}, {"commit": "x"}, {"path": ""}, {"path": "a\nb"}, {"path": "x" * 2_000},
        {"path": "../../etc/passwd"}, {"path": "/etc/passwd"}, {"path": "a//b"}, {"version": " "}, {"tags": ("x" * 300,)}, {"risk": ("x",) * 51},
    ],
)  # fmt: skip
def test_what_no_working_trees_copy_can_be_is_refused(values):
    with pytest.raises(RequestInvalid):
        replace(copy_of(playbook("a")), **values)


@pytest.mark.parametrize(
    ("inputs", "error"), [({"a": "x" * 300_000}, TooLarge), ({"a": [[[]] * 5_000] * 5_000}, InputsInvalid)]
)
def test_a_working_trees_inputs_are_bounded(world, inputs, error):
    with pytest.raises(error):
        record(world, playbook("brand-new"), inputs=inputs)


def test_a_working_trees_run_that_comes_again_is_recorded_once(world):
    first, second = (record(world, playbook("brand-new"), idempotency_key="w") for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "change", [{"path": "other.yaml"}, {"version": "2.0.0"}, {"tags": ("a",)}, {"risk": ("read",)}]
)
def test_another_copy_under_the_key_of_a_working_trees_run_is_a_conflict(world, change):
    record(world, "", copy=copy_of(playbook("brand-new")), idempotency_key="one copy")
    with pytest.raises(Conflict):
        record(world, "", copy=copy_of(playbook("brand-new"), **change), idempotency_key="one copy")


def test_a_run_that_was_opened_is_not_taken_for_one_of_a_working_tree(world):
    opened = run(world, "triage", "payments", idempotency_key="opened")
    with pytest.raises(Conflict):
        record(world, "", copy=copy_of(playbook("triage"), digest=opened.run.digest), idempotency_key="opened")
