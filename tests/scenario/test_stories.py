"""The stories of the demo, with real git repositories: at home, required, broken and held."""

from world import playbook, running

BROKEN = "playbook: 1\nname: replay-invoices\nversion: 1.1.0\nsteps: [\n"


def test_the_local_copy_wins_at_home_and_nowhere_else(tmp_path):
    with running(tmp_path, {"playbooks/rotate.yaml": playbook("rotate")}) as world:
        world.service("payments", {"playbooks/rotate.yaml": playbook("rotate", version="2.0.0")})
        world.service("checkout", {"README.md": "no playbook"})
        assert world.outcome("rotate", "payments") == "local_wins"
        assert world.outcome("rotate", "checkout") == "central_only"


def test_a_required_playbook_holds_and_the_refused_copy_is_listed(tmp_path):
    policy = "policy: 1\nrequired:\n  - {name: deploy-rollback, reason: The rollback path is audited.}\n"
    central = {"playbooks/deploy-rollback.yaml": playbook("deploy-rollback"), "policy.yaml": policy}
    with running(tmp_path, central) as world:
        world.service("checkout", {"playbooks/mine.yaml": playbook("deploy-rollback", version="9.9.9")})
        told = world.explain("deploy-rollback", "checkout")
        assert told["outcome"] == "required_holds"
        assert told["serving"]["source"]["kind"] == "central"
        assert "The rollback path is audited." in told["explanation"]
        assert world.services.repositories.get("github.com/acme/checkout")["refused"] == 1


def test_a_broken_file_is_reported_with_its_place_and_held_when_it_was_good_before(tmp_path):
    with running(tmp_path, {"playbooks/other.yaml": playbook("other")}) as world:
        repo = world.service(
            "billing",
            {"playbooks/replay-invoices.yaml": playbook("replay-invoices"), "playbooks/ok.yaml": playbook("ok")},
        )
        good = repo.head()
        repo.commit({"playbooks/replay-invoices.yaml": BROKEN})
        view = world.sync("billing")
        assert (view["sync"]["state"], view["held"]) == ("ok", 1)
        (problem,) = [
            item
            for item in world.services.problems.of("github.com/acme/billing")["problems"]
            if item["level"] == "error"
        ]
        assert problem["path"] == "playbooks/replay-invoices.yaml"
        assert problem["line"] >= 4
        assert problem["held"] is True
        told = world.explain("replay-invoices", "billing")
        assert told["serving"]["held"]["commit"] == good
        assert told["serving"]["source"]["commit"] == good
        assert world.outcome("ok", "billing") == "local_only"


def test_a_held_file_that_loads_again_serves_anew(tmp_path):
    with running(tmp_path, {"playbooks/other.yaml": playbook("other")}) as world:
        repo = world.service("billing", {"playbooks/replay-invoices.yaml": playbook("replay-invoices")})
        repo.commit({"playbooks/replay-invoices.yaml": BROKEN})
        world.sync("billing")
        repo.commit({"playbooks/replay-invoices.yaml": playbook("replay-invoices", version="1.2.0")})
        assert world.sync("billing")["held"] == 0
        assert world.explain("replay-invoices", "billing")["serving"]["version"] == "1.2.0"


def test_search_finds_what_is_served_here_and_only_that(tmp_path):
    central = {"playbooks/rotate.yaml": playbook("rotate", purpose="Rotate the signing key.")}
    with running(tmp_path, central) as world:
        world.service("payments", {"playbooks/rotate.yaml": playbook("rotate", purpose="Rotate the HSM signing key.")})
        found = world.services.search.search("github.com/acme/payments", "rotate the signing key")
        assert [(row["name"], row["source"]["kind"]) for row in found["results"]] == [("rotate", "local")]
        elsewhere = world.services.search.search("github.com/acme/unknown", "rotate the signing key")
        assert [row["source"]["kind"] for row in elsewhere["results"]] == ["central"]
