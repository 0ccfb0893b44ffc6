"""`registry evaluate`: asked for a repository or for central, in words or as the registry's JSON."""

import json

import httpx
import respx
from cli import URL, answers, asked, refuses, run

FIGURES = {
    "tasks": {"cases": 1, "recall_at_1": 0, "recall_at_5": 1, "mrr": 0.5},
    "near_misses": {"cases": 0, "first": None, "within_5": None},
}
MISSED = {"playbook": "bake", "task": "bread", "rank": 2, "taken_by": "slice", "claimed_by": []}
REPORT = {
    "repository": "github.com/acme/payments",
    "snapshot": f"sha256:{'a' * 64}",
    "playbooks": 2,
    "cases": 1,
    "not_run": 0,
    **FIGURES,
    "missed": [MISSED],
    "attracted": [],
    "takings": [{"by": "slice", "from": "bake", "tasks": 1}],
    "by_playbook": [{"name": "bake", **FIGURES}],
}


def test_it_asks_for_the_repository():
    with answers(body=REPORT) as registry:
        run("evaluate", "https://github.com/acme/payments.git")
        assert asked(registry).url.raw_path == (
            b"/v1/repositories/https%3A%2F%2Fgithub.com%2Facme%2Fpayments.git/evaluation"
        )


def test_without_a_repository_it_asks_for_central():
    with respx.mock(base_url=URL) as registry:
        registry.get("/v1/catalogs").mock(
            httpx.Response(200, json={"sources": {"central": {"repository": "host/acme/playbooks"}}})
        )
        registry.get(url__regex=r".*/v1/repositories/host%2Facme%2Fplaybooks/evaluation$").mock(
            httpx.Response(200, json=REPORT)
        )
        assert run("evaluate").exit_code == 0


def test_what_comes_out_is_no_failure():
    with answers(body=REPORT):
        result = run("evaluate", "github.com/acme/payments")
    assert (result.exit_code, 'rank 2     bake: "bread"; slice comes first' in result.stdout) == (0, True)


def test_as_json_it_is_what_the_registry_said():
    with answers(body=REPORT):
        assert json.loads(run("evaluate", "github.com/acme/payments", "--json").stdout) == REPORT


def test_a_catalog_without_cases_is_told_what_they_are_good_for():
    empty = {**REPORT, "cases": 0, "tasks": {**FIGURES["tasks"], "cases": 0}, "missed": [], "takings": []}
    with answers(body=empty):
        assert "should_find" in run("evaluate", "github.com/acme/payments").stderr


def test_an_unknown_repository_is_a_no():
    with refuses(404, "repository-unknown", "github.com/acme/x is not registered."):
        assert run("evaluate", "github.com/acme/x").exit_code == 1
