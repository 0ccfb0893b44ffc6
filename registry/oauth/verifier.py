"""Whether a JWT is one of the issuer's, for this registry, and in force (RFC 9068; OAuth 2.1, Resource Servers)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import jwt
from jwt.exceptions import InvalidTokenError

from policies.access import Principal
from registry.errors import Unauthenticated
from registry.oauth.claims import Mapped, principal_of
from registry.oauth.keys import Keys

ALGORITHMS: Final = frozenset({"RS256", "ES256", "EdDSA"})
"""Signatures by a key that only the issuer has. Never `none`, and never one that a public key could make."""
LEEWAY: Final = timedelta(seconds=60)
NEEDED_CLAIMS: Final = ("exp", "iss", "aud", "sub")
KEY_ID_LENGTH_MAX: Final = 256
_TYPES: Final = frozenset({"JWT", "AT+JWT"})


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token must say of itself."""

    issuer: str
    audience: str


class JwtVerifier:
    """Tells the principal of a JWT. Thread-safe."""

    def __init__(self, keys: Keys, expected: Expected, mapped: Mapped, *, now: Callable[[], datetime]) -> None:
        self._keys = keys
        self._expected = expected
        self._mapped = mapped
        self._now = now

    def may_know(self, secret: str) -> bool:
        """Whether a bearer token has the shape of a signed JWT, which no token of this registry has."""
        return secret.startswith("eyJ") and secret.count(".") == 2

    def verify(self, secret: str) -> tuple[Principal, datetime]:
        """(principal, until when that holds); the issuer's keys are fetched where need be.

        Raises Unauthenticated, and Unavailable while there are no keys to check with.
        """
        header = _header(secret)
        key = self._keys.key(header.get("kid"))
        if key is None:
            raise Unauthenticated("the token is signed with a key that its issuer does not have: get a new one.")
        return self._verified(secret, header, key)

    def _verified(self, token: str, header: Mapping[str, Any], key: jwt.PyJWK) -> tuple[Principal, datetime]:
        if key.algorithm_name != header["alg"]:
            raise Unauthenticated("the token's algorithm is not that of its key.")
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[header["alg"]],
                issuer=self._expected.issuer,
                audience=self._expected.audience,
                leeway=LEEWAY,
                options={"require": list(NEEDED_CLAIMS), "verify_exp": False, "verify_nbf": False, "verify_iat": False},
            )
            until, not_before = _instants(claims)
        except (InvalidTokenError, ValueError, TypeError, OverflowError, RecursionError) as error:
            # What PyJWT says names a claim and never a value of the token.
            raise Unauthenticated(f"the token is not valid here: {str(error).rstrip('.')}.") from None
        now = self._now().timestamp()
        if until + LEEWAY.total_seconds() <= now:
            raise Unauthenticated("the token is expired: get a new one.")
        if not_before - LEEWAY.total_seconds() > now:
            raise Unauthenticated("the token is not in force yet.")
        principal = principal_of(claims, self._mapped)
        if principal is None:
            raise Unauthenticated("the token's `sub` names nobody: expected 1 to 200 visible ASCII characters.")
        return principal, self._now() + timedelta(seconds=until + LEEWAY.total_seconds() - now)


def _header(token: str) -> dict[str, Any]:
    """The header, as far as it decides what is done. Raises Unauthenticated."""
    try:
        header = jwt.get_unverified_header(token)
    except (InvalidTokenError, ValueError, RecursionError):
        raise Unauthenticated("the token looks like a JWT and is none.") from None
    key_id = header.get("kid")
    kind = header.get("typ", "JWT")
    if header.get("alg") not in ALGORITHMS:
        raise Unauthenticated(f"the token's algorithm is not one of {', '.join(sorted(ALGORITHMS))}.")
    if not isinstance(kind, str) or kind.upper().removeprefix("APPLICATION/") not in _TYPES or "crit" in header:
        raise Unauthenticated("the token is a JWT of another kind than an access token.")
    if key_id is not None and (not isinstance(key_id, str) or len(key_id) > KEY_ID_LENGTH_MAX):
        raise Unauthenticated("the token's `kid` is no key id.")
    return header


def _instants(claims: Mapping[str, Any]) -> tuple[float, float]:
    """(`exp`, the later of `iat` and `nbf`, 0 without either), in seconds. Raises ValueError."""
    found = [claims["exp"], claims.get("iat", 0), claims.get("nbf", 0)]
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float) or not -1e12 < value < 1e12:
            raise ValueError("exp, iat and nbf are seconds")
    return float(found[0]), float(max(found[1], found[2]))
