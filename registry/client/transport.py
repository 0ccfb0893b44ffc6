"""HTTP to one registry: one deadline over a whole call, and bodies that are bounded after they were decoded.

What answers may be anything: a registry, a captive portal, somebody who wants this process to wait or to swell. The
usual timeouts start anew with each byte that comes, and the usual decoders give back whatever a few kilobytes unpack
to; here a call ends in time whatever is sent (decision 6), and a body is unpacked no further than it may be large.
"""

import os
import re
import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from registry.errors import SettingsInvalid, Unavailable, Untrusted

if TYPE_CHECKING:
    # Imported where a call is made: a bridge must answer its host before it may spend that time.
    import httpcore

    from registry.git.transport import DeadlineBackend

CONNECTIONS_MAX: Final = 40
"""More than a bridge makes calls at once."""
KEEPALIVE_S: Final = 90.0
PROBLEM_BYTES_MAX: Final = 1024 * 1024
"""Of an answer that is no success; what is larger explains nothing."""
LINE_BYTES_MAX: Final = 64 * 1024
"""Of a stream; a notice has a few hundred."""

_ERRNO: Final = re.compile(r"^\[Errno -?\d+\] ")


class Oversize(Untrusted):
    """A body that is larger than any registry's answer to this call."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of whatever status: header names are in lower case, the body is decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """A pool of connections to the registry at `url`; safe from several threads.

    Redirects are never followed, so that a token goes nowhere else; proxies are those of the environment.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._opening = threading.Lock()
        self._opened: tuple[httpcore.ConnectionPool, DeadlineBackend] | None = None

    def call(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: bytes,
        *,
        deadline_s: float,
        silence_s: float,
        bytes_max: int,
    ) -> Reply:
        """The answer to one request, read to its end: before the deadline, and never silent for `silence_s`.

        Raises Unavailable, Untrusted and SettingsInvalid.
        """
        import httpcore  # noqa: PLC0415 - see above

        pool, backend = self._pool()
        began_at = time.monotonic()
        backend.clock.until = began_at + deadline_s
        try:
            with pool.stream(
                method,
                self._url + target,
                headers=list(headers.items()),
                content=content,
                extensions=_timeouts(silence_s),
            ) as response:
                told = _headers(response)
                chunks = _unpacked(told, response.iter_stream())
                body = _read(chunks, bytes_max) if response.status < 400 else _read_problem(chunks)
        except httpcore.TimeoutException:
            waited_s = round(time.monotonic() - began_at, 1)
            raise Unavailable(f"the registry at {self._url} did not answer within {waited_s:g} s.") from None
        except _failures() as error:
            raise Unavailable(f"no registry answers at {self._url} ({_said(error)}).") from None
        finally:
            backend.clock.until = None
        return Reply(response.status, told, body)

    def lines(
        self, target: str, headers: Mapping[str, str], content: bytes, *, deadline_s: float, silence_s: float
    ) -> Iterator[Reply | str]:
        """What answers a POST: a Reply if it is no success, else line after line for as long as it goes on.

        The answer must begin before the deadline; then it may be silent for `silence_s`. Raises as `call` does, and
        Unavailable where it breaks off.
        """
        import httpcore  # noqa: PLC0415 - see above

        pool, backend = self._pool()
        backend.clock.until = time.monotonic() + deadline_s
        try:
            with pool.stream(
                "POST",
                self._url + target,
                headers=list(headers.items()),
                content=content,
                extensions=_timeouts(silence_s),
            ) as response:
                told = _headers(response)
                chunks = _unpacked(told, response.iter_stream())
                if response.status != 200:
                    yield Reply(response.status, told, _read_problem(chunks))
                    return
                # From here on this thread may do anything between two lines, so the deadline must not stay with it.
                backend.clock.until = None
                yield from _lines(chunks)
        except httpcore.TimeoutException:
            raise Unavailable(f"the stream from {self._url} fell silent.") from None
        except _failures() as error:
            raise Unavailable(f"the stream from {self._url} broke off ({_said(error)}).") from None
        finally:
            backend.clock.until = None

    def close(self) -> None:
        """Let go of the connections; a later call opens them again."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close()

    def _pool(self) -> "tuple[httpcore.ConnectionPool, DeadlineBackend]":
        with self._opening:
            if self._opened is None:
                from registry.git.transport import DeadlineBackend  # noqa: PLC0415 - see above

                backend = DeadlineBackend()
                self._opened = _opened(self._url, backend), backend
            return self._opened


def _opened(url: str, backend: "DeadlineBackend") -> "httpcore.ConnectionPool":
    import httpcore  # noqa: PLC0415 - see above

    proxy = _proxy(url)
    # Reading the certificates takes as long as a search; without TLS, and redirects, nothing needs them.
    is_secure = url.startswith("https:") or (proxy or "").startswith("https:")
    try:
        context = httpcore.default_ssl_context() if is_secure else None
    except (OSError, ssl.SSLError) as error:
        raise SettingsInvalid(f"the certificates to check the registry by cannot be read: {_said(error)}") from None
    if proxy is None:
        return httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=CONNECTIONS_MAX,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=backend,
        )
    parts = urlsplit(proxy)
    user = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else None
    return httpcore.HTTPProxy(
        proxy_url=f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
        proxy_auth=user and (user[0].encode(), user[1].encode()),
        ssl_context=context,
        proxy_ssl_context=context if parts.scheme == "https" else None,
        max_connections=CONNECTIONS_MAX,
        keepalive_expiry=KEEPALIVE_S,
        network_backend=backend,
    )


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for this URL, None where it names none. Raises SettingsInvalid."""
    parts = urlsplit(url)
    wanted = (f"{parts.scheme}_proxy", "all_proxy")
    names = [name for each in wanted for name in (each, each.upper())]
    name, proxy = next(((name, value) for name in names if (value := os.environ.get(name))), ("", ""))
    if not proxy:
        return None
    from urllib.request import proxy_bypass  # noqa: PLC0415 - only where there is a proxy

    if proxy_bypass(parts.netloc):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        is_good = urlsplit(proxy).scheme in {"http", "https"} and bool(urlsplit(proxy).hostname)
        is_good = is_good and (urlsplit(proxy).port or 1) > 0 and proxy.isascii()
    except ValueError:
        is_good = False
    if not is_good:
        # The value stays out of the message: it may hold a password.
        raise SettingsInvalid(f"the proxy in {name} cannot be used: give it as http://proxy.example.com:3128.")
    return proxy


