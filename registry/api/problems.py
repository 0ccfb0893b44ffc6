"""Errors on the wire: RFC 9457 problems (http-api.md, Errors), by the table in kinds.py."""

import json
import re
import traceback
import uuid
from collections.abc import Mapping

import structlog
from litestar.exceptions import HTTPException
from litestar.serialization import encode_json

from registry.api.answers import NO_STORE, NOSNIFF, Answer
from registry.api.auth import TokenRefused
from registry.api.kinds import KINDS, METHOD_NOT_ALLOWED
from registry.errors import Refusal, SourceFault, TooManyRequests, Unavailable

_JSON = (b"content-type", b"application/problem+json")
_RESERVED = frozenset({"type", "title", "status", "detail"})
_DETAIL_LENGTH_MAX = 2_000


_OF_STATUS = {404: "route-unknown", 405: METHOD_NOT_ALLOWED, 413: "too-large", 401: "unauthenticated", 403: "forbidden"}
_USERINFO = re.compile(r"""(?<=://)[^/\s'"]*@""")
_BARE_USERINFO = re.compile(r"""(?<![^\s'"(])(?!git@)[^\s'"/@(]+@(?=[^\s@])""")
_CUT_USERINFO = re.compile(r"""(?<=://)[^/\s'"@:]*:(?!\d{1,5}(?:['"\s/.,;)]|$))[^/\s'"]*""")


def problem_answer(error: Exception) -> Answer:
    """The answer for whatever went wrong; what nobody foresaw says no more than an incident number.

    The number and the error go to the log together. Statuses and titles are those of KINDS.
    """
    if isinstance(error, HTTPException):
        return _framework_answer(error)
    if isinstance(error, Refusal):
        headers = [_challenge(error)] if error.code == "unauthenticated" else []
        return make_problem(error.code, error.detail, error.extra, headers)
    if isinstance(error, Unavailable | TooManyRequests):
        return make_problem(error.code, error.detail, {}, [(b"retry-after", b"%d" % max(1, error.retry_after_s))])
    if isinstance(error, SourceFault):
        return make_problem(error.code, error.detail, {"state": error.state})
    return _unforeseen(error)


def make_problem(
    code: str, detail: str, extra: Mapping[str, object] | None = None, headers: list[tuple[bytes, bytes]] | None = None
) -> Answer:
    """A problem of a kind in KINDS, `extra` as further members. Credentials in URLs are taken out of the detail."""
    kind = KINDS.get(code, KINDS["internal"])
    members = {name: value for name, value in (extra or {}).items() if name not in _RESERVED}
    body = {
        "type": f"/problems/{kind.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": redact(detail)[:_DETAIL_LENGTH_MAX],
        **{name: redact(value) if isinstance(value, str) else value for name, value in members.items()},
    }
    return Answer(kind.status, [_JSON, NOSNIFF, NO_STORE, *(headers or [])], _encode(body))


def _encode(body: Mapping[str, object]) -> bytes:
    try:
        return encode_json(body, serializer=str)
    except UnicodeEncodeError:
        # Half of a surrogate pair, which a caller's JSON can have and UTF-8 cannot: escaped it goes back as it came.
        return json.dumps(body, default=str).encode()


def method_not_allowed(allowed: str) -> Answer:
    """The 405 of a path that takes only the methods in `allowed`, a comma list."""
    return make_problem(METHOD_NOT_ALLOWED, f"this path takes {allowed}.", None, [(b"allow", allowed.encode())])


def redact(text: str) -> str:
    """`text` with the user part of every URL and scp-like remote as `***`, except the plain `git@`.

    A caller's own URL comes back to it in messages; what it may carry belongs neither there nor in a log.
    """
    return _CUT_USERINFO.sub("***", _BARE_USERINFO.sub("***@", _USERINFO.sub("***@", text)))


def _unforeseen(error: Exception) -> Answer:
    incident = uuid.uuid4().hex
    # Formatted here without local variables: among them are the caller's headers, its token too.
    structlog.get_logger("registry.api").error(
        "request failed",
        incident=incident,
        error=type(error).__name__,
        message=redact(str(error))[:_DETAIL_LENGTH_MAX],
        trace="".join(traceback.format_tb(error.__traceback__)),
    )
    detail = f"the registry failed; the operator finds it in the log as {incident}."
    return make_problem("internal", detail, {"incident": incident})


def _challenge(error: Refusal) -> tuple[bytes, bytes]:
    # RFC 6750, 3.1: `error` only where a token was sent.
    reason = b', error="invalid_token"' if isinstance(error, TokenRefused) else b""
    return b"www-authenticate", b'Bearer realm="registry"' + reason


def _framework_answer(error: HTTPException) -> Answer:
    """What litestar raises by itself: unknown routes and methods, bodies over the limit, malformed requests."""
    if error.status_code == 405:
        allowed = (error.headers or {}).get("allow", "")
        return method_not_allowed(allowed.replace("GET", "GET, HEAD"))  # the front answers HEAD for every GET
    if error.status_code >= 500:
        return _unforeseen(error)
    code = _OF_STATUS.get(error.status_code, "request-invalid")
    detail = {
        "route-unknown": "there is nothing at this path: /schema/openapi.json lists what there is.",
        "too-large": "the body is over 1 MiB, the most that is read: send less.",
    }.get(code, f"{str(error.detail).rstrip('.')}.")
    return make_problem(code, detail)
