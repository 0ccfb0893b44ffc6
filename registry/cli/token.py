"""The group `token`: who may do what."""

from datetime import UTC, datetime, time, timedelta

import click

from registry.cli.options import with_json, with_remote
from registry.cli.remote import Remote, segment
from registry.cli.terminal import faint, note, progress, say, shown, table, write_json

SCOPES = ("catalog:read", "repository:write", "policy:write", "playbook:execute", "admin")


@click.group(epilog="\b\nExample:\n  registry token list")
def token() -> None:
    """Create, list and revoke tokens. Needs a token with admin (REGISTRY_TOKEN)."""


@token.command(
    epilog="""\b
Examples:
  registry token create ci-payments --team payments --scope repository:write --expires 2027-06-30
  REGISTRY_TOKEN=$(registry token create reader --scope catalog:read)
The token alone goes to standard output; it is shown this once."""
)
@click.argument("name")
@click.option("--team", metavar="TEAM", help="Whose repositories it may write.")
@click.option(
    "--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES), help="What it may do; repeats."
)
@click.option(
    "--expires", type=click.DateTime(["%Y-%m-%d"]), help="The last day (UTC) that it is valid; default: for good."
)
@with_json
@with_remote
def create(
    remote: Remote,
    name: str,
    team: str | None,
    scopes: tuple[str, ...],
    expires: datetime | None,
    as_json: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Create a token for the principal NAME."""
    body: dict[str, object] = {"name": name, "scopes": sorted(set(scopes))}
    if team:
        body["team"] = team
    if expires is not None:
        body["expires_at"] = _end_of(expires).isoformat().replace("+00:00", "Z")
    with progress("Asking"):
        answer = remote.call("POST", "/v1/tokens", body=body)
    if as_json:
        write_json(answer.body)
        return
    made = answer.json
    say(made["token"])
    if "repository:write" in scopes and not team and "admin" not in scopes:
        note("It has no team, so there is no repository that it may write: --team gives it one.")
    note(f"Token {shown(made['id'])} of {shown(name)}. Keep it now: it is not shown again.")


@token.command("list", epilog="\b\nExample:\n  registry token list --json")
@with_json
@with_remote
def list_tokens(remote: Remote, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """List the tokens, never their values."""
    with progress("Asking"):
        answer = remote.get("/v1/tokens")
    if as_json:
        write_json(answer.body)
        return
    rows = [
        (
            shown(item["id"]),
            shown(item["principal"]),
            shown(item["team"]),
            shown(" ".join(item["scopes"])),
            shown(item["expires_at"]),
            faint(f"revoked {shown(item['revoked_at'])}") if item.get("revoked_at") else "valid",
        )
        for item in answer.json["items"]
    ]
    if rows:
        table(("ID", "NAME", "TEAM", "SCOPES", "EXPIRES", "STATE"), rows)
    else:
        note("There is no token.")


@token.command(epilog="\b\nExample:\n  registry token revoke 7Q2M")
@click.argument("token_id", metavar="ID")
@with_remote
def revoke(remote: Remote, token_id: str) -> None:
    """Revoke the token with that ID, at once."""
    with progress("Asking"):
        remote.call("DELETE", f"/v1/tokens/{segment(token_id)}")
    note(f"Revoked: {shown(token_id)}")


def _end_of(day: datetime) -> datetime:
    return datetime.combine(day.date() + timedelta(days=1), time(), tzinfo=UTC)
