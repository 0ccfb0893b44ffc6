"""What a registry says to somebody who sets up a working copy; that it does not answer keeps nobody from going on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.cli.inquiry import Inquiry
from registry.cli.outcome import Misused, No, Unreachable
from registry.cli.remote import Remote, segment

ADMIN: Final = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who the registry takes the caller for; None for `reads` where it does not say."""

    has_token: bool
    scopes: frozenset[str] = frozenset()
    team: str | None = None
    reads: bool | None = None
    principal: str | None = None

    def holds(self, scope: str) -> bool:
        """Whether the token has that scope, or all of them."""
        return bool(self.scopes & {scope, ADMIN})


def ask_caller(remote: Remote, *, has_token: bool) -> Caller:
    """Who the caller is to the registry. Raises Misused for a token that is not valid, and Unreachable."""
    try:
        said = remote.get("/v1/whoami").json
    except (No, Misused) as answer:
        if answer.code not in {"route-unknown", "playbook-unknown"}:
            raise
        # An older registry, which has no such call.
        return Caller(has_token)
    scopes = said.get("scopes") if isinstance(said, dict) else None
    if not isinstance(scopes, list):
        raise Misused("the answer is not what a registry says, so this is none: is its URL right?")
    return Caller(
        has_token, frozenset(map(str, scopes)), said.get("team"), bool(said.get("reads")), said.get("principal")
    )


class Contact:
    """A registry that may be out of reach. Raises Misused where something else answers, or a token is not valid."""

    def __init__(self, remote: Remote, *, has_token: bool) -> None:
        self._remote = remote
        self.fault: str | None = None
        """Why it cannot be asked, None while it can."""
        self.caller = Caller(has_token)
        try:
            self.caller = ask_caller(remote, has_token=has_token)
        except Unreachable as fault:
            self.fault = fault.message

    @property
    def may_read(self) -> bool:
        """Whether it can be asked about repositories."""
        return self.fault is None and self.caller.reads is not False

    def registration(self, spelling: str) -> Mapping[str, Any] | None:
        """The repository as it is registered, None where it is not or cannot be asked about."""
        if not self.may_read:
            return None
        try:
            return Inquiry(self._remote).registration(spelling)
        except Unreachable as fault:
            self.fault = fault.message
            return None

    def catalog(self, identity: str) -> Mapping[str, Any] | None:
        """The catalog of a repository, None where there is none to be had."""
        if not self.may_read:
            return None
        try:
            found = self._remote.get(f"/v1/catalogs/{segment(identity)}").json
        except (No, Misused, Unreachable):
            return None
        return found if isinstance(found, dict) else None
