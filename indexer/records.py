"""Records in memory: what searches read from the index, kept so that the next one need not read it."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from indexer.schema import Record

TERMS_MAX: Final = 500_000
"""Distinct terms of all kept records together, some 50 bytes each."""

Key = tuple[int, int]


class Records:
    """The most recently used records by key, bounded by the terms they hold; safe from several threads."""

    def __init__(self, terms_max: int = TERMS_MAX) -> None:
        self._terms_max = terms_max
        self._terms = 0
        self._lock = threading.Lock()
        self._records: OrderedDict[Key, Record] = OrderedDict()

    def get(self, keys: Sequence[Key]) -> list[Record | None]:
        """For each key its record, or None where it is not kept."""
        with self._lock:
            found = [self._records.get(key) for key in keys]
            for key, record in zip(keys, found, strict=True):
                if record is not None:
                    self._records.move_to_end(key)
            return found

    def put(self, key: Key, record: Record) -> None:
        """Keep a record; those not used for the longest time make room."""
        with self._lock:
            if key in self._records:
                return
            self._records[key] = record
            self._terms += _size(record)
            while self._terms > self._terms_max:
                _, dropped = self._records.popitem(last=False)
                self._terms -= _size(dropped)


def _size(record: Record) -> int:
    return len(record.content.occurrences) + len(record.content.not_for) + 1
