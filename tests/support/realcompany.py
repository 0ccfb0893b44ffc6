"""Scenarios of the corpus as a company: a central repository, those beside it, one running registry, and what should come of it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from corpus import ARCHIVE, unpack
from gitserver import GitRepo
from realrepos import Blobs, materialize, merged, scenario, tree_of
from serving import eventually
from skillrules import USUAL, Side, side_of, verdicts
from world import ADMIN, opened

from registry.service.repositories import RegistrationRequest
from registry.settings import Settings

WAIT_S = 120.0

# Where some teams keep their skills beside the usual folders, as they would register them.
ELSEWHERE = {
    "Arize-ai/coding-harness-tracing": ("tracing/*/skills/**/SKILL.md",),
    "cloudflare/workers-sdk": (".opencode/skills/**/SKILL.md",),
    "google-gemini/gemini-cli": (".gemini/skills/**/SKILL.md", "packages/core/src/skills/builtin/**/SKILL.md"),
    "langfuse/langfuse": ("web/.agents/skills/**/SKILL.md",),
    "matebenyovszky/agentplaybooks": ("packages/cli/skills/**/SKILL.md",),
    "microsoft/apm": ("packages/**/SKILL.md", ".apm/skills/**/SKILL.md", "tests/fixtures/**/.apm/skills/**/SKILL.md"),
    "modelcontextprotocol/modelcontextprotocol": ("plugins/*/skills/**/SKILL.md",),
}
# Of a collection among others in one repository: what stands in its folder for skills goes first.
COLLECTED = ("skills/**/SKILL.md", "**/SKILL.md", "**/.*/**/SKILL.md")


class Workshop:
    """Makes the repositories of the corpus, each once with and once without its links."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        self.corpus = corpus
        self.folder = folder
        self._made: dict[tuple[str, bool], GitRepo] = {}

    def make_all(self, names: list[str], *, links: bool) -> None:
        """Make several at once; most of the time goes to git's own processes."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: self.repository(name, links=links), names))

    def repository(self, name: str, *, links: bool) -> GitRepo:
        """The bare repository of `owner/name`."""
        if (name, links) not in self._made:
            place = self.folder / ("links" if links else "plain") / name
            self._made[name, links] = materialize(self.corpus, name, place, links=links)
        return self._made[name, links]


class Company:
    """A scenario in a running registry, and what should come of it. Ids are `github.com/<owner>/<name>`."""

    def __init__(self, workshop: Workshop, name: str, folder: Path, resources: ExitStack, *, links: bool) -> None:
        self.plan = scenario(workshop.corpus, name)
        workshop.make_all([*self.plan["central"], *self.plan["services"]], links=links)
        self.central, self.central_paths = _central(workshop, self.plan["central"], folder / "central", links=links)
        self.globs = {each: (*USUAL, *ELSEWHERE.get(each, ())) for each in self.plan["services"]}
        self.repositories = {each: workshop.repository(each, links=links) for each in self.plan["services"]}
        self.links = links
        self._resources = resources
        self._shared: tuple[str | None, Side] | None = None
        settings = Settings(
            data_dir=folder / "data",
            central_url=self.central.url,
            central_paths=self.central_paths,
            allow_file_remotes=True,
            poll_interval_s=3600,
        )
        self.world = resources.enter_context(opened(folder / "world", settings))
        self.services = self.world.services
        eventually(self._is_central_read, WAIT_S)
        self.sides = {each: self._side(repo, self.globs[each]) for each, repo in self.repositories.items()}
        self.views = self._register_all()

    @property
    def shared(self) -> Side:
        """What central holds now."""
        head = self.central.head()
        if self._shared is None or self._shared[0] != head:
            self._shared = head, self._side(self.central, self.central_paths or USUAL)
        return self._shared[1]

    def catalog(self, service: str | None) -> dict:
        """The catalog of a service; None is central's own."""
        return json.loads(self.services.catalogs.current(id_of(service) if service else None).body)

    def problems(self, service: str | None) -> list[dict]:
        """What is said of a repository's files."""
        identity = id_of(service) if service else self.services.in_force.view.central
        return self.services.problems.of(identity)["problems"]

    def explain(self, name: str, service: str) -> dict:
        """Why a copy serves a service and no other."""
        return self.services.catalogs.explain(name, id_of(service))

    def found(self, text: str, service: str) -> list[str]:
        """The names that a search in a service's catalog finds, best first."""
        results = self.services.search.search(id_of(service), text, limit=50)["results"]
        return [row["name"] for row in results]

    def _register_all(self) -> dict[str, dict]:
        """Register every service and wait until all are read; their views."""
        for service, repo in self.repositories.items():
            globs = self.globs[service] if service in ELSEWHERE else None
            request = RegistrationRequest(repo.url, service.partition("/")[0], paths=globs)
            self.services.repositories.register(ADMIN, id_of(service), request, 0)
        eventually(self._are_read, WAIT_S)
        return {service: self.services.repositories.get(id_of(service)) for service in self.repositories}

    def _is_central_read(self) -> bool:
        self.services.refresh()
        return self.services.in_force.view.central in self.services.in_force.view.pointers

    def _are_read(self) -> bool:
        self.services.refresh()
        statuses = self.services.in_force.view.statuses
        return all(id_of(each) in statuses and statuses[id_of(each)].handled for each in self.repositories)

    def _side(self, repo: GitRepo, globs: tuple[str, ...]) -> Side:
        blobs = Blobs(repo)
        self._resources.callback(blobs.close)
        return side_of(tree_of(repo, blobs), globs)


