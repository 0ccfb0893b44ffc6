"""What a list of problems needs of a revision, without making the objects of everything else in it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from policies import publication
from policies.rules import PublicationRules
from registry.catalog.hygiene import with_remarks
from registry.catalog.revision import Copy, Revision, read_problem
from registry.playbook.model import Level, Problem


@dataclass(frozen=True, slots=True)
class Carried:
    """Which top-level fields the document of a name carries, and its file."""

    name: str
    path: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attention:
    """A revision's problems, the paths of which an earlier good copy serves, and what its documents carry."""

    kind: str
    commit: str
    problems: tuple[Problem, ...]
    held: frozenset[str]
    carried: tuple[Carried, ...]


def attention_of(revision: Revision) -> Attention:
    """What a list of problems needs of a revision."""
    return Attention(
        revision.kind,
        revision.commit,
        revision.problems,
        frozenset(copy.path for copy in revision.copies if copy.head is not None and copy.head.held is not None),
        tuple(_carried(copy) for copy in revision.copies),
    )


def read_attention(body: bytes) -> Attention:
    """The same of a revision's bytes. Raises KeyError, TypeError or ValueError for other bytes."""
    data = json.loads(body)
    copies = data["copies"]
    return Attention(
        data["kind"],
        data["commit"],
        tuple(read_problem(item) for item in data["problems"]),
        frozenset(item["path"] for item in copies if item["head"] is not None and item["head"]["held"] is not None),
        tuple(Carried(item["name"], item["path"], tuple(item["fields"])) for item in copies),
    )


def all_problems(
    attention: Attention, remarks: Iterable[Problem], asked: PublicationRules
) -> tuple[tuple[Problem, bool], ...]:
    """Everything that is said of a source, sorted by place, each with whether an earlier good copy of its file serves.

    `remarks` are those beside the revision; `asked` is what the central policy file asks of playbooks.
    """
    problems = with_remarks((*attention.problems, *_advice(attention, asked)), remarks)
    return tuple((item, item.path in attention.held) for item in problems)


def _advice(attention: Attention, asked: PublicationRules) -> list[Problem]:
    """What local playbooks lack that the central policy asks for; central's own do not load then (merge.md)."""
    if attention.kind == "central":
        return []
    return [
        Problem(
            "publication-missing",
            Level.WARNING,
            item.path,
            1,
            1,
            f"{field} is missing, and the central policy file asks for it: add {field}.",
            item.name,
        )
        for item in attention.carried
        if item.fields
        for field in publication.missing(item.fields, asked)
    ]


def _carried(copy: Copy) -> Carried:
    return Carried(copy.name, copy.path, copy.fields)
