"""The command `doctor`: what is wrong with this installation or with this working copy, and what to do about it."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from registry.cli.options import with_remote
from registry.cli.outcome import NO, Misused
from registry.cli.remote import Remote
from registry.cli.terminal import bad, doubtful, faint, good, progress, say, shown

if TYPE_CHECKING:
    from registry.service.diagnosis import Finding

_STYLES = {"ok": good, "warning": doubtful, "error": bad}


@click.command(
    epilog="""\b
Examples:
  registry doctor
  registry doctor --json | jq '.findings[] | select(.grade != "ok")'
  registry doctor --repo .
Without --repo, run it where the registry runs, with the registry's environment; with it, where a host sees nothing.
Exits 1 where something is an error."""
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="The data folder; goes before REGISTRY_DATA_DIR.",
)
@click.option(
    "--repo",
    "path",
    type=click.Path(path_type=Path, file_okay=False),
    help="Look at this working copy instead: its registration, the token, its hosts' files, and what answers them.",
)
@click.option("--repository", metavar="REPOSITORY", help="With --repo: which one it is; default: as its remote says.")
@click.option("--json", "as_json", is_flag=True, help="Write the findings as JSON to standard output.")
@with_remote
@click.pass_context
def doctor(
    context: click.Context,
    /,
    remote: Remote,
    data_dir: Path | None,
    path: Path | None,
    repository: str | None,
    as_json: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Look at settings, data folder, store, index, git, central repository, server and clock; or at a working copy.

    Changes nothing, and may be run while the registry runs.
    """
    from registry.service.diagnosis import Grade, worst  # noqa: PLC0415 - --help does not wait for it

    if path is None and repository is not None:
        raise click.UsageError("--repository needs --repo.")
    if path is not None and data_dir is not None:
        raise click.UsageError("--data-dir is of an installation: leave it out with --repo.")
    with progress("Looking"):
        findings = _installation(remote, data_dir) if path is None else _workplace(context, remote, path, repository)
    grade = worst(findings)
    if as_json:
        body = {"grade": grade.value, "findings": [item.to_json() for item in findings]}
        say(json.dumps(body, ensure_ascii=False, indent=2))
    else:
        width = max(len(item.check) for item in findings)
        for item in findings:
            _write(item, width)
        counts = (sum(item.grade is wanted for item in findings) for wanted in (Grade.ERROR, Grade.WARNING))
        say()
        say("{} errors, {} warnings".format(*counts))
    if grade is Grade.ERROR:
        click.get_current_context().exit(NO)


def _installation(remote: Remote, data_dir: Path | None) -> "tuple[Finding, ...]":
    from registry.examination import examine  # noqa: PLC0415 - takes a second
    from registry.service.diagnosis import diagnose  # noqa: PLC0415 - beside it

    return diagnose(examine(os.environ, remote.look(), data_dir))


def _workplace(context: click.Context, remote: Remote, path: Path, repository: str | None) -> "tuple[Finding, ...]":
    from registry.cli.workplace import Subject, look_at, registry_in  # noqa: PLC0415 - takes a second
    from registry.service.workplace_diagnosis import diagnose_workplace  # noqa: PLC0415 - beside it

    if not path.is_dir():
        raise Misused(f"{shown(path)} is no folder: give the folder of a working copy.")
    token, url_from = os.environ.get("REGISTRY_TOKEN") or None, None
    if context.get_parameter_source("remote") is ParameterSource.DEFAULT and (named := registry_in(path)) is not None:
        # A file of a repository says where to ask: that is no reason to show a token there.
        url, url_from = named
        remote, token = Remote(url), None
        context.call_on_close(remote.close)
    return diagnose_workplace(look_at(Subject(path, repository, remote.url, remote, token, url_from)))


def _write(item: "Finding", width: int) -> None:
    grade = _STYLES[item.grade.value](f"{item.grade.value:<7}")
    say(f"{grade}  {item.check:<{width}}  {shown(item.found)}")
    if item.todo:
        say(f"{'':{width + 11}}{faint('->')} {shown(item.todo)}")
