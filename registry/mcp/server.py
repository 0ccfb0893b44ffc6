"""The MCP server: the official SDK's low-level one, with the three tools and whatever features are plugged in.

One server for all repositories. Which one is asked, and by whom, the endpoint has put into each request's scope, so
any process can answer any request, and nothing is kept from one to the next.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from registry.api.answers import Receive, Scope, Send
from registry.api.bodies import BODY_BYTES_MAX
from registry.errors import Refusal, RegistryError
from registry.mcp import tools
from registry.mcp.calls import ToolCalls, resolved
from registry.mcp.features import (
    CALLER_KEY,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RATED_KEY,
    Caller,
    Feature,
    Method,
    ProtocolError,
)
from registry.mcp.listening import Listeners
from registry.mcp.routing import repository_of_meta
from registry.service.services import Services

Context = ServerRequestContext[Any, Any]

# The only pages a host may keep beside its own users: what everybody gets alike.
CACHE_HINTS: Mapping[CacheableMethod, CacheHint] = {
    "tools/list": CacheHint(ttl_ms=tools.TOOLS_TTL_MS, scope="public"),
    "prompts/list": CacheHint(ttl_ms=tools.TOOLS_TTL_MS, scope="public"),
    "server/discover": CacheHint(ttl_ms=tools.TOOLS_TTL_MS, scope="public"),
}
# What a result of 2026-07-28 must say of itself; earlier versions know no such member, and the SDK leaves it out.
_COMPLETE: Mapping[str, Any] = {"resultType": "complete"}
_MODERN_MEMBERS = frozenset({"ttlMs", "cacheScope"})


class McpServer:
    """Answers MCP requests, both eras on one URL, without sessions. `running` must be entered once, and first."""

    def __init__(self, services: Services, calls: ToolCalls, features: Sequence[Feature], version: str) -> None:
        self._services = services
        self._calls = calls
        self._listeners = Listeners(services)
        self._manager = StreamableHTTPSessionManager(
            self._server(features, version),
            json_response=True,
            stateless=True,
            # Host and Origin were looked at by the endpoint: a second check with lists of its own could only disagree.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=BODY_BYTES_MAX,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST whose scope has CALLER_KEY and RATED_KEY."""
        await self._manager.handle_request(scope, receive, send)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Requests are answered for as long as the block lasts."""
        async with self._manager.run(), self._listeners.running():
            yield

    def end_streams(self) -> None:
        """End what would otherwise go on for as long as hosts like."""
        self._listeners.stop()

    def _server(self, features: Sequence[Feature], version: str) -> Server[Any]:
        server = _Server(
            tools.SERVER_NAME,
            version=version,
            title=tools.SERVER_TITLE,
            instructions=tools.INSTRUCTIONS,
            cache_hints=CACHE_HINTS,
            # No argument of a tool has a header that would have to agree with it.
            get_tool_input_schema=lambda _name: None,
            on_subscriptions_listen=self._listen,
        )
        # As plain data: models of results that are valid by construction would be built, dumped and checked again.
        server.add_request_handler("tools/list", types.PaginatedRequestParams, _list_tools)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        # Some hosts ask for prompts whatever they were told: an empty list can be kept, an error is asked again.
        server.add_request_handler("prompts/list", types.PaginatedRequestParams, _list_prompts)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, _get_prompt)
        # A span for each message, of which this service exports none, would be its only middleware.
        server.middleware.clear()
        for feature in features:
            server.extensions |= {name: dict(settings) for name, settings in feature.extensions.items()}
            for name, method in feature.methods.items():
                server.add_request_handler(name, types.RequestParams, self._handler(method))
        return server

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        if params.name not in tools.NAMES:
            raise MCPError(INVALID_PARAMS, tools.unknown_tool(params.name))
        return {**_COMPLETE, **await self._calls.call(params.name, params.arguments, self._caller(context))}

    async def _listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        counted_as: str = _scope(context)[RATED_KEY]
        return await self._listeners.listen(context, params, self._caller(context), counted_as)

    def _handler(self, method: Method) -> Callable[[Context, types.RequestParams], Awaitable[dict[str, Any]]]:
        async def handle(context: Context, _: types.RequestParams) -> dict[str, Any]:
            try:
                result = await method(self._caller(context), dict(context.params or {}))
            except ProtocolError as error:
                raise MCPError(error.code, error.message, error.data) from None
            except Refusal as error:
                raise MCPError(INVALID_PARAMS, error.detail, {"code": error.code}) from None
            except RegistryError as error:
                raise MCPError(INTERNAL_ERROR, str(error), {"code": error.code}) from None
            if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                return {**_COMPLETE, **result}
            # The SDK leaves these out of the protocol's own results; those of extensions it sends as they are.
            return {key: value for key, value in result.items() if key not in _MODERN_MEMBERS}

        return handle

    def _caller(self, context: Context) -> Caller:
        caller: Caller = _scope(context)[CALLER_KEY]
        meta = (context.params or {}).get("_meta")
        said = repository_of_meta(meta) if caller.repository is None and isinstance(meta, Mapping) else None
        return resolved(self._services, caller, said)


class _Server(Server[Any]):
    """A server whose tools and prompts are those of its release: nobody has to wait for news of them."""

    def get_capabilities(self, *args: Any, **options: Any) -> types.ServerCapabilities:  # noqa: ANN401 - the base's signature
        """What the base class says, without the news of lists that never change."""
        return (
            super()
            .get_capabilities(*args, **options)
            .model_copy(
                update={
                    "tools": types.ToolsCapability(list_changed=False),
                    "prompts": types.PromptsCapability(list_changed=False),
                }
            )
        )


def quiet_the_sdk() -> None:
    """Keep the SDK's own log lines, which quote what callers send, below what an operator must know."""
    logging.getLogger("mcp").setLevel(logging.ERROR)


async def _list_tools(_: Context, __: types.PaginatedRequestParams) -> dict[str, Any]:
    return {**_COMPLETE, "tools": [dict(tool) for tool in tools.TOOLS]}


async def _list_prompts(_: Context, __: types.PaginatedRequestParams) -> dict[str, Any]:
    return {**_COMPLETE, "prompts": []}


async def _get_prompt(_: Context, params: types.GetPromptRequestParams) -> dict[str, Any]:
    raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name[:80]!r}: this server has tools and skills.")


def _scope(context: Context) -> Mapping[str, Any]:
    scope: Mapping[str, Any] = context.request.scope if context.request is not None else {}
    return scope
