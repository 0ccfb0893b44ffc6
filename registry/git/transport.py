"""A connection pool whose requests have one deadline over everything: connecting, TLS, headers and body.

The usual timeouts of HTTP clients start anew with every read, so a server that trickles a byte now and then holds
them for ever (git.md, What goes wrong). Here each read gets only what is left of the request's time.
"""

import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpcore

CONNECTIONS_MAX = 32
KEEPALIVE_S = 90.0


class DeadlinePool:
    """A keep-alive pool of HTTP/1.1 connections, safe to share between threads.

    Certificates are checked against the system's store, as git does, or against `ca_file`. Redirects are never
    followed, and no proxy, netrc or cookie takes part.
    """

    def __init__(self, *, ca_file: Path | None = None) -> None:
        self._backend = DeadlineBackend()
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(cafile=str(ca_file) if ca_file else None),
            max_connections=CONNECTIONS_MAX,
            max_keepalive_connections=CONNECTIONS_MAX,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=self._backend,
        )

    @contextmanager
    def post(
        self, url: str, *, headers: Mapping[bytes | str, bytes | str], content: bytes, deadline_s: float
    ) -> Iterator[httpcore.Response]:
        """The response to one POST, its body still to be read inside the `with`; raises httpcore's exceptions."""
        clock = self._backend.clock
        clock.until = time.monotonic() + deadline_s
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), deadline_s)
        try:
            with self._pool.stream(
                "POST", url, headers=headers, content=content, extensions={"timeout": timeout}
            ) as response:
                yield response
        finally:
            clock.until = None

    def close(self) -> None:
        """Close every idle connection."""
        self._pool.close()


class _Clock(threading.local):
    # A connection serves one thread at a time, so the thread's deadline is the request's.
    until: float | None = None

    def left(self, timeout_s: float | None) -> float | None:
        if self.until is None:
            return timeout_s
        left_s = self.until - time.monotonic()
        if left_s <= 0:
            raise httpcore.ReadTimeout
        return left_s if timeout_s is None else min(left_s, timeout_s)


class DeadlineBackend(httpcore.SyncBackend):
    """What opens a pool's connections. Each thread says by `clock.until` when its own request is over."""

    def __init__(self) -> None:
        self.clock = _Clock()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,  # httpcore's own socket option tuples
    ) -> httpcore.NetworkStream:
        """A connection whose every read and write gets what is left of the time."""
        inner = super().connect_tcp(host, port, self.clock.left(timeout), local_address, socket_options)
        return _Stream(inner, self.clock)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, clock: _Clock) -> None:
        self._inner = inner
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._clock.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._clock.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secured = self._inner.start_tls(ssl_context, server_hostname, self._clock.left(timeout))
        return _Stream(secured, self._clock)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401  # what httpcore declares
        return self._inner.get_extra_info(info)
