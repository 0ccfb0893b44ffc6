"""`subscriptions/listen` (MCP 2026-07-28, Subscriptions): hosts that wait to be told that a catalog changed.

Nobody is told what changed: a notice says "look again", and the snapshot's digest tells whether there is news. Whether
a catalog changed is seen by comparing keys in memory while somebody listens, so nothing that changes one can forget
to tell.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, SubscriptionsListenRequestParams, SubscriptionsListenResult

from registry.errors import RegistryError
from registry.mcp.features import Caller
from registry.service.inforce import Key
from registry.service.services import Services

LISTENERS_MAX = 1_000
"""Streams that one process holds open."""
LISTENERS_OF_CALLER_MAX = 50
URIS_MAX = 100
URI_LENGTH_MAX = 2_048
LOOK_INTERVAL_S = 0.25
LISTEN_MAX_S = 3_600.0
"""A stream ends after this long, by itself and with its result; a host that is there asks again."""

log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Listener:
    """One open stream: whose catalog it waits for, what was in force last, the resources it named, the way to it."""

    counted_as: str
    repository: str | None
    uris: tuple[str, ...]
    bus: InMemorySubscriptionBus
    handler: ListenHandler
    in_force: Key | str

    async def tell(self) -> None:
        """Say that the catalog changed: every resource that was named may read differently now."""
        await self.bus.publish(ResourcesListChanged())
        for uri in self.uris:
            await self.bus.publish(ResourceUpdated(uri=uri))


class Listeners:
    """The open streams of this process. `running` looks for changes while there are any. Used on the event loop."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._open: set[_Listener] = set()
        self._is_stopping = False

    async def listen(
        self,
        context: ServerRequestContext[Any, Any],
        params: SubscriptionsListenRequestParams,
        caller: Caller,
        counted_as: str,
    ) -> SubscriptionsListenResult:
        """Serve one stream until the host leaves, `stop` is called or its time is over. Raises MCPError."""
        uris = tuple(params.notifications.resource_subscriptions or ())
        if len(uris) > URIS_MAX or any(len(uri) > URI_LENGTH_MAX for uri in uris):
            raise MCPError(INVALID_PARAMS, f"at most {URIS_MAX} resources of {URI_LENGTH_MAX} characters can be named")
        self._require_room(counted_as)
        # Before the stream is acknowledged: from then on no change may go untold.
        in_force = (await asyncio.to_thread(self._in_force, {caller.repository}))[caller.repository]
        # Meanwhile others may have come, or the end: a stream that `stop` did not see would outlast it.
        self._require_room(counted_as)
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus, max_subscriptions=1)
        listener = _Listener(counted_as, caller.repository, uris, bus, handler, in_force)
        self._open.add(listener)
        timer = asyncio.get_running_loop().call_later(LISTEN_MAX_S, listener.handler.close)
        try:
            return await listener.handler(context, params)
        finally:
            timer.cancel()
            self._open.discard(listener)

    def _require_room(self, counted_as: str) -> None:
        """Nothing, if one more stream may be opened. Raises MCPError."""
        of_caller = sum(listener.counted_as == counted_as for listener in self._open)
        if self._is_stopping or len(self._open) >= LISTENERS_MAX or of_caller >= LISTENERS_OF_CALLER_MAX:
            raise MCPError(INTERNAL_ERROR, "as many streams are open as can be: ask again later, and poll meanwhile")

    def stop(self) -> None:
        """End every stream, each with its result, and open no other."""
        self._is_stopping = True
        for listener in tuple(self._open):
            listener.handler.close()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Tell listeners of changes for as long as the block lasts."""
        looking = asyncio.create_task(self._look_again_and_again())
        try:
            yield
        finally:
            self.stop()
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking

    async def _look_again_and_again(self) -> None:
        view: object = None
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            current = self._services.in_force.view
            if current is view or not self._open:
                continue
            try:
                await self._look()
            except Exception:
                log.exception("could not tell listeners; looking again")
                continue
            view = current

    async def _look(self) -> None:
        """Tell those whose catalog is another one than when they were told last."""
        found = await asyncio.to_thread(self._in_force, {listener.repository for listener in self._open})
        for listener in tuple(self._open):
            now = found.get(listener.repository, listener.in_force)
            if now != listener.in_force:
                listener.in_force = now
                await listener.tell()

    def _in_force(self, repositories: set[str | None]) -> dict[str | None, Key | str]:
        """The key in force for each, or why there is none. A key may have to be made, for which the store is asked."""
        found: dict[str | None, Key | str] = {}
        for repository in repositories:
            try:
                found[repository] = self._services.catalogs.key_of(repository)
            except RegistryError as error:
                found[repository] = str(error)
        return found
