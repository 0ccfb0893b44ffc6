"""The commands `run` and `runs`: opening a run of a playbook, and looking at runs."""

import json
from pathlib import Path
from typing import Any

import click

from registry.cli.completion import complete_playbook, complete_repository
from registry.cli.options import with_json, with_remote
from registry.cli.outcome import Misused, No
from registry.cli.procedure import json_of, kind_of, write_opened
from registry.cli.remote import Params, Remote, segment
from registry.cli.terminal import faint, heading, note, progress, prose, say, shown, table, write_json

INPUTS_BYTES_MAX = 1024 * 1024


@click.command(
    epilog="""\b
Examples:
  registry run deploy-rollback --repository github.com/acme/checkout \\
    --input service=checkout --input reason="Checkout answers 500."
  registry run triage-incident --inputs inputs.json --json"""
)
@click.argument("name", shell_complete=complete_playbook)
@click.option(
    "--repository",
    metavar="REPOSITORY",
    shell_complete=complete_repository,
    help="Where it is to be run, in any spelling; default: central's catalog.",
)
@click.option(
    "--input",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="One input; repeats. The playbook's schema says whether VALUE is text or JSON.",
)
@click.option(
    "--inputs",
    "file",
    type=click.Path(path_type=Path, allow_dash=True, dir_okay=False, exists=True),
    metavar="FILE",
    help="A JSON object of inputs; - is standard input. --input goes before it.",
)
@click.option("--digest", metavar="DIGEST", help="Exactly this copy: nothing is opened where another one serves.")
@click.option("--task", metavar="TEXT", help="What the run is for; it is kept with the run.")
@click.option("--key", metavar="KEY", help="Your own name for this request: the same one again opens nothing anew.")
@with_json
@with_remote
def run(
    remote: Remote,
    name: str,
    repository: str | None,
    pairs: tuple[str, ...],
    file: Path | None,
    digest: str | None,
    task: str | None,
    key: str | None,
    as_json: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Open a run of the playbook NAME and show what is to be done in it.

    The run is pinned to the copy that serves now, and recorded with its inputs.
    """
    where: Params = [("repository", repository)] if repository else ()
    inputs = {**_read(file), **_typed(pairs, remote, name, where)}
    body = {"inputs": inputs, "digest": digest, "task": task}
    with progress("Opening a run"):
        answer = remote.call(
            "POST",
            f"/v1/playbooks/{segment(name)}/runs",
            params=where,
            body={member: value for member, value in body.items() if value is not None},
            key=key,
        )
    if as_json:
        write_json(answer.body)
        return
    write_opened(answer.json)


@click.command(
    epilog="""\b
Examples:
  registry runs --repository github.com/acme/checkout
  registry runs run_01m8nwk7sbp4hqy67qexwydq36 --procedure"""
)
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option(
    "--procedure", is_flag=True, help="With RUN: what is to be done in it, bound as it was when it was opened."
)
@click.option(
    "--repository", metavar="REPOSITORY", shell_complete=complete_repository, help="Only runs in this repository."
)
@click.option("--name", metavar="NAME", shell_complete=complete_playbook, help="Only runs of this playbook.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="How many at most.")
@click.option("--cursor", metavar="CURSOR", help="Go on where an earlier page ended, at its `next_cursor`.")
@with_json
@with_remote
def runs(
    remote: Remote,
    run_id: str | None,
    procedure: bool,  # noqa: FBT001 - click passes by name
    repository: str | None,
    name: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """List the runs that you may look at, newest first, or show the one with the id RUN.

    You may look at your own, at those of your team's repositories, and with policy:write at everybody's.
    """
    if run_id is None and procedure:
        raise click.UsageError("--procedure needs the id of a run.")
    if run_id is None:
        _list(remote, repository, name, limit, cursor, as_json=as_json)
        return
    if repository or name or cursor:
        raise click.UsageError("--repository, --name and --cursor are for a list: leave them out, or the id.")
    with progress("Asking"):
        answer = remote.get(f"/v1/runs/{segment(run_id)}", [("view", "full")] if procedure else ())
    if as_json:
        write_json(answer.body)
    elif procedure:
        write_opened(answer.json)
    else:
        _write_run(answer.json)


def _list(
    remote: Remote, repository: str | None, name: str | None, limit: int, cursor: str | None, *, as_json: bool
) -> None:
    params = [("repository", repository), ("name", name), ("cursor", cursor)]
    with progress("Asking"):
        answer = remote.get("/v1/runs", [("limit", limit), *((key, value) for key, value in params if value)])
    if as_json:
        write_json(answer.body)
        return
    body = answer.json
    if not body["items"]:
        note("There are no runs that you may look at. `registry run NAME` opens one.")
        return
    table(
        ("RUN", "OPENED", "PLAYBOOK", "VERSION", "FROM", "REPOSITORY", "BY", "STATE"),
        [
            (
                shown(item["id"]),
                shown(item["opened_at"]),
                shown(item["name"]),
                shown(item["version"]),
                kind_of(item["source"]),
                shown(item["repository"]),
                shown(item["principal"]),
                shown(item["state"]),
            )
            for item in body["items"]
        ],
    )
    if body["next_cursor"]:
        note(f"There are more: --cursor {shown(body['next_cursor'])}")


def _read(file: Path | None) -> dict[str, Any]:
    """The inputs in a file. Raises Misused for anything but a JSON object of INPUTS_BYTES_MAX at most."""
    if file is None:
        return {}
    with click.open_file(str(file), "rb") as stream:
        data: bytes = stream.read(INPUTS_BYTES_MAX + 1)
    if len(data) > INPUTS_BYTES_MAX:
        raise Misused(f"{shown(file)} is over {INPUTS_BYTES_MAX // 2**20} MiB: give the inputs only.")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Misused(f'{shown(file)} is no JSON object: write the inputs as {{"name": value}}.')
    return found


def _typed(pairs: tuple[str, ...], remote: Remote, name: str, where: Params) -> dict[str, Any]:
    """Each NAME=VALUE with the value as text where the playbook's schema takes text, else as JSON where it is some."""
    if not pairs:
        return {}
    properties = _properties(remote, name, where)
    found: dict[str, Any] = {}
    for pair in pairs:
        member, equals, text = pair.partition("=")
        if not equals or not member:
            raise Misused(f"--input is {shown(pair)}: write it as NAME=VALUE.")
        found[member] = _value(text, properties.get(member))
    return found


def _properties(remote: Remote, name: str, where: Params) -> dict[str, Any]:
    try:
        entry = remote.get(f"/v1/playbooks/{segment(name)}", where).json
    except No:
        # Opening the run will say what is wrong, and may be allowed where reading is not.
        return {}
    schema = entry.get("contract", {}).get("inputs", {})
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _value(text: str, schema: object) -> Any:  # noqa: ANN401 - any JSON
    kinds = schema.get("type") if isinstance(schema, dict) else None
    if kinds == "string" or (isinstance(kinds, list) and "string" in kinds):
        return text
    choices = schema.get("enum") if isinstance(schema, dict) else None
    if isinstance(choices, list) and text in choices:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _write_run(body: dict[str, Any]) -> None:
    say(heading(f"{shown(body['name'])} {shown(body['version'])}: {shown(body['state'])}"))
    rows = [
        ("run", shown(body["id"])),
        ("opened", f"{shown(body['opened_at'])} by {shown(body['principal'])}"),
        ("repository", shown(body["repository"])),
        ("from", _place(body["source"])),
        ("copy", shown(body["digest"])),
        ("snapshot", shown(body["snapshot"])),
        ("task", prose(body["task"])),
        ("inputs", json_of(body["inputs"])),
    ]
    for label, text in rows:
        say(f"{faint(label.ljust(10))}  {text}")


def _place(source: dict[str, Any]) -> str:
    parts = [str(source[key]) for key in ("repository", "path") if source.get(key)]
    return f"{kind_of(source)}, {shown('/'.join(parts))} at {shown(source.get('commit'))}"
