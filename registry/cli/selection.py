"""Selection reports for people: a line of figures, then the cases that want a look, the worst first."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from registry.cli.terminal import bad, doubtful, faint, good, shown

SHOWN_MAX = 10
TAKINGS_SHOWN_MAX = 3
TEXT_SHOWN_MAX = 100
MARK_WIDTH = len("not found")
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
        left = f"{_many(report['not_run'], 'case')} not tried"
        lines.append(doubtful(f"  {left}: too many for one report, or over 2,000 characters long"))
    return lines


def _summary(report: Mapping[str, Any]) -> str:
    tasks, near_misses = report["tasks"], report["near_misses"]
    parts = []
    if tasks["cases"]:
        found = round(tasks["recall_at_1"] * tasks["cases"])
        within = round(tasks["recall_at_5"] * tasks["cases"])
        finds = "finds its" if tasks["cases"] == 1 else "find their"
        text = f"{found} of {_many(tasks['cases'], 'task')} {finds} playbook first, {within} within {WITHIN}"
        parts.append(good(text) if found == tasks["cases"] else text)
    if near_misses["cases"]:
        first = round(near_misses["first"] * near_misses["cases"])
        are = "is" if near_misses["cases"] == 1 else "are"
        text = f"{first} of {_many(near_misses['cases'], 'near miss')} {are} taken for a task"
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
    place = _mark("not found" if rank is None else f"rank {rank}", bad if rank is None or rank > WITHIN else doubtful)
    if taker is None:
        said = f"{_text(case)} shares no word with any playbook once its own text is left out"
    elif taker in case["claimed_by"]:
        said = f"{_text(case)}; {shown(taker)} comes first, which lists the same task"
    else:
        said = f"{_text(case)}; {shown(taker)} comes first"
    return touched, f"  {place}  {shown(own)}: {said}"


def _attracted(case: Mapping[str, Any]) -> tuple[frozenset[str], str]:
    own, owners = case["playbook"], " and ".join(shown(name) for name in case["belongs_to"])
    whose = f", which is a task of {owners}" if owners else ""
    said = f"{shown(own)} comes first for {_text(case)}{whose}"
    return frozenset({own, *case["belongs_to"]}), f"  {_mark('near miss', bad)}  {said}"


def _mark(text: str, style: Callable[[str], str]) -> str:
    return style(text) + " " * (MARK_WIDTH - len(text))


def _text(case: Mapping[str, Any]) -> str:
    text = shown(case["task"])
    return f'"{text}"' if len(text) <= TEXT_SHOWN_MAX else f'"{text[:TEXT_SHOWN_MAX]}…"'


def _many(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
