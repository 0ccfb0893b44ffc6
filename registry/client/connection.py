"""The way to a registry over HTTP: one call in, its answer out, and every failure as the tree of registry.errors."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from registry.client.transport import Reply, Transport
from registry.client.wire import read_object
from registry.errors import (
    Conflict,
    Forbidden,
    InputsInvalid,
    NameInvalid,
    PlaybookUnavailable,
    QueryInvalid,
    Refusal,
    Refused,
    RegistryError,
    RepositoryInvalid,
    RequestInvalid,
    SettingsInvalid,
    SnapshotGone,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unknown,
    Untrusted,
)

TIMEOUT_S: Final = 10.0
"""How long a call may take from connecting to the last byte, and a larger one be silent."""
ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
"""More than a run's procedure has, the largest of the ordinary answers; an endless one is no registry's."""
NOT_MODIFIED: Final = 304

_PROBLEM = "application/problem+json"
_HOST = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+")
_PASSING = frozenset({408, 429})
_REDIRECTS = range(300, 400)
_STANDARD = frozenset({"type", "title", "status", "detail", "instance"})
_REFUSALS: Final[dict[str, type[Refusal]]] = {
    kind.code: kind
    for kind in (
        NameInvalid,
        QueryInvalid,
        RepositoryInvalid,
        RequestInvalid,
        Unauthenticated,
        Forbidden,
        Refused,
        Conflict,
        PlaybookUnavailable,
        InputsInvalid,
        SnapshotGone,
        TooLarge,
    )
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a registry said to a call that it met, or that nothing changed (304): status, headers, exact body.

    Names of headers are in lower case.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body, which is an object. Raises Untrusted."""
        try:
            return read_object(self.body)
        except ValueError:
            raise Untrusted("the answer is no JSON object, so it is no registry's: is REGISTRY_URL right?") from None


