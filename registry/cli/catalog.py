"""Commands that read: `catalog`, `search` and `explain`."""

from typing import Any

import click

from registry.cli.completion import complete_playbook, complete_repository
from registry.cli.options import with_json, with_remote
from registry.cli.outcome import No
from registry.cli.remote import Params, Remote, segment
from registry.cli.terminal import (
    bad,
    doubtful,
    faint,
    good,
    heading,
    note,
    progress,
    prose,
    say,
    shown,
    table,
    write_json,
)

QUERY_BYTES_IN_URL_MAX = 2_000
"""A longer text goes into a body: servers and proxies bound the length of a URL."""


@click.command(
    epilog="""\b
Examples:
  registry catalog github.com/acme/payments
  registry catalog --json | jq '.entries[].name'"""
)
@click.argument("repository", required=False, shell_complete=complete_repository)
@click.option("--full", is_flag=True, help="With each playbook's contract (with --json).")
@with_json
@with_remote
def catalog(remote: Remote, repository: str | None, full: bool, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Show the catalog in force for REPOSITORY, in any spelling; without one, central's own."""
    if full and not as_json:
        raise click.UsageError("--full needs --json: contracts are for programs.")
    path = f"/v1/catalogs/{segment(repository)}" if repository else "/v1/catalogs"
    with progress("Reading the catalog"):
        answer = remote.get(path, [("view", "full")] if full else ())
    if as_json:
        write_json(answer.body)
        return
    body = answer.json
    _write_entries(body)
    _write_refused(body["refused"])
    _write_unavailable(body["unavailable"])
    # A path says nothing of the repository that it is relative to.
    for kind, whose in (("local", "its own"), ("central", "central's")):
        _write_problems([item for item in body["problems"] if item["source"] == kind], whose)
    say()
    headers = answer.headers
    say(faint(f"Snapshot {shown(headers.get('Catalog-Digest'))}, {shown(headers.get('Catalog-State'))}"))
    _note_unregistered(repository, body["repository"])


@click.command(
    epilog="""\b
Examples:
  registry search "a deploy went wrong, take it back" --repository github.com/acme/payments
  registry search --tag keys --limit 50
An empty text lists by name."""
)
@click.argument("text", nargs=-1)
@click.option(
    "--repository",
    metavar="REPOSITORY",
    shell_complete=complete_repository,
    help="Whose catalog is searched, in any spelling; default: central's.",
)
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="Only playbooks with this tag; repeats, all must match."
)
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="How many rows at most.")
@with_json
@with_remote
def search(
    remote: Remote,
    text: tuple[str, ...],
    repository: str | None,
    tags: tuple[str, ...],
    limit: int,
    as_json: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Find the playbooks that fit a task, best first."""
    query = " ".join(text)
    with progress("Searching"):
        if len(query.encode()) > QUERY_BYTES_IN_URL_MAX:
            body = {"repository": repository, "q": query, "tag": list(tags), "limit": limit}
            answer = remote.call("POST", "/v1/search", body={key: value for key, value in body.items() if value})
        else:
            answer = remote.get("/v1/search", _search_params(query, repository, tags, limit))
    if as_json:
        write_json(answer.body)
        return
    found = answer.json
    if not found["results"]:
        note(_nothing_found(tags))
        return
    for row in found["results"]:
        say(f"{heading(shown(row['name']))} {shown(row['version'])}  {_flags(row)}".rstrip())
        say(f"  {prose(row['purpose'])}")
        for near_miss in row["not_for"] or ():
            say(faint(f"  not for: {prose(near_miss)}"))
    if found.get("weak"):
        note("Nothing fits well: these are only the nearest.")


@click.command(
    epilog="""\b
Example:
  registry explain deploy-rollback --repository github.com/acme/checkout
Exits 1 where nobody serves the playbook."""
)
@click.argument("name", shell_complete=complete_playbook)
@click.option(
    "--repository",
    metavar="REPOSITORY",
    shell_complete=complete_repository,
    help="For whom, in any spelling; default: central's catalog.",
)
@with_json
@with_remote
def explain(remote: Remote, name: str, repository: str | None, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Say which copy of the playbook NAME serves, and why."""
    params: Params = [("repository", repository)] if repository else ()
    with progress("Asking"):
        answer = remote.get(f"/v1/playbooks/{segment(name)}/explain", params)
    body = answer.json
    if as_json:
        write_json(answer.body)
    else:
        _write_explanation(body)
        _note_unregistered(repository, body["repository"])
    if body["serving"] is None:
        raise No(f"{shown(body['name'])} is not served here ({shown(body['outcome'])}).")


def _nothing_found(tags: tuple[str, ...]) -> str:
    if tags:
        named = " and ".join(shown(tag) for tag in tags)
        return f"Nothing with the tag {named} was found: try fewer tags, or list everything with an empty text."
    return "Nothing was found: try other words, or list everything with an empty text."


def _note_unregistered(asked: str | None, found: str | None) -> None:
    """Say so where a repository is served central's catalog for want of a registration of its own."""
    if asked and found is None:
        note(
            f"{shown(asked)} is not registered, so this is central's catalog: "
            "`registry register URL --team TEAM` registers it."
        )


def _search_params(query: str, repository: str | None, tags: tuple[str, ...], limit: int) -> Params:
    params: list[tuple[str, str | int]] = [("q", query), ("limit", limit)]
    if repository:
        params.append(("repository", repository))
    return [*params, *(("tag", tag) for tag in tags)]


def _write_entries(body: dict[str, Any]) -> None:
    whose = shown(body["repository"]) if body["repository"] else "the central repository"
    say(heading(f"{len(body['entries'])} playbooks serve {whose}"))
    rows = [
        (shown(item["name"]), shown(item["version"]), shown(item["source"]["kind"]), _outcome(item), _flags(item))
        for item in body["entries"]
    ]
    if rows:
        table(("NAME", "VERSION", "FROM", "DECISION", ""), rows)


def _write_refused(refused: list[dict[str, Any]]) -> None:
    if refused:
        say()
        say(heading("Refused: copies that a required playbook keeps out"))
        table(
            ("NAME", "VERSION", "FILE", "DECISION"),
            [(shown(item["name"]), shown(item["version"]), _place(item["source"]), _outcome(item)) for item in refused],
        )


def _write_unavailable(unavailable: list[dict[str, Any]]) -> None:
    if unavailable:
        say()
        say(heading("Unavailable: nobody serves these"))
        for item in unavailable:
            say(f"{bad(shown(item['name']))} ({shown(item['outcome'])}): {shown(item['reason'])}")
            for copy in item["copies"]:
                source = copy["source"]
                say(f"  {shown(source['kind'])}, {shown(copy['state'])}: {shown(source['path'])}")


def _write_problems(problems: list[dict[str, Any]], whose: str) -> None:
    if problems:
        say()
        say(heading(f"Problems of {whose} files"))
        for item in problems:
            say(problem_line(item))


def problem_line(item: dict[str, Any]) -> str:
    """A problem as one line, `path:line:column: level code: message`, as compilers write them."""
    style = {"error": bad, "warning": doubtful}.get(item["level"], faint)
    place = f"{shown(item['path'])}:{item['line']}:{item['column']}"
    return f"{place}: {style(shown(item['level']))} {shown(item['code'])}: {shown(item['message'])}"


def _write_explanation(body: dict[str, Any]) -> None:
    whose = shown(body["repository"]) if body["repository"] else "the central catalog"
    say(heading(f"{shown(body['name'])} in {whose}: {shown(body['outcome'])}"))
    say(shown(body["explanation"]))
    say()
    rows = []
    for copy in body["copies"]:
        serves = good("serves") if copy["serves"] else "-"
        state = good("good") if copy["state"] == "good" else doubtful(shown(copy["state"]))
        rows.append((serves, state, shown(copy["version"]), _place(copy.get("source") or {})))
    if rows:
        table(("", "STATE", "VERSION", "FILE"), rows)


def _outcome(item: dict[str, Any]) -> str:
    return shown(item["decision"]["outcome"])


def _place(source: dict[str, Any]) -> str:
    parts = [str(source[key]) for key in ("repository", "path") if source.get(key)]
    return shown("/".join(parts))


def _flags(item: dict[str, Any]) -> str:
    flags = [
        good("required") if item.get("required") else "",
        doubtful("held") if item.get("held") else "",
        doubtful(f"waiver until {shown(item['waiver'].get('until'))}") if item.get("waiver") else "",
        faint("deprecated") if item.get("deprecated") else "",
    ]
    return " ".join(flag for flag in flags if flag)
