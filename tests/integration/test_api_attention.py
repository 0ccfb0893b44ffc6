"""`GET /v1/problems` over a real server, a real worker and real git repositories."""

import time
from collections.abc import Iterator

import httpx
import pytest
from api_registry import Served, playbook, served

KEYS = "Rotate the signing key of a service that signs tokens, without logging anybody out."
NAMES = ("billing", "checkout", "payments")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(
        tmp_path_factory.mktemp("attention"), {"playbooks/rotate-key.yaml": playbook("rotate-key", KEYS)}
    ) as running:
        for name in NAMES:
            running.repository(name).commit({"playbooks/renew-key.yaml": playbook("renew-key", KEYS)})
            assert running.register(name, team=name).status_code == 201
        end = time.monotonic() + 20
        while len(ask(running, code="near-duplicate").json()["items"]) < len(NAMES):
            assert time.monotonic() < end
            time.sleep(0.05)
        yield running


def ask(registry: Served, **params: object) -> httpx.Response:
    return registry.client.get("/v1/problems", params=params)


def test_every_problem_has_its_repository_and_the_members_of_one_repositorys_list(registry: Served) -> None:
    rows = ask(registry, code="near-duplicate").json()["items"]
    assert [row.pop("repository") for row in rows] == [f"local/acme/{name}" for name in NAMES]
    listed = registry.client.get("/v1/repositories/local/acme/billing/problems").json()["problems"]
    assert rows[0] == next(item for item in listed if item["code"] == "near-duplicate")


def test_a_code_that_is_given_twice_asks_for_both(registry: Served) -> None:
    codes = {row["code"] for row in ask(registry, code=["near-duplicate", "no-stop"]).json()["items"]}
    assert codes == {"near-duplicate", "no-stop"}


def test_a_team_and_a_repository_narrow_the_list(registry: Served) -> None:
    assert {row["repository"] for row in ask(registry, team="checkout").json()["items"]} == {"local/acme/checkout"}
    spelled = ask(registry, repository="local/acme/Payments.git", level="warning").json()["items"]
    assert {row["repository"] for row in spelled} == {"local/acme/payments"}


def test_a_list_goes_on_at_its_cursor(registry: Served) -> None:
    first = ask(registry, code="near-duplicate", limit=2).json()
    second = ask(registry, code="near-duplicate", limit=2, cursor=first["next_cursor"]).json()
    assert [row["repository"] for row in first["items"] + second["items"]] == [f"local/acme/{name}" for name in NAMES]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("params", "status", "code"),
    [
        ({"code": "near-dupe"}, 400, "request-invalid"),
        ({"level": "fatal"}, 400, "request-invalid"),
        ({"cursor": "x"}, 400, "request-invalid"),
        ({"limit": 0}, 400, "request-invalid"),
        ({"severity": "error"}, 400, "request-invalid"),
        ({"repository": "local/acme/nobody"}, 404, "repository-unknown"),
        ({"repository": ".."}, 400, "repository-invalid"),
    ],
)
def test_a_question_that_is_none_is_refused(registry: Served, params: dict, status: int, code: str) -> None:
    answer = ask(registry, **params)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{code}")


def test_the_gauge_counts_by_code(registry: Served) -> None:
    text = registry.client.get("/metrics").text
    assert 'registry_problems_by_code{code="near-duplicate",level="warning"} 3.0' in text
    assert 'registry_problems_by_code{code="shadow-drift",level="warning"} 0.0' in text
