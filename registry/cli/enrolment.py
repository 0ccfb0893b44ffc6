"""Registering a working copy's repository, as far as the caller's token allows, and what to do where it does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.cli.contact import Contact
from registry.cli.identity import Place
from registry.cli.outcome import Misused, No, Unreachable
from registry.cli.remote import Remote, segment
from registry.cli.terminal import shown

WRITE: Final = "repository:write"
WAIT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Enrolment:
    """How the registration stands: a word for it, the sentence, and whether that is what was asked for."""

    word: str
    said: str
    is_good: bool = True


def command_for(place: Place, team: str | None) -> str:
    """The command that registers it."""
    url = place.checkout.remote or "URL"
    named = f" --id {place.identity}" if place.part or place.checkout.remote is None else ""
    return f"registry register {shown(url)} --team {shown(team or 'TEAM')}{shown(named) if named else ''}"


def standing(registration: Mapping[str, Any]) -> Enrolment:
    """How a repository that is registered stands."""
    identity, status = shown(registration["id"]), registration.get("sync") or {}
    if registration.get("role") == "central":
        return Enrolment("central", "this is the company's own repository: every catalog begins with it")
    state = str(status.get("state"))
    said = f"of team {shown(registration.get('team'))}, {shown(registration.get('playbooks'))} playbooks of its own"
    if state == "ok":
        return Enrolment("registered", said)
    return Enrolment(
        "registered", f"{said}; its sync stands at {shown(state)}: `registry repositories {identity}` says why"
    )


def obstacle(place: Place, contact: Contact, team: str | None) -> Enrolment | None:
    """Why it cannot be registered now, with what to do later; None where nothing stands against it."""
    caller = contact.caller
    later = f"`{command_for(place, team or caller.team)}` registers it"
    missing = None
    if contact.fault is not None:
        return Enrolment("not asked", f"the registry is out of reach; {later} later")
    if not contact.may_read:
        return Enrolment("not asked", "reading needs a token here: set REGISTRY_TOKEN and run this again")
    if place.checkout.remote is None:
        missing = "it has no remote that the registry could read: add one, push, and run this again"
    elif not caller.has_token:
        missing = f"no REGISTRY_TOKEN is set; with a token that has {WRITE}, {later}"
    elif caller.scopes and not caller.holds(WRITE):
        missing = f"the token has no {WRITE}; with one that has, {later}"
    elif team is None and caller.team is None:
        missing = f"the token is of no team, so say whose it is with --team; {later} too"
    return None if missing is None else Enrolment("unregistered", missing, is_good=team is None)


def enrol(remote: Remote, place: Place, contact: Contact, team: str | None) -> Enrolment:
    """Register the repository, and say how it stands; a refusal is told with what to run later."""
    owner = team or contact.caller.team
    body = {"url": place.checkout.remote, "team": owner}
    try:
        answer = remote.call("PUT", f"/v1/repositories/{segment(place.identity)}", body=body, wait_s=WAIT_S)
    except (No, Misused, Unreachable) as refusal:
        later = f"When that is mended, `{command_for(place, owner)}` registers it"
        return Enrolment("unregistered", f"{refusal.message.rstrip('.')}. {later}", is_good=not team)
    found = answer.json
    status = found["sync"]
    if status["state"] in {"ok", "pending", "syncing"}:
        return standing(found)
    said = f"for team {shown(owner)}, and not read yet: {shown(status['message'])}"
    return Enrolment("registered", f"{said.rstrip('.')}. `registry sync {shown(found['id'])}` tries again")
