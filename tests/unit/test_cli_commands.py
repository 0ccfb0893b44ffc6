import json
from importlib import import_module

import click
import pytest
from cli import URL, answers, asked, catalog, entry, repository, run

from registry.cli.group import LazyGroup
from registry.cli.main import COMMANDS, main


def commands(command: click.Command, *names: str) -> list[tuple[tuple[str, ...], click.Command]]:
    """Every command below `command` with its full name, groups first."""
    found = [(names, command)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            found.extend(commands(child, *names, name))
    return found


ALL = [(names, command) for names, command in commands(main) if names]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_is_what_the_command_says_of_itself_or_shorter(name: str):
    listed = COMMANDS[name]
    command = getattr(import_module(listed.module), listed.attribute)
    assert command.help, f"{name} says nothing of itself"
    assert listed.summary.endswith(".")
    assert len(listed.summary) <= 72


@pytest.mark.parametrize("names", [names for names, _ in ALL], ids=" ".join)
def test_help_has_an_example(names: tuple[str, ...]):
    result = run(*names, "--help")
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"registry {' '.join(names)}" in result.stdout


@pytest.mark.parametrize(("names", "command"), ALL, ids=[" ".join(names) for names, _ in ALL])
def test_every_option_says_what_it_does(names: tuple[str, ...], command: click.Command):
    silent = [item.name for item in command.params if isinstance(item, click.Option) and not item.help]
    assert silent == []


def test_the_help_documents_the_exit_codes():
    assert "Exit codes: 0 done; 1 the answer is no" in " ".join(run("--help").stdout.split())


def test_a_command_that_is_none_is_answered_with_the_nearest():
    result = run("catlog")
    assert (result.exit_code, "Did you mean 'catalog'?" in result.stderr) == (2, True)


def test_a_missing_argument_exits_2():
    assert run("sync").exit_code == 2


def test_the_entry_point_is_a_lazy_group():
    assert isinstance(main, LazyGroup)


def test_colours_appear_only_where_they_are_wanted():
    with answers(body=catalog(entry())):
        assert "\x1b[" not in run("catalog").output


def test_register_sends_only_what_was_said():
    with answers(201, repository()) as router:
        result = run("register", "https://GitHub.com/Acme/payments.git", "--team", "payments")
        request = asked(router)
    assert result.exit_code == 0
    assert request.method == "PUT"
    assert request.url.raw_path == b"/v1/repositories/github.com%2Facme%2Fpayments"
    assert json.loads(request.content) == {"url": "https://GitHub.com/Acme/payments.git", "team": "payments"}
    assert request.headers["Prefer"] == "wait=30"


def test_register_takes_an_id_a_ref_and_several_paths():
    with answers(201, repository()) as router:
        run(
            *("register", "file:///srv/git/mono", "--team", "search", "--id", "github.com/acme/mono/-/services/search"),
            *("--ref", "main", "--path", "a/*.yaml", "--path", "b/*.yaml", "--wait", "0"),
        )
        request = asked(router)
    assert request.url.raw_path.endswith(b"/github.com%2Facme%2Fmono%2F-%2Fservices%2Fsearch")
    assert json.loads(request.content)["paths"] == ["a/*.yaml", "b/*.yaml"]
    assert json.loads(request.content)["ref"] == "main"
    assert "Prefer" not in request.headers


def test_register_with_a_url_that_is_none_exits_2_without_asking():
    with answers() as router:
        assert run("register", "ext::sh -c evil", "--team", "x").exit_code == 2
        assert not router.calls


def test_a_registration_whose_sync_failed_is_told_and_exits_1():
    with answers(201, repository("unreachable")):
        result = run("register", "https://github.com/acme/payments", "--team", "payments")
    assert result.exit_code == 1
    assert "Registered: github.com/acme/payments" in result.stdout
    assert "unreachable: it is unreachable" in result.stderr


def test_a_sync_that_is_not_done_in_time_exits_1():
    with answers(202, repository("syncing")):
        assert run("sync", "github.com/acme/payments", "--wait", "1").exit_code == 1


def test_a_sync_that_nobody_waits_for_exits_0():
    with answers(202, repository("pending")):
        assert run("sync", "github.com/acme/payments", "--wait", "0").exit_code == 0


def test_apply_names_the_commit():
    with answers(body=repository()) as router:
        assert run("apply", "github.com/acme/payments", "--commit", "f" * 40).exit_code == 0
        assert json.loads(asked(router).content) == {"commit": "f" * 40}


def test_the_list_of_repositories_follows_every_page():
    with answers() as router:
        router.clear()
        router.get("/v1/repositories", params={"cursor": "next"}).respond(
            json={"items": [repository(id="github.com/acme/b")], "next_cursor": None}
        )
        router.get("/v1/repositories").respond(
            json={"items": [repository(id="github.com/acme/a")], "next_cursor": "next"}
        )
        result = run("repositories", "--has", "problems")
        assert all(call.request.url.params["has"] == "problems" for call in router.calls)
    assert "github.com/acme/a" in result.stdout
    assert "github.com/acme/b" in result.stdout


def test_one_repository_is_shown_with_its_problems_by_line_and_column():
    problem = {"code": "unknown-key", "level": "error", "path": "playbooks/a.yaml", "line": 15, "column": 1}
    with answers(body=repository()) as router:
        router.clear()
        router.get(url__regex=r".*/problems$").respond(
            json={"problems": [{**problem, "message": "no key", "name": "a", "held": True}]}
        )
        router.get(url__regex=r".*payments$").respond(json=repository())
        result = run("repositories", "github.com/acme/payments")
    assert "playbooks/a.yaml:15:1: error unknown-key: no key (an earlier good copy serves)" in result.stdout


def test_a_catalog_shows_decisions_and_lists_refused_unavailable_and_problems():
    problem = {"code": "x-y", "level": "error", "line": 2, "column": 3, "message": "Mend it."}
    body = catalog(
        entry(required=True, held={"commit": "c", "problem": {}}),
        refused=[entry("deploy-rollback", decision={"outcome": "required_holds", "over": []})],
        unavailable=[
            {
                "name": "close-month",
                "outcome": "broken",
                "reason": "Nobody serves.",
                "copies": [{"state": "ambiguous", "source": {"kind": "central", "path": "playbooks/close.yaml"}}],
            }
        ],
        problems=[{**problem, "source": "central", "path": "q.yaml"}, {**problem, "source": "local", "path": "p.yaml"}],
    )
    with answers(body=body, Catalog_State="fresh; age=1"):
        lines = [" ".join(line.split()) for line in run("catalog", "github.com/acme/payments").stdout.splitlines()]
    assert "rotate-signing-key 2.1.0 local local_wins required held" in lines
    assert "deploy-rollback 2.1.0 github.com/acme/payments/playbooks/deploy-rollback.yaml required_holds" in lines
    at = lines.index("close-month (broken): Nobody serves.")
    assert lines[at + 1] == "central, ambiguous: playbooks/close.yaml"
    at = lines.index("Problems of its own files")
    assert lines[at + 1 : at + 5] == [
        "p.yaml:2:3: error x-y: Mend it.",
        "",
        "Problems of central's files",
        "q.yaml:2:3: error x-y: Mend it.",
    ]


def test_a_full_catalog_asks_for_the_contracts():
    with answers(body=catalog()) as router:
        run("catalog", "github.com/acme/payments", "--full", "--json")
        assert asked(router).url.params["view"] == "full"


def test_search_sends_words_tags_and_repository():
    row = {**entry(), "score": 1.0}
    with answers(body={"results": [row], "weak": False}) as router:
        result = run("search", "new", "key", "--repository", "github.com/acme/payments", "--tag", "a", "--tag", "b")
        params = asked(router).url.params
    assert (params["q"], params["limit"], params.get_list("tag")) == ("new key", "10", ["a", "b"])
    assert "rotate-signing-key 2.1.0\n  Replace the key.\n" in result.stdout


def test_a_long_text_is_searched_by_its_body():
    with answers(body={"results": [], "weak": True}) as router:
        run("search", "word " * 1000)
        assert asked(router).method == "POST"


def test_explain_exits_1_where_nobody_serves():
    body = {
        "name": "a",
        "repository": None,
        "outcome": "broken",
        "explanation": "Nobody.",
        "serving": None,
        "copies": [],
    }
    with answers(body=body):
        result = run("explain", "a")
    assert (result.exit_code, "Nobody." in result.stdout) == (1, True)


def test_explain_exits_0_where_somebody_serves():
    copy = {"source": entry()["source"], "version": "1", "digest": "sha256:", "state": "good", "serves": True}
    body = {
        "name": "a",
        "repository": "github.com/acme/payments",
        "outcome": "local_wins",
        "explanation": "Its own copy serves.",
        "serving": entry("a"),
        "copies": [copy],
    }
    with answers(body=body):
        result = run("explain", "a", "--repository", "github.com/acme/payments")
    assert result.exit_code == 0
    assert "Its own copy serves." in result.stdout
    assert "serves  good   1        github.com/acme/payments/playbooks/rotate-signing-key.yaml" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "method", "path", "body"),
    [
        (("require", "a b", "--reason", "why"), "PUT", "/v1/policy/required/a%20b", {"reason": "why"}),
        (("unrequire", "a"), "DELETE", "/v1/policy/required/a", None),
        (
            ("waive", "a", "--repository", "github.com/acme/x", "--until", "2027-01-31", "--reason", "why"),
            "PUT",
            "/v1/policy/waivers/a?repository=github.com%2Facme%2Fx",
            {"until": "2027-01-31", "reason": "why"},
        ),
        (
            ("unwaive", "a", "--repository", "github.com/acme/x"),
            "DELETE",
            "/v1/policy/waivers/a?repository=github.com%2Facme%2Fx",
            None,
        ),
        (
            ("withdraw", "a", "--digest", "sha256:00", "--reason", "why"),
            "PUT",
            "/v1/policy/withdrawn/a?digest=sha256%3A00",
            {"reason": "why"},
        ),
        (("unwithdraw", "a", "--digest", "sha256:00"), "DELETE", "/v1/policy/withdrawn/a?digest=sha256%3A00", None),
        (("accept", "--commit", "f" * 40), "POST", "/v1/policy/accept", {"commit": "f" * 40}),
    ],
)
def test_each_change_of_the_rules_is_one_call(arguments: tuple[str, ...], method: str, path: str, body: object):
    with answers(body={}) as router:
        assert run("policy", *arguments).exit_code == 0
        request = asked(router)
    assert (request.method, request.url.raw_path.decode()) == (method, path)
    assert (json.loads(request.content) if request.content else None) == body


