"""MCP over stdio on the standard library alone: both eras of the protocol, three tools, and an answer at once.

A host starts this process and asks its first question in the same second. So nothing here waits for a network, and
nothing is imported that a handshake does not need; what a call needs is fetched in a thread of its own.
"""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, Final

from registry.mcp import tools

MODERN: Final = ("2026-07-28",)
"""Versions whose every request carries its version, client and capabilities; there is no handshake."""
HANDSHAKE: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LINE_BYTES_MAX: Final = 4 * 1024 * 1024
CALLS_MAX: Final = 32
"""Tool calls at once; a host that asks for more is read no further until one is answered."""
GRACE_S: Final = 2.0
"""How long calls that are under way may go on once the host has closed its end: hosts wait about as long."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, UNSUPPORTED_VERSION = -32602, -32603, -32022

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"

Json = Any
Object = dict[str, Json]
CallTool = Callable[[str, Json], Object]
"""A tool's name and its arguments in, the `tools/call` result out; raises nothing."""


class ProtocolFault(Exception):
    """A request that the protocol answers with an error."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


class StdioServer:
    """Answers the messages of one host. Tool calls run beside each other; everything else is answered in order."""

    def __init__(self, call_tool: CallTool, version: str) -> None:
        self._call_tool = call_tool
        self._info = {"name": tools.SERVER_NAME, "title": tools.SERVER_TITLE, "version": version}
        self._writing = threading.Lock()

    def serve(self, lines: IO[bytes], out: IO[bytes]) -> int:
        """Answer until the host closes its end; how many calls were left without an answer GRACE_S later.

        Those go on in daemon threads: whoever calls this ends the process.
        """
        calls = _Calls()
        for line in _lines(lines):
            for message in _messages(line):
                self._take(message, out, calls)
        return calls.finish(GRACE_S)

    def _take(self, message: Json, out: IO[bytes], calls: "_Calls") -> None:
        if not isinstance(message, Mapping) or not isinstance(message.get("method"), str):
            if not isinstance(message, Mapping) or not {"result", "error"} & message.keys():
                self._write(out, _failed(None, INVALID_REQUEST, "this is no JSON-RPC request."))
            return  # An answer to something: this server asks nothing.
        if "id" not in message:
            return  # A notification: there is none that changes anything here.
        if message["method"] == "tools/call":
            calls.begin(lambda: self._answer(message, out))
        else:
            self._answer(message, out)

    def _answer(self, message: Mapping[str, Json], out: IO[bytes]) -> None:
        identity = message["id"]
        try:
            answer = {"result": self.result(message["method"], message.get("params"))}
        except ProtocolFault as fault:
            answer = {"error": fault.error}
        except Exception as error:  # noqa: BLE001 - a host waits for an answer, whatever it is
            answer = {"error": {"code": INTERNAL_ERROR, "message": f"the bridge failed ({type(error).__name__})."}}
        self._write(out, {"jsonrpc": "2.0", "id": identity, **answer})

    def result(self, method: str, params: Json) -> Object:
        """The result of one request, of whichever era. Raises ProtocolFault."""
        given = {} if params is None else params
        if not isinstance(given, Mapping):
            raise ProtocolFault(INVALID_PARAMS, "params must be an object.")
        meta = given.get("_meta")
        if isinstance(meta, Mapping) and _VERSION_KEY in meta:
            _check_envelope(meta)
            return self._modern(method, given)
        if method == "server/discover":
            keys = f"{_VERSION_KEY} and {_CAPABILITIES_KEY}"
            raise ProtocolFault(INVALID_PARAMS, f"params._meta must carry {keys}.")
        return self._legacy(method, given)

    def _modern(self, method: str, params: Mapping[str, Json]) -> Object:
        if method == "server/discover":
            found = {
                "supportedVersions": list(MODERN),
                "capabilities": {"tools": {}},
                "instructions": tools.INSTRUCTIONS,
                **_cached(),
            }
        elif method == "tools/list":
            found = {"tools": list(tools.TOOLS), **_cached()}
        else:
            found = self._shared(method, params)
        return {"resultType": "complete", **found, "_meta": {_SERVER_KEY: self._info}}

    def _legacy(self, method: str, params: Mapping[str, Json]) -> Object:
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in HANDSHAKE else HANDSHAKE[-1],
                "capabilities": {"tools": {}},
                "serverInfo": self._info,
                "instructions": tools.INSTRUCTIONS,
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": list(tools.TOOLS)}
        return self._shared(method, params)

    def _shared(self, method: str, params: Mapping[str, Json]) -> Object:
        if method != "tools/call":
            raise ProtocolFault(METHOD_NOT_FOUND, f"there is no method {method[:80]!r} here.")
        name = params.get("name")
        if not isinstance(name, str) or name not in tools.NAMES:
            raise ProtocolFault(INVALID_PARAMS, tools.unknown_tool(str(name)))
        return self._call_tool(name, params.get("arguments"))

    def _write(self, out: IO[bytes], message: Mapping[str, Json]) -> None:
        try:
            data = _dumped(message)
        except (ValueError, RecursionError):
            # Deeper than can be written, though not than could be read.
            data = _dumped(_failed(message.get("id"), INTERNAL_ERROR, "the answer cannot be written as JSON."))
        with self._writing:
            try:
                out.write(data)
                out.flush()
            except (OSError, ValueError):
                pass  # The host is gone: the end of its input follows.


class _Calls:
    """Tool calls under way, each in a thread of its own; one that never ends keeps no process from ending."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    def begin(self, work: Callable[[], None]) -> None:
        """Do the work beside whatever else is done; waits while there are CALLS_MAX."""
        with self._changed:
            self._changed.wait_for(lambda: self._count < CALLS_MAX)
            self._count += 1
        threading.Thread(target=self._do, args=(work,), name="call", daemon=True).start()

    def finish(self, grace_s: float) -> int:
        """How many are still under way `grace_s` seconds from now, or 0 as soon as there is none."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count, grace_s)
            return self._count

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()


def _check_envelope(meta: Mapping[str, Json]) -> None:
    """What every request of 2026-07-28 must say of itself (MCP 2026-07-28, Per-request protocol fields)."""
    version = meta[_VERSION_KEY]
    if _CAPABILITIES_KEY not in meta:
        raise ProtocolFault(INVALID_PARAMS, f"params._meta lacks {_CAPABILITIES_KEY}.")
    if not isinstance(version, str):
        raise ProtocolFault(INVALID_PARAMS, f"{_VERSION_KEY} must be a string.")
    if version not in MODERN:
        supported = {"supported": list(MODERN), "requested": version}
        raise ProtocolFault(UNSUPPORTED_VERSION, "Unsupported protocol version", supported)


def _cached() -> Object:
    return {"ttlMs": tools.TOOLS_TTL_MS, "cacheScope": "public"}


def _lines(stream: IO[bytes]) -> Iterable[bytes | None]:
    """The lines of a stream; None for one over LINE_BYTES_MAX, which is read to its end and dropped."""
    while line := stream.readline(LINE_BYTES_MAX):
        if line.endswith(b"\n") or len(line) < LINE_BYTES_MAX:
            if line.strip():
                yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(LINE_BYTES_MAX)
        yield None


def _messages(line: bytes | None) -> list[Json]:
    """The messages of a line: one, or a batch of 2025-03-26."""
    if line is None:
        return [{}]
    try:
        message = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return [None]
    return message if isinstance(message, list) and message else [message]


def _refuse(constant: str) -> None:
    # Python reads and writes NaN; nobody at the other end would read what came of it.
    raise ValueError(constant)


def _dumped(message: Mapping[str, Json]) -> bytes:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def _failed(identity: Json, code: int, message: str) -> Object:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}
