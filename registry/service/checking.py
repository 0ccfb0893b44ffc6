"""Checking a copy of a repository before its playbooks reach the registry: by the reading that a sync would do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policies.decision import Outcome
from registry.catalog.revision import Revision
from registry.digest import Json
from registry.playbook.model import Level, Problem
from registry.ports import GitSource
from registry.sync.source import ReadingCache, SourcePlan, read_source

_REQUIRED_OUTCOMES = frozenset({Outcome.REQUIRED_BROKEN.value, Outcome.REQUIRED_MISSING.value})


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found: how many playbooks would be served, and the problems sorted by place."""

    role: str
    playbooks: int
    problems: tuple[Problem, ...]

    def count(self, level: Level) -> int:
        """How many problems there are of that level."""
        return sum(problem.level is level for problem in self.problems)

    def passes(self, *, strict: bool) -> bool:
        """Whether nothing stands against merging: no error, and if `strict` no warning either."""
        return not self.count(Level.ERROR) and not (strict and self.count(Level.WARNING))

    def to_json(self) -> dict[str, Json]:
        """The report as `registry check --format json` writes it; problems as on the wire, without `held`."""
        return {
            "role": self.role,
            "playbooks": self.playbooks,
            "errors": self.count(Level.ERROR),
            "warnings": self.count(Level.WARNING),
            "infos": self.count(Level.INFO),
            "problems": [problem.to_json() for problem in self.problems],
        }


def check(source: GitSource, plan: SourcePlan, required: Iterable[str] = ()) -> Report:
    """What a sync of `source` would find, without any history and without what served before.

    `required` are the names that are required in this repository; a service repository's own copy of one is the error
    `shadows-required` (playbook-format.md, Problems). Raises from the SourceFault tree.
    """
    read = read_source(source, source.poll(), plan, None, ReadingCache())
    if read is None:
        return Report(plan.role.value, 0, ())
    problems = [*read.revision.problems, *_shadows(read.revision, frozenset(required))]
    return Report(
        plan.role.value,
        sum(copy.head is not None for copy in read.revision.copies),
        tuple(sorted(problems, key=lambda item: (item.path, item.line, item.column, item.code))),
    )


def required_names(catalog: Mapping[str, Json]) -> frozenset[str]:
    """The names that a catalog of the wire says are required; waived ones are not among them."""
    serving = {str(item["name"]) for item in _objects(catalog.get("entries")) if item.get("required") is True}
    missing = {
        str(item["name"])
        for item in _objects(catalog.get("unavailable"))
        if item.get("required") is True or item.get("outcome") in _REQUIRED_OUTCOMES
    }
    return frozenset(serving | missing)


def _shadows(revision: Revision, required: frozenset[str]) -> list[Problem]:
    if revision.kind == "central":
        return []
    return [
        Problem(
            "shadows-required",
            Level.ERROR,
            copy.path,
            1,
            1,
            f"{copy.name} is required, so this copy is refused; yet an agent that reads the file by itself would "
            "follow it: rename it, delete it, or ask the platform team for a waiver.",
            copy.name,
        )
        for copy in revision.copies
        if copy.name in required
    ]


def _objects(value: Json) -> list[Mapping[str, Json]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