def test_unrequire_says_who_else_still_requires_it():
    with answers(body={"name": "a", "required": True, "still_required_by": ["policy-file"]}):
        assert "still required by policy-file" in run("policy", "unrequire", "a").stdout


def test_accept_without_a_commit_means_centrals_newest():
    with answers() as router:
        router.clear()
        central = repository(role="central", id="github.com/acme/playbooks")
        router.get("/v1/repositories").respond(json={"items": [repository(), central], "next_cursor": None})
        accepted = router.post("/v1/policy/accept").respond(json=central)
        assert run("policy", "accept").exit_code == 0
        assert json.loads(accepted.calls[0].request.content) == {"commit": "c" * 40}


def test_policy_show_says_who_marked_what():
    rules = {
        "rule_date": "2026-11-30",
        "required": [{"origin": "policy-file", "name": "deploy-rollback", "tag": None, "reason": "Audited."}],
        "waivers": [],
        "withdrawals": [],
        "publication": [],
        "access": [],
    }
    with answers(body=rules):
        assert "deploy-rollback  -    policy-file  Audited." in run("policy", "show").stdout


def test_policy_show_says_who_may_run_what():
    rule = {
        "effect": "deny",
        "who": {"teams": [], "principals": []},
        "names": [],
        "tags": ["a", "b"],
        "risk": ["money"],
        "unless": {"teams": ["finance-ops"], "principals": ["ann"]},
        "reason": "Money.",
    }
    rules = {"required": [], "waivers": [], "withdrawals": [], "access": [rule], "worktree": "deny"}
    with answers(body=rules):
        shown = run("policy", "show").stdout
    assert "deny    everybody  tags a or b and risk money  team finance-ops, ann  Money." in shown
    assert "Copies in working trees may not run." in shown


