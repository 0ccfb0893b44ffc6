"""A key that a reader holds: what it names can be composed, whatever came into force meanwhile."""

import json
from datetime import UTC, datetime, timedelta

from world import ADMIN, PLATFORM, playbook, running


def test_a_key_can_be_composed_after_the_rules_have_changed_again(tmp_path):
    with running(tmp_path, {"playbooks/deploy.yaml": playbook("deploy")}) as world:
        world.services.policy.mark(PLATFORM, "deploy", "audited")
        in_force = world.services.in_force
        held = in_force.key(None)
        world.services.policy.unmark(PLATFORM, "deploy")
        (entry,) = json.loads(in_force.snapshot(held))["entries"]
        assert entry["required"] is True
        assert in_force.key(None).rules != held.rules


def test_a_key_of_a_repository_with_a_waiver_likewise(tmp_path):
    with running(tmp_path, {"playbooks/deploy.yaml": playbook("deploy")}) as world:
        world.service("payments", {"playbooks/deploy.yaml": playbook("deploy")})
        policy, in_force, payments = world.services.policy, world.services.in_force, "github.com/acme/payments"
        policy.mark(PLATFORM, "deploy", "audited")
        until = datetime.now(UTC).date() + timedelta(days=9)
        policy.waive(ADMIN, "deploy", payments, until=until, reason="migration")
        held = in_force.key(payments)
        policy.unwaive(ADMIN, "deploy", payments)
        (entry,) = json.loads(in_force.snapshot(held))["entries"]
        assert entry["waiver"]["until"] == until.isoformat()
