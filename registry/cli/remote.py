"""The way to a running registry: one call in, its answer out, and every failure as an exit code with a sentence."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from registry.cli.outcome import Misused, No, Unreachable
from registry.cli.terminal import shown
from registry.service.installation import ServerFacts

if TYPE_CHECKING:
    # Imported where a call is made: neither --help nor a shell that completes an option waits for it.
    import httpx

DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT_S = 30.0
LOOK_S = 5.0
ANSWER_BYTES_MAX = 256 * 1024 * 1024
"""More than any catalog with contracts has; an endless answer is no registry's."""

_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
_MISUSED = frozenset({400, 401, 405, 413, 415})
_LATER = frozenset({408, 429})

NEXT = {
    "unauthenticated": "Set REGISTRY_TOKEN to a valid token: `registry token create` makes one, with a token that has "
    "admin; the first is REGISTRY_ADMIN_TOKEN of the server.",
    "run-unknown": "`registry runs` lists those that you may look at.",
    "inputs-invalid": "`registry run NAME --help` shows how inputs are given.",
    "repository-unknown": "`registry register URL --team TEAM` registers one; `registry repositories` lists them.",
    "repository-invalid": "`registry repositories` lists those that are registered.",
    "playbook-unknown": "`registry catalog` lists the names.",
    "token-unknown": "`registry token list` lists the ids.",
    "route-unknown": "The registry may be older than this command: `registry --version` says which one this is.",
    "unavailable": "`registry repositories` says what keeps it, and `registry doctor` looks further.",
}
"""Code of the API -> what to do next, in the words of the command line."""