class Connection:
    """A registry at one URL; safe from several threads.

    Raises SettingsInvalid for a URL or token that cannot be one.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        self.url = _checked_url(url)
        self.timeout_s = timeout_s
        self._transport = Transport(self.url)
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": "playbook-registry-client",
        }
        if token:
            self._headers["Authorization"] = f"Bearer {_checked_token(token)}"

    @property
    def has_token(self) -> bool:
        """Whether calls are made in somebody's name."""
        return "Authorization" in self._headers

    def get(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        etag: str | None = None,
        deadline_s: float | None = None,
        bytes_max: int = ANSWER_BYTES_MAX,
    ) -> Answer:
        """The answer to a read; with `etag` it may be a 304. `deadline_s` is `timeout_s` unless given."""
        headers = {"If-None-Match": etag} if etag else {}
        reply = self._transport.call(
            "GET",
            _target(path, params),
            {**self._headers, **headers},
            b"",
            deadline_s=self.timeout_s if deadline_s is None else deadline_s,
            silence_s=self.timeout_s,
            bytes_max=bytes_max,
        )
        if reply.status == NOT_MODIFIED and etag is None:
            raise Untrusted(
                "the registry says that nothing changed, to somebody who has nothing: is there a proxy in between?"
            )
        return _met(reply)

    def post(
        self,
        path: str,
        body: Mapping[str, object],
        *,
        params: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Answer:
        """The answer to a call with a JSON body. Raises RequestInvalid for a body or key that cannot be sent."""
        headers = {"Content-Type": "application/json"}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = _checked_key(idempotency_key)
        reply = self._transport.call(
            "POST",
            _target(path, params),
            {**self._headers, **headers},
            _body(body),
            deadline_s=self.timeout_s,
            silence_s=self.timeout_s,
            bytes_max=ANSWER_BYTES_MAX,
        )
        return _met(reply)

    def stream(
        self, path: str, body: Mapping[str, object], *, headers: Mapping[str, str], timeout_s: float
    ) -> Iterator[str]:
        """The lines of an answer that goes on; `timeout_s` is how long it may be silent.

        Raises Unavailable where it breaks off.
        """
        told = {**self._headers, "Content-Type": "application/json", **headers}
        for line in self._transport.lines(path, told, _body(body), deadline_s=self.timeout_s, silence_s=timeout_s):
            if isinstance(line, Reply):
                raise failure(line.status, line.headers, line.body)
            yield line

    def close(self) -> None:
        """Let go of the connections; a later call opens them again."""
        self._transport.close()


def segment(value: str) -> str:
    """`value` as one segment of a path, so that none of its slashes or dots is read as a route."""
    return quote(value, safe="", errors="replace")


def failure(status: int, headers: Mapping[str, str], content: bytes) -> RegistryError:
    """The exception for an answer that is no success (http-api.md, Errors)."""
    problem = _problem(headers, content)
    if status >= 500 or status in _PASSING:
        said = _detail(problem) or f"the registry failed with HTTP status {status}."
        wait = headers.get("retry-after", "")
        return Unavailable(said, retry_after_s=int(wait) if wait.isdecimal() and len(wait) < 6 else 2)
    if status in _REDIRECTS:
        return Untrusted(
            f"HTTP status {status} leads elsewhere, and is not followed: is REGISTRY_URL right, is the network open?"
        )
    if problem is None:
        return Untrusted(f"HTTP status {status} without an explanation is no registry's: is REGISTRY_URL right?")
    code = str(problem.get("type", "")).rpartition("/")[2]
    kind, ends, _ = code.rpartition("-unknown")
    if ends:
        error: Refusal = Unknown(kind, _detail(problem))
    else:
        error = _REFUSALS.get(code, Refused)(_detail(problem))
    # Whatever the members are called: as keywords they could be taken for the exception's own.
    error.extra = {key: value for key, value in problem.items() if key not in _STANDARD}
    return error


def _met(reply: Reply) -> Answer:
    if 200 <= reply.status < 300 or reply.status == NOT_MODIFIED:
        return Answer(reply.status, reply.headers, reply.body)
    raise failure(reply.status, reply.headers, reply.body)


def _target(path: str, params: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(params, errors='replace')}" if params else path


def _body(value: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        # Halves of surrogate pairs, NaN and objects that JSON has no form for; the value may be a secret.
        raise RequestInvalid(f"this cannot be sent as JSON: {type(error).__name__}. Give plain data.") from None


def _problem(headers: Mapping[str, str], content: bytes) -> dict[str, Any] | None:
    if headers.get("content-type", "").partition(";")[0].strip() != _PROBLEM:
        return None
    try:
        return read_object(content)
    except ValueError:
        return None


def _detail(problem: Mapping[str, Any] | None) -> str:
    return "" if problem is None else str(problem.get("detail") or problem.get("title") or "")


def _checked_url(url: str) -> str:
    """The URL without what is left out of it, its host as DNS has it."""
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").encode("ascii" if ":" in (parts.hostname or "") else "idna").decode()
        port = f":{parts.port}" if parts.port is not None else ""
        is_good = (
            parts.scheme in {"http", "https"} and bool(_HOST.fullmatch(host)) and not (parts.query or parts.fragment)
        )
        is_good = is_good and parts.path.isascii() and parts.path.isprintable() and " " not in parts.path
    except ValueError:
        is_good = False
    if not is_good:
        raise SettingsInvalid("the registry's URL is not one: give REGISTRY_URL as https://playbooks.example.com.")
    if "@" in parts.netloc:
        raise SettingsInvalid("REGISTRY_URL has a user in it: give the URL alone, and the token as REGISTRY_TOKEN.")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path.rstrip('/')}"


def _checked_token(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        # The value stays out of the message: it is a secret.
        raise SettingsInvalid("REGISTRY_TOKEN has a character that no token has: copy it again.")
    return token


def _checked_key(key: str) -> str:
    if not (key and key.isascii() and key.isprintable()):
        raise RequestInvalid("an idempotency key is printable ASCII characters.")
    return key
