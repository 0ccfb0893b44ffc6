"""The way to a registry over HTTP: one call in, its answer out, and every failure as the tree of registry.errors."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

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

if TYPE_CHECKING:
    # Imported where a call is made: a bridge must answer its host before it may spend that time.
    import httpx

TIMEOUT_S: Final = 10.0
ANSWER_BYTES_MAX: Final = 256 * 1024 * 1024
"""More than any catalog with contracts has; an endless answer is no registry's."""

_PROBLEM = "application/problem+json"
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
_PASSING = frozenset({408, 429})
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
    """What a registry said to a call that it met, or that nothing changed (304): status, headers, exact body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Mapping[str, Any]:
        """The body, which is an object. Raises Untrusted."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Untrusted("the answer is no JSON object, so it is no registry's: is REGISTRY_URL right?")
        return value


class Connection:
    """A registry at one URL; safe from several threads.

    Raises SettingsInvalid for a URL or token that cannot be one.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        self.url = _checked_url(url)
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {_checked_token(token)}"
        self._timeout_s = timeout_s
        self._opened: httpx.Client | None = None

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
        timeout_s: float | None = None,
    ) -> Answer:
        """The answer to a read; with `etag` it may be a 304."""
        headers = {"If-None-Match": etag} if etag else {}
        return self._call("GET", path, params=params, headers=headers, timeout_s=timeout_s)

    def post(
        self,
        path: str,
        body: Mapping[str, object],
        *,
        params: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Answer:
        """The answer to a call with a JSON body."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self._call("POST", path, params=params, headers=headers, body=body)

    def stream(
        self, path: str, body: Mapping[str, object], *, headers: Mapping[str, str], timeout_s: float
    ) -> Iterator[str]:
        """The lines of an answer that goes on; `timeout_s` is how long it may be silent.

        Raises Unavailable where it breaks off.
        """
        import httpx  # noqa: PLC0415 - see above

        limits = httpx.Timeout(self._timeout_s, read=timeout_s)
        try:
            with self._client().stream("POST", path, json=body, headers=headers, timeout=limits) as response:
                if not response.is_success:
                    raise failure(response.status_code, response.headers, _read(response))
                yield from response.iter_lines()
        except httpx.HTTPError as error:
            raise Unavailable(f"the stream from {self.url} broke off ({_ERRNO.sub('', str(error))}).") from None

    def close(self) -> None:
        """Let go of the connections; a later call opens them again."""
        client, self._opened = self._opened, None
        if client is not None:
            client.close()

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        import httpx  # noqa: PLC0415 - see above

        client = self._client()
        allowed_s = min(timeout_s or self._timeout_s, self._timeout_s)
        try:
            request = client.build_request(method, path, params=params, headers=headers, json=body, timeout=allowed_s)
            response = client.send(request, stream=True)
            try:
                content = _read(response)
            finally:
                response.close()
        except httpx.TimeoutException:
            raise Unavailable(f"the registry at {self.url} did not answer within {allowed_s:g} s.") from None
        except httpx.HTTPError as error:
            raise Unavailable(f"no registry answers at {self.url} ({_ERRNO.sub('', str(error))}).") from None
        if response.is_success or response.status_code == httpx.codes.NOT_MODIFIED:
            return Answer(response.status_code, response.headers, content)
        raise failure(response.status_code, response.headers, content)

    def _client(self) -> "httpx.Client":
        if self._opened is None:
            import httpx  # noqa: PLC0415 - see above

            self._opened = httpx.Client(
                base_url=self.url,
                headers=self._headers,
                timeout=self._timeout_s,
                follow_redirects=False,
                # Reading the certificates takes as long as a search; without TLS, and redirects, nothing needs them.
                verify=self.url.startswith("https:"),
            )
        return self._opened


def segment(value: str) -> str:
    """`value` as one segment of a path, so that none of its slashes or dots is read as a route."""
    return quote(value, safe="")


def failure(status: int, headers: Mapping[str, str], content: bytes) -> RegistryError:
    """The exception for an answer that is no success (http-api.md, Errors)."""
    problem = _problem(headers, content)
    if status >= 500 or status in _PASSING:
        said = _detail(problem) or f"the registry failed with HTTP status {status}."
        wait = headers.get("Retry-After", "")
        return Unavailable(said, retry_after_s=int(wait) if wait.isdecimal() and len(wait) < 6 else 2)
    if problem is None:
        return Untrusted(f"HTTP status {status} without an explanation is no registry's: is REGISTRY_URL right?")
    code = str(problem.get("type", "")).rpartition("/")[2]
    extra = {key: value for key, value in problem.items() if key not in _STANDARD}
    kind, ends, _ = code.rpartition("-unknown")
    if ends:
        return Unknown(kind, _detail(problem), **extra)
    return _REFUSALS.get(code, Refused)(_detail(problem), **extra)


def _problem(headers: Mapping[str, str], content: bytes) -> dict[str, Any] | None:
    if headers.get("Content-Type", "").partition(";")[0].strip() != _PROBLEM:
        return None
    try:
        problem = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return problem if isinstance(problem, dict) else None


def _detail(problem: Mapping[str, Any] | None) -> str:
    return "" if problem is None else str(problem.get("detail") or problem.get("title") or "")


def _read(response: "httpx.Response") -> bytes:
    parts: list[bytes] = []
    size_bytes = 0
    for part in response.iter_bytes():
        size_bytes += len(part)
        if size_bytes > ANSWER_BYTES_MAX:
            raise Untrusted(f"the answer is larger than {ANSWER_BYTES_MAX // 2**20} MiB: is REGISTRY_URL right?")
        parts.append(part)
    return b"".join(parts)


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        is_good = False
    if not is_good:
        raise SettingsInvalid("the registry's URL is not one: give REGISTRY_URL as https://playbooks.example.com.")
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        # The value stays out of the message: it is a secret.
        raise SettingsInvalid("REGISTRY_TOKEN has a character that no token has: copy it again.")
    return token
