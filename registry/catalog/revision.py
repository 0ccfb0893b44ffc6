"""A revision: everything the merge needs to know of one source at one commit, as immutable bytes with a digest."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from sys import intern
from typing import cast

from policies import rules
from policies.decision import CopyState
from policies.rules import RuleSet
from registry.digest import Json, canonical
from registry.names import fold_tag
from registry.playbook.model import Level, Playbook, Problem


@dataclass(frozen=True, slots=True)
class Source:
    """Where a copy was read: `kind` is central or local, `commit` the commit whose bytes these are."""

    kind: str
    repository: str
    commit: str
    path: str
    blob: str

    def to_json(self) -> dict[str, Json]:
        """The wire's `source` member."""
        return {
            "kind": self.kind,
            "repository": self.repository,
            "commit": self.commit,
            "path": self.path,
            "blob": self.blob,
        }


@dataclass(frozen=True, slots=True)
class Held:
    """Why an earlier good copy serves: the commit it is from, and the problem of the newest file."""

    commit: str
    problem: Problem

    def to_json(self) -> dict[str, Json]:
        """The wire's `held` member."""
        return {"commit": self.commit, "problem": self.problem.to_json()}


@dataclass(frozen=True, slots=True)
class Head:
    """What a catalog shows of one copy: enough to choose it, and the digest that pins its document."""

    name: str
    title: str
    version: str
    digest: str
    document: str
    source: Source
    owner: str | None
    tags: tuple[str, ...]
    purpose: str
    not_for: tuple[str, ...]
    deprecated: Mapping[str, Json] | None
    held: Held | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """One name in one source: its state for the merge, and the head that serves where there is one.

    `says_required` is what the copy itself says (front matter), or for a broken file what it last said; it counts in
    central alone. `problem` is why the newest file did not load. `fields` are the top-level fields that the document
    carries, for publication rules.
    """

    name: str
    state: CopyState
    head: Head | None
    says_required: bool = False
    problem: Problem | None = None
    path: str = ""
    fields: tuple[str, ...] = ()

    @property
    def digest(self) -> str | None:
        """The digest of the document that serves, or None."""
        return None if self.head is None else self.head.digest


@dataclass(frozen=True, slots=True)
class Revision:
    """One source at one commit. Equal files give equal bytes, and so one digest, on any machine.

    `commit` is the head at which the playbooks or the policy file last changed as this registry read it. `copies` are
    sorted by name. `policy` is the last good policy file's rules (central alone); what is wrong with the newest one
    stands among `problems`. `loader` names the version of the rules that read the files, `fingerprint` everything
    that was read: while both stay the same, there is nothing to read again.
    """

    repository: str
    kind: str
    ref: str
    commit: str
    loader: str
    fingerprint: str
    copies: tuple[Copy, ...]
    problems: tuple[Problem, ...]
    policy: RuleSet | None = None

    def to_bytes(self) -> bytes:
        """Canonical JSON of the revision."""
        return canonical(self.to_json())

    def to_json(self) -> dict[str, Json]:
        """The revision as plain data."""
        return _revision_json(self)

    def copy(self, name: str) -> Copy | None:
        """The copy of that key, or None."""
        return next((copy for copy in self.copies if copy.name == name), None)


def path_of(copy: Copy) -> str:
    """The copy's newest file, relative to its repository's root."""
    return copy.path or (copy.head.source.path if copy.head is not None else "")


