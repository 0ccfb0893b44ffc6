"""What a workflow run of GitHub Actions shows of a check: annotations at lines, and a summary in Markdown."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from registry.cli.effect import Line
from registry.cli.findings import place_of
from registry.cli.terminal import note, shown
from registry.playbook.model import Level, Problem
from registry.service.checking import Finding, Report

SUMMARY_VARIABLE: Final = "GITHUB_STEP_SUMMARY"
PROBLEMS_SHOWN_MAX: Final = 50

_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "notice"}
_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")


def annotations(report: Report, root: Path) -> Iterator[str]:
    """A workflow command for each error, and for each other problem that the change brought: GitHub shows only ten."""
    for finding in report.findings:
        if _counts(finding):
            yield annotation(finding.problem, place_of(finding.problem, root))


def annotation(problem: Problem, place: str) -> str:
    """A problem as a workflow command, escaped so that no message can say a second one."""
    properties = {"file": place, "line": problem.line, "col": problem.column, "title": problem.code}
    said = ",".join(f"{key}={_escaped(str(value), property=True)}" for key, value in properties.items())
    return f"::{_LEVELS[problem.level]} {said}::{_escaped(problem.message)}"


def write_summary(title: str, report: Report, root: Path, lines: Sequence[Line], selection: Sequence[str]) -> None:
    """Append the summary of the job to the file that GitHub names, if it names one."""
    place = os.environ.get(SUMMARY_VARIABLE)
    if not place:
        return
    try:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write("\n".join(summary(title, report, root, lines, selection)) + "\n")
    except OSError as error:
        note(f"The summary of the job could not be written to {place}: {shown(error.strerror)}.")


def summary(title: str, report: Report, root: Path, lines: Sequence[Line], selection: Sequence[str]) -> Iterator[str]:
    """The summary as lines of Markdown; nothing that repositories say is markup in it."""
    yield "## Playbooks"
    yield ""
    yield "| playbooks | errors | warnings | notes |"
    yield "|---|---|---|---|"
    counts = " | ".join(str(report.count(level)) for level in (Level.ERROR, Level.WARNING, Level.INFO))
    yield f"| {report.playbooks} | {counts} |"
    yield ""
    if lines:
        yield f"### {_plain(title)}"
        yield ""
        yield from (
            f"- **{line.label}** {_plain(line.text)}" if line.label else f"- {_plain(line.text)}" for line in lines
        )
        yield ""
    told = [item for item in report.findings if _counts(item)]
    if told:
        yield "### Problems"
        yield ""
        yield from (_problem(item.problem, root) for item in told[:PROBLEMS_SHOWN_MAX])
        if len(told) > PROBLEMS_SHOWN_MAX:
            yield f"- and {len(told) - PROBLEMS_SHOWN_MAX} more"
        yield ""
    if selection:
        yield "### Selection cases"
        yield ""
        yield from (f"- {_plain(click.unstyle(line).strip())}" for line in selection)
        yield ""


def _counts(finding: Finding) -> bool:
    return finding.problem.level is Level.ERROR or finding.is_new is not False


def _problem(problem: Problem, root: Path) -> str:
    place = f"{place_of(problem, root)}:{problem.line}:{problem.column}"
    return f"- {_plain(place)} **{problem.level.value}** {_plain(problem.code)}: {_plain(problem.message)}"


def _plain(text: str) -> str:
    # CommonMark lets every punctuation character be escaped: what is left is words.
    return _PUNCTUATION.sub(r"\\\1", shown(text))


def _escaped(text: str, *, property: bool = False) -> str:  # noqa: A002 - GitHub's word for it
    signs = "%\r\n:," if property else "%\r\n"
    return "".join(f"%{ord(sign):02X}" if sign in signs else sign for sign in text)
