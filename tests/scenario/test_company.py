"""Fifty real repositories behind a real git server, a thousand playbooks, one real `registry serve`."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from company import CENTRAL, POLICY, SERVICES, File, company
from gitserver import GitRepo, GitServer
from serving import AS_ADMIN, Registry, eventually, serving

SYNC_S = 90.0

pytestmark = pytest.mark.xdist_group("company")


class Company:
    """The plan, its repositories behind a git server, and the registry that reads them."""

    def __init__(self, folder: Path, resources: ExitStack) -> None:
        self.plan = company()
        self.folder = folder
        self.git = GitServer(folder / "git")
        resources.callback(self.git.close)
        self._running = resources.enter_context(ExitStack())
        self.central = GitRepo(folder / "git" / "acme" / "playbooks")
        self.central.commit({"policy.yaml": POLICY, **_texts(self.plan.central)})
        self.repositories = {name: GitRepo(folder / "git" / "acme" / name) for name in self.plan.services}
        for name, repo in self.repositories.items():
            repo.commit(_texts(self.plan.services[name]))
        self.registry = self._start()
        for name in self.plan.services:
            self.registry.register(self.id_of(name), f"{self.git.url}/acme/{name}", team=name, wait_s=0)
        eventually(self._is_all_read, SYNC_S)

    def id_of(self, name: str) -> str:
        """The id of a repository of the company."""
        return f"127.0.0.1:{self.git.port}/acme/{name}"

    def catalog(self, name: str | None) -> dict:
        """The catalog in force of a service, or central's own."""
        answer = self.registry.get(_catalog_path(self.id_of(name) if name else None))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def digests(self) -> dict[str | None, str]:
        """Service (None: central) -> the digest of its catalog."""
        return {
            name: self.registry.get(_catalog_path(self.id_of(name) if name else None)).headers["catalog-digest"]
            for name in (None, *self.plan.services)
        }

    def push(self, name: str | None, file: File) -> None:
        """Commit a file to a service or to central, and have that repository read."""
        repo = self.repositories[name] if name else self.central
        repo.commit({file.path: file.text})
        (self.plan.services[name] if name else self.plan.central)[file.name] = file
        self.registry.sync(self.id_of(name or "playbooks"))

    def restart(self) -> None:
        """Stop the registry in order and start it over the same data folder."""
        self._running.close()
        self.registry = self._start()

    def differences(self) -> list[str]:
        """Every catalog that is not what the plan says."""
        return [str(name) for name in (None, *self.plan.services) if not self._is_as_planned(name)]

    def _start(self) -> Registry:
        url = f"{self.git.url}/acme/playbooks"
        data = self.folder / "data"
        return self._running.enter_context(
            serving(data, central_url=url, poll_interval_s=3600, allow_file_remotes=False)
        )

    def _is_all_read(self) -> bool:
        listed = self.registry.get("/v1/repositories", params={"limit": 200}).json()["items"]
        return len(listed) == 1 + SERVICES and all(item["sync"]["state"] == "ok" for item in listed)

    def _is_as_planned(self, name: str | None) -> bool:
        catalog = self.catalog(name)
        serving = {entry["name"]: (entry["source"]["kind"], entry["version"]) for entry in catalog["entries"]}
        return (
            serving == self.plan.serving(name)
            and {entry["name"] for entry in catalog["unavailable"]} == self.plan.unavailable(name)
            and {entry["name"] for entry in catalog["refused"]} == (self.plan.refused(name) if name else set())
        )


@pytest.fixture(scope="module")
def acme(tmp_path_factory) -> Iterator[Company]:
    """The company, read for the first time. Each test leaves plan and registry in step with each other."""
    with ExitStack() as resources:
        yield Company(tmp_path_factory.mktemp("acme"), resources)


def test_every_catalog_serves_exactly_what_the_rules_say(acme):
    assert acme.differences() == []