def folded_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags as rules compare them; a copy keeps its own spelling for people."""
    return tuple(fold_tag(tag) for tag in tags)


def head_of(playbook: Playbook, source: Source, held: Held | None = None) -> Head:
    """The head of a parsed playbook that was read from `source`."""
    return Head(
        name=playbook.key,
        title=playbook.title,
        version=playbook.version,
        digest=playbook.digest,
        document=playbook.document,
        source=source,
        owner=playbook.owner,
        tags=playbook.tags,
        purpose=playbook.purpose,
        not_for=playbook.not_for,
        deprecated=playbook.deprecated,
        held=held,
    )


def read_revision(body: bytes) -> Revision:
    """The revision that `to_bytes` wrote. Raises KeyError, TypeError or ValueError for other bytes."""
    data = json.loads(body)
    policy = data.get("policy")
    return Revision(
        repository=data["repository"],
        kind=data["kind"],
        ref=data["ref"],
        commit=data["commit"],
        loader=data["loader"],
        fingerprint=data["fingerprint"],
        copies=tuple(_read_copy(item) for item in data["copies"]),
        problems=tuple(read_problem(item) for item in data["problems"]),
        policy=None if policy is None else rules.from_json(policy),
    )


def scan_copies(body: bytes, names: Collection[str]) -> tuple[frozenset[str], tuple[Copy, ...]]:
    """(the names of all copies, the copies of `names`) of a stored revision, without making its other objects."""
    copies = json.loads(body)["copies"]
    found = tuple(_read_copy(item) for item in copies if item["name"] in names)
    return frozenset(intern(str(item["name"])) for item in copies), found


def head_json(head: Head) -> dict[str, Json]:
    """A head as a revision stores it; the snapshot adds what the merge decided."""
    return {
        "name": head.name,
        "title": head.title,
        "version": head.version,
        "digest": head.digest,
        "document": head.document,
        "source": head.source.to_json(),
        "owner": head.owner,
        "tags": list(head.tags),
        "purpose": head.purpose,
        "not_for": list(head.not_for),
        "deprecated": head.deprecated,
        "held": None if head.held is None else head.held.to_json(),
    }


def read_problem(item: Mapping[str, object]) -> Problem:
    """The problem that `Problem.to_json` wrote."""
    name = item.get("name")
    return Problem(
        code=cast("str", item["code"]),
        level=Level(cast("str", item["level"])),
        path=cast("str", item["path"]),
        line=cast("int", item["line"]),
        column=cast("int", item["column"]),
        message=cast("str", item["message"]),
        name=None if name is None else str(name),
    )


def _revision_json(revision: Revision) -> dict[str, Json]:
    return {
        "repository": revision.repository,
        "kind": revision.kind,
        "ref": revision.ref,
        "commit": revision.commit,
        "loader": revision.loader,
        "fingerprint": revision.fingerprint,
        "copies": [
            {
                "name": copy.name,
                "state": copy.state.value,
                "head": None if copy.head is None else head_json(copy.head),
                "says_required": copy.says_required,
                "problem": None if copy.problem is None else copy.problem.to_json(),
                "path": copy.path,
                "fields": list(copy.fields),
            }
            for copy in revision.copies
        ],
        "problems": [problem.to_json() for problem in revision.problems],
        "policy": None if revision.policy is None else cast("Json", rules.to_json(revision.policy)),
    }


def _read_copy(item: Mapping[str, object]) -> Copy:
    head, problem = item["head"], item["problem"]
    return Copy(
        name=cast("str", item["name"]),
        state=CopyState(cast("str", item["state"])),
        head=None if head is None else _read_head(cast("Mapping[str, object]", head)),
        says_required=cast("bool", item["says_required"]),
        problem=None if problem is None else read_problem(cast("Mapping[str, object]", problem)),
        path=cast("str", item["path"]),
        fields=tuple(cast("list[str]", item["fields"])),
    )


def _read_head(item: Mapping[str, object]) -> Head:
    source = cast("Mapping[str, str]", item["source"])
    held = cast("Mapping[str, object] | None", item["held"])
    return Head(
        name=cast("str", item["name"]),
        title=cast("str", item["title"]),
        version=cast("str", item["version"]),
        digest=cast("str", item["digest"]),
        document=cast("str", item["document"]),
        source=Source(source["kind"], source["repository"], source["commit"], source["path"], source["blob"]),
        owner=cast("str | None", item["owner"]),
        tags=tuple(cast("list[str]", item["tags"])),
        purpose=cast("str", item["purpose"]),
        not_for=tuple(cast("list[str]", item["not_for"])),
        deprecated=cast("Mapping[str, Json] | None", item["deprecated"]),
        held=None
        if held is None
        else Held(cast("str", held["commit"]), read_problem(cast("Mapping[str, object]", held["problem"]))),
    )
