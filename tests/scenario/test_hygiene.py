"""What is remarked beside files, over real git: who moved on, who says the same, who owns what. Nothing moves a digest."""

import json
import time
from contextlib import contextmanager
from datetime import date

import pytest
from world import ADMIN, PLATFORM, World, opened, playbook, running

from registry.errors import RequestInvalid, Unknown
from registry.playbook.model import Level

KEYS = "Rotate the signing key of a service that signs tokens, without logging anybody out."
ROLLBACK = "Take a deployed service back to the release before the one that broke it for its customers."
PAY = "github.com/acme/pay"
WAIT_S = 20.0


def said(world: World, repository: str, code: str) -> list[dict]:
    """The problems of that code that a repository has now."""
    found = world.services.problems.of(world.identity(repository))["problems"]
    return [item for item in found if item["code"] == code]


def await_said(world: World, repository: str, code: str, wanted=bool) -> list[dict]:
    """The same as soon as `wanted` says yes to it: remarks come moments after a sync."""
    end = time.monotonic() + WAIT_S
    while True:
        found = said(world, repository, code)
        if wanted(found):
            return found
        assert time.monotonic() < end, found
        time.sleep(0.02)


def await_unsaid(world: World, repository: str, code: str) -> None:
    await_said(world, repository, code, lambda found: not found)


def looked_at(world: World, repository: str) -> None:
    """Until a source was looked at once, with nothing missing."""
    end = time.monotonic() + WAIT_S
    while not world.store.remarked().get(world.identity(repository), ("", ()))[0]:
        assert time.monotonic() < end
        time.sleep(0.02)


def settled(world: World) -> None:
    """Until nothing more is remarked: every source was looked at, and nothing has come for a moment."""
    end, before, since = time.monotonic() + WAIT_S, None, time.monotonic()
    while time.monotonic() - since < 0.4 or not before:
        now = world.store.remarked()
        if now != before:
            before, since = now, time.monotonic()
        assert time.monotonic() < end
        time.sleep(0.02)


def digest(world: World, repository: str) -> str:
    return world.services.catalogs.current(world.identity(repository)).digest


def body(name: str, *, version: str = "1.0.0", step: str = "Do it.", **members: str) -> str:
    """A playbook whose text says enough for two of them to be alike or not."""
    return playbook(name, version=version, **members).replace("Do it.", step)


@contextmanager
def forked(tmp_path, files: dict[str, str] | None = None):
    """A registry with a central playbook, and a service whose own copy begins as the same bytes."""
    original = body("rotate-key", purpose=KEYS)
    with running(tmp_path, {"playbooks/rotate-key.yaml": original}) as world:
        service = world.service("pay", {"playbooks/rotate-key.yaml": original, **(files or {})})
        looked_at(world, "pay")
        yield world, service


# shadow-drift


def test_a_copy_that_central_has_left_behind_is_told_which_commits_did(tmp_path):
    with forked(tmp_path) as (world, service):
        service.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="2.0.0", step="Our own way.")})
        world.sync("pay")
        first = world.central.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="1.1.0")})
        world.central.commit({"README.md": "nothing to do with it"})
        second = world.central.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="1.2.0")})
        world.sync_central()
        (remark,) = await_said(world, "pay", "shadow-drift")
        assert f"by 2 commits: {second[:12]}, {first[:12]}." in remark["message"]
        assert (remark["path"], remark["level"]) == ("playbooks/rotate-key.yaml", "warning")


def test_the_remark_goes_when_the_copy_takes_over_what_central_has(tmp_path):
    with forked(tmp_path) as (world, service):
        world.central.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="1.1.0")})
        world.sync_central()
        await_said(world, "pay", "shadow-drift")
        service.commit_all(
            [
                {"playbooks/rotate-key.yaml": body("rotate-key", version="1.1.0")},
                {"playbooks/rotate-key.yaml": body("rotate-key", version="3.0.0", step="Our own way.")},
            ]
        )
        world.sync("pay")
        await_unsaid(world, "pay", "shadow-drift")


