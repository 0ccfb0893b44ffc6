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
    problems = world.services.problems.of(world.identity(repository))["problems"]
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
        problems = world.services.problems.of("github.com/acme/checkout")["problems"]
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


def test_a_failed_poll_does_not_forget_what_waits_to_be_applied(tmp_path):
    many = {f"playbooks/p{at}.yaml": playbook(f"p{at}") for at in range(12)}
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", many)
        head = repo.commit(dict.fromkeys(list(many)[:11]))
        world.sync("checkout")
        repo.path.rename(repo.path.with_name("away"))
        assert world.sync("checkout")["sync"]["state"] == "unreachable"
        repo.path.with_name("away").rename(repo.path)
        view = world.sync("checkout")
        assert (view["sync"]["state"], view["sync"]["suspended"]) == ("suspended", head)


def test_accepting_the_policys_absence_does_not_apply_a_mass_change(tmp_path):
    many = {f"playbooks/p{at}.yaml": playbook(f"p{at}") for at in range(12)}
    policy = "policy: 1\nrequired:\n  - {name: rotate, reason: audited}\n"
    with running(tmp_path, {**CENTRAL, **many, "policy.yaml": policy}) as world:
        head = world.central.commit({**dict.fromkeys(many), "policy.yaml": None})
        assert world.sync_central()["sync"]["state"] == "suspended"
        view = world.services.policy.accept(PLATFORM, head, 20).value
        assert (view["sync"]["state"], view["playbooks"]) == ("suspended", 13)


def test_a_central_file_that_never_loaded_is_listed_as_required_for_what_is_known_of_it(tmp_path):
    with running(tmp_path, {**CENTRAL, "playbooks/w.yaml": playbook("wipe") + "unknwn: 1\n[\n"}) as world:
        [rule] = world.services.policy.rules()["required"]
        assert (rule["name"], rule["origin"]) == ("wipe", "front-matter")
        assert rule["reason"] == "its file does not load, and counts as required until it does"


def test_a_central_file_with_a_marked_tag_that_never_loaded_keeps_local_copies_out(tmp_path):
    policy = "policy: 1\nrequired:\n  - {tag: data-deletion, reason: irreversible}\n"
    broken = playbook("wipe-tenant", tags="[data-deletion]") + "unknwn: 1\n"
    with running(tmp_path, {**CENTRAL, "policy.yaml": policy, "playbooks/wipe.yaml": broken}) as world:
        world.service("checkout", {"playbooks/w.yaml": playbook("wipe-tenant", version="9")})
        assert world.outcome("wipe-tenant", "checkout") == "required_broken"


def test_a_central_file_without_a_marked_tag_that_never_loaded_leaves_local_copies_alone(tmp_path):
    policy = "policy: 1\nrequired:\n  - {tag: data-deletion, reason: irreversible}\n"
    with running(
        tmp_path, {**CENTRAL, "policy.yaml": policy, "playbooks/w.yaml": playbook("wipe") + "unknwn: 1\n"}
    ) as world:
        world.service("checkout", {"playbooks/w.yaml": playbook("wipe", version="9")})
        assert world.outcome("wipe", "checkout") == "central_broken"


def test_a_deleted_playbook_does_not_come_back_with_a_broken_file_of_its_path(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", {"playbooks/a.yaml": playbook("gone"), "playbooks/b.yaml": playbook("b")})
        repo.commit({"playbooks/a.yaml": None})
        world.sync("checkout")
        repo.commit({"playbooks/a.yaml": "playbook: 1\nname: other\nsteps: [\n"})
        world.sync("checkout")
        with pytest.raises(Unknown):
            world.explain("gone", "checkout")
        assert world.outcome("other", "checkout") == "broken"


def test_patterns_that_can_never_be_read_are_refused_and_stop_nobody(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("checkout", {"README.md": "x"})
        request = RegistrationRequest(repo.url, "checkout", paths=("../x/*.yaml",))
        with pytest.raises(RequestInvalid):
            world.services.repositories.register(ADMIN, "github.com/acme/other", request)


def test_an_alias_takes_no_id_that_is_kept_for_another_team(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        world.service("mono", {"README.md": "x"})
        world.services.repositories.deregister(ADMIN, "github.com/acme/mono")
        repo = world.service("held", {"README.md": "x"})
        request = RegistrationRequest(repo.url, "held", aliases=("github.com/acme/mono",))
        with pytest.raises(Conflict):
            world.services.repositories.register(ADMIN, "github.com/acme/held", request)


def test_an_id_that_is_an_alias_is_not_registered_beside_it(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("held", {"README.md": "x"})
        request = RegistrationRequest(repo.url, "held", aliases=("github.com/acme/future",))
        world.services.repositories.register(ADMIN, "github.com/acme/held", request)
        with pytest.raises(Conflict, match="alias"):
            world.register("future", repo)


def test_a_token_in_the_place_of_a_user_is_not_kept(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        request = RegistrationRequest("https://ghp_sekret@github.com/acme/app", "app")
        view = world.services.repositories.register(ADMIN, "github.com/acme/app", request).value
        assert view["url"] == "https://github.com/acme/app"


def test_a_credential_is_a_name(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        request = RegistrationRequest("https://github.com/acme/app", "app", credential="ghp_Abc123")
        with pytest.raises(RequestInvalid, match="name"):
            world.services.repositories.register(ADMIN, "github.com/acme/app", request)


def test_a_mistyped_sub_path_is_said_and_no_silent_catalog(tmp_path):
    with running(tmp_path, CENTRAL) as world:
        repo = world.service("mono", {"services/Pay/playbooks/a.yaml": playbook("a")})
        world.register("mono/-/services/pay", repo)
        problem = only_problem(world, "github.com/acme/mono/-/services/pay", "sub-path-missing")
        assert problem["path"] == "services/pay"
