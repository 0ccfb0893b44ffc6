"""The two directions of one request: what was received, what was sent, and the limits between them."""

import asyncio

from registry.api.answers import Message, Receive, Scope, Send
from registry.api.bodies import check_size

DRAIN_BYTES_MAX = 16 * 1024 * 1024
DRAIN_TIMEOUT_S = 5.0


class Disconnected(Exception):
    """The caller went away before its body was there."""


class Exchange:
    """Wraps a request's `receive` and `send`.

    `status` is that of the answer, 0 before it. `leaves_body_out` sends headers alone, as HEAD wants. An answer to a
    request whose body was not read is held back until the rest of it has been read and dropped: a server that closes
    the connection under a caller that is still sending takes the answer away with it.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._headers = scope["headers"]
        self._has_unread_body = scope["method"] not in {"GET", "HEAD"}
        self.status = 0
        self.leaves_body_out = False

    async def receive(self) -> Message:
        """The next message of the request."""
        message = await self._receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            self._has_unread_body = False
        return message

    async def send(self, message: Message) -> None:
        """Pass a message of the answer on."""
        if message["type"] == "http.response.start":
            if self._has_unread_body:
                await self._drain()
            self.status = message["status"]
        elif self.leaves_body_out and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    async def read_body(self) -> tuple[bytes, str]:
        """(body, content type); raises TooLarge as soon as more bytes than bodies.py admits are announced or there."""
        headers = dict(self._headers)
        announced = headers.get(b"content-length", b"0")
        check_size(int(announced) if announced.isdigit() else None)
        chunks: list[bytes] = []
        size_bytes = 0
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            chunk = message.get("body", b"")
            size_bytes += len(chunk)
            check_size(size_bytes)
            chunks.append(chunk)
            more = message.get("more_body", False)
        return b"".join(chunks), headers.get(b"content-type", b"").decode("latin-1")

    async def _drain(self) -> None:
        size_bytes = 0
        try:
            async with asyncio.timeout(DRAIN_TIMEOUT_S):
                while self._has_unread_body and size_bytes < DRAIN_BYTES_MAX:
                    size_bytes += len((await self.receive()).get("body", b""))
        except TimeoutError:
            return
