"""Commands about registrations: `register`, `deregister`, `repositories`, `sync` and `apply`."""

from typing import Any

import click

from registry.cli.catalog import problem_line
from registry.cli.completion import complete_repository
from registry.cli.options import require_commit, with_json, with_remote, with_wait
from registry.cli.outcome import Misused, No
from registry.cli.remote import NEXT, Answer, Params, Remote, segment
from registry.cli.spelling import instead_of
from registry.cli.terminal import bad, doubtful, faint, good, heading, note, progress, say, shown, table, write_json
from registry.errors import RepositoryInvalid
from registry.names import repository_id

PAGE = 200
_UNDER_WAY = frozenset({"pending", "syncing"})


@click.command(
    epilog="""\b
Examples:
  registry register https://github.com/acme/payments.git --team payments
  registry register git@github.com:acme/mono.git --team search --id github.com/acme/mono/-/services/search
  registry register https://github.com/acme/kit.git --team kit --path 'plugins/*/skills/**/SKILL.md'"""
)
@click.argument("url")
@click.option(
    "--team", required=True, metavar="TEAM", help="The team that owns it; the token's own, unless it is an admin's."
)
@click.option("--id", "identity", metavar="ID", help="The id it is known by; default: what URL normalises to.")
@click.option("--ref", metavar="BRANCH", help="The branch that is read; default: the remote's HEAD.")
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="GLOB",
    help="Where its playbooks are; repeats, replaces the usual folders.",
)
@click.option("--alias", "aliases", multiple=True, metavar="SPELLING", help="Another spelling of its remote; repeats.")
@click.option(
    "--credential", metavar="NAME", help="The name of the credential the registry fetches with (never its value)."
)
@with_wait
@with_json
@with_remote
def register(
    remote: Remote,
    url: str,
    team: str,
    identity: str | None,
    ref: str | None,
    paths: tuple[str, ...],
    aliases: tuple[str, ...],
    credential: str | None,
    wait_s: float,
    as_json: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Register the service repository at URL, or change its registration.

    Exits 1 where it was registered but could not be read: the message says what to mend.
    """
    if advice := instead_of(url):
        raise Misused(f"{shown(url)} cannot be registered: {advice}.")
    body = {
        "url": url,
        "team": team,
        "ref": ref,
        "paths": list(paths),
        "aliases": list(aliases),
        "credential": credential,
    }
    path = f"/v1/repositories/{segment(_identity(identity or url))}"
    with progress("Registering and reading the repository"):
        answer = remote.call("PUT", path, body={key: value for key, value in body.items() if value}, wait_s=wait_s)
    if not as_json:
        say(f"{'Registered' if answer.status == 201 else 'Changed'}: {heading(shown(answer.json['id']))}")
    _report(answer, wait_s, as_json=as_json)


@click.command(epilog="\b\nExample:\n  registry deregister github.com/acme/payments")
@click.argument("repository", shell_complete=complete_repository)
@with_remote
def deregister(remote: Remote, repository: str) -> None:
    """End the registration of REPOSITORY: its waivers and held copies end too. The id stays its team's."""
    with progress("Deregistering"):
        remote.call("DELETE", f"/v1/repositories/{segment(_identity(repository))}")
    note(f"Deregistered: {shown(_identity(repository))}")


@click.command(
    epilog="""\b
Examples:
  registry repositories --has problems
  registry repositories github.com/acme/legacy-billing
  registry repositories github.com/acme/legacy-billing --problems --json
With --json a list is one page, as the registry gave it: go on with --cursor."""
)
@click.argument("repository", required=False, shell_complete=complete_repository)
@click.option("--problems", is_flag=True, help="With REPOSITORY: only its problems.")
@click.option("--state", metavar="STATE", help="Only those in this sync state, for example ok or suspended.")
@click.option("--team", metavar="TEAM", help="Only those of this team.")
@click.option("--has", type=click.Choice(["held", "refused", "problems"]), help="Only those that have some.")
@click.option(
    "--limit", type=click.IntRange(1, PAGE), default=PAGE, show_default=True, help="Rows of a page (with --json)."
)
@click.option(
    "--cursor", metavar="CURSOR", help="Where a page goes on (with --json): `next_cursor` of the page before."
)
@with_json
@with_remote
def repositories(
    remote: Remote,
    repository: str | None,
    problems: bool,  # noqa: FBT001 - click passes by name
    as_json: bool,  # noqa: FBT001 - click passes by name
    **filters: str | int | None,
) -> None:
    """List the registrations, or show REPOSITORY with its sync status and problems."""
    if repository is None:
        if problems:
            raise click.UsageError("--problems needs a REPOSITORY.")
        _list(remote, [(key, value) for key, value in filters.items() if value is not None], as_json=as_json)
        return
    path = f"/v1/repositories/{segment(_identity(repository))}"
    with progress("Asking"):
        about = None if problems else remote.get(path)
        # A repository that was never read has a status and no problems yet; the status is what is wanted then.
        unread = about is not None and about.json["snapshot"] is None
        found = None if (as_json and not problems) or unread else remote.get(f"{path}/problems")
    if as_json:
        write_json((found or about).body)  # type: ignore[union-attr]  # exactly one was asked for
        return
    if about is not None:
        _write_one(about.json)
    if found is not None:
        _write_problems(found.json["problems"])


@click.command(epilog="\b\nExample:\n  registry sync github.com/acme/payments")
@click.argument("repository", shell_complete=complete_repository)
@with_wait
@with_json
@with_remote
def sync(remote: Remote, repository: str, wait_s: float, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Read REPOSITORY now. Exits 1 where it could not be read, or not within --wait."""
    with progress("Reading the repository"):
        answer = remote.call("POST", f"/v1/repositories/{segment(_identity(repository))}/sync", wait_s=wait_s)
    _report(answer, wait_s, as_json=as_json)


@click.command(
    epilog="""\b
Example:
  registry apply github.com/acme/payments --commit 3f2c9a51c0de3f2c9a51c0de3f2c9a51c0de3f2c
Look at that commit first: it was held back because it takes much away or weakens rules."""
)
@click.argument("repository", shell_complete=complete_repository)
@click.option("--commit", required=True, metavar="COMMIT", help="The suspended commit; it must still be the head.")
@with_wait
@with_json
@with_remote
def apply(remote: Remote, repository: str, commit: str, wait_s: float, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Put a suspended commit of REPOSITORY in force."""
    require_commit(commit, f"`registry repositories {shown(repository)}` names the one that waits")
    path = f"/v1/repositories/{segment(_identity(repository))}/apply"
    with progress("Applying the commit"):
        answer = remote.call("POST", path, body={"commit": commit}, wait_s=wait_s)
    _report(answer, wait_s, as_json=as_json)


def _identity(spelling: str) -> str:
    try:
        return str(repository_id(spelling))
    except RepositoryInvalid as error:
        raise Misused(f"{error} {NEXT['repository-invalid']}") from None


def _report(answer: Answer, wait_s: float, *, as_json: bool) -> None:
    """Show how the sync stands; No where it ended badly, or not within the time that was given."""
    body = answer.json
    if as_json:
        write_json(answer.body)
    else:
        _write_one(body)
    status = body["sync"]
    if status["state"] in _UNDER_WAY or answer.status == 202:
        if wait_s:
            raise No(
                f"it was not read within {wait_s:g} s; the registry goes on with it. Look with "
                f"`registry repositories {shown(body['id'])}`."
            )
        return
    if status["state"] != "ok":
        raise No(f"the sync stands at {shown(status['state'])}: {shown(status['message'])} {_next_step(body)}")


def _next_step(body: dict[str, Any]) -> str:
    """What to do about a sync that ended badly."""
    identity, status = shown(body["id"]), body["sync"]
    if status["state"] == "suspended":
        return f"Look at the commit, then `registry apply {identity} --commit COMMIT`, or push a better one."
    return (
        f"It stays registered. When that is mended, `registry sync {identity}` reads it at once; "
        f"`registry deregister {identity}` takes it back."
    )


def _list(remote: Remote, filters: Params, *, as_json: bool) -> None:
    with progress("Asking"):
        answer = remote.get("/v1/repositories", filters)
        if as_json:
            write_json(answer.body)
            return
        items = answer.json["items"]
        others = [item for item in filters if item[0] != "cursor"]
        while cursor := answer.json["next_cursor"]:
            answer = remote.get("/v1/repositories", [*others, ("cursor", cursor)])
            items.extend(answer.json["items"])
    if not items:
        note("No repository is registered like that.")
        return
    rows = [
        (
            shown(item["id"]) + (faint(" (central)") if item["role"] == "central" else ""),
            shown(item["team"]),
            _state(item["sync"]["state"]),
            *(shown(item[key]) for key in ("playbooks", "held", "refused", "problems")),
            shown(item["sync"]["synced_at"]),
        )
        for item in items
    ]
    table(("REPOSITORY", "TEAM", "STATE", "PLAYBOOKS", "HELD", "REFUSED", "PROBLEMS", "CONFIRMED AT"), rows)
    if any(item["sync"]["state"] != "ok" for item in items):
        note("`registry repositories REPOSITORY` says what keeps one that is not ok.")
    elif any(item["problems"] for item in items):
        note("`registry repositories REPOSITORY` shows the problems of one.")
    if not any(item["role"] == "service" for item in items) and {key for key, _ in filters} <= {"limit"}:
        note("No service repository is registered: `registry register URL --team TEAM` registers one.")


def _write_one(item: dict[str, Any]) -> None:
    status = item["sync"]
    say(f"{heading(shown(item['id']))} ({shown(item['role'])}, team {shown(item['team'])})")
    say(f"  remote     {shown(item['url'])}, {shown(item['ref'] or 'its HEAD')}")
    say(f"  state      {_state(status['state'])} since {shown(status['since'])}, commit {shown(status['commit'])}")
    if status["message"]:
        say(f"             {shown(status['message'])}")
    counts = [_many(item["playbooks"], "playbook"), f"{item['held']} held", f"{item['refused']} refused"]
    say(f"  holds      {', '.join([*counts, _many(item['problems'], 'problem')])}")
    say(f"  snapshot   {shown(item['snapshot'])}")


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _write_problems(problems: list[dict[str, Any]]) -> None:
    for item in problems:
        say(problem_line(item) + (faint(" (an earlier good copy serves)") if item.get("held") else ""))
    if not problems:
        say(good("no problems"))


def _state(state: str) -> str:
    if state == "ok":
        return good(state)
    return doubtful(shown(state)) if state in _UNDER_WAY or state == "suspended" else bad(shown(state))
