"""Bad input, by example: a stable code, a sentence that says what to do, nothing lost, everything else served."""

from datetime import timedelta

import pytest
from gitserver import GitRepo
from world import ADMIN, PLATFORM, playbook, running, team

from registry import wiring
from registry.errors import Conflict, Forbidden, RepositoryInvalid, RequestInvalid, Unavailable, Unknown
from registry.service.repositories import RegistrationRequest

CENTRAL = {"playbooks/rotate.yaml": playbook("rotate")}


def only_problem(world, repository, code):
    problems = world.services.repositories.problems(world.identity(repository))["problems"]
    (found,) = [item for item in problems if item["code"] == code]
    assert found["line"] >= 1
    assert found["column"] >= 1
    assert len(found["message"]) > 20
    return found


def test_an_empty_repository_is_a_state_and_never_an_empty_catalog(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        view = world.register("empty", GitRepo(tmp_path / "git" / "acme" / "empty"))
        assert view["sync"]["state"] == "empty"
        assert "push a first commit" in view["sync"]["message"]
        with pytest.raises(Unavailable):
            world.services.catalogs.current("github.com/acme/empty")


def test_an_empty_repository_serves_after_its_first_push(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = GitRepo(tmp_path / "git" / "acme" / "empty")
        world.register("empty", repo)
        repo.commit({"playbooks/a.yaml": playbook("a")})
        assert world.sync("empty")["sync"]["state"] == "ok"
        assert world.outcome("a", "empty") == "local_only"


def test_a_repository_without_a_playbook_gets_centrals(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("bare", {"README.md": "x"})
        assert world.outcome("rotate", "bare") == "central_only"


def test_a_branch_that_is_not_there_keeps_the_last_catalog(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", {"playbooks/a.yaml": playbook("a")})
        repo.commit({"x": "x"}, ref="refs/heads/other")
        repo.git("symbolic-ref", "HEAD", "refs/heads/gone")
        repo.git("update-ref", "-d", "refs/heads/main")
        view = world.sync("checkout")
        assert view["sync"]["state"] in {"branch-missing", "suspended"}
        assert world.outcome("a", "checkout") == "local_only"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("playbook: 1\nname: [a\n", "yaml-syntax"),
        ("- playbook: 1\nplaybook: 1\n", "yaml-syntax"),
        (playbook("a").replace("name: a", "name: Deploy Rollback"), "name-invalid"),
        (playbook("a") + "inputs: {type: object, properties: {k: {type: nonsense}}}\n", "schema-invalid"),
        (playbook("a") + "inputs: {type: object, properties: {k: {$ref: 'http://127.0.0.1:9/x'}}}\n", "schema-invalid"),
        (playbook("a") + "inputs: {type: object, properties: {k: {type: string, pattern: '^(a+){1000}{1000}$'}}}\n", "schema-invalid"),
        (playbook("a") + "# " + "x" * 2 * 2**20 + "\n", "too-large"),
        (playbook("a") + "name: b\n", "duplicate-key"),
        (playbook("a") + "preconditons: []\n", "unknown-key"),
        (playbook("a").replace("Do it.", "'Do {{ inputs.missing }}.'"), "template-undeclared"),
        (b"playbook: 1\nname: \xff\n", "encoding-invalid"),
        ("playbook: 1\nname: a\nversion: 1\n", "field-missing"),
    ],
)  # fmt: skip
def test_a_bad_file_has_a_code_and_hurts_nobody_else(tmp_path, content, code):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/bad.yaml": content, "playbooks/ok.yaml": playbook("ok")})
        problems = world.services.repositories.problems("github.com/acme/checkout")["problems"]
        found = [item for item in problems if item["code"] == code and item["level"] == "error"]
        assert found, problems
        assert found[0]["path"] == "playbooks/bad.yaml"
        assert world.outcome("ok", "checkout") == "local_only"
        assert world.outcome("rotate", "checkout") == "central_only"


def test_yaml_that_is_no_mapping_is_no_playbook(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/list.yaml": "- hosts: all\n", "playbooks/ok.yaml": playbook("ok")})
        assert world.outcome("ok", "checkout") == "local_only"
        assert [code for code in world.codes("checkout") if code.endswith("syntax")] == []


def test_two_files_with_one_name_are_named_both(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"playbooks/a.yaml": playbook("a"), "playbooks/b.yaml": playbook("a", version="2")})
        assert world.codes("checkout").count("duplicate-name") == 2
        assert world.outcome("a", "checkout") == "broken"


def test_an_id_of_another_team_is_forbidden(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", {"README.md": "x"})
        request = RegistrationRequest(repo.url, "evil")
        with pytest.raises(Forbidden):
            world.services.repositories.register(team("evil"), "github.com/acme/checkout", request)
        assert world.services.repositories.get("github.com/acme/checkout")["team"] == "checkout"


def test_a_url_that_is_not_the_ids_is_refused(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        request = RegistrationRequest("https://github.com/acme/b", "checkout")
        with pytest.raises(RepositoryInvalid, match=r"github\.com/acme/b"):
            world.services.repositories.register(team("checkout"), "github.com/acme/a", request)
        with pytest.raises(Unknown):
            world.services.repositories.get("github.com/acme/a")


def test_an_unknown_scope_is_refused_with_the_scopes_there_are(tmp_path):
    with running(tmp_path, CENTRAL) as world, pytest.raises(RequestInvalid, match="catalog:read"):
        world.services.tokens.create(ADMIN, name="ci", team=None, scopes=["catalog:write"])


def test_a_mass_deletion_waits_until_it_is_applied(tmp_path):
    many = {f"playbooks/p{at}.yaml": playbook(f"p{at}") for at in range(12)}
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", many)
        head = repo.commit(dict.fromkeys(list(many)[:11]))
        view = world.sync("checkout")
        assert (view["sync"]["state"], view["playbooks"]) == ("suspended", 12)
        assert f"registry apply github.com/acme/checkout --commit {head}" in view["sync"]["message"]
        applied = world.services.repositories.apply(ADMIN, "github.com/acme/checkout", head, 20).value
        assert (applied["sync"]["state"], applied["playbooks"]) == ("ok", 1)


def test_another_commit_than_the_suspended_one_is_not_applied(tmp_path):
    many = {f"playbooks/p{at}.yaml": playbook(f"p{at}") for at in range(12)}
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", many)
        first = repo.head()
        repo.commit(dict.fromkeys(many))
        world.sync("checkout")
        with pytest.raises(Conflict):
            world.services.repositories.apply(ADMIN, "github.com/acme/checkout", first, 5)


def test_a_later_push_that_brings_the_playbooks_back_lifts_the_suspension(tmp_path):
    many = {f"playbooks/p{at}.yaml": playbook(f"p{at}") for at in range(12)}
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", many)
        repo.commit(dict.fromkeys(many))
        assert world.sync("checkout")["sync"]["state"] == "suspended"
        repo.commit(many)
        assert world.sync("checkout")["sync"]["state"] == "ok"


def test_what_tightens_in_a_suspended_central_revision_applies_at_once(tmp_path):
    many = {f"playbooks/p{at}.yaml": playbook(f"p{at}") for at in range(12)}
    with running(tmp_path, {**CENTRAL, **many}) as world:
        world.service("checkout", {"playbooks/r.yaml": playbook("rotate", version="9")})
        policy = "policy: 1\nrequired:\n  - {name: rotate, reason: audited}\n"
        world.central.commit({**dict.fromkeys(many), "policy.yaml": policy})
        assert world.sync_central()["sync"]["state"] == "suspended"
        assert world.outcome("rotate", "checkout") == "required_holds"
        assert world.outcome("p3", "checkout") == "central_only"


def test_a_waiver_ends_at_the_end_of_its_day_without_a_push(tmp_path, monkeypatch):
    policy = "policy: 1\nrequired:\n  - {name: rotate, reason: audited}\n"
    with running(tmp_path, {**CENTRAL, "policy.yaml": policy}) as world:
        world.service("checkout", {"playbooks/r.yaml": playbook("rotate", version="9")})
        today = wiring.now().date()
        world.services.policy.waive(PLATFORM, "rotate", "github.com/acme/checkout", today, "one day")
        assert world.outcome("rotate", "checkout") == "waiver"
        before = world.services.catalogs.current("github.com/acme/checkout").digest
        later = wiring.now() + timedelta(days=1)
        monkeypatch.setattr(world.services.in_force, "_now", lambda: later)
        assert world.outcome("rotate", "checkout") == "required_holds"
        assert world.services.catalogs.current("github.com/acme/checkout").digest != before


def test_a_withdrawn_copy_stops_serving_at_once_and_says_why(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("checkout", {"README.md": "x"})
        digest = world.explain("rotate", "checkout")["serving"]["digest"]
        world.services.policy.withdraw(PLATFORM, "rotate", digest, "deletes the wrong key")
        told = world.explain("rotate", "checkout")
        assert (told["outcome"], told["serving"]) == ("withdrawn", None)
        assert "deletes the wrong key" in told["explanation"]
        assert [copy["state"] for copy in told["copies"]] == ["withdrawn"]
        assert world.services.search.search("github.com/acme/checkout", "rotate")["results"] == []
