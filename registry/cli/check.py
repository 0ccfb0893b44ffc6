"""The command `check`: a working copy read as the server would read its commit."""

import json
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click

from registry.cli.catalog import problem_line
from registry.cli.completion import complete_repository
from registry.cli.options import with_remote
from registry.cli.outcome import NO, Misused, Unreachable
from registry.cli.remote import Remote, segment
from registry.cli.terminal import bad, good, note, progress, say, shown
from registry.playbook.model import Level, Problem
from registry.ports import Role

if TYPE_CHECKING:
    # What reads playbooks takes a second to import: neither --help nor a shell that completes an option waits for it.
    from registry.service.checking import Report

SHOWN_MAX = 5
_GITHUB_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "notice"}


@click.command(
    "check",
    epilog="""\b
Examples:
  registry check
  registry check . --format github --strict
  registry check . --ask-registry
Exits 1 on errors, with --strict on warnings too.""",
)
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option(
    "--role",
    type=click.Choice([Role.CENTRAL.value, Role.SERVICE.value]),
    help="What the copy is of; default: central if it has a policy file, else service.",
)
@click.option("--policy-path", default="policy.yaml", show_default=True, help="Where a central copy's policy file is.")
@click.option(
    "--path",
    "globs",
    multiple=True,
    metavar="GLOB",
    help="Where its playbooks are; repeats, replaces the usual folders.",
)
@click.option(
    "--ask-registry", is_flag=True, help="Ask the registry which names are required here: a copy of one is an error."
)
@click.option(
    "--repository",
    metavar="REPOSITORY",
    shell_complete=complete_repository,
    help="With --ask-registry: which one this is; default: the copy's own remote.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="How problems are written; github: annotations of a workflow run.",
)
@click.option("--strict", is_flag=True, help="Warnings count like errors.")
@with_remote
def check_command(
    remote: Remote,
    path: Path,
    role: str | None,
    policy_path: str,
    globs: tuple[str, ...],
    ask_registry: bool,  # noqa: FBT001 - click passes by name
    repository: str | None,
    style: str,
    strict: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Check the playbooks of the working copy at PATH (default: here), by the server's own code, tracked or not."""
    from registry.cli import working_copy  # noqa: PLC0415 - see above

    _require_folder(path)
    is_central = role == Role.CENTRAL.value if role else (path / policy_path).exists()
    unanswered: Unreachable | None = None
    with progress("Reading the playbooks"):
        required: frozenset[str] = frozenset()
        if ask_registry and not is_central:
            try:
                required = _ask(remote, path, repository)
            except Unreachable as error:
                # What the files alone show needs no registry; that it did not answer is said after it.
                unanswered = error
        report = working_copy.read(
            path,
            repository=repository,
            globs=globs,
            policy_path=policy_path if is_central else None,
            required=required,
        )
    _RENDERERS[style](report, path)
    if not report.playbooks and not report.problems:
        note(_nothing(working_copy.passed_over(path, globs), globs))
    if unanswered is not None:
        raise unanswered
    if not report.passes(strict=strict):
        click.get_current_context().exit(NO)


def _require_folder(path: Path) -> None:
    if path.is_file():
        raise Misused(
            f"{path} is a file: give the folder of the working copy, and with --path the place in it, as in "
            f"`registry check . --path {path.name}`."
        )
    if not path.is_dir():
        raise Misused(f"{path} does not exist: give the folder of a working copy.")


def _nothing(passed_over: tuple[str, ...], globs: tuple[str, ...]) -> str:
    """What to do where there is no playbook."""
    where = " or ".join(globs) if globs else "playbooks/ or .playbooks/"
    found = f"No playbook was found in {shown(where)}."
    if passed_over:
        files = ", ".join(shown(name) for name in passed_over[:SHOWN_MAX])
        more = f" and {len(passed_over) - SHOWN_MAX} more" if len(passed_over) > SHOWN_MAX else ""
        found = f"{found} Passed over: {files}{more}. A native playbook begins with `playbook: 1`."
    return (
        f"{found} If they lie elsewhere, name the place with --path, here and in `registry register`. One to begin "
        "with: `registry schema playbook --example > playbooks/rotate-signing-key.yaml`."
    )


def _ask(remote: Remote, path: Path, repository: str | None) -> frozenset[str]:
    """The names that the registry requires in this repository."""
    from registry.git.checkout import detect_remote  # noqa: PLC0415 - see above
    from registry.service.checking import required_names  # noqa: PLC0415 - see above

    spelling = repository or detect_remote(path)
    if spelling is None:
        raise Misused("this copy has no remote to know it by: give --repository with --ask-registry.")
    return required_names(remote.get(f"/v1/catalogs/{segment(spelling)}").json)


def _write_text(report: "Report", root: Path) -> None:
    for problem in report.problems:
        say(problem_line({**problem.to_json(), "path": _place(problem, root)}))
    say(_summary(report))


def _write_json(report: "Report", root: Path) -> None:  # noqa: ARG001 - paths in JSON are relative to the repository
    say(json.dumps(report.to_json(), ensure_ascii=False, indent=2))


def _write_github(report: "Report", root: Path) -> None:
    for problem in report.problems:
        say(annotation(problem, _place(problem, root)))
    note(click.unstyle(_summary(report)))


def annotation(problem: Problem, place: str) -> str:
    """A problem as a workflow command of GitHub Actions, escaped so that no message can say a second one."""
    properties = {"file": place, "line": problem.line, "col": problem.column, "title": problem.code}
    said = ",".join(f"{key}={_escaped(str(value), property=True)}" for key, value in properties.items())
    return f"::{_GITHUB_LEVELS[problem.level]} {said}::{_escaped(problem.message)}"


def _escaped(text: str, *, property: bool = False) -> str:  # noqa: A002 - GitHub's word for it
    signs = "%\r\n:," if property else "%\r\n"
    return "".join(f"%{ord(sign):02X}" if sign in signs else sign for sign in text)


def _place(problem: Problem, root: Path) -> str:
    # As the caller named the folder, so that editors and annotations find the file from where they stand.
    return problem.path if root == Path() else str(PurePath(root) / problem.path)


def _summary(report: "Report") -> str:
    errors, warnings, infos = (report.count(level) for level in (Level.ERROR, Level.WARNING, Level.INFO))
    counts = f"{_many(errors, 'error')}, {_many(warnings, 'warning')}, {_many(infos, 'note')}"
    what = f"{_many(report.playbooks, 'playbook')} ({shown(report.role)} repository)"
    return f"{what}: {bad(counts) if errors else good(counts)}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_RENDERERS: dict[str, Callable[["Report", Path], None]] = {
    "text": _write_text,
    "json": _write_json,
    "github": _write_github,
}
