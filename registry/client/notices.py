"""Change notices: a stream on which the registry says that a catalog changed (MCP 2026-07-28, subscriptions/listen).

A notice says no more than "look again". Losing one, or the stream, costs as much as the next look is away.
"""

from collections.abc import Callable
from threading import Event
from typing import Final

from registry.client.connection import Connection, segment
from registry.errors import RegistryError, Unavailable

READ_TIMEOUT_S: Final = 900.0
"""A stream that is silent for longer is opened anew: what is in between may have forgotten it."""
PAUSE_S: Final = 5.0
PAUSE_MAX_S: Final = 300.0
REFUSED_PAUSE_S: Final = 3_600.0

_VERSION: Final = "2026-07-28"
_METHOD: Final = "subscriptions/listen"
_NOTICE: Final = '"notifications/resources/list_changed"'


def follow(
    connection: Connection, repository: Callable[[], str | None], changed: Callable[[], None], ended: Event
) -> None:
    """Call `changed` for every notice until `ended` is set; waits longer and longer for a registry that gives none.

    `repository` says whose catalog to listen for, and is asked whenever a stream is opened.
    """
    pause_s = PAUSE_S
    while not ended.is_set():
        try:
            path = _path(repository())
            for line in connection.stream(path, _request(), headers=_HEADERS, timeout_s=READ_TIMEOUT_S):
                if ended.is_set():
                    return
                if line.startswith("data:"):
                    pause_s = PAUSE_S
                    if _NOTICE in line:
                        changed()
        except Unavailable:
            pause_s = min(2 * pause_s, PAUSE_MAX_S)
        except RegistryError:
            # It is there and does not want this: a version without the endpoint, or a token that may not.
            pause_s = REFUSED_PAUSE_S
        ended.wait(pause_s)


def _path(repository: str | None) -> str:
    return "/mcp" if repository is None else f"/mcp/r/{segment(repository)}"


def _request() -> dict[str, object]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "playbook-registry-client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"resourcesListChanged": True}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": _METHOD, "params": params}


_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": _VERSION,
    "Mcp-Method": _METHOD,
}
