"""One HTTP answer as plain values, and the ASGI messages that carry it."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from litestar.serialization import encode_json

Scope = MutableMapping[str, Any]  # ASGI's own shape; its values are whatever the server put there
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

NOSNIFF = (b"x-content-type-options", b"nosniff")
NO_CACHE = (b"cache-control", b"no-cache")
NO_STORE = (b"cache-control", b"no-store")
JSON = (b"content-type", b"application/json")
OCTETS = (b"content-type", b"application/octet-stream")
# What somebody wrote into a repository is no page of the registry, whatever a browser makes of it.
ATTACHMENT = (b"content-disposition", b"attachment")
NO_SCRIPTS = (b"content-security-policy", b"default-src 'none'; sandbox")


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (lower-case names, no content-length) and body. The body of a 204 or 304 is empty."""

    status: int
    headers: Headers = field(default_factory=list)
    body: bytes = b""


def json_answer(value: object, *, status: int = 200, cache: tuple[bytes, bytes] = NO_CACHE) -> Answer:
    """An answer that carries `value` as JSON, instants as RFC 3339."""
    return Answer(status, [JSON, NOSNIFF, cache], encode_json(value))


def start_message(answer: Answer) -> Message:
    """The first of the two messages of an answer, with its content length."""
    headers = answer.headers
    if answer.status not in {204, 304}:
        headers = [*headers, (b"content-length", b"%d" % len(answer.body))]
    return {"type": "http.response.start", "status": answer.status, "headers": headers}


async def send_answer(send: Send, answer: Answer, *, head: bool = False) -> None:
    """Send an answer; for HEAD everything of it but the body (RFC 9110, 9.3.2)."""
    await send(start_message(answer))
    await send({"type": "http.response.body", "body": b"" if head else answer.body, "more_body": False})