def test_every_digest_is_the_sha256_of_the_bytes_served(acme):
    wanted = set()
    for name in (None, *acme.plan.services):
        answer = acme.registry.get(_catalog_path(acme.id_of(name) if name else None))
        assert answer.headers["catalog-digest"] == _sha256(answer.content)
        wanted |= {entry["digest"] for entry in answer.json()["entries"]}
    assert len(wanted) == sum(acme.plan.copies_served().values())
    served = {digest: _sha256(acme.registry.get(f"/v1/documents/{digest}").content) for digest in sorted(wanted)}
    assert [digest for digest, found in served.items() if digest != found] == []


def test_a_second_fetch_of_each_catalog_is_304_without_a_body(acme):
    for name in acme.plan.services:
        path = _catalog_path(acme.id_of(name))
        etag = acme.registry.get(path).headers["etag"]
        answer = acme.registry.get(path, headers={"If-None-Match": etag})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)


def test_each_broken_file_is_reported_with_its_place_and_hurts_no_other(acme):
    for name, files in acme.plan.services.items():
        rows = acme.registry.get(f"/v1/repositories/{acme.id_of(name)}/problems").json()["problems"]
        errors = {row["path"] for row in rows if row["level"] == "error" and row["line"] >= 1 and row["column"] >= 1}
        assert errors == {file.path for file in files.values() if not file.loads}


def test_a_search_finds_only_what_that_catalog_serves(acme):
    for name in acme.plan.services:
        entries = {entry["name"]: entry["digest"] for entry in acme.catalog(name)["entries"]}
        for query in ("restart the worker pool and drain its queue", "settle a matter"):
            params = {"repository": acme.id_of(name), "q": query, "limit": 50}
            results = acme.registry.get("/v1/search", params=params).json()["results"]
            assert len(results) >= 12
            assert [row["name"] for row in results if entries.get(row["name"]) != row["digest"]] == []


def test_a_push_changes_the_catalog_of_that_repository_and_of_no_other(acme):
    before = acme.digests()
    acme.push("service-17", File("service-17-new", "Do what is new in service-17."))
    after = acme.digests()
    assert {name for name in before if before[name] != after[name]} == {"service-17"}
    assert acme.differences() == []


def test_a_change_of_central_reaches_every_catalog(acme):
    before = acme.digests()
    changed = acme.plan.central["central-00"]
    acme.push(None, replace(changed, version="2.0.0"))
    after = acme.digests()
    assert [name for name in before if before[name] == after[name]] == []
    assert acme.differences() == []


def test_a_mark_through_the_api_reaches_every_catalog_before_it_is_answered(acme):
    shadowed = {name for name, files in acme.plan.services.items() if "central-10" in files}
    assert shadowed
    before = acme.digests()
    path = "/v1/policy/required/central-10"
    assert acme.registry.client.put(path, json={"reason": "Audited."}, headers=AS_ADMIN).status_code == 200
    acme.plan.marks.add("central-10")
    after = acme.digests()
    assert [name for name in before if before[name] == after[name]] == []
    assert acme.differences() == []


def test_a_restart_loses_no_registration_and_changes_no_byte(acme):
    digests = acme.digests()
    listed = [item["id"] for item in acme.registry.get("/v1/repositories", params={"limit": 200}).json()["items"]]
    bodies = {digest: acme.registry.get(f"/v1/snapshots/{digest}").content for digest in digests.values()}
    acme.restart()
    again = [item["id"] for item in acme.registry.get("/v1/repositories", params={"limit": 200}).json()["items"]]
    assert (len(listed), again) == (1 + SERVICES, listed)
    assert acme.digests() == digests
    assert acme.differences() == []
    for digest, body in bodies.items():
        assert acme.registry.get(f"/v1/snapshots/{digest}").content == body


def test_nothing_was_logged_as_an_error_all_along(acme):
    events = [json.loads(line) for line in acme.registry.log.splitlines() if line.startswith("{")]
    assert [event for event in events if event["level"] not in {"info", "debug"}] == []
    assert len(events) >= CENTRAL


def _texts(files: dict[str, File]) -> dict[str, str]:
    return {file.path: file.text for file in files.values()}


def _catalog_path(identity: str | None) -> str:
    return f"/v1/catalogs/{identity}" if identity else "/v1/catalogs"


def _sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
