"""Who a caller is. What a caller may change is the services' to say; who may read at all is asked here."""

import re
from typing import Final

from policies.access import Principal
from registry.api.threads import Threads
from registry.errors import Unauthenticated
from registry.service.tokens import Tokens, require_reader

AUTHORIZATION_BYTES_MAX = 16_384
"""An issuer's token carries its claims with it; this registry's own are short."""

_EMPTY: Final = re.compile(rb"\s*(?:bearer)?\s*", re.IGNORECASE)
_UNREPLACED: Final = re.compile(r"\s*bearer\s+(?:\$|\{env:)", re.IGNORECASE)


class TokenRefused(Unauthenticated):
    """A token was sent and is not valid; the challenge then says so (RFC 6750, 3.1)."""


def credential_of(authorization: bytes | None) -> bytes | None:
    """The Authorization header, or None where it carries nothing.

    Hosts send `Bearer` alone where the variable that their configuration names is not set: nobody showed a token.
    """
    return None if authorization is None or _EMPTY.fullmatch(authorization) else authorization


class Gate:
    """Admits callers: authenticates each request, and keeps readers out where reading is not open."""

    def __init__(self, tokens: Tokens, threads: Threads, *, anonymous_read: bool) -> None:
        self._tokens = tokens
        self._threads = threads
        self._anonymous_read = anonymous_read

    @property
    def is_open(self) -> bool:
        """Whether a caller without a token may read."""
        return self._anonymous_read

    async def authenticate(self, authorization: bytes | None) -> Principal | None:
        """The principal of an Authorization header; None where there is none, or nothing in it.

        Raises Unauthenticated for anything but a valid token, even where reading is open.
        """
        authorization = credential_of(authorization)
        if authorization is None:
            return None
        if len(authorization) > AUTHORIZATION_BYTES_MAX:
            raise TokenRefused("the Authorization header is too long to be that of a token of this registry.")
        text = authorization.decode("latin-1")
        principal = self._tokens.peek(text)
        if principal is not None:
            return principal
        try:
            return await self._threads.run(self._tokens.authenticate, text)
        except Unauthenticated as error:
            if _UNREPLACED.match(text):
                raise TokenRefused(
                    "the token is the name of a variable that the host did not replace: is the variable set where the "
                    "host was started?"
                ) from None
            raise TokenRefused(error.detail, **error.extra) from None

    def check_reader(self, principal: Principal | None) -> None:
        """Nothing, if the caller may read. Raises Unauthenticated or Forbidden."""
        # Where everybody may read, a token made for something else must not be worse than none.
        if not self._anonymous_read:
            require_reader(principal, anonymous_read=False)
