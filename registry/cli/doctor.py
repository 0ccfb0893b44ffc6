"""The command `doctor`: what is wrong with this installation, and what to do about it."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from registry.cli.options import with_remote
from registry.cli.outcome import NO
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
Run it where the registry runs, with the registry's environment. Exits 1 where something is an error."""
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="The data folder; goes before REGISTRY_DATA_DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the findings as JSON to standard output.")
@with_remote
def doctor(remote: Remote, data_dir: Path | None, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Look at settings, data folder, store, index, git, central repository, server and clock.

    Changes nothing, and may be run while the registry runs.
    """
    from registry.examination import examine  # noqa: PLC0415 - takes a second, and --help does not wait for it
    from registry.service.diagnosis import Grade, diagnose, worst  # noqa: PLC0415 - beside it

    with progress("Looking"):
        findings = diagnose(examine(os.environ, remote.look(), data_dir))
    grade = worst(findings)
    if as_json:
        body = {"grade": grade.value, "findings": [item.to_json() for item in findings]}
        say(json.dumps(body, ensure_ascii=False, indent=2))
    else:
        for item in findings:
            _write(item)
        counts = (sum(item.grade is wanted for item in findings) for wanted in (Grade.ERROR, Grade.WARNING))
        say()
        say("{} errors, {} warnings".format(*counts))
    if grade is Grade.ERROR:
        click.get_current_context().exit(NO)


def _write(item: "Finding") -> None:
    grade = _STYLES[item.grade.value](f"{item.grade.value:<7}")
    say(f"{grade}  {item.check:<11}  {shown(item.found)}")
    if item.todo:
        say(f"{'':22}{faint('->')} {shown(item.todo)}")
