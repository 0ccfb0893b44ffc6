import asyncio
import threading

import pytest

from registry.api.threads import Threads
from registry.errors import Conflict, Unavailable


def test_a_call_runs_beside_the_event_loop() -> None:
    threads = Threads("test", 1, 0)
    name = asyncio.run(threads.run(lambda: threading.current_thread().name))
    threads.close()
    assert name.startswith("test")


def test_what_a_call_raises_is_raised() -> None:
    def refuse() -> None:
        raise Conflict("no.")

    threads = Threads("test", 1, 0)
    with pytest.raises(Conflict):
        asyncio.run(threads.run(refuse))
    threads.close()


def test_a_call_beyond_the_queue_is_told_to_come_back() -> None:
    async def two() -> list[object]:
        release = threading.Event()
        first = asyncio.create_task(threads.run(release.wait, 5))
        await asyncio.sleep(0)
        second = await asyncio.gather(threads.run(release.wait, 5), return_exceptions=True)
        release.set()
        return [await first, *second]

    threads = Threads("test", 1, 0)
    first, second = asyncio.run(two())
    threads.close()
    assert first is True
    assert isinstance(second, Unavailable)
