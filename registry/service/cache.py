"""Bounded caches: by bytes for what grows with its content, by entries for what is always small or few."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ByteCache(Generic[K, V]):
    """The values used last, at most `bytes_max` bytes of them by the sizes they were put with. Thread-safe."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size_bytes = 0
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """The bytes held now."""
        return self._size_bytes

    def get(self, key: K) -> V | None:
        """The value of `key`, or None."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, size_bytes: int) -> None:
        """Keep a value, letting go of those unused longest; one larger than the whole cache is not kept."""
        with self._lock:
            old = self._entries.pop(key, None)
            self._size_bytes -= old[1] if old else 0
            if size_bytes > self._bytes_max:
                return
            self._entries[key] = (value, size_bytes)
            self._size_bytes += size_bytes
            while self._size_bytes > self._bytes_max:
                _, (_, freed) = self._entries.popitem(last=False)
                self._size_bytes -= freed


class EntryCache(Generic[K, V]):
    """The `entries_max` values used last. Thread-safe."""

    def __init__(self, entries_max: int) -> None:
        self._sized: ByteCache[K, V] = ByteCache(entries_max)

    def get(self, key: K) -> V | None:
        """The value of `key`, or None."""
        return self._sized.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value, letting go of the one unused longest."""
        self._sized.put(key, value, 1)


class SingleFlight(Generic[K, V]):
    """Makes each value once however many threads ask for it at the same time."""

    def __init__(self) -> None:
        self._flights: dict[K, Future[V]] = {}
        self._lock = Lock()

    def do(self, key: K, make: Callable[[], V]) -> V:
        """The value that `make` gives, or that a call under way for the same key gives; its exception likewise."""
        with self._lock:
            flight = self._flights.get(key)
            mine = flight is None
            if flight is None:
                flight = self._flights[key] = Future()
        if not mine:
            return flight.result()
        try:
            value = make()
        except BaseException as error:
            flight.set_exception(error)
            raise
        else:
            flight.set_result(value)
            return value
        finally:
            with self._lock:
                del self._flights[key]
