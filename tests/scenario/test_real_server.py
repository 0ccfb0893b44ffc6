"""Scenario A as it would run: real repositories behind a git server, one `registry serve`, and its command line."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from gitserver import GitServer
from realcompany import Workshop, id_of, workshop_in
from realrepos import Blobs, scenario, tree_of
from serving import ADMIN, AS_ADMIN, Registry, eventually, serving
from skillrules import Side, side_of, verdicts

pytestmark = [pytest.mark.corpus, pytest.mark.xdist_group("real-server")]

WAIT_S = 120.0
REVIEWERS = ("Arize-ai/coding-harness-tracing", "ClickHouse/clickhouse-connect", "langfuse/langfuse")
MARK = "/v1/policy/required/code-review"
UNTIL = "2099-01-31"


class Deployment:
    """The registry of scenario A, its repositories read over HTTP, links and all."""

    def __init__(self, workshop: Workshop, folder: Path, resources: ExitStack) -> None:
        plan = scenario(workshop.corpus, "A_org")
        self.services = plan["services"]
        [central] = plan["central"]
        workshop.make_all([central, *self.services], links=True)
        self.shared = self._side(workshop, central)
        self.sides = {each: self._side(workshop, each) for each in self.services}
        git = GitServer(workshop.folder / "links")
        resources.callback(git.close)
        data = folder / "data"
        self.registry: Registry = resources.enter_context(
            serving(data, central_url=f"{git.url}/{central}", poll_interval_s=3600, allow_file_remotes=False)
        )
        for each in self.services:
            self.registry.register(id_of(each), f"{git.url}/{each}", team=each.partition("/")[0], wait_s=0)
        eventually(self._are_read, WAIT_S)

    def catalog(self, service: str) -> dict:
        """The catalog of a service, whose bytes have the digest that it is served under."""
        answer = self.registry.get(f"/v1/catalogs/{id_of(service)}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["catalog-digest"] == "sha256:" + hashlib.sha256(answer.content).hexdigest()
        return answer.json()

    def say(self, *arguments: str) -> str:
        """What the command line prints."""
        done = subprocess.run(
            [sys.executable, "-m", "registry.cli", *arguments],
            env={
                "PATH": os.environ["PATH"],
                "REGISTRY_URL": str(self.registry.client.base_url),
                "REGISTRY_TOKEN": ADMIN,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _side(self, workshop: Workshop, name: str) -> Side:
        repo = workshop.repository(name, links=True)
        blobs = Blobs(repo)
        try:
            return side_of(tree_of(repo, blobs))
        finally:
            blobs.close()

    def _are_read(self) -> bool:
        listed = self.registry.get("/v1/repositories", params={"limit": 200}).json()["items"]
        return len(listed) == 1 + len(self.services) and all(item["sync"]["state"] == "ok" for item in listed)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory) -> Iterator[Deployment]:
    with ExitStack() as resources:
        workshop = workshop_in(tmp_path_factory.mktemp("real"))
        yield Deployment(workshop, tmp_path_factory.mktemp("server"), resources)


def test_every_catalog_is_served_as_the_merge_says(deployed):
    for service in deployed.services:
        says = {
            entry["name"]: (entry["source"]["kind"], entry["decision"]["outcome"], entry["source"]["path"])
            for entry in deployed.catalog(service)["entries"]
        }
        should = {
            name: (verdict.by, verdict.outcome, verdict.skill.path)
            for name, verdict in verdicts(deployed.shared, deployed.sides[service]).items()
            if verdict.skill
        }
        assert (service, says) == (service, should)


def test_a_mark_and_a_waiver_change_the_catalogs_before_they_are_answered(deployed):
    client = deployed.registry.client
    assert client.put(MARK, json={"reason": "Reviews are audited."}, headers=AS_ADMIN).status_code == 200
    refused = {service: [row["name"] for row in deployed.catalog(service)["refused"]] for service in deployed.services}
    assert {service for service, names in refused.items() if names} == set(REVIEWERS)
    waiver, whose = "/v1/policy/waivers/code-review", {"repository": id_of(REVIEWERS[0])}
    body = {"until": UNTIL, "reason": "Moves over this month."}
    assert client.put(waiver, params=whose, json=body, headers=AS_ADMIN).status_code == 200
    assert deployed.catalog(REVIEWERS[0])["refused"] == []
    assert client.delete(waiver, params=whose, headers=AS_ADMIN).is_success
    assert deployed.catalog(REVIEWERS[0])["refused"] != []
    assert client.delete(MARK, headers=AS_ADMIN).is_success
    assert deployed.catalog(REVIEWERS[0])["refused"] == []


def test_the_command_line_lists_what_each_repository_holds(deployed):
    rows = {line.split()[0]: line.split() for line in deployed.say("repositories").splitlines()[1:] if line.strip()}
    for service in deployed.services:
        assert int(rows[id_of(service)][3]) == deployed.sides[service].serving()


def test_the_command_line_explains_a_collision(deployed):
    said = deployed.say("explain", "code-review", "--repository", id_of(REVIEWERS[1]))
    own = deployed.sides[REVIEWERS[1]].copies["code-review"].skill
    assert f"version {own.version} at {id_of(REVIEWERS[1])}/{own.path}" in said
    assert said.startswith(f"code-review in {id_of(REVIEWERS[1])}: local_wins\n")


def test_the_command_line_names_the_file_that_does_not_load(deployed):
    said = deployed.say("repositories", id_of("microsoft/apm"), "--problems")
    [broken] = deployed.sides["microsoft/apm"].broken
    assert any(line.startswith(f"{broken}:") and " error " in line for line in said.splitlines())


def test_repositories_that_keep_their_skills_elsewhere_are_told_apart_from_empty_ones(deployed):
    for service in ("google-gemini/gemini-cli", "modelcontextprotocol/modelcontextprotocol"):
        assert not deployed.sides[service].copies
        assert "skills-elsewhere" in deployed.say("repositories", id_of(service), "--problems")


def test_a_search_finds_a_real_playbook_at_home_and_nowhere_else(deployed):
    text = " ".join(deployed.sides["langfuse/langfuse"].copies["add-model-price"].skill.description.split()[:12])
    found = {
        service: [row["name"] for row in _results(deployed, service, text)]
        for service in ("langfuse/langfuse", "microsoft/apm", "getsentry/sentry-javascript")
    }
    assert found["langfuse/langfuse"][0] == "add-model-price"
    assert not any("add-model-price" in names for service, names in found.items() if service != "langfuse/langfuse")


def test_what_the_command_line_prints_of_a_search_has_no_escapes_in_it(deployed):
    said = deployed.say("search", "review pull requests", "--repository", id_of("langfuse/langfuse"), "--limit", "50")
    assert "\\u" not in said
    assert len(said.splitlines()) > 10


def test_nothing_was_logged_as_a_warning_or_an_error(deployed):
    events = [json.loads(line) for line in deployed.registry.log.splitlines() if line.startswith("{")]
    assert [event for event in events if event["level"] not in {"info", "debug"}] == []
    assert len(events) > len(deployed.services)


def _results(deployed: Deployment, service: str, text: str) -> list[dict]:
    params = {"repository": id_of(service), "q": text, "limit": 50}
    return deployed.registry.get("/v1/search", params=params).json()["results"]