def _timeouts(seconds: float) -> dict[str, object]:
    return {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)}


def _failures() -> tuple[type[Exception], ...]:
    import httpcore  # noqa: PLC0415 - see above

    # OSError and UnicodeError: a host whose name cannot even be looked up; zlib: a body that is not what it says.
    return (
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.ProxyError,
        httpcore.UnsupportedProtocol,
        OSError,
        UnicodeError,
        zlib.error,
    )


def _said(error: Exception) -> str:
    return _ERRNO.sub("", str(error)) or type(error).__name__


def _headers(response: "httpcore.Response") -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}


def _unpacked(headers: Mapping[str, str], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The body in pieces of LINE_BYTES_MAX at most, its coding taken off. Raises Untrusted for one not asked for."""
    coding = headers.get("content-encoding", "").strip().lower()
    if coding in {"", "identity"}:
        yield from chunks
        return
    if coding != "gzip":
        raise Untrusted(f"the answer is coded as {coding[:40]!r}, which was not asked for: is REGISTRY_URL right?")
    unpacker, is_empty = zlib.decompressobj(zlib.MAX_WBITS | 16), True
    for chunk in chunks:
        is_empty = is_empty and not chunk
        while chunk and not unpacker.eof:
            yield unpacker.decompress(chunk, LINE_BYTES_MAX)
            chunk = unpacker.unconsumed_tail  # noqa: PLW2901 - what is left of it
    yield unpacker.flush()
    if not (unpacker.eof or is_empty):
        raise zlib.error("the body ends too early")


def _read(chunks: Iterable[bytes], bytes_max: int) -> bytes:
    parts: list[bytes] = []
    size_bytes = 0
    for chunk in chunks:
        size_bytes += len(chunk)
        if size_bytes > bytes_max:
            raise Oversize(f"the answer is larger than {bytes_max // 2**20} MiB: is REGISTRY_URL right?")
        parts.append(chunk)
    return b"".join(parts)


def _read_problem(chunks: Iterable[bytes]) -> bytes:
    try:
        return _read(chunks, PROBLEM_BYTES_MAX)
    except (Untrusted, zlib.error):
        return b""


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    left = b""
    for chunk in chunks:
        *whole, left = (left + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
        if len(left) > LINE_BYTES_MAX:
            raise Untrusted("a line of the stream has no end, so it is no registry's: is REGISTRY_URL right?")
