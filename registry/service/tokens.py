"""Tokens: who a caller is. A value is shown once and stored as its sha256; see http-api.md, Write."""

import hashlib
import hmac
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from policies.access import Action, Principal, Scope, may
from registry.digest import Json
from registry.errors import Forbidden, RequestInvalid, Unauthenticated, Unknown
from registry.ports import AuditEntry, Store, Token
from registry.service.cache import EntryCache
from registry.service.repositories import name_of, require
from registry.service.views import token_json

SECRET_PREFIX = "pbr_"  # noqa: S105 - what every value begins with, so that scanners find a leaked one
SECRET_BYTES = 32
CACHE_FOR = timedelta(seconds=1)
"""How long a token's row is believed: a revoked token stops within this time on every replica."""
CACHED_MAX = 4_096
BOOTSTRAP_NAME = "bootstrap-admin"
_PRINCIPAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:/-]{0,127}")


BELIEVED_FOR = timedelta(seconds=60)
"""How long what an issuer's token was found to say is believed without looking at it again."""


class Issuer(Protocol):
    """Somebody else whose tokens are taken as well."""

    def may_know(self, secret: str) -> bool:
        """Whether a token could be one of the issuer's; then it is none of this registry's."""
        ...

    def verify(self, secret: str) -> tuple[Principal, datetime]:
        """(principal, until when that holds). Raises Unauthenticated and Unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class _Known:
    token: Token
    until: datetime


class Tokens:
    """Authenticates callers and manages their tokens. Thread-safe."""

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], datetime],
        randomness: Callable[[int], str],
        bootstrap: str | None,
        issuer: Issuer | None = None,
    ) -> None:
        self._store = store
        self._now = now
        self._randomness = randomness
        self._bootstrap = None if bootstrap is None else _hash(bootstrap)
        self._known: EntryCache[str, _Known] = EntryCache(CACHED_MAX)
        self._issuer = issuer
        self._believed: EntryCache[str, tuple[Principal, datetime]] = EntryCache(CACHED_MAX)

    def authenticate(self, authorization: str | None) -> Principal | None:
        """The principal of an Authorization header; None where there is no header.

        Raises Unauthenticated for anything but a valid bearer token, even where reading is open.
        """
        if authorization is None:
            return None
        return self._admit(authorization, self._token, self._verified)

    def peek(self, authorization: str) -> Principal | None:
        """The same from memory alone, or None where the store must be asked. Never blocks; safe on an event loop."""
        try:
            return self._admit(authorization, self._known_token, self._believed_principal)
        except Unauthenticated:
            return None

    def _admit(
        self,
        authorization: str,
        find: Callable[[str], Token | None],
        believe: Callable[[str, str], Principal | None],
    ) -> Principal | None:
        scheme, _, secret = authorization.strip().partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Unauthenticated("send the token as `Authorization: Bearer <token>`.")
        hashed = _hash(secret.strip())
        if self._bootstrap is not None and hmac.compare_digest(hashed, self._bootstrap):
            return Principal(BOOTSTRAP_NAME, None, frozenset(Scope))
        if self._issuer is not None and self._issuer.may_know(secret.strip()):
            return believe(secret.strip(), hashed)
        token = find(hashed)
        now = self._now()
        if token is None or token.revoked_at is not None or (token.expires_at is not None and token.expires_at <= now):
            raise Unauthenticated("the token is unknown, revoked or expired: ask for a new one.")
        return Principal(token.principal, token.team, token.scopes)

    def create(
        self,
        principal: Principal | None,
        *,
        name: str,
        team: str | None,
        scopes: Collection[str],
        expires_at: datetime | None = None,
    ) -> tuple[dict[str, Json], str]:
        """A new token and its value, which is shown here and never again. Raises RequestInvalid."""
        require(may(principal, Action.MANAGE_TOKENS), principal)
        if not _PRINCIPAL.fullmatch(name) or (team is not None and not _PRINCIPAL.fullmatch(team)):
            raise RequestInvalid("a principal and a team are 1 to 128 letters, digits and . _ @ : / -")
        unknown = set(scopes) - set(Scope)
        if unknown or not scopes:
            wrong = f"{min(unknown)!r} is no scope" if unknown else "no scope is given"
            raise RequestInvalid(f"{wrong}: use some of {', '.join(Scope)}.")
        now = self._now()
        if expires_at is not None and expires_at <= now:
            raise RequestInvalid("expires_at is over: give a later instant.")
        secret = SECRET_PREFIX + self._randomness(SECRET_BYTES)
        token = Token(
            id=self._randomness(9),
            hash=_hash(secret),
            principal=name,
            team=team,
            scopes=frozenset(str(scope) for scope in scopes),
            created_at=now,
            expires_at=expires_at,
        )
        audit = AuditEntry(now, name_of(principal), "token-created", name, detail={"token": token.id})
        self._store.put_token(token, audit)
        return token_json(token), secret

    def list(self, principal: Principal | None) -> dict[str, Json]:
        """All tokens without their values."""
        require(may(principal, Action.MANAGE_TOKENS), principal)
        return {"items": [token_json(token) for token in self._store.tokens()], "next_cursor": None}

    def describe(self, principal: Principal | None, *, anonymous_read: bool) -> dict[str, Json]:
        """Who a caller is, as the token says (None: there was none), and whether it may read."""
        reads = anonymous_read or may(principal, Action.READ).allowed
        if principal is None:
            return {"principal": None, "team": None, "scopes": [], "reads": reads}
        scopes: list[Json] = [*sorted(principal.scopes)]
        return {"principal": principal.name, "team": principal.team, "scopes": scopes, "reads": reads}

    def revoke(self, principal: Principal | None, token_id: str) -> None:
        """End a token at once. Raises Unknown where there is none to end."""
        require(may(principal, Action.MANAGE_TOKENS), principal)
        now = self._now()
        audit = AuditEntry(now, name_of(principal), "token-revoked", token_id)
        if not self._store.revoke_token(token_id, now, audit):
            raise Unknown("token", f"there is no valid token {token_id[:64]!r}.")
        self._known = EntryCache(CACHED_MAX)

    def _believed_principal(self, _secret: str, hashed: str) -> Principal | None:
        found = self._believed.get(hashed)
        return found[0] if found is not None and found[1] > self._now() else None

    def _verified(self, secret: str, hashed: str) -> Principal | None:
        found = self._believed_principal(secret, hashed)
        if found is None and self._issuer is not None:
            found, until = self._issuer.verify(secret)
            self._believed.put(hashed, (found, min(until, self._now() + BELIEVED_FOR)))
        return found

    def _known_token(self, hashed: str) -> Token | None:
        known = self._known.get(hashed)
        return known.token if known is not None and known.until > self._now() else None

    def _token(self, hashed: str) -> Token | None:
        token = self._known_token(hashed)
        if token is None:
            token = self._store.token_by_hash(hashed)
            if token is not None:
                self._known.put(hashed, _Known(token, self._now() + CACHE_FOR))
        return token


def require_reader(principal: Principal | None, *, anonymous_read: bool) -> None:
    """Nothing, if the caller may read. Raises Unauthenticated or Forbidden."""
    permission = may(principal, Action.READ, anonymous_read=anonymous_read)
    if not permission.allowed:
        raise Unauthenticated(permission.reason) if principal is None else Forbidden(permission.reason)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