def test_a_copy_that_has_centrals_version_and_reads_alike_follows_that_version(tmp_path):
    steps = "Ask for a window and make the new key. Let both verify for a day. Sign with the new one and drop the old."
    with running(tmp_path, {"playbooks/rotate-key.yaml": body("rotate-key", step=steps)}) as world:
        ours = {"playbooks/rotate-key.yaml": body("rotate-key", version="1.0.0+pay", step=f"{steps} Tell finance.")}
        world.service("pay", ours)
        newest = world.central.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="1.1.0", step=steps)})
        world.sync_central()
        (remark,) = await_said(world, "pay", "shadow-drift")
        assert f"(1.0.0), by one commit: {newest[:12]}." in remark["message"]


def test_a_copy_that_only_happens_to_have_the_same_version_was_not_made_from_centrals(tmp_path):
    with running(tmp_path, {"playbooks/rotate-key.yaml": body("rotate-key", purpose=KEYS)}) as world:
        other = "Call the acquirer, who does everything by hand while we wait on the telephone for as long as it takes."
        world.service("pay", {"playbooks/rotate-key.yaml": body("rotate-key", purpose=ROLLBACK, step=other)})
        world.central.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="1.1.0")})
        world.sync_central()
        settled(world)
        assert said(world, "pay", "shadow-drift") == []


def test_central_that_only_changed_how_it_is_written_has_not_moved_on(tmp_path):
    with forked(tmp_path) as (world, _):
        world.central.commit({"playbooks/rotate-key.yaml": "# a comment\n" + body("rotate-key", purpose=KEYS)})
        world.sync_central()
        settled(world)
        assert said(world, "pay", "shadow-drift") == []


def test_of_a_skill_its_other_files_count(tmp_path):
    skill = "---\nname: rotate-key\ndescription: " + KEYS + "\n---\nRun the script.\n"
    folder = {"skills/rotate-key/SKILL.md": skill, "skills/rotate-key/scripts/go.sh": "echo 1\n"}
    with running(tmp_path, folder) as world:
        world.service("pay", folder)
        newest = world.central.commit({"skills/rotate-key/scripts/go.sh": "echo 2\n"})
        world.sync_central()
        (remark,) = await_said(world, "pay", "shadow-drift")
        assert newest[:12] in remark["message"]


def test_a_copy_that_a_required_one_keeps_out_has_nothing_to_follow(tmp_path):
    with forked(tmp_path) as (world, _):
        changed = body("rotate-key", version="1.1.0", required="true")
        world.central.commit({"playbooks/rotate-key.yaml": changed})
        world.sync_central()
        settled(world)
        assert world.outcome("rotate-key", "pay") == "required_holds"
        assert said(world, "pay", "shadow-drift") == []


def test_a_waiver_makes_a_refused_copy_one_that_is_left_behind(tmp_path):
    with forked(tmp_path) as (world, _):
        world.central.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="1.1.0", required="true")})
        world.sync_central()
        world.services.policy.waive(PLATFORM, "rotate-key", PAY, date(2099, 12, 31), "It runs on the old deployer.")
        await_said(world, "pay", "shadow-drift")


# What concerns whom


def test_a_change_of_centrals_steps_is_looked_at_only_where_that_playbook_is_shadowed(tmp_path):
    with forked(tmp_path) as (world, _):
        world.service("other", {"playbooks/restart-worker.yaml": playbook("restart-worker")})
        settled(world)
        before = world.store.remarked()
        world.central.commit({"playbooks/rotate-key.yaml": body("rotate-key", purpose=KEYS, step="Another way.")})
        world.sync_central()
        await_said(world, "pay", "shadow-drift")
        settled(world)
        after = world.store.remarked()
        assert after["github.com/acme/other"] == before["github.com/acme/other"]
        assert after[PAY] != before[PAY]


def test_no_remark_moves_a_digest(tmp_path):
    with forked(tmp_path) as (world, service):
        world.central.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="1.1.0")})
        world.sync_central()
        before = digest(world, "pay")
        await_said(world, "pay", "shadow-drift")
        service.commit({".github/CODEOWNERS": "* @acme/somebody\n"})
        world.sync("pay")
        await_said(world, "pay", "owner-not-in-codeowners")
        world.services.refresh()
        assert digest(world, "pay") == before


# owner-not-in-codeowners


