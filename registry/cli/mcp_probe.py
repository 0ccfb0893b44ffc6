"""What a registry's MCP endpoint answers to the two questions that a host of 2026-07-28 begins with."""

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from registry.service.workplace import EndpointFacts

if TYPE_CHECKING:
    import httpx

TIMEOUT_S: Final = 10.0
ANSWER_BYTES_MAX: Final = 4 * 1024 * 1024

_VERSION: Final = "2026-07-28"
_SERVER: Final = "io.modelcontextprotocol/serverInfo"


def probe(url: str, token: str | None) -> EndpointFacts:
    """What the endpoint at `url` says; raises nothing. Asked with `token`, as its host would be, and from no page."""
    import httpx  # noqa: PLC0415 - only where a registry answers

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(headers=headers, timeout=TIMEOUT_S) as client:
            found = _answer(client, url, "server/discover")
            if isinstance(found, EndpointFacts):
                return found
            listed = _answer(client, url, "tools/list")
            if isinstance(listed, EndpointFacts):
                return listed
            parts = urlsplit(url)
            page = _answer(client, url, "server/discover", origin=f"{parts.scheme}://{parts.netloc}")
    except httpx.HTTPError as error:
        return EndpointFacts(url, said=str(error) or type(error).__name__)
    tools = listed.get("tools")
    return EndpointFacts(
        url,
        200,
        version=_version(found),
        tools=tuple(str(tool.get("name")) for tool in tools if isinstance(tool, dict))
        if isinstance(tools, list)
        else (),
        own_origin=not isinstance(page, EndpointFacts),
    )


def _answer(
    client: "httpx.Client", url: str, method: str, *, origin: str | None = None
) -> dict[str, Any] | EndpointFacts:
    """The result of a request, or the facts of an endpoint that gives none."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "registry-doctor", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _VERSION,
        "Mcp-Method": method,
        **({} if origin is None else {"Origin": origin}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}
    with client.stream("POST", url, json=body, headers=headers) as response:
        text = _read(response)
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    said = said if isinstance(said, dict) else {}
    result = said.get("result")
    if response.status_code == 200 and isinstance(result, dict):
        return result
    code = str(said.get("type", "")).rpartition("/")[2]
    error = said.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    detail = str(said.get("detail") or said.get("title") or message or "no reason is given")
    # A success without a result is none: whatever answers there does not speak the protocol.
    status = response.status_code if response.status_code != 200 else 502
    return EndpointFacts(url, status, code, detail.rstrip("."))


def _read(response: "httpx.Response") -> bytes:
    parts: list[bytes] = []
    for part in response.iter_bytes():
        parts.append(part)
        if sum(map(len, parts)) > ANSWER_BYTES_MAX:
            break
    return b"".join(parts)


def _version(found: dict[str, Any]) -> str | None:
    meta = found.get("_meta")
    server = meta.get(_SERVER) if isinstance(meta, dict) else None
    said = server.get("version") if isinstance(server, dict) else None
    return str(said) if said else None