def _central(
    workshop: Workshop, collections: list[str], place: Path, *, links: bool
) -> tuple[GitRepo, tuple[str, ...]]:
    """The one central repository that collections make, and where its skills are."""
    repositories = {each: workshop.repository(each, links=links) for each in collections}
    if len(collections) > 1:
        parts = {each.replace("/", "-"): repo for each, repo in repositories.items()}
        return merged(parts, place), tuple(f"{folder}/{glob}" for folder in parts for glob in COLLECTED)
    [(name, repo)] = repositories.items()
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(place))
    return GitRepo(place), ("plugins/*/skills/**/SKILL.md",) if name == "wshobson/agents" else ()


def id_of(service: str) -> str:
    """The id of a repository of the corpus."""
    return f"github.com/{service.lower()}"


Row = tuple[str | None, str, str | None, str | None]


def served(catalog: dict) -> dict[str, Row]:
    """Name -> (kind of the source, outcome, path, digest of the bytes) of what a catalog says."""
    rows: dict[str, Row] = {row["name"]: (None, row["outcome"], None, None) for row in catalog["unavailable"]}
    for entry in catalog["entries"]:
        source = entry["source"]
        rows[entry["name"]] = (source["kind"], entry["decision"]["outcome"], source["path"], source["blob"])
    return rows


def expected(central: Side, local: Side | None, **rules: list[str]) -> dict[str, Row]:
    """The same of what a catalog should say."""
    rows: dict[str, Row] = {}
    for name, verdict in verdicts(central, local, **rules).items():
        skill = verdict.skill
        rows[name] = (verdict.by, verdict.outcome, skill.path if skill else None, skill.digest if skill else None)
    return rows


def differences(company: Company, **rules: list[str]) -> dict[str | None, dict]:
    """Service -> what its catalog and the rules say differently, name by name."""
    central = company.shared
    found: dict[str | None, dict] = {}
    for service in (None, *company.repositories):
        says = served(company.catalog(service))
        should = expected(central, company.sides[service] if service else None, **rules)
        names = [name for name in sorted(says.keys() | should.keys()) if says.get(name) != should.get(name)]
        if names:
            found[service] = {name: (says.get(name), should.get(name)) for name in names}
    return found


def workshop_in(folder: Path) -> Workshop:
    """A workshop over the corpus, unpacked in a folder; skips the test where there is no corpus."""
    if not ARCHIVE.is_file():
        pytest.skip(f"the corpus is not on this machine: {ARCHIVE} is missing")
    return Workshop(unpack(folder), folder / "git")


@contextmanager
def company_of(name: str, workshop: Workshop, folder: Path, *, links: bool) -> Iterator[Company]:
    """A scenario in a running registry."""
    with ExitStack() as resources:
        yield Company(workshop, name, folder, resources, links=links)