def test_an_edit_of_code_owners_alone_changes_what_is_remarked(tmp_path):
    with forked(tmp_path, {"CODEOWNERS": "* @acme/platform\n"}) as (world, service):
        assert said(world, "pay", "owner-not-in-codeowners") == []
        service.commit({"CODEOWNERS": "* @acme/payments\n"})
        world.sync("pay")
        (remark,) = await_said(world, "pay", "owner-not-in-codeowners")
        assert "line 1 of CODEOWNERS gives this file to @acme/payments" in remark["message"]
        service.commit({".github/CODEOWNERS": "/playbooks/ @acme/platform @acme/payments\n"})
        world.sync("pay")
        await_unsaid(world, "pay", "owner-not-in-codeowners")


# near-duplicate, tool-drift, deprecated


def test_a_local_playbook_that_says_what_a_central_one_says_is_told_so_until_one_of_them_changes(tmp_path):
    with running(tmp_path, {"playbooks/rotate-key.yaml": playbook("rotate-key", purpose=KEYS)}) as world:
        world.service("pay", {"playbooks/renew-key.yaml": playbook("renew-key", purpose=KEYS)})
        (remark,) = await_said(world, "pay", "near-duplicate")
        assert "rotate-key (playbooks/rotate-key.yaml in local/acme/playbooks)" in remark["message"]
        world.central.commit({"playbooks/rotate-key.yaml": playbook("rotate-key", version="2", purpose=ROLLBACK)})
        world.sync_central()
        await_unsaid(world, "pay", "near-duplicate")


def test_what_central_has_twice_is_said_of_central_alone(tmp_path):
    central = {f"playbooks/{name}.yaml": playbook(name, purpose=KEYS) for name in ("rotate-key", "renew-key")}
    with running(tmp_path, central) as world:
        world.service("pay", {"playbooks/restart-worker.yaml": playbook("restart-worker")})
        assert len(await_said(world, world.services.in_force.view.central, "near-duplicate")) == 2
        settled(world)
        assert said(world, "pay", "near-duplicate") == []


def test_two_documents_that_define_one_tool_in_two_ways_are_named_both(tmp_path):
    def with_risk(name: str, risk: str) -> str:
        return playbook(name, tools=f"[{{name: keys.rotate, risk: {risk}}}]").replace("shell.run", "keys.rotate")

    with running(tmp_path, {"playbooks/rotate-key.yaml": with_risk("rotate-key", "money")}) as world:
        world.service("pay", {"playbooks/renew-key.yaml": with_risk("renew-key", "internal")})
        (remark,) = await_said(world, "pay", "tool-drift")
        assert "'keys.rotate'" in remark["message"]
        assert "rotate-key (playbooks/rotate-key.yaml in local/acme/playbooks)" in remark["message"]


def test_a_deprecated_playbook_is_told_whether_what_replaces_it_serves_here(tmp_path):
    old = playbook("rotate-key", deprecated="{since: 2026-10-01, replaced_by: renew-key}")
    with running(tmp_path, {"playbooks/a.yaml": playbook("a")}) as world:
        world.service("pay", {"playbooks/rotate-key.yaml": old})
        await_said(world, "pay", "deprecated", lambda found: "does not serve" in found[0]["message"])
        world.central.commit({"playbooks/renew-key.yaml": playbook("renew-key")})
        world.sync_central()
        (remark,) = await_said(world, "pay", "deprecated", lambda found: "serves here" in found[0]["message"])
        assert remark["line"] > 1


# version-not-bumped


def test_a_content_that_changed_under_its_version_is_remarked_on_until_the_version_is_another(tmp_path):
    with forked(tmp_path) as (world, service):
        service.commit({"playbooks/rotate-key.yaml": body("rotate-key", step="Another way.")})
        world.sync("pay")
        await_said(world, "pay", "version-not-bumped")
        service.commit({"playbooks/rotate-key.yaml": body("rotate-key", version="1.0.1", step="Another way.")})
        world.sync("pay")
        await_unsaid(world, "pay", "version-not-bumped")


def test_what_was_remarked_outlives_the_process(tmp_path):
    with forked(tmp_path) as (world, service):
        service.commit({"playbooks/rotate-key.yaml": body("rotate-key", step="Another way.")})
        world.sync("pay")
        await_said(world, "pay", "version-not-bumped")
        settings = world.settings
    with opened(tmp_path, settings) as world:
        assert said(world, "pay", "version-not-bumped") != []
        service.commit({"playbooks/rotate-key.yaml": body("rotate-key", step="A third way.")})
        world.sync("pay")
        settled(world)
        assert said(world, "pay", "version-not-bumped") != []


