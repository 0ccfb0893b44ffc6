"""`registry run` and `registry runs`, against a registry that respx plays."""

import json

import pytest
from cli import answers, asked, refuses, run

RUN = {
    "id": "run_" + "0" * 26,
    "name": "deploy-rollback",
    "version": "3.1.0",
    "digest": "sha256:d",
    "source": {
        "kind": "central",
        "repository": "github.com/acme/playbooks",
        "commit": "c" * 40,
        "path": "playbooks/d.yaml",
    },
    "snapshot": "sha256:s",
    "repository": "github.com/acme/checkout",
    "task": "it answers 500",
    "principal": "ci",
    "inputs": {"service": "checkout", "limit": 20},
    "opened_at": "2026-03-01T12:00:00Z",
    "state": "open",
}
OPENED = {
    "run_id": RUN["id"],
    "run": RUN,
    "snapshot": "sha256:s",
    "state": {"freshness": "fresh", "age_s": 1, "registered": True},
    "procedure": {
        "purpose": "Go back.",
        "not_for": ["One feature."],
        "required": True,
        "inputs": {"service": "checkout", "limit": 20},
        "inputs_checked": True,
        "defaulted": ["/limit"],
        "unset": ["to_release"],
        "preconditions": [{"id": "a", "state": "It is bad.", "check": {"tool": "deploys.current", "with": {"s": "checkout"}}}],
        "steps": [
            {"id": "find", "tool": "deploys.history", "instruction": "Find it.", "with": {"limit": 20}, "expect": "One."},
            {"id": "do", "allowed_tools": ["a", "b"], "instruction": "Do it."},
        ],
        "stop": [{"when": "It is older.", "then": "escalate", "question": "Who decides?"}],
        "verification": [{"state": "It is well."}],
        "requires": {"secrets": [{"name": "TOKEN"}]},
        "runbook": {"mode": "required"},
        "instructions": "Look at it.\n\nThen do it.",
        "allowed_tools": ["a"],
    },
}  # fmt: skip
ENTRY = {
    "contract": {
        "inputs": {
            "properties": {
                "service": {"type": "string"},
                "maybe": {"type": ["string", "null"]},
                "kind": {"enum": ["1", "2"]},
                "limit": {"type": "integer"},
                "any": {},
            }
        }
    }
}


def opened_with(*arguments: str) -> dict:
    """The body of the request that opens a run, where the registry shows the playbook's schema."""
    with answers(201, OPENED) as router:
        router.get("/v1/playbooks/deploy-rollback").respond(json=ENTRY)
        router.routes._routes.reverse()
        result = run("run", "deploy-rollback", *arguments)
        assert result.exit_code == 0, result.stderr
        return json.loads(router.calls.last.request.content)


def text(*arguments: str, body: object = OPENED, status: int = 201) -> str:
    with answers(status, body):
        result = run(*arguments)
        assert result.exit_code == 0, result.stderr
        return result.stdout


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("service=3", "3"), ("service=a=b", "a=b"), ("service=", ""), ("maybe=null", "null"), ("kind=1", "1"),
        ("limit=20", 20), ("limit=x", "x"), ("any=true", True), ("any=text", "text"), ('other={"a": 1}', {"a": 1}),
    ],
)  # fmt: skip
def test_an_input_is_text_where_the_schema_takes_text_and_json_elsewhere(pair, value):
    assert opened_with("--input", pair)["inputs"] == {pair.partition("=")[0]: value}


def test_an_input_that_is_none_is_told():
    with answers(200, ENTRY):
        result = run("run", "a", "--input", "service")
    assert (result.exit_code, "NAME=VALUE" in result.stderr) == (2, True)


def test_inputs_come_from_a_file_and_single_ones_go_before(tmp_path):
    file = tmp_path / "inputs.json"
    file.write_text('{"service": "a", "limit": 1}')
    assert opened_with("--inputs", str(file), "--input", "service=b")["inputs"] == {"service": "b", "limit": 1}


@pytest.mark.parametrize("content", ["", "[1]", "{", '"a"', "[" * 100_000])
def test_a_file_that_is_no_object_is_told(tmp_path, content):
    file = tmp_path / "inputs.json"
    file.write_text(content)
    result = run("run", "a", "--inputs", str(file))
    assert (result.exit_code, "is no JSON object" in result.stderr) == (2, True)


def test_a_run_is_asked_for_with_everything_that_was_said():
    with answers(201, OPENED) as router:
        run("run", "a/b", "--repository", "git@h:o/r", "--digest", "sha256:d", "--task", "t", "--key", "k-1")
        request = asked(router)
    assert (request.method, request.url.raw_path) == ("POST", b"/v1/playbooks/a%2Fb/runs?repository=git%40h%3Ao%2Fr")
    assert json.loads(request.content) == {"inputs": {}, "digest": "sha256:d", "task": "t"}
    assert request.headers["Idempotency-Key"] == '"k-1"'