Params = Sequence[tuple[str, str | int]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the registry said to a call that it met: a 2xx status, the headers and the exact body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON: the shapes are http-api.md's
        """The parsed body. Raises Misused where it is not JSON: then it came from something else than a registry."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise Misused("the answer is not JSON, so this is no registry: is REGISTRY_URL right?") from None


class Remote:
    """A registry at one URL. Every call raises No, Misused or Unreachable for what it could not do."""

    def __init__(self, url: str, token: str | None = None) -> None:
        import httpx  # noqa: PLC0415 - see above

        self._url = _checked_url(url)
        headers = {"Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {_checked_token(token)}"
        self._client = httpx.Client(base_url=self._url, headers=headers, timeout=TIMEOUT_S, follow_redirects=False)

    @property
    def url(self) -> str:
        """Where it is, without a slash at the end."""
        return self._url

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def get(self, path: str, params: Params = ()) -> Answer:
        """The answer to a read."""
        return self.call("GET", path, params=params)

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Params = (),
        body: object = None,
        wait_s: float | None = None,
        key: str | None = None,
    ) -> Answer:
        """The answer to one call; `body` is sent as JSON, `wait_s` as `Prefer: wait=`, `key` as `Idempotency-Key`."""
        import httpx  # noqa: PLC0415 - see above

        request = self._client.build_request(
            method,
            path,
            params=httpx.QueryParams(list(params)) if params else None,
            json=body,
            headers=_headers(wait_s, key),
            timeout=httpx.Timeout(TIMEOUT_S, read=TIMEOUT_S + (wait_s or 0)),
        )
        try:
            response = self._client.send(request, stream=True)
            try:
                content = _read(response)
            finally:
                response.close()
        except httpx.TimeoutException:
            raise Unreachable(f"the registry at {self._url} did not answer in time: try again.") from None
        except httpx.TransportError as error:
            raise Unreachable(
                f"no registry answers at {self._url} ({_reason(error)}): {_where_else(self._url)}"
            ) from None
        if response.is_success:
            return Answer(response.status_code, response.headers, content)
        raise _failure(response, content)

    def look(self) -> ServerFacts:
        """What answers `/readyz` within LOOK_S, whatever it is; raises nothing."""
        import httpx  # noqa: PLC0415 - see above

        request = self._client.build_request("GET", "/readyz", timeout=LOOK_S)
        # Readiness needs no token, and one that has expired would be refused before anything is said of it.
        request.headers.pop("Authorization", None)
        try:
            response = self._client.send(request)
        except httpx.HTTPError as error:
            return ServerFacts(self._url, None, said=_reason(error))
        problem = _problem(response, response.content)
        is_registry = _is_ready(response.content) if response.status_code == 200 else problem is not None
        said = str((problem or {}).get("detail") or f"HTTP status {response.status_code}")
        return ServerFacts(self._url, response.status_code, is_registry, said.rstrip("."), _date(response))


def segment(value: str) -> str:
    """`value` as one segment of a path, so that none of its slashes or dots is read as a route."""
    return quote(value, safe="")


def _headers(wait_s: float | None, key: str | None) -> dict[str, str]:
    headers = {"Prefer": f"wait={wait_s:g}"} if wait_s else {}
    if key is not None:
        if not key.isascii() or not key.isprintable():
            raise Misused("--key takes printable ASCII characters only.")
        headers["Idempotency-Key"] = f'"{key}"'
    return headers


def _read(response: "httpx.Response") -> bytes:
    parts: list[bytes] = []
    size_bytes = 0
    for part in response.iter_bytes():
        size_bytes += len(part)
        if size_bytes > ANSWER_BYTES_MAX:
            raise Misused(f"the answer is larger than {ANSWER_BYTES_MAX // 2**20} MiB: is REGISTRY_URL right?")
        parts.append(part)
    return b"".join(parts)


def _reason(error: Exception) -> str:
    return shown(_ERRNO.sub("", str(error)))


def _where_else(url: str) -> str:
    if url == DEFAULT_URL:
        return "set REGISTRY_URL to the one that your company runs, or start one with `registry serve`."
    return "check REGISTRY_URL, or the URL that was given, and that the registry runs and can be reached from here."


def _is_ready(content: bytes) -> bool:
    try:
        return bool(json.loads(content) == {"status": "ready"})
    except ValueError:
        return False


def _date(response: "httpx.Response") -> datetime | None:
    try:
        return parsedate_to_datetime(response.headers["Date"]).astimezone(UTC)
    except (KeyError, ValueError):
        return None


def _checked_url(url: str) -> str:
    import httpx  # noqa: PLC0415 - see above

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise Misused(f"{shown(url)} is no registry's URL: expected an http or https one, for example {DEFAULT_URL}.")
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        # The value stays out of the message: it is a secret.
        raise Misused("REGISTRY_TOKEN has a character that no token has: copy it again.")
    return token


def _failure(response: "httpx.Response", content: bytes) -> Exception:
    """The exception for an answer that is no success (docs/cli.md, Exit codes)."""
    status = response.status_code
    problem = _problem(response, content)
    if problem is None:
        if status >= 500:
            return Unreachable(f"the registry failed with HTTP status {status}: try again, or look into its log.")
        return Misused(f"HTTP status {status} without an explanation, so this is no registry: is REGISTRY_URL right?")
    code = str(problem.get("type", "")).rpartition("/")[2]
    message = f"{_sentence(problem)} [{shown(code)}]"
    if advice := NEXT.get(code):
        message = f"{message} {advice}"
    if status >= 500 or status in _LATER:
        wait = response.headers.get("Retry-After")
        pause_s = float(wait) if wait and wait.isascii() and wait.isdigit() else None
        return Unreachable(message + (f" Try again in {shown(wait)} s." if wait else ""), pause_s)
    if status in _MISUSED or code == "route-unknown":
        return Misused(message, code)
    return No(message, code)


def _sentence(problem: dict[str, Any]) -> str:
    """What a problem says; of inputs that do not fit every place, a line each."""
    detail = shown(problem.get("detail") or problem.get("title"))
    violations = problem.get("violations")
    if not isinstance(violations, list) or not violations:
        return detail
    lines = [
        f"  {shown(each.get('pointer') or '/')}: {shown(each.get('message'))}"
        for each in violations
        if isinstance(each, dict)
    ]
    more = ["  and more"] if problem.get("more") else []
    return "\n".join([detail.partition(". ")[0] + ":", *lines, *more])


def _problem(response: "httpx.Response", content: bytes) -> dict[str, Any] | None:
    if response.headers.get("Content-Type", "").partition(";")[0].strip() != "application/problem+json":
        return None
    try:
        problem = json.loads(content)
    except ValueError:
        return None
    return problem if isinstance(problem, dict) else None
