"""Where the synchronous services run: threads of a bounded pool, so that the event loop is never held up."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from registry.errors import Unavailable

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Pools:
    """The threads of an application: those for any call, those that search, and those that list skills.

    Searching and listing are work for the processor: more threads at once than it has cores for make every search
    slower, and the event loop waits longer for its turn.
    """

    calls: "Threads"
    searches: "Threads"
    listings: "Threads"


class Threads:
    """At most `threads` calls at work and `queue_max` waiting for a thread; one more is told to come back later."""

    def __init__(self, name: str, threads: int, queue_max: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._calls_max = threads + queue_max
        self._calls = 0

    async def run(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What `call` returns or raises, from a thread. Raises Unavailable when the queue is full."""
        with self.place():
            return await self.work(call, *args, **kwargs)

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place in the queue, for a caller who has more to do than the call. Raises Unavailable when it is full."""
        if self._calls >= self._calls_max:
            raise Unavailable("the registry has as many requests at work as it can take: ask again in a moment.")
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    async def work(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The same as `run` for a caller who holds a place already."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(call, *args, **kwargs))

    def close(self) -> None:
        """Let the calls at work end and drop those still waiting."""
        self._pool.shutdown(wait=False, cancel_futures=True)
