"""A required playbook is not got round by writing the local copy in another format."""

import json

import pytest
from world import ADMIN, playbook, running

NAME = "deploy-rollback"
COPIES = {
    ".claude/skills/deploy-rollback/SKILL.md": f"---\nname: {NAME}\ndescription: Roll back at once.\n---\nDo it.\n",
    "skills/x/SKILL.md": "---\nname: Deploy_Rollback\ndescription: Roll back at once.\n---\nDo it.\n",
    "skills/deploy.rollback/SKILL.md": "---\ndescription: Roll back at once.\n---\nDo it.\n",
    ".cursor/skills/y/skill.md": f"---\nname: {NAME}\ndescription: Roll back at once.\nrequired: true\n---\nDo it.\n",
    "playbooks/a.runbook.json": json.dumps(
        {"runbook_id": "deploy.rollback", "description": "At once.", "mode": "advisory", "checkpoints": []}
    ),
    "playbooks/a.openplaybook.json": json.dumps(
        {"manifest": {"name": NAME}, "purpose": "At once.", "tools": [], "requires": {}, "steps": [{"id": "a"}]}
    ),
    "playbooks/deploy_rollback.openplaybook.json": json.dumps(
        {"purpose": "At once.", "tools": [], "requires": {}, "steps": [{"id": "a"}]}
    ),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with running(tmp_path_factory.mktemp("world"), {"playbooks/a.yaml": playbook(NAME, required="true")}) as made:
        yield made


@pytest.mark.parametrize("path", sorted(COPIES))
def test_a_copy_of_a_required_name_is_refused_in_every_format(world, path):
    service = f"svc-{sorted(COPIES).index(path)}"
    world.service(service, {path: COPIES[path]})
    explained = world.explain(NAME, service)
    assert explained["outcome"] == "required_holds"
    assert explained["serving"]["source"]["kind"] == "central"


@pytest.mark.parametrize("path", ["skills/x/SKILL.md", "playbooks/a.runbook.json"])
def test_the_same_copy_wins_where_the_name_is_not_required(tmp_path, path):
    with running(tmp_path, {"playbooks/a.yaml": playbook(NAME)}) as free:
        free.service("app", {path: COPIES[path]})
        assert free.outcome(NAME, "app") == "local_wins"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("skills/deploy-rollback/SKILL.md", COPIES["skills/x/SKILL.md"].replace("---\nDo", "required: true\n---\nDo")),
        ("playbooks/a.runbook.json", COPIES["playbooks/a.runbook.json"].replace('"mode"', '"required": true, "mode"')),
    ],
)
def test_a_central_document_of_another_format_can_say_that_it_is_required(tmp_path, path, text):
    with running(tmp_path, {path: text}) as made:
        made.service("app", {"playbooks/a.yaml": playbook(NAME)})
        assert made.outcome(NAME, "app") == "required_holds"


def test_a_broken_central_skill_stays_required_and_is_held(tmp_path):
    path = "skills/deploy-rollback/SKILL.md"
    good = f"---\nname: {NAME}\ndescription: Roll back with care.\n---\nDo it.\n"
    beside = {"skills/deploy-rollback/run.sh": "echo one\n"}
    with running(tmp_path, {path: good, **beside}) as made:
        made.service("app", {"playbooks/a.yaml": playbook(NAME)})
        made.services.policy.mark(ADMIN, NAME, "The rollback is audited.")
        before = made.explain(NAME, "app")["serving"]
        made.central.commit(
            {path: good.replace("Roll back", "Roll: back"), "skills/deploy-rollback/run.sh": "rm -r /\n"}
        )
        made.sync_central()
        after = made.explain(NAME, "app")["serving"]
        assert made.outcome(NAME, "app") == "required_holds"
        assert after["held"]["problem"]["code"] == "yaml-syntax"
        assert after["digest"] == before["digest"]
