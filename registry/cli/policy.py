"""The group `policy`: what is required, waived or withdrawn, and who said so."""

from datetime import datetime
from typing import Any

import click

from registry.cli.completion import complete_playbook, complete_repository
from registry.cli.options import require_commit, with_json, with_remote, with_wait
from registry.cli.outcome import No
from registry.cli.remote import Answer, Params, Remote, segment
from registry.cli.terminal import faint, heading, progress, prose, say, shown, table, write_json

with_reason = click.option(
    "--reason", required=True, metavar="TEXT", help="Why; it is shown and goes to the audit log."
)


@click.group(epilog="\b\nExample:\n  registry policy show")
def policy() -> None:
    """Show and change what is required, waived or withdrawn. Changes need a token with policy:write."""


@policy.command(short_help="Show the rules in force.", epilog="\b\nExample:\n  registry policy show --json")
@with_json
@with_remote
def show(remote: Remote, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Show the rules in force: marks with their origin, waivers, withdrawals."""
    with progress("Asking"):
        answer = remote.get("/v1/policy")
    if as_json:
        write_json(answer.body)
        return
    _write_rules(answer.json)


@policy.command(
    epilog='\b\nExample:\n  registry policy require deploy-rollback --reason "The rollback path is audited."'
)
@click.argument("name", shell_complete=complete_playbook)
@with_reason
@with_json
@with_remote
def require(remote: Remote, name: str, reason: str, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Make the central playbook NAME hold in every repository."""
    answer = _change(remote, "PUT", f"/v1/policy/required/{segment(name)}", body={"reason": reason})
    _done(answer, f"{shown(name)} is required in every repository.", as_json=as_json)


@policy.command(
    short_help="Take back a mark made with `require`.",
    epilog="\b\nExample:\n  registry policy unrequire deploy-rollback",
)
@click.argument("name", shell_complete=complete_playbook)
@with_json
@with_remote
def unrequire(remote: Remote, name: str, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Take back a mark that was made with `require`; what git says stays."""
    answer = _change(remote, "DELETE", f"/v1/policy/required/{segment(name)}")
    still = _still(answer)
    text = f"The mark on {shown(name)} is taken back" + (f"; it is still required by {still}." if still else ".")
    _done(answer, text, as_json=as_json)


@policy.command(
    short_help="Let one repository serve its own copy.",
    epilog="""\b
Example:
  registry policy waive deploy-rollback --repository github.com/acme/legacy-billing \\
    --until 2027-01-31 --reason "Runs on the old deployer." """,
)
@click.argument("name", shell_complete=complete_playbook)
@click.option(
    "--repository",
    required=True,
    metavar="REPOSITORY",
    shell_complete=complete_repository,
    help="The one repository whose own copy may serve.",
)
@click.option("--until", required=True, type=click.DateTime(["%Y-%m-%d"]), help="Its last day (UTC).")
@with_reason
@with_json
@with_remote
def waive(remote: Remote, name: str, repository: str, until: datetime, reason: str, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Let one repository's own copy of the required NAME serve there, until a day."""
    body = {"until": until.date().isoformat(), "reason": reason}
    answer = _change(remote, "PUT", f"/v1/policy/waivers/{segment(name)}", [("repository", repository)], body)
    text = f"{shown(repository)} may serve its own {shown(name)} until the end of {until.date()} (UTC)."
    _done(answer, text, as_json=as_json)


@policy.command(
    epilog="\b\nExample:\n  registry policy unwaive deploy-rollback --repository github.com/acme/legacy-billing"
)
@click.argument("name", shell_complete=complete_playbook)
@click.option(
    "--repository",
    required=True,
    metavar="REPOSITORY",
    shell_complete=complete_repository,
    help="The repository whose waiver ends.",
)
@with_json
@with_remote
def unwaive(remote: Remote, name: str, repository: str, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """End a waiver that was given with `waive`."""
    answer = _change(remote, "DELETE", f"/v1/policy/waivers/{segment(name)}", [("repository", repository)])
    _done(answer, f"The waiver of {shown(repository)} for {shown(name)} has ended.", as_json=as_json)


@policy.command(
    epilog="""\b
Example:
  registry policy withdraw restore-backup --digest sha256:... --reason "Step 3 deletes the wrong bucket."
`registry explain restore-backup --json` shows the digests."""
)
@click.argument("name", shell_complete=complete_playbook)
@click.option("--digest", required=True, metavar="DIGEST", help="Which copy: sha256: and 64 hexadecimal digits.")
@with_reason
@with_json
@with_remote
def withdraw(remote: Remote, name: str, digest: str, reason: str, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Take one copy of NAME out of service everywhere, at once."""
    path = f"/v1/policy/withdrawn/{segment(name)}"
    answer = _change(remote, "PUT", path, [("digest", digest)], {"reason": reason})
    _done(answer, f"{shown(digest)} of {shown(name)} is withdrawn: it serves nobody.", as_json=as_json)


@policy.command(epilog="\b\nExample:\n  registry policy unwithdraw restore-backup --digest sha256:...")
@click.argument("name", shell_complete=complete_playbook)
@click.option("--digest", required=True, metavar="DIGEST", help="Which copy: sha256: and 64 hexadecimal digits.")
@with_json
@with_remote
def unwithdraw(remote: Remote, name: str, digest: str, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Let a withdrawn copy of NAME serve again."""
    answer = _change(remote, "DELETE", f"/v1/policy/withdrawn/{segment(name)}", [("digest", digest)])
    _done(answer, f"{shown(digest)} of {shown(name)} is no longer withdrawn.", as_json=as_json)


@policy.command(
    short_help="Take the policy file's absence as meant.",
    epilog="""\b
Example:
  registry policy accept --commit 3f2c9a51c0de3f2c9a51c0de3f2c9a51c0de3f2c
Without --commit, the central repository's newest commit is meant; it is named in the answer.""",
)
@click.option("--commit", metavar="COMMIT", help="The central commit without a policy file that loads.")
@with_wait
@with_json
@with_remote
def accept(remote: Remote, commit: str | None, wait_s: float, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Take a missing or broken policy file as meant, which ends the rules that it held."""
    if commit is not None:
        require_commit(commit, "without --commit, central's newest is meant")
    chosen = commit or _central_commit(remote)
    with progress("Applying"):
        answer = remote.call("POST", "/v1/policy/accept", body={"commit": chosen}, wait_s=wait_s)
    _done(answer, f"The policy file's state at {shown(chosen)} is taken as meant.", as_json=as_json)


def _change(remote: Remote, method: str, path: str, params: Params = (), body: object = None) -> Answer:
    with progress("Asking"):
        return remote.call(method, path, params=params, body=body)


def _done(answer: Answer, text: str, *, as_json: bool) -> None:
    if not as_json:
        say(text)
    elif answer.body:
        write_json(answer.body)


def _still(answer: Answer) -> str:
    body = answer.json if answer.body else {}
    return ", ".join(shown(item) for item in body.get("still_required_by", ()))


def _central_commit(remote: Remote) -> str:
    cursor: str | None = None
    while True:
        page = remote.get("/v1/repositories", [("limit", 200), *([("cursor", cursor)] if cursor else [])]).json
        for item in page["items"]:
            if item["role"] == "central" and item["sync"]["commit"]:
                return str(item["sync"]["commit"])
        cursor = page["next_cursor"]
        if cursor is None:
            raise No("the central repository was never read, so there is no commit to accept.")


def _write_rules(rules: dict[str, Any]) -> None:
    sections = (
        (
            "Required",
            rules["required"],
            (("name", "NAME"), ("tag", "TAG"), ("origin", "SAID BY"), ("reason", "REASON")),
        ),
        (
            "Waivers",
            rules["waivers"],
            (
                ("name", "NAME"),
                ("repository", "REPOSITORY"),
                ("until", "UNTIL"),
                ("approved_by", "APPROVED BY"),
                ("reason", "REASON"),
            ),
        ),
        (
            "Withdrawn",
            rules["withdrawals"],
            (("name", "NAME"), ("digest", "DIGEST"), ("reason", "REASON")),
        ),
        (
            "Who may run what: the first that fits decides",
            [_access(item) for item in rules.get("access", ())],
            (
                ("effect", "EFFECT"),
                ("who", "WHO"),
                ("about", "PLAYBOOKS"),
                ("unless", "UNLESS"),
                ("reason", "REASON"),
            ),
        ),
    )
    for title, items, columns in sections:
        say(heading(title))
        if items:
            table([label for _, label in columns], [[prose(item.get(key)) for key, _ in columns] for item in items])
        else:
            say(faint("none"))
        say()
    if rules.get("worktree") == "deny":
        say("Copies in working trees may not run.")


def _access(rule: dict[str, Any]) -> dict[str, str]:
    """An access rule as its row: words of each kind in one cell, and what is empty as what it means."""
    about = [f"{kind} {' or '.join(rule[kind])}" for kind in ("names", "tags", "risk") if rule[kind]]
    return {
        "effect": rule["effect"],
        "who": _whom(rule["who"]) or "everybody",
        "about": " and ".join(about) or "all",
        "unless": _whom(rule["unless"]),
        "reason": rule["reason"],
    }


def _whom(who: dict[str, list[str]]) -> str:
    return ", ".join([*(f"team {team}" for team in who["teams"]), *who["principals"]])
