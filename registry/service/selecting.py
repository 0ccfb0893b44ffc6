"""Selection cases: whether the tasks that playbooks write down find them, and their near misses do not.

Judged by the search's own ranking over exactly the playbooks given, each case without its own text in them
(indexer.rehearsal). What comes out is reported and stands against nothing: a case may be hard, and the other
playbook right.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Final, cast

from indexer.document import Document
from indexer.evals import Figures, Placed, SelectionCase, SelectionReport, report_selection
from indexer.rehearsal import Rehearsal
from registry.catalog.documents import CENTRAL_SCOPE, document_of, near_misses, scope_of
from registry.catalog.revision import Head
from registry.digest import Json

CASES_MAX: Final = 5_000
"""Cases that one report asks."""
PAIRS_MAX: Final = 1_000_000
"""Cases times playbooks of one report: each case is compared with each playbook, a million in about a second."""
CASE_CHARACTERS_MAX: Final = 2_000
"""Characters of a case that is asked: what is longer is no task in somebody's words."""
CHARACTERS_MAX: Final = 1_000_000
"""Characters of all cases that one report asks."""
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Selectable:
    """A playbook that serves in the catalog to judge; `scope` comes from `registry.catalog.documents.scope_of`."""

    name: str
    digest: str
    contract: Mapping[str, Json] = field(repr=False)
    scope: str = CENTRAL_SCOPE

    @property
    def document(self) -> Document:
        """What the index holds of it."""
        return document_of(self.contract, scope=self.scope, digest=self.digest, key=self.name)


def from_heads(heads: Iterable[Head], documents: Mapping[str, bytes]) -> list[Selectable]:
    """The playbooks of heads that serve; `documents` are bytes by digest, and a head without its own is left out."""
    return [
        Selectable(head.name, head.digest, json.loads(documents[head.digest]), _scope(head))
        for head in heads
        if head.digest in documents
    ]


def from_entries(entries: Iterable[Json]) -> list[Selectable]:
    """The playbooks of the entries of a catalog on the wire, read with `view=full`; others are left out."""
    found = []
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(contract := entry.get("contract"), Mapping):
            continue
        source = entry.get("source")
        where = source if isinstance(source, Mapping) else {}
        scope = scope_of(str(where.get("kind")), str(where.get("repository")))
        found.append(Selectable(str(entry.get("name")), str(entry.get("digest")), contract, scope))
    return found


def evaluate_selection(
    playbooks: Iterable[Selectable],
    *,
    first: Collection[str] = (),
    cases_max: int = CASES_MAX,
    pairs_max: int = PAIRS_MAX,
    characters_max: int = CHARACTERS_MAX,
) -> dict[str, Json]:
    """The report on all selection cases of a catalog, as JSON; it depends on nothing but the catalog.

    Of several playbooks with one name the last one counts. Where there are more cases than the limits allow, all those
    of the playbooks named in `first` are asked before others, of which each has its turn; `not_run` counts the rest,
    and those that are too long.
    """
    by_name = dict(sorted({playbook.name: playbook for playbook in playbooks}.items()))
    documents = [playbook.document for playbook in by_name.values()]
    cases = [
        _cases(document, near_misses(playbook.contract))
        for document, playbook in zip(documents, by_name.values(), strict=True)
    ]
    most = min(cases_max, pairs_max // max(1, len(documents)))
    asked = _within(_in_turn(cases, first), most, characters_max)
    report = report_selection(asked, Rehearsal(documents).place)
    return _report_json(report, playbooks=len(documents), not_run=sum(map(len, cases)) - len(asked))


def _scope(head: Head) -> str:
    return scope_of(head.source.kind, head.source.repository)


def _cases(document: Document, misses: Sequence[str]) -> list[SelectionCase]:
    """Tasks and near misses in turn, so that a limit leaves some of both; a text that is written twice is one case."""
    tasks = (SelectionCase(document.name, text) for text in dict.fromkeys(document.tasks))
    near = (SelectionCase(document.name, text, is_near_miss=True) for text in dict.fromkeys(misses))
    return [case for pair in zip_longest(tasks, near) for case in pair if case is not None]


def _in_turn(cases: Iterable[Sequence[SelectionCase]], first: Collection[str]) -> Iterator[SelectionCase]:
    """All cases of the playbooks in `first`, then one of each of the others, and another one of each."""
    ahead = [own for own in cases if own and own[0].playbook in first]
    others = [own for own in cases if own and own[0].playbook not in first]
    rounds = (case for turn in zip_longest(*others) for case in turn if case is not None)
    return chain(chain.from_iterable(ahead), rounds)


def _within(cases: Iterable[SelectionCase], cases_max: int, characters_max: int) -> list[SelectionCase]:
    asked: list[SelectionCase] = []
    left = characters_max
    for case in cases:
        if len(asked) < cases_max and len(case.text) <= min(left, CASE_CHARACTERS_MAX):
            asked.append(case)
            left -= len(case.text)
    return asked


def _report_json(report: SelectionReport, *, playbooks: int, not_run: int) -> dict[str, Json]:
    overall = report.overall
    return {
        "playbooks": playbooks,
        "cases": overall.tasks + overall.near_misses,
        "not_run": not_run,
        **_figures_json(overall),
        "missed": [_missed_json(one) for one in report.missed],
        "attracted": [_attracted_json(one) for one in report.attracted],
        "takings": [{"by": one.taker, "from": one.loser, "tasks": one.tasks} for one in report.takings],
        "by_playbook": [{"name": name, **_figures_json(figures)} for name, figures in report.by_playbook.items()],
    }


def _figures_json(figures: Figures) -> dict[str, Json]:
    return {
        "tasks": {
            "cases": figures.tasks,
            "recall_at_1": _rounded(figures.recall_at_1),
            "recall_at_5": _rounded(figures.recall_at_5),
            "mrr": _rounded(figures.mrr),
        },
        "near_misses": {
            "cases": figures.near_misses,
            "first": _rounded(figures.attracted),
            "within_5": _rounded(figures.attracted_at_5),
        },
    }


def _missed_json(one: Placed) -> dict[str, Json]:
    return {
        "playbook": one.case.playbook,
        "task": one.case.text,
        "rank": one.placing.rank,
        "taken_by": one.placing.first,
        "claimed_by": _others(one),
    }


def _attracted_json(one: Placed) -> dict[str, Json]:
    return {
        "playbook": one.case.playbook,
        "task": one.case.text,
        "rank": one.placing.rank,
        "belongs_to": _others(one),
    }


def _others(one: Placed) -> list[Json]:
    """The other playbooks that have the text among their own tasks."""
    return cast("list[Json]", [name for name in one.placing.holders if name != one.case.playbook])


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, _DIGITS)