def test_token_create_writes_the_token_alone_to_standard_output():
    with answers(201, {"id": "t1", "token": "pbr_new"}) as router:
        result = run(
            "token", "create", "ci", "--team", "payments", "--scope", "repository:write", "--expires", "2027-06-30"
        )
        sent = json.loads(asked(router).content)
    assert result.stdout == "pbr_new\n"
    assert sent == {
        "name": "ci",
        "team": "payments",
        "scopes": ["repository:write"],
        "expires_at": "2027-07-01T00:00:00Z",
    }


def test_a_scope_that_is_none_exits_2():
    assert run("token", "create", "ci", "--scope", "everything").exit_code == 2


def test_token_revoke_names_the_token():
    with answers(204) as router:
        assert run("token", "revoke", "t/1").exit_code == 0
        assert asked(router).url.raw_path == b"/v1/tokens/t%2F1"


def test_serve_without_a_central_repository_exits_2_and_says_what_to_set():
    result = run("serve", REGISTRY_CENTRAL_URL=None)
    assert result.exit_code == 2
    assert "REGISTRY_CENTRAL_URL" in result.stderr


def test_serve_refuses_a_setting_that_cannot_work():
    result = run("serve", "--listen", "nowhere", REGISTRY_CENTRAL_URL=URL)
    assert (result.exit_code, "REGISTRY_LISTEN" in result.stderr) == (2, True)


def test_an_unknown_variable_is_a_warning_with_a_suggestion():
    result = run("serve", REGISTRY_CENTRAL_URL=None, REGISTRY_CENTRAL_ULR="x")
    assert "did you mean REGISTRY_CENTRAL_URL?" in result.stderr


def test_an_unknown_variable_is_an_error_if_the_environment_is_strict():
    result = run("serve", "--strict-env", REGISTRY_CENTRAL_URL=URL, REGISTRY_CENTRAL_ULR="x")
    assert (result.exit_code, "did you mean REGISTRY_CENTRAL_URL?" in result.stderr) == (2, True)


def test_serve_help_lists_every_setting():
    from registry.settings import PREFIX, Settings

    shown = run("serve", "--help").stdout
    assert [name for name in Settings.model_fields if PREFIX + name.upper() not in shown] == []
