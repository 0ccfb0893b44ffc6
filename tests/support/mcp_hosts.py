"""Hosts that speak MCP to a served registry: raw requests of both eras, and the SDK's own client."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import httpx
from mcp.client import Client

MODERN = "2026-07-28"
LEGACY = "2025-06-18"
ACCEPT = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
NAMED_BY = {"tools/call": "name", "resources/read": "uri"}

T = TypeVar("T")


def modern_request(
    method: str, params: Mapping[str, object] | None = None, *, meta: Mapping[str, object] | None = None
) -> tuple[dict, dict[str, str]]:
    """(body, headers) of a well-formed request of 2026-07-28."""
    given = dict(params or {})
    headers = {
        "content-type": "application/json",
        "accept": ACCEPT,
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
    }
    if method in NAMED_BY:
        headers["mcp-name"] = str(given[NAMED_BY[method]])
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**given, "_meta": {**META, **(meta or {})}},
    }, headers


def modern(
    client: httpx.Client,
    path: str,
    method: str,
    params: Mapping[str, object] | None = None,
    *,
    meta: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> httpx.Response:
    """The answer to a request of 2026-07-28; `headers` replace and add."""
    body, usual = modern_request(method, params, meta=meta)
    return client.post(path, json=body, headers={**usual, **(headers or {})})


def legacy(
    client: httpx.Client,
    path: str,
    method: str,
    params: Mapping[str, object] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> httpx.Response:
    """The answer to a request of 2025."""
    usual = {"content-type": "application/json", "accept": ACCEPT, "mcp-protocol-version": LEGACY}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params or {})}
    return client.post(path, json=body, headers={**usual, **(headers or {})})


def call(client: httpx.Client, path: str, tool: str, arguments: Mapping[str, object], **options: object) -> dict:
    """The result of a tool call, whose text and structured content must be the same JSON."""
    answer = modern(client, path, "tools/call", {"name": tool, "arguments": dict(arguments)}, **options)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    result: dict = answer.json()["result"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result


def body(client: httpx.Client, path: str, tool: str, arguments: Mapping[str, object], **options: object) -> dict:
    """The body of a tool's answer, which must be no error."""
    result = call(client, path, tool, arguments, **options)
    assert result["isError"] is False, result
    found: dict = result["structuredContent"]
    return found


def problem(client: httpx.Client, path: str, tool: str, arguments: Mapping[str, object], **options: object) -> dict:
    """The problem that a tool answers, which must be an error."""
    result = call(client, path, tool, arguments, **options)
    assert result["isError"] is True, result
    found: dict = result["structuredContent"]
    return found


def with_client(url: str, mode: str, use: Callable[[Client], Awaitable[T]]) -> T:
    """What `use` gives of the SDK's client connected in that mode (auto, legacy or a version)."""

    async def run() -> T:
        async with Client(url, mode=mode) as client:
            return await use(client)

    return asyncio.run(run())
