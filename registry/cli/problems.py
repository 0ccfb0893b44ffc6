"""The command `problems`: what wants attention, in one repository or in all."""

from typing import Any

import click

from registry.cli.catalog import problem_line
from registry.cli.completion import complete_repository
from registry.cli.options import with_json, with_remote
from registry.cli.remote import Params, Remote
from registry.cli.terminal import faint, good, heading, progress, say, shown, write_json

PAGE = 200


@click.command(
    epilog="""\b
Examples:
  registry problems github.com/acme/payments
  registry problems --code shadow-drift --code near-duplicate
  registry problems --team payments --level error
With --json the answer is one page, as the registry gave it: go on with --cursor."""
)
@click.argument("repository", required=False, shell_complete=complete_repository)
@click.option("--code", "codes", multiple=True, metavar="CODE", help="Only problems of this code; repeats.")
@click.option("--level", type=click.Choice(["error", "warning", "info"]), help="Only problems of this level.")
@click.option("--team", metavar="TEAM", help="Only in repositories of this team.")
@click.option(
    "--limit", type=click.IntRange(1, PAGE), default=PAGE, show_default=True, help="Rows of a page (with --json)."
)
@click.option(
    "--cursor", metavar="CURSOR", help="Where a page goes on (with --json): `next_cursor` of the page before."
)
@with_json
@with_remote
def problems(
    remote: Remote,
    repository: str | None,
    codes: tuple[str, ...],
    as_json: bool,  # noqa: FBT001 - click passes by name
    **filters: str | int | None,
) -> None:
    """List what did not load or wants attention in REPOSITORY, in any spelling; without one, in all."""
    asked: list[tuple[str, str | int]] = [(key, value) for key, value in filters.items() if value is not None]
    asked += [("code", code) for code in codes]
    asked += [("repository", repository)] if repository is not None else []
    with progress("Asking"):
        answer = remote.get("/v1/problems", asked)
    if as_json:
        write_json(answer.body)
        return
    found, page = False, answer.json
    last: str | None = None
    while True:
        for item in page["items"]:
            found = True
            last = _write(item, last)
        if page["next_cursor"] is None:
            break
        page = remote.get("/v1/problems", _next(asked, page["next_cursor"])).json
    if not found:
        say(good("no problems"))


def _write(item: dict[str, Any], last: str | None) -> str:
    """Write one problem, under its repository's name where the one before was of another; that name."""
    repository = str(item["repository"])
    if repository != last:
        say(heading(shown(repository)))
    say(f"  {problem_line(item)}" + (faint(" (an earlier good copy serves)") if item.get("held") else ""))
    return repository


def _next(asked: list[tuple[str, str | int]], cursor: str) -> Params:
    return [*(item for item in asked if item[0] != "cursor"), ("cursor", cursor)]
