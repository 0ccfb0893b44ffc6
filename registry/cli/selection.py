"""Selection reports for people: a line of figures, then the cases that want a look, the worst first."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from registry.cli.terminal import bad, doubtful, faint, good, shown

SHOWN_MAX = 10
TAKINGS_SHOWN_MAX = 3
TEXT_SHOWN_MAX = 100
WITHIN = 5
"""How far down a list a playbook counts as found, as the report counts."""


def selection_lines(
    report: Mapping[str, Any], *, about: Collection[str] | None = None, shown_max: int = SHOWN_MAX
) -> list[str]:
    """A report as lines for a terminal, styled; none where there is no case.

    With `about` only cases that touch one of these playbooks are listed: its own, and those of others that it takes.
    The figures are over all cases in any way.
    """
    if not report["cases"] and not report["not_run"]:
        return []
    failing = [line for touched, line in _failing(report) if about is None or not touched.isdisjoint(about)]
    lines = [_summary(report), *failing[:shown_max]]
    if len(failing) > shown_max:
        lines.append(faint(f"  and {len(failing) - shown_max} more; as JSON all of them are there"))
    if takings := _takings(report, about):
        lines.append(faint(f"  taken most: {takings}"))
    if report["not_run"]:
        lines.append(
            doubtful(
                f"  {_many(report['not_run'], 'case')} not tried: a report tries {report['cases']:,} here, and none "
                "over 2,000 characters"
            )
        )
    return lines


def _summary(report: Mapping[str, Any]) -> str:
    tasks, near_misses = report["tasks"], report["near_misses"]
    parts = []
    if tasks["cases"]:
        found = round(tasks["recall_at_1"] * tasks["cases"])
        within = round(tasks["recall_at_5"] * tasks["cases"])
        text = f"{found} of {_many(tasks['cases'], 'task')} find their playbook first, {within} within {WITHIN}"
        parts.append(good(text) if found == tasks["cases"] else text)
    if near_misses["cases"]:
        first = round(near_misses["first"] * near_misses["cases"])
        text = f"{first} of {_many(near_misses['cases'], 'near miss')} find it first"
        parts.append(good(text) if not first else text)
    return f"selection cases: {'; '.join(parts)}" if parts else "selection cases:"


def _failing(report: Mapping[str, Any]) -> Iterator[tuple[frozenset[str], str]]:
    """(the playbooks that it touches, a line) of each case that fails, what hurts an agent most first."""
    missed: Sequence[Mapping[str, Any]] = report["missed"]
    yield from (_missed(case) for case in missed if case["rank"] is None or case["rank"] > WITHIN)
    yield from (_attracted(case) for case in report["attracted"] if case["rank"] == 1)
    yield from (_missed(case) for case in missed if case["rank"] is not None and case["rank"] <= WITHIN)


def _takings(report: Mapping[str, Any], about: Collection[str] | None) -> str:
    """The playbooks that take more than one task of another one, in words; one alone is a line already."""
    pairs = [
        f"{shown(pair['by'])} takes {pair['tasks']} from {shown(pair['from'])}"
        for pair in report["takings"]
        if pair["tasks"] > 1 and (about is None or pair["by"] in about or pair["from"] in about)
    ]
    return ", ".join(pairs[:TAKINGS_SHOWN_MAX])


def _missed(case: Mapping[str, Any]) -> tuple[frozenset[str], str]:
    own, taker, rank = case["playbook"], case["taken_by"], case["rank"]
    touched = frozenset({own, taker} - {None})
    if taker is None:
        return touched, f"  {bad('not found')}  {shown(own)}: {_text(case)} finds nothing without its own words"
    place = bad("not found") if rank is None else bad(f"rank {rank}") if rank > WITHIN else doubtful(f"rank {rank}")
    taken = f"{shown(taker)} comes first"
    if taker in case["claimed_by"]:
        taken = f"{taken}, which lists the same task"
    return touched, f"  {place}  {shown(own)}: {_text(case)}; {taken}"


def _attracted(case: Mapping[str, Any]) -> tuple[frozenset[str], str]:
    owners = " and ".join(shown(name) for name in case["belongs_to"])
    wanted = f"; it is a task of {owners}" if owners else ""
    return frozenset({case["playbook"]}), (
        f"  {bad('near miss')}  {shown(case['playbook'])} comes first for {_text(case)}{wanted}"
    )


def _text(case: Mapping[str, Any]) -> str:
    text = shown(case["task"])
    return f'"{text}"' if len(text) <= TEXT_SHOWN_MAX else f'"{text[:TEXT_SHOWN_MAX]}…"'


def _many(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
