"""From the claims of a checked JWT to a principal."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policies.access import Principal, Scope

PRINCIPAL_PREFIX: Final = "oauth:"
"""Before every subject: rules of the policy file name principals, and no issuer's subject may pose as a token's."""
_SUBJECT = re.compile(r"[!-~]{1,200}")
_TEAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:/-]{0,127}")


@dataclass(frozen=True, slots=True)
class Mapped:
    """Which claims say what: the names of the team's and the scopes' claim, and whether `admin` is believed."""

    team_claim: str
    scopes_claim: str
    allow_admin: bool = False


def principal_of(claims: Mapping[str, object], mapped: Mapped) -> Principal | None:
    """The principal of these claims, or None where they name nobody.

    Scopes that this registry does not know count for nothing. A team that is no text is none.
    """
    subject = claims.get("sub")
    if not isinstance(subject, str) or not _SUBJECT.fullmatch(subject):
        return None
    team = claims.get(mapped.team_claim)
    named = team if isinstance(team, str) and _TEAM.fullmatch(team) else None
    said = claims.get(mapped.scopes_claim)
    words = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
    known = frozenset(scope.value for scope in Scope) - (frozenset() if mapped.allow_admin else {Scope.ADMIN.value})
    return Principal(PRINCIPAL_PREFIX + subject, named, known.intersection(w for w in words if isinstance(w, str)))
