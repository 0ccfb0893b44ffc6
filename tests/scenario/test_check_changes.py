"""A pull request of a service team and one of the platform team, checked against a real registry before they merge."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import run
from forge import POLICY, Forge, forging, write
from gitserver import GitRepo
from workingcopy import git
from world import playbook


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    with forging(tmp_path_factory.mktemp("forge")) as made:
        yield made


def effect(report: dict) -> dict[str, list]:
    """Sort -> rows, of those that have some."""
    return {sort: listed["items"] for sort, listed in report["effect"]["effect"].items() if listed["count"]}


def names(report: dict) -> dict[str, list[str]]:
    return {sort: [row["name"] for row in rows] for sort, rows in effect(report).items()}


def errors(report: dict) -> list[tuple[str, str]]:
    return [(item["code"], item["path"]) for item in report["problems"] if item["level"] == "error"]


# A service team


def test_a_pull_request_that_changes_no_playbook_has_no_effect(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    (copy / "README.md").write_text("Words.\n")
    found = forge.check(copy)
    assert (found["exit"], names(found), found["effect"]["repository"]) == (0, {}, "local/acme/payments")
    assert "Nothing that is served changes." in forge.text(copy)


def test_a_copy_of_a_required_name_is_refused_before_it_merges(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    write(copy, "deploy", purpose="Skip the queue.")
    found = forge.check(copy)
    assert (found["exit"], errors(found)) == (1, [("shadows-required", "playbooks/deploy.yaml")])
    assert names(found) == {"added": ["deploy"], "refused": ["deploy"]}
    assert "The path is audited." in forge.text(copy)


def test_a_skill_under_a_required_name_is_refused_too(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    skill = copy / ".claude" / "skills" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: deploy\ndescription: Skip the queue and bring it out at once.\n---\nDo it.\n")
    assert errors(forge.check(copy)) == [("shadows-required", ".claude/skills/deploy/SKILL.md")]


def test_with_a_waiver_it_may_merge(forge: Forge, tmp_path: Path):
    copy = forge.clone("legacy", tmp_path)
    write(copy, "deploy", version="0.2.0", purpose="Copy the files over, twice.")
    found = forge.check(copy)
    assert (found["exit"], names(found)) == (0, {"changed": ["deploy"]})


def test_a_waiver_through_the_api_counts_at_once(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    write(copy, "deploy", purpose="Skip the queue.")
    waiver = "/v1/policy/waivers/deploy?repository=local/acme/payments"
    forge.call("PUT", waiver, {"until": "2099-12-31", "reason": "A trial."})
    try:
        found = forge.check(copy)
        assert (found["exit"], names(found)) == (0, {"added": ["deploy"], "waived": ["deploy"]})
        assert "by a waiver until 2099-12-31" in forge.text(copy)
    finally:
        forge.call("DELETE", waiver)


def test_a_name_that_was_marked_through_the_api_is_required_here(forge: Forge, tmp_path: Path):
    copy = forge.clone("quiet", tmp_path)
    write(copy, "rotate", purpose="Keep the key.")
    assert names(forge.check(copy)) == {"added": ["rotate"], "shadowing": ["rotate"]}
    forge.call("PUT", "/v1/policy/required/rotate", {"reason": "Keys are audited."})
    try:
        assert errors(forge.check(copy)) == [("shadows-required", "playbooks/rotate.yaml")]
    finally:
        forge.call("DELETE", "/v1/policy/required/rotate")


def test_a_copy_that_goes_leaves_the_name_to_central(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    (copy / "playbooks" / "drain.yaml").unlink()
    (row,) = effect(forge.check(copy))["removed"]
    assert (row["version_before"], row["after"]["serves"], row["after"]["version"]) == ("9.0.0", "central", "1.0.0")
    assert "drain 9.0.0: central's 1.0.0 serves from now on" in forge.text(copy)


def test_a_playbook_that_others_lead_to_is_missed(forge: Forge, tmp_path: Path):
    copy = forge.clone("search", tmp_path)
    (copy / "playbooks" / "reindex.yaml").unlink()
    found = forge.check(copy)
    assert names(found) == {"removed": ["reindex"], "dangling": ["old"]}
    assert "old names reindex as its replacement" in forge.text(copy)


def test_two_files_of_one_name_collide(forge: Forge, tmp_path: Path):
    copy = forge.clone("search", tmp_path)
    (copy / "playbooks" / "again.yaml").write_text(playbook("reindex", purpose="Another way to do it."))
    found = forge.check(copy)
    assert (found["exit"], names(found)["colliding"]) == (1, ["reindex"])
    assert "two files claim it" in forge.text(copy)


def test_a_file_that_breaks_is_held_and_said_to_be(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    (copy / "playbooks" / "drain.yaml").write_text("playbook: 1\nname: drain\n")
    found = forge.check(copy)
    assert (found["exit"], names(found)) == (1, {"held": ["drain"]})


def test_a_file_that_is_mended_is_said_to_be(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    good = (copy / "playbooks" / "drain.yaml").read_text()
    (copy / "playbooks" / "drain.yaml").write_text("playbook: 1\nname: drain\n")
    git(copy, "commit", "-qam", "broken")
    (copy / "playbooks" / "drain.yaml").write_text(good)
    result = run("check", str(copy), "--registry", forge.url, "--base", "HEAD", "--format", "json", REGISTRY_TOKEN=None)
    assert names(json.loads(result.stdout)) == {"mended": ["drain"]}


def test_without_a_base_the_working_copy_is_compared_with_what_is_in_force(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    (copy / "playbooks" / "drain.yaml").write_text("playbook: 1\nname: drain\n")
    result = run("check", str(copy), "--registry", forge.url, "--format", "json", REGISTRY_TOKEN=None)
    found = json.loads(result.stdout)
    assert (found["effect"]["compared_with"], names(found)) == ("in-force", {"held": ["drain"]})


def test_the_registered_folders_are_the_ones_that_are_read(forge: Forge, tmp_path: Path):
    repo = GitRepo(forge.folder / "git" / "acme" / "elsewhere")
    repo.commit({"docs/runbooks/own.yaml": playbook("own", purpose="Lie somewhere else.")})
    forge.registry.register("local/acme/elsewhere", repo.url, paths=["docs/runbooks/*.yaml"])
    try:
        copy = forge.clone("elsewhere", tmp_path)
        (copy / "docs" / "runbooks" / "own.yaml").write_text(playbook("own", version="2", purpose="Lie there still."))
        assert names(forge.check(copy)) == {"changed": ["own"]}
    finally:
        forge.call("DELETE", "/v1/repositories/local/acme/elsewhere")


def test_a_repository_that_is_not_registered_is_told_what_would_be(forge: Forge, tmp_path: Path):
    copy = forge.clone("payments", tmp_path)
    text = forge.text(copy, "--repository", "github.com/acme/new-one")
    assert "not registered" in text


def test_tasks_that_a_new_playbook_takes_are_told(forge: Forge, tmp_path: Path):
    copy = forge.clone("quiet", tmp_path)
    cases = "{should_find: [the node must leave the pool]}"
    write(copy, "evict", purpose="Take a broken box away.", selection=cases)
    found = forge.check(copy)["selection"]
    assert (found["tasks"]["cases"], found["playbooks"]) == (1, 4)


# The platform team


def test_a_name_that_becomes_required_lists_whose_copies_are_refused(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    policy = copy / "policy.yaml"
    policy.write_text(POLICY.replace("waivers:", "  - {name: drain, reason: Nodes are shared.}\nwaivers:"))
    found = forge.check(copy)
    (row,) = effect(found)["refused"]
    assert (found["role"], row["repository"], row["team"], row["version"]) == (
        "central",
        "local/acme/payments",
        "payments",
        "9.0.0",
    )
    assert [item["name"] for item in found["effect"]["rules"]["required"]["items"]] == ["drain"]
    assert "local/acme/payments (payments): its drain 9.0.0 is refused from now on" in forge.text(copy)
    assert found["exit"] == 0


def test_a_waiver_that_goes_refuses_the_copy_that_it_let_serve(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    (copy / "policy.yaml").write_text(POLICY.partition("waivers:")[0])
    found = forge.check(copy)
    assert [item["repository"] for item in found["effect"]["rules"]["waivers_removed"]["items"]] == [
        "local/acme/legacy"
    ]
    assert [(row["repository"], row["name"]) for row in effect(found)["refused"]] == [("local/acme/legacy", "deploy")]
    assert found["effect"]["repositories"]["changed"] == {"count": 1, "items": ["local/acme/legacy"]}


def test_a_waiver_for_nobody_matches_nothing(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    more = "  - {name: deploy, repository: local/acme/quiet, until: 2099-12-31, reason: r, approved_by: p}\n"
    (copy / "policy.yaml").write_text(POLICY + more + more.replace("quiet", "nobody"))
    unmatched = forge.check(copy)["effect"]["rules"]["unmatched"]["items"]
    assert {(row["repository"], row["why"]) for row in unmatched} == {
        ("local/acme/quiet", "its repository has no copy of the playbook"),
        ("local/acme/nobody", "its repository is not registered"),
    }


def test_a_renamed_playbook_is_gone_and_come_everywhere(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    (copy / "playbooks" / "rotate.yaml").unlink()
    write(copy, "rotate-key", purpose="Replace the key that a service signs with.")
    found = forge.check(copy)
    assert names(found) == {"added": ["rotate-key"], "removed": ["rotate"]}
    assert [row["repositories"] for row in effect(found)["removed"]] == [4]
    assert found["effect"]["repositories"]["changed"]["count"] == 4


def test_renaming_what_a_rule_requires_is_an_error(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    (copy / "playbooks" / "deploy.yaml").unlink()
    write(copy, "deploy-it", purpose="Bring a release to production.")
    found = forge.check(copy)
    assert errors(found) == [("required-unmatched", "policy.yaml")]
    assert "deploy: still required by name, so nobody may serve it: in 3 of 4 repositories" in forge.text(copy)


def test_taking_away_what_the_api_requires_is_an_error(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    (copy / "playbooks" / "rotate.yaml").unlink()
    forge.call("PUT", "/v1/policy/required/rotate", {"reason": "Keys are audited."})
    try:
        found = forge.check(copy)
        assert (found["exit"], errors(found)) == (1, [("required-unmatched", "playbooks/rotate.yaml")])
    finally:
        forge.call("DELETE", "/v1/policy/required/rotate")


def test_a_requirement_that_an_edit_loses_is_named(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    (copy / "policy.yaml").write_text("policy: 1\nrequired: [{tag: audited, reason: Audited.}]\n")
    git(copy, "commit", "-qam", "by tag")
    git(copy, "push", "-q", "origin", "change:tagged")
    write(copy, "rotate", purpose="Replace the key that a service signs with.", tags="[audited]")
    git(copy, "commit", "-qam", "tagged")
    write(copy, "rotate", purpose="Replace the key that a service signs with.", tags="[other]")
    result = run("check", str(copy), "--registry", forge.url, "--base", "HEAD", "--format", "json", REGISTRY_TOKEN=None)
    rules = json.loads(result.stdout)["effect"]["rules"]
    assert [item["name"] for item in rules["no_longer_required"]["items"]] == ["rotate"]


def test_a_name_that_central_adds_meets_the_copies_that_are_there(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    write(copy, "reindex", purpose="Build any index anew.")
    found = forge.check(copy)
    assert [row["repository"] for row in effect(found)["shadowing"]] == ["local/acme/search"]
    assert [row["repositories"] for row in effect(found)["added"]] == [4]


def test_a_change_does_not_reach_who_has_a_copy_of_his_own(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    write(copy, "drain", version="2.0.0", purpose="Take a node out of service, slowly.")
    found = forge.check(copy)
    assert [row["repository"] for row in effect(found)["behind"]] == ["local/acme/payments"]
    assert "drain 1.0.0 -> 2.0.0: in 3 of 4 repositories" in forge.text(copy)


def test_a_copy_of_central_with_another_remote_needs_its_role_said(forge: Forge, tmp_path: Path):
    copy = forge.clone("playbooks", tmp_path)
    git(copy, "remote", "set-url", "origin", "https://github.com/fork/playbooks")
    write(copy, "new", purpose="Do what was never done.")
    assert names(forge.check(copy, "--role", "central")) == {"added": ["new"]}


def test_taking_most_of_it_away_would_wait(forge: Forge, tmp_path: Path):
    repo = GitRepo(forge.folder / "git" / "acme" / "many")
    repo.commit({f"playbooks/p{number}.yaml": playbook(f"p{number}") for number in range(12)})
    forge.registry.register("local/acme/many", repo.url)
    try:
        copy = forge.clone("many", tmp_path)
        shutil.rmtree(copy / "playbooks")
        assert "would wait" in forge.text(copy)
    finally:
        forge.call("DELETE", "/v1/repositories/local/acme/many")
