import httpx
import pytest
import respx
from cli import URL, answers, asked, refuses, repository, run

from registry.cli.remote import segment


def test_an_answer_exits_0():
    with answers(body={"items": [], "next_cursor": None}):
        assert run("repositories").exit_code == 0


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "name-invalid", 2),
        (401, "unauthenticated", 2),
        (403, "forbidden", 1),
        (404, "repository-unknown", 1),
        (404, "route-unknown", 2),
        (409, "conflict", 1),
        (409, "playbook-unavailable", 1),
        (410, "snapshot-gone", 1),
        (413, "too-large", 2),
        (422, "playbook-invalid", 1),
        (429, "rate-limited", 3),
        (500, "internal", 3),
        (502, "source-unreachable", 3),
        (503, "unavailable", 3),
    ],
)
def test_a_problem_exits_by_what_can_be_done_about_it(status: int, code: str, exit_code: int):
    with refuses(status, code, "A sentence that says what to do."):
        assert run("repositories").exit_code == exit_code


def test_a_problem_is_told_by_its_sentence_and_code_on_standard_error():
    with refuses(409, "conflict", "github.com/acme/playbooks is the central repository."):
        result = run("repositories")
    assert result.stderr == "Error: github.com/acme/playbooks is the central repository. [conflict]\n"
    assert result.stdout == ""


def test_a_problem_that_passes_says_when_to_try_again():
    with refuses(503, "unavailable", "Not read yet.", Retry_After="2"):
        assert "Try again in 2 s." in run("repositories").stderr


def test_an_unreachable_registry_exits_3_and_says_where_it_was_looked_for():
    with respx.mock(base_url=URL) as router:
        router.route().mock(side_effect=httpx.ConnectError("refused"))
        result = run("repositories")
    assert result.exit_code == 3
    assert URL in result.stderr


def test_a_registry_that_does_not_answer_in_time_exits_3():
    with respx.mock(base_url=URL) as router:
        router.route().mock(side_effect=httpx.ReadTimeout("slow"))
        assert run("repositories").exit_code == 3


def test_a_failure_without_an_explanation_exits_3():
    with answers(502, "Bad gateway"):
        assert run("repositories").exit_code == 3


def test_something_else_than_a_registry_exits_2_and_names_the_setting():
    with answers(404, "nothing here"):
        result = run("repositories")
    assert (result.exit_code, "REGISTRY_URL" in result.stderr) == (2, True)


def test_a_redirect_is_not_followed_so_that_the_token_goes_nowhere_else():
    with answers(302, None, Location="https://elsewhere.test/") as router:
        assert run("repositories").exit_code == 2
        assert asked(router).url.host == "registry.test"


def test_an_answer_that_is_not_json_exits_2():
    with respx.mock(base_url=URL) as router:
        router.route().mock(httpx.Response(200, content=b"<html>"))
        assert run("repositories").exit_code == 2


@pytest.mark.parametrize("url", ["registry.test", "ftp://registry.test", "http://", "http://[::1"])
def test_a_url_that_is_none_exits_2(url: str):
    assert run("repositories", REGISTRY_URL=url).exit_code == 2


def test_the_token_is_sent_as_a_bearer():
    with answers(body={"items": [], "next_cursor": None}) as router:
        run("repositories", REGISTRY_TOKEN="pbr_mine")
        assert asked(router).headers["Authorization"] == "Bearer pbr_mine"


def test_without_a_token_nothing_is_sent_for_one():
    with answers(body={"items": [], "next_cursor": None}) as router:
        run("repositories", REGISTRY_TOKEN=None)
        assert "Authorization" not in asked(router).headers


def test_a_token_with_a_line_end_is_refused_without_showing_it():
    result = run("repositories", REGISTRY_TOKEN="pbr_secret\nX-Evil: 1")
    assert result.exit_code == 2
    assert "secret" not in result.output


def test_an_escape_sequence_in_an_answer_does_not_reach_the_terminal():
    with refuses(404, "playbook-unknown", "no \x1b[31mred\u202e here"):
        result = run("explain", "x")
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    assert r"\u001b[31mred" in result.output


def test_a_repository_is_one_segment_of_the_path_so_that_its_name_is_no_route():
    assert segment("github.com/acme/sync") == "github.com%2Facme%2Fsync"
    with answers(body=repository(id="github.com/acme/sync")) as router:
        run("sync", "git@github.com:acme/sync.git")
        assert asked(router).url.raw_path == b"/v1/repositories/github.com%2Facme%2Fsync/sync"


def test_json_is_the_registrys_own_bytes():
    body = b'{"items": [],  "next_cursor":null}'
    with respx.mock(base_url=URL) as router:
        router.route().mock(httpx.Response(200, content=body))
        assert run("repositories", "--json").stdout_bytes == body + b"\n"
