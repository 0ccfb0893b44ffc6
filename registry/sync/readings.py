"""Readings that are kept, so that a file that stays as it is is parsed once."""

from collections import OrderedDict
from threading import Lock

from registry.playbook.model import Reading
from registry.sync.companions import HashCache

CACHE_BYTES_MAX = 128 * 1024 * 1024
CACHE_SHARE = 6
"""A reading is counted at six times its file's bytes: contract, canonical text, and what objects cost beyond them."""
CACHE_ENTRY_BYTES = 2_048


class ReadingCache:
    """Readings by path, blob and role, so that an unchanged file is parsed once. Bounded in bytes; safe to share."""

    def __init__(self, bytes_max: int = CACHE_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._size_bytes = 0
        self._readings: OrderedDict[tuple[str, str, str], tuple[Reading, int]] = OrderedDict()
        self._lock = Lock()
        self.hashes = HashCache()

    def get(self, key: tuple[str, str, str]) -> tuple[Reading, int] | None:
        """The reading of that (path, blob id, role) with its file's size in bytes, or None."""
        with self._lock:
            found = self._readings.get(key)
            if found is not None:
                self._readings.move_to_end(key)
            return found

    def put(self, key: tuple[str, str, str], reading: Reading, size_bytes: int) -> None:
        """Keep a reading of a file of that size, letting go of those unused longest."""
        with self._lock:
            old = self._readings.pop(key, None)
            self._size_bytes += _cost(size_bytes) - (_cost(old[1]) if old else 0)
            self._readings[key] = (reading, size_bytes)
            while self._size_bytes > self._bytes_max:
                _, (_, freed) = self._readings.popitem(last=False)
                self._size_bytes -= _cost(freed)


def _cost(size_bytes: int) -> int:
    return CACHE_ENTRY_BYTES + CACHE_SHARE * size_bytes
