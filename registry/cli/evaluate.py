"""The command `evaluate`: how a repository's own selection cases come out in the catalog in force."""

import click

from registry.cli.completion import complete_repository
from registry.cli.options import with_json, with_remote
from registry.cli.remote import Remote, segment
from registry.cli.selection import selection_lines
from registry.cli.terminal import faint, note, progress, say, shown, write_json

CASES_SHOWN_MAX = 50


@click.command(
    epilog="""\b
Examples:
  registry evaluate github.com/acme/payments
  registry evaluate --json | jq '.takings'
Exits 0 whatever comes out: it is reported, and stands against nothing."""
)
@click.argument("repository", required=False, shell_complete=complete_repository)
@with_json
@with_remote
def evaluate(remote: Remote, repository: str | None, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Say how the selection cases of all playbooks that serve in REPOSITORY come out; without one, central's own.

    Each case is asked of the search without its own text: a task should find its playbook first, a near miss not.
    """
    with progress("Trying the cases"):
        identity = repository if repository is not None else _central(remote)
        answer = remote.get(f"/v1/repositories/{segment(identity)}/evaluation")
    if as_json:
        write_json(answer.body)
        return
    report = answer.json
    lines = selection_lines(report, shown_max=CASES_SHOWN_MAX)
    if not lines:
        note(
            f"Of {report['playbooks']} playbooks none has selection cases. Write tasks under `selection.should_find`: "
            "search will find them better, too."
        )
    for line in lines:
        say(line)
    say(faint(f"Snapshot {shown(report['snapshot'])}"))


def _central(remote: Remote) -> str:
    """The id of the central repository, as its catalog says it."""
    central = remote.get("/v1/catalogs").json["sources"]["central"]
    return str(central["repository"])