# Over all repositories


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Three services of two teams, each with a near duplicate and two other problems."""
    folder = tmp_path_factory.mktemp("fleet")
    with running(folder, {"playbooks/rotate-key.yaml": body("rotate-key", purpose=KEYS)}) as world:
        for name in ("a", "b", "c"):
            world.service(
                name,
                {"playbooks/renew-key.yaml": playbook("renew-key", purpose=KEYS), "playbooks/x.yaml": "playbook: ["},
            )
        settled(world)
        yield world


def test_one_code_is_asked_of_all_repositories(fleet):
    found = fleet.services.problems.page(codes=["near-duplicate"])
    assert [item["repository"] for item in found["items"]] == [f"github.com/acme/{name}" for name in "abc"]
    assert {item["code"] for item in found["items"]} == {"near-duplicate"}
    assert found["next_cursor"] is None


def test_several_codes_a_level_a_team_and_a_repository_narrow_the_question(fleet):
    page = fleet.services.problems.page
    assert {item["level"] for item in page(level="error")["items"]} == {"error"}
    assert {item["repository"] for item in page(team="b")["items"]} == {"github.com/acme/b"}
    only = page(repository="https://github.com/acme/c.git", codes=["near-duplicate", "yaml-syntax"])
    assert [(item["repository"], item["code"]) for item in only["items"]] == [
        ("github.com/acme/c", "near-duplicate"),
        ("github.com/acme/c", "yaml-syntax"),
    ]
    assert page(codes=["shadow-drift"])["items"] == []


def test_pages_hold_everything_once_and_in_order(fleet):
    everything = fleet.services.problems.page(limit=200)["items"]
    rows, cursor = [], None
    while True:
        page = fleet.services.problems.page(limit=4, cursor=cursor)
        rows += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        assert len(page["items"]) == 4
    assert rows == everything
    assert len(rows) > 12


def test_everything_that_one_repository_lists_is_in_the_list_of_all(fleet):
    one = fleet.services.problems.of("github.com/acme/a")["problems"]
    assert [{**item, "repository": "github.com/acme/a"} for item in one] == [
        item for item in fleet.services.problems.page(limit=200)["items"] if item["repository"] == "github.com/acme/a"
    ]


def test_problems_are_counted_by_code(fleet):
    assert fleet.services.problems.tally()["near-duplicate", Level.WARNING] == 3
    assert fleet.services.problems.tally()["yaml-syntax", Level.ERROR] == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": ["near-duplicates"]},
        {"level": "fatal"},
        {"limit": 201},
        {"cursor": "github.com/acme/a"},
        {"cursor": "github.com/acme/a#-1"},
        {"codes": ["no-stop"] * 51},
    ],
)
def test_a_question_that_is_none_is_told_so(fleet, wrong):
    with pytest.raises(RequestInvalid):
        fleet.services.problems.page(**wrong)


def test_a_misspelt_code_is_told_the_nearest(fleet):
    with pytest.raises(RequestInvalid, match="near-duplicate"):
        fleet.services.problems.page(codes=["near-duplicates"])


def test_a_repository_that_nobody_registered_is_unknown(fleet):
    with pytest.raises(Unknown):
        fleet.services.problems.page(repository="github.com/acme/nobody")


def test_a_cursor_of_a_repository_that_is_gone_goes_on_after_it(fleet):
    found = fleet.services.problems.page(codes=["near-duplicate"], cursor="github.com/acme/a-and-a-half#7")
    assert [item["repository"] for item in found["items"]] == ["github.com/acme/b", "github.com/acme/c"]


def test_a_deregistered_repository_is_in_no_list(tmp_path):
    with forked(tmp_path) as (world, _):
        assert world.services.problems.page(repository=PAY)["items"]
        world.services.repositories.deregister(ADMIN, PAY)
        assert {item["repository"] for item in world.services.problems.page()["items"]} == {"local/acme/playbooks"}
        assert PAY not in json.dumps(sorted(world.store.remarked()))
