"""How many streams are held open, and that none outlasts the end, when all of it comes at the same moment."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import SubscriptionFilter, SubscriptionsListenRequestParams
from world import World, playbook, running

from registry.mcp.features import Caller
from registry.mcp.listening import LISTENERS_OF_CALLER_MAX, Listeners

WANTED = SubscriptionsListenRequestParams(notifications=SubscriptionFilter(resources_list_changed=True))


@dataclass
class Stream:
    """The way to one host, as far as a stream is told that it is open."""

    request_id: int = 1
    is_open: bool = False

    @property
    def session(self) -> "Stream":
        return self

    async def send_notification(self, *_: object, **__: object) -> None:
        self.is_open = True


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("listening")
    with running(folder, {"playbooks/a.yaml": playbook("a")}) as made:
        yield made


def opening(listeners: Listeners, stream: Any) -> "asyncio.Task[object]":
    return asyncio.create_task(listeners.listen(stream, WANTED, Caller(), "principal ada"))


def test_a_caller_that_opens_many_streams_at_once_gets_no_more_than_one_after_another(world: World):
    async def open_many() -> int:
        listeners, streams = Listeners(world.services), [Stream() for _ in range(LISTENERS_OF_CALLER_MAX + 10)]
        tasks = [opening(listeners, stream) for stream in streams]
        refused, _ = await asyncio.wait(tasks, timeout=10, return_when=asyncio.FIRST_EXCEPTION)
        while len(refused) + sum(stream.is_open for stream in streams) < len(streams):
            await asyncio.sleep(0.01)
            refused = {task for task in tasks if task.done()}
        listeners.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        return sum(stream.is_open for stream in streams)

    assert asyncio.run(asyncio.wait_for(open_many(), 30)) == LISTENERS_OF_CALLER_MAX


def test_a_stream_that_is_being_opened_at_the_end_is_not_opened(world: World):
    async def stop_meanwhile() -> None:
        listeners = Listeners(world.services)
        task = opening(listeners, Stream())
        await asyncio.sleep(0)
        listeners.stop()
        await asyncio.wait_for(task, 10)

    with pytest.raises(MCPError):
        asyncio.run(stop_meanwhile())