def test_without_a_key_none_is_sent():
    with answers(201, OPENED) as router:
        run("run", "a")
        assert "Idempotency-Key" not in asked(router).headers


@pytest.mark.parametrize(
    "said",
    [
        "deploy-rollback 3.1.0 (central) required",
        "Not for: One feature.",
        'service = "checkout"',
        "limit = 20 (default)",
        "to_release was not given",
        '- It is bad.\n      deploys.current(s: "checkout")',
        "1. find: Find it.\n      deploys.history(limit: 20)\n      Expect: One.",
        "2. do: Do it.\n      with any of: a, b",
        "- It is older. escalate: Who decides?",
        "- It is well.",
        '{"secrets": [{"name": "TOKEN"}]}',
        '{"mode": "required"}',
        "  Look at it.\n\n  Then do it.",
        "pinned to sha256:d of snapshot sha256:s",
    ],
)
def test_a_procedure_is_written_for_people(said):
    assert said in text("run", "deploy-rollback")


def test_a_procedure_does_nothing_to_a_terminal():
    hostile = {**OPENED, "procedure": {**OPENED["procedure"], "inputs": {"a": "\x1b[2J"}, "instructions": "\x1b[2J"}}
    assert "\x1b" not in text("run", "deploy-rollback", body=hostile)


def test_a_repository_that_is_not_registered_is_told():
    with answers(201, {**OPENED, "state": {**OPENED["state"], "registered": False}}):
        assert "is not registered" in run("run", "deploy-rollback").stderr


def test_inputs_that_nothing_checked_are_told():
    assert "nothing checked these" in text(
        "run", "a", body={**OPENED, "procedure": {**OPENED["procedure"], "inputs_checked": False}}
    )


def test_every_input_that_does_not_fit_is_told_on_a_line():
    problem = {
        "type": "/problems/inputs-invalid",
        "detail": "the inputs do not fit deploy-rollback. /a: x.",
        "violations": [{"pointer": "/a", "message": "this is text."}, {"pointer": "", "message": "no."}],
        "more": True,
    }
    with answers(422, problem, Content_Type="application/problem+json"):
        result = run("run", "deploy-rollback")
    assert result.exit_code == 1
    assert (
        "the inputs do not fit deploy-rollback:\n  /a: this is text.\n  /: no.\n  and more [inputs-invalid]"
        in result.stderr
    )


def test_a_refusal_is_the_answer_no():
    with refuses(403, "refused", "another copy serves."):
        assert run("run", "a").exit_code == 1


def test_json_is_the_registrys_own():
    assert json.loads(text("run", "a", "--json")) == OPENED


def test_runs_are_listed():
    shown = text("runs", body={"items": [RUN], "next_cursor": None}, status=200)
    assert [word in shown for word in (RUN["id"], "deploy-rollback", "github.com/acme/checkout", "ci", "open")] == [
        True
    ] * 5


def test_a_working_trees_copy_is_listed_as_unreviewed():
    worktree = {**RUN, "source": {"kind": "worktree", "unreviewed": True}}
    assert "worktree, unreviewed" in text("runs", body={"items": [worktree], "next_cursor": None}, status=200)


def test_a_list_is_asked_for_with_its_filters():
    with answers(200, {"items": [], "next_cursor": None}) as router:
        result = run("runs", "--repository", "h/o/r", "--name", "n", "--limit", "3", "--cursor", "c")
        query = dict(asked(router).url.params)
    assert query == {"limit": "3", "repository": "h/o/r", "name": "n", "cursor": "c"}
    assert (result.exit_code, "There are no runs" in result.stderr) == (0, True)


def test_a_list_that_goes_on_says_how():
    with answers(200, {"items": [RUN], "next_cursor": RUN["id"]}):
        assert f"--cursor {RUN['id']}" in run("runs").stderr


def test_a_run_is_shown():
    shown = text("runs", RUN["id"], body=RUN, status=200)
    assert [word in shown for word in ("it answers 500", "sha256:s", "by ci", '"service": "checkout"')] == [True] * 4


def test_a_runs_procedure_is_shown_again():
    with answers(200, OPENED) as router:
        result = run("runs", RUN["id"], "--procedure")
        assert asked(router).url.params["view"] == "full"
    assert "1. find: Find it." in result.stdout


@pytest.mark.parametrize("arguments", [("--procedure",), (RUN["id"], "--name", "a"), (RUN["id"], "--cursor", "a")])
def test_options_that_do_not_go_together_are_told(arguments):
    assert run("runs", *arguments).exit_code == 2


@pytest.mark.parametrize(("word", "here"), [("execute", "run"), ("history", "runs")])
def test_what_others_call_it_leads_here(word, here):
    assert f"here it is '{here}'" in run(word).stderr
