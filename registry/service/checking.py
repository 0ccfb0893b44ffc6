"""Checking a copy of a repository before its playbooks reach the registry: by the reading that a sync would do."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date

from policies.rules import PublicationRules, RuleSet
from registry.catalog.attention import all_problems, attention_of
from registry.catalog.codeowners import (
    CODEOWNERS_BYTES_MAX,
    CODEOWNERS_PLACES,
    CodeOwners,
    owner_remarks,
    read_codeowners,
)
from registry.catalog.hygiene import (
    NOBODY,
    Neighbours,
    Subject,
    catalog_remarks,
    definitions_of,
    neighbours,
    subject_of,
)
from registry.catalog.merge import central_part
from registry.catalog.revision import Head, Revision
from registry.catalog.versions import version_remarks
from registry.digest import Json
from registry.playbook.model import Level, Problem
from registry.ports import GitSource, RemoteHead, Role
from registry.service.consequences import effect_problems, refused_names, rows_of
from registry.service.effects import central_effect, service_effect
from registry.service.selecting import evaluate_selection, from_entries, from_heads
from registry.sync.readings import ReadingCache
from registry.sync.source import SourcePlan, read_source

CASES_MAX = 500
"""Selection cases that one check tries, its own first: somebody waits for it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem; `is_new` says whether the change brought it, None where nothing was compared."""

    problem: Problem
    is_new: bool | None = None

    def to_json(self) -> dict[str, Json]:
        """The problem as on the wire, without `held`, and `new` where something was compared."""
        new: dict[str, Json] = {} if self.is_new is None else {"new": self.is_new}
        return {**self.problem.to_json(), **new}


@dataclass(frozen=True, slots=True)
class Base:
    """What a working copy was compared with: the ref that was named, and the commit that both have in common."""

    ref: str
    commit: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found: how many playbooks would be served, the problems sorted by place, and what would change.

    `effect` is the answer of `POST /v1/preview`, or without a registry its part that needs none; `selection` the
    report on selection cases, over the catalog that would result.
    """

    role: str
    playbooks: int
    findings: tuple[Finding, ...]
    base: Base | None = None
    effect: Mapping[str, Json] | None = None
    selection: Mapping[str, Json] | None = None
    names: frozenset[str] = frozenset()
    """The playbooks whose selection cases matter to who reads it: all of its own, or with a base the changed ones."""

    def count(self, level: Level, *, old: bool = False) -> int:
        """How many problems there are of that level, or of those that were there before the change."""
        return sum(item.problem.level is level and not (old and item.is_new is not False) for item in self.findings)

    def passes(self, *, strict: bool) -> bool:
        """Whether nothing stands against merging: no error, and if `strict` no warning either.

        An error counts whoever brought it. A warning that was there before the change does not.
        """
        warnings = self.count(Level.WARNING) - self.count(Level.WARNING, old=True)
        return not self.count(Level.ERROR) and not (strict and warnings)

    def to_json(self) -> dict[str, Json]:
        """The report as `registry check --format json` writes it."""
        return {
            "role": self.role,
            "playbooks": self.playbooks,
            "errors": self.count(Level.ERROR),
            "warnings": self.count(Level.WARNING),
            "infos": self.count(Level.INFO),
            "base": None if self.base is None else {"ref": self.base.ref, "commit": self.base.commit},
            "problems": [item.to_json() for item in self.findings],
            "effect": self.effect,
            "selection": self.selection,
        }


@dataclass(frozen=True, slots=True)
class Copies:
    """A source as it was read for a check: its revision, the documents of its copies, and who owns its files."""

    revision: Revision
    documents: Mapping[str, bytes]
    codeowners: CodeOwners | None

    @property
    def heads(self) -> list[Head]:
        """The heads of the copies that serve or would."""
        return [copy.head for copy in self.revision.copies if copy.head is not None]


def read_copies(
    source: GitSource, plan: SourcePlan, previous: Revision | None = None, cache: ReadingCache | None = None
) -> Copies:
    """What a sync of `source` would read after `previous`. Raises from the SourceFault tree."""
    head = source.poll()
    # What the files are made of is compared by nobody here: the source is read, whatever it has in common.
    before = None if previous is None else replace(previous, fingerprint="")
    read = read_source(source, head, plan, before, cache or ReadingCache())
    if read is None:
        raise AssertionError("a source was taken for one that was read before")
    return Copies(read.revision, read.documents, _codeowners(source, head))


