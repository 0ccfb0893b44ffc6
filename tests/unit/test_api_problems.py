import json

import pytest

from registry.api.kinds import KINDS
from registry.api.problems import make_problem, problem_answer, redact
from registry.errors import Conflict, Forbidden, StoreFault, Unauthenticated, Unavailable, Unknown, Unreachable


def body(error: Exception) -> dict[str, object]:
    loaded: dict[str, object] = json.loads(problem_answer(error).body)
    return loaded


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Conflict("no."), 409, "conflict"),
        (Forbidden("no."), 403, "forbidden"),
        (Unauthenticated("no."), 401, "unauthenticated"),
        (Unknown("playbook", "no."), 404, "playbook-unknown"),
        (Unavailable("later."), 503, "unavailable"),
        (Unreachable("no answer."), 502, "source-unreachable"),
        (StoreFault("no."), 500, "internal"),
        (ValueError("no"), 500, "internal"),
        (RecursionError(), 500, "internal"),
    ],
)
def test_an_error_has_its_status_and_type(error: Exception, status: int, code: str) -> None:
    answer = problem_answer(error)
    assert (answer.status, body(error)["status"], body(error)["type"]) == (status, status, f"/problems/{code}")
    assert (b"content-type", b"application/problem+json") in answer.headers


def test_extra_members_are_typed_and_cannot_pose_as_the_standard_ones() -> None:
    problem = body(Conflict("no.", required_by=["policy-file"], status=200, title="x"))
    assert (problem["required_by"], problem["status"], problem["title"]) == (
        ["policy-file"],
        409,
        KINDS["conflict"].title,
    )


def test_a_callers_half_of_a_surrogate_pair_comes_back_escaped() -> None:
    problem = body(Conflict("no \ud800.", violations=[{"pointer": "/\udfff"}]))
    assert (problem["detail"], problem["violations"]) == ("no \ud800.", [{"pointer": "/\udfff"}])


def test_a_pause_is_at_least_a_second() -> None:
    assert (b"retry-after", b"1") in problem_answer(Unavailable("later.", retry_after_s=0)).headers


def test_what_nobody_foresaw_tells_an_incident_number_alone() -> None:
    problem = body(ValueError("password=hunter2"))
    assert "hunter2" not in str(problem)
    assert str(problem["incident"]) in str(problem["detail"])


def test_what_nobody_foresaw_is_logged_without_local_variables(capsys: pytest.CaptureFixture[str]) -> None:
    secret = "hunter2"

    def fail(authorization: str) -> None:
        raise ValueError("something else")

    try:
        fail(f"Bearer {secret}")
    except ValueError as error:
        problem_answer(error)
    logged = "".join(capsys.readouterr())
    assert "something else" in logged
    assert secret not in logged.replace('secret = "hunter2"', "")


def test_a_long_detail_is_cut() -> None:
    assert len(make_problem("conflict", "x" * 1_000_000).body) < 3_000


@pytest.mark.parametrize(
    "text",
    [
        "https://user:hunter2@host/a/b could not be read.",
        "'https://hunter2@host/a' is refused",
        "the url ssh://hunter2@host:22/a",
        "'user:hunter2@ho st' is not a host",
        "hunter2@host/a/b",
        "'https://user:hunter2hunter2",
    ],
)
def test_credentials_are_taken_out(text: str) -> None:
    assert "hunter2" not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:acme/app.git is fine.",
        "https://host:8443/a/b",
        "https://host:8443.",
        "sha256:abcdef",
        "catalog:read",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text
