"""The issuer's keys (JWKS, RFC 7517), fetched when they are needed and kept for a while."""

import json
import time
from collections.abc import Callable
from threading import Lock

import httpx
import structlog
from jwt import PyJWK, PyJWKSet
from jwt.exceptions import PyJWTError

from registry.errors import Unavailable

JWKS_BYTES_MAX = 256 * 1024
FETCH_TIMEOUT_S = 5.0
"""For the whole of a fetch, whatever trickles in."""
FRESH_S = 600.0
BELIEVED_S = 86_400.0
"""Keys that cannot be fetched again are believed this long: an issuer that is down must not lock everybody out."""
RETRY_S = 30.0
"""Between two fetches, whoever asks for unknown keys: a made-up key id must not make this a load on the issuer."""

log = structlog.get_logger(__name__)

Fetch = Callable[[str], bytes]


class Keys:
    """The keys of one issuer by their ids. Thread-safe; only one thread fetches."""

    def __init__(self, url: str, *, fetch: Fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._fetch = fetch
        self._clock = clock
        self._lock = Lock()
        self._keys: dict[str | None, PyJWK] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None

    def key(self, key_id: str | None) -> PyJWK | None:
        """The key of that id, fetched where it is not known or not fresh; None where the issuer has none.

        Raises Unavailable while there are no keys that could be believed.
        """
        found = self._fresh(key_id)
        if found is not None:
            return found
        with self._lock:
            found = self._fresh(key_id)
            now = self._clock()
            if found is None and (self._tried_at is None or now - self._tried_at >= RETRY_S):
                self._tried_at = now
                self._refresh()
        if self._age() > BELIEVED_S:
            raise Unavailable("the token issuer's keys cannot be fetched now: ask again in a moment.", retry_after_s=30)
        return self._find(key_id)

    def _fresh(self, key_id: str | None) -> PyJWK | None:
        return self._find(key_id) if self._age() < FRESH_S else None

    def _find(self, key_id: str | None) -> PyJWK | None:
        if key_id is None and len(self._keys) == 1:
            # One key needs no id.
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _age(self) -> float:
        return float("inf") if self._fetched_at is None else self._clock() - self._fetched_at

    def _refresh(self) -> None:
        try:
            loaded = json.loads(self._fetch(self._url))
            # A key for encryption is none to check a signature with.
            found = {key.key_id: key for key in PyJWKSet.from_dict(loaded).keys if key.public_key_use in {None, "sig"}}
        except (httpx.HTTPError, ValueError, TypeError, AttributeError, RecursionError, PyJWTError) as error:
            # What PyJWT says quotes the key.
            reason = type(error).__name__ if isinstance(error, PyJWTError) else str(error) or type(error).__name__
            log.warning("the token issuer's keys cannot be fetched", url=self._url, reason=reason)
            return
        self._keys = found
        self._fetched_at = self._clock()


def fetch(url: str) -> bytes:
    """The body of a GET, JWKS_BYTES_MAX at most and within FETCH_TIMEOUT_S; redirects are not followed.

    Raises httpx.HTTPError, and ValueError for an answer that is none.
    """
    end = time.monotonic() + FETCH_TIMEOUT_S
    chunks = bytearray()
    with (
        httpx.Client(timeout=FETCH_TIMEOUT_S, follow_redirects=False) as client,
        client.stream("GET", url, headers={"accept": "application/json"}) as answer,
    ):
        if answer.status_code != httpx.codes.OK:
            raise ValueError(f"the answer is {answer.status_code}")
        for chunk in answer.iter_bytes():
            chunks += chunk
            if len(chunks) > JWKS_BYTES_MAX:
                raise ValueError(f"the answer is over {JWKS_BYTES_MAX} bytes")
            if time.monotonic() > end:
                raise ValueError(f"the answer took over {FETCH_TIMEOUT_S:g} s")
    return bytes(chunks)