def check(
    now: Copies,
    base: Copies | None = None,
    *,
    central: Sequence[Json] = (),
    asked_for: Collection[str] = (),
    effect: Mapping[str, Json] | None = None,
) -> tuple[Finding, ...]:
    """Everything that is to be said of the files, sorted by place, and with a base what of it is new.

    `central` are the entries of central's own catalog with contracts, which a service's playbooks are compared with;
    `asked_for` are the fields that the central policy file asks them for; `effect` is what the registry said of the
    change.
    """
    around = _Around(
        neighbours(central_subjects(central)) if central else NOBODY, PublicationRules(frozenset(asked_for))
    )
    told = effect_problems(effect, now.revision)
    found = [*_problems(now, around, refused_names(effect))]
    if base is None:
        findings = [Finding(problem) for problem in (*found, *(problem for problem, _ in told))]
    else:
        kept = {str(row.get("name")) for row in rows_of(effect, "refused") if row.get("new") is False}
        before = Counter(_identity(item) for item in _problems(base, around, kept))
        findings = [*_compared(found, before), *(Finding(problem, is_new) for problem, is_new in told)]
        findings += [Finding(problem, is_new=True) for problem in version_remarks(base.heads, now.heads)]
    return tuple(sorted(findings, key=lambda item: _place(item.problem)))


def select(now: Copies, central: Sequence[Json], effect: Mapping[str, Json] | None) -> dict[str, Json]:
    """The report on the selection cases of the catalog that would result, this copy's own cases first."""
    refused = refused_names(effect)
    own = from_heads((head for head in now.heads if head.name not in refused), now.documents)
    return evaluate_selection([*from_entries(central), *own], first={item.name for item in own}, cases_max=CASES_MAX)


def effect_alone(before: Revision, after: Revision, on: date) -> dict[str, Json]:
    """The effect as far as it needs no registry: what changes in this source, and for central in its rules."""
    about: dict[str, Json] = {
        "repository": None,
        "role": Role.CENTRAL.value if after.kind == "central" else Role.SERVICE.value,
        "compared_with": "base",
    }
    if after.kind == "central":
        return {**about, **central_effect(before, after, RuleSet(), on, None)}
    nobody = replace(after, kind="central", copies=(), policy=None)
    part = central_part(nobody, RuleSet(), on)
    return {**about, **service_effect(part, RuleSet(), after.repository, before, after)}


def central_subjects(entries: Sequence[Json]) -> list[Subject]:
    """The playbooks of central's own catalog as they are compared with a service's, from entries with contracts."""
    found = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        source, contract, deprecated = entry.get("source"), entry.get("contract"), entry.get("deprecated")
        where = source if isinstance(source, Mapping) else {}
        found.append(
            Subject(
                name=str(entry.get("name")),
                repository=str(where.get("repository")),
                path=str(where.get("path")),
                kind="central",
                purpose=str(entry.get("purpose")),
                deprecated=deprecated if isinstance(deprecated, Mapping) else None,
                tools=definitions_of(contract) if isinstance(contract, Mapping) else {},
            )
        )
    return found


def touched_names(effect: Mapping[str, Json] | None) -> frozenset[str]:
    """The names of the source's own playbooks that a change adds, changes or lets serve."""
    sorts = ("added", "changed", "mended", "freed", "waived", "shadowing")
    return frozenset(str(row.get("name")) for sort in sorts for row in rows_of(effect, sort))


def fingerprint(problem: Problem) -> str:
    """What stays the same of a problem while lines move: 32 hexadecimal digits."""
    return hashlib.sha256("\0".join(_identity(problem)).encode("utf-8", "replace")).hexdigest()[:32]


def _identity(problem: Problem) -> tuple[str, ...]:
    return problem.code, problem.path, problem.name or "", problem.message


def _place(problem: Problem) -> tuple[str, int, int, str]:
    return problem.path, problem.line, problem.column, problem.code


def _compared(found: Sequence[Problem], before: Counter[tuple[str, ...]]) -> Iterator[Finding]:
    """Each problem with whether it is new; of equal ones the first are those that were there."""
    for problem in found:
        identity = _identity(problem)
        yield Finding(problem, is_new=not before[identity])
        if before[identity]:
            before[identity] -= 1


@dataclass(frozen=True, slots=True)
class _Around:
    """What a source's files are judged beside: central's playbooks, and what its policy file asks for."""

    neighbours: Neighbours
    publication: PublicationRules


def _problems(copies: Copies, around: _Around, refused: Collection[str]) -> tuple[Problem, ...]:
    """What the files show, and what their catalog shows of them."""
    serving = [head for head in copies.heads if head.name not in refused and head.digest in copies.documents]
    subjects = [subject_of(head, definitions_of(json.loads(copies.documents[head.digest]))) for head in serving]
    remarks = [*catalog_remarks(subjects, around.neighbours), *owner_remarks(copies.codeowners, copies.heads)]
    said = all_problems(attention_of(copies.revision), remarks, around.publication)
    return tuple(problem for problem, _ in said)


def _codeowners(source: GitSource, head: RemoteHead) -> CodeOwners | None:
    with closing(source.read(head.commit)) as tree:
        for place in CODEOWNERS_PLACES:
            blob = tree.blob_id(place)
            if blob is not None:
                data = tree.read_blob(blob, CODEOWNERS_BYTES_MAX)
                return read_codeowners(place, data) if isinstance(data, bytes) else None
    return None
