"""Problems of a check for people: a line each, those that were there before the change set apart, and the counts."""

from collections.abc import Iterator
from pathlib import Path, PurePath

from registry.cli.catalog import problem_line
from registry.cli.terminal import bad, faint, good, shown
from registry.playbook.model import Level, Problem
from registry.service.checking import Report


def finding_lines(report: Report, root: Path) -> Iterator[str]:
    """The problems as `path:line:column: level code: message`; the new ones first, where something was compared."""
    new = [item for item in report.findings if item.is_new is not False]
    old = [item for item in report.findings if item.is_new is False]
    yield from (_line(item.problem, root) for item in new)
    if old:
        yield faint(f"{_many(len(old), 'problem')} that the change did not bring:")
        yield from (_line(item.problem, root) for item in old)


def summary_line(report: Report) -> str:
    """How many playbooks and how many problems there are."""
    counts = [
        _counted(report, level, noun)
        for level, noun in ((Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.INFO, "note"))
    ]
    said = ", ".join(counts)
    colour = bad if report.count(Level.ERROR) else good
    return f"{_many(report.playbooks, 'playbook')} ({shown(report.role)} repository): {colour(said)}"


def place_of(problem: Problem, root: Path) -> str:
    """The file as the caller named the folder, so that editors and annotations find it from where they stand."""
    return problem.path if root == Path() else str(PurePath(root) / problem.path)


def _line(problem: Problem, root: Path) -> str:
    return problem_line({**problem.to_json(), "path": place_of(problem, root)})


def _counted(report: Report, level: Level, noun: str) -> str:
    count, old = report.count(level), report.count(level, old=True)
    there = f" ({old if old < count else 'all' if count > 1 else 'it was'} there before)" if old else ""
    return f"{_many(count, noun)}{there}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
