"""A check's report in each of its forms: for people, as JSON, for a workflow run of GitHub, as SARIF."""

import json
from collections.abc import Callable
from pathlib import Path

import click

from registry.cli.effect import Line, effect_lines, effect_title, styled
from registry.cli.findings import finding_lines, summary_line
from registry.cli.github import annotations, write_summary
from registry.cli.sarif import sarif
from registry.cli.selection import selection_lines
from registry.cli.terminal import note, say
from registry.git.checkout import ask_git, line_of
from registry.service.checking import Report


def write_report(style: str, report: Report, root: Path, registry: str | None) -> None:
    """Write the report in one of the forms; `registry` is the URL of the one that was asked."""
    _WRITERS[style](report, root, registry)


def _write_text(report: Report, root: Path, registry: str | None) -> None:  # noqa: ARG001 - as the others
    for line in finding_lines(report, root):
        say(line)
    say(summary_line(report))
    title, lines = _effect(report)
    for block in (styled(title, lines) if lines else [], _selection(report)):
        if block:
            say()
        for line in block:
            say(line)


def _write_json(report: Report, root: Path, registry: str | None) -> None:  # noqa: ARG001 - paths are the repository's
    say(json.dumps(report.to_json(), ensure_ascii=False, indent=2))


def _write_github(report: Report, root: Path, registry: str | None) -> None:  # noqa: ARG001 - as the others
    for line in annotations(report, root):
        say(line)
    title, lines = _effect(report)
    # To standard error, so that standard output is annotations and nothing else.
    for line in (summary_line(report), *(styled(title, lines) if lines else ())):
        note(click.unstyle(line))
    write_summary(title, report, root, lines, _selection(report))


def _write_sarif(report: Report, root: Path, registry: str | None) -> None:
    prefix = line_of(ask_git(root, "rev-parse", "--show-prefix")) or ""
    say(json.dumps(sarif(report, prefix=prefix, registry=registry), ensure_ascii=False, indent=2))


def _effect(report: Report) -> tuple[str, list[Line]]:
    if report.effect is None:
        return "", []
    base = None if report.base is None else f"{report.base.ref} ({report.base.commit[:12]})"
    return effect_title(report.effect, base), effect_lines(report.effect)


def _selection(report: Report) -> list[str]:
    return [] if report.selection is None else selection_lines(report.selection, about=report.names)


_WRITERS: dict[str, Callable[[Report, Path, str | None], None]] = {
    "text": _write_text,
    "json": _write_json,
    "github": _write_github,
    "sarif": _write_sarif,
}
