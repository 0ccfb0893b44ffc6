"""How much one caller may ask: a token bucket each, as values, and a bounded table of them."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

BURST_S: Final = 10.0
"""A caller that was quiet may ask this many seconds' worth at once: a session begins with several calls."""
CALLERS_MAX: Final = 10_000
"""Callers that are remembered; the one that was quiet longest has its bucket filled again by being forgotten."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is left to one caller: `level` requests at the instant `at_s`."""

    level: float
    at_s: float


def take(bucket: Bucket | None, at_s: float, *, rate_per_s: float) -> tuple[Bucket, float]:
    """(the bucket after one request at `at_s`, seconds to wait before it is granted: 0 where it is granted now).

    A new bucket is full. One that is asked too early loses nothing by asking.
    """
    most = max(1.0, rate_per_s * BURST_S)
    level = most if bucket is None else min(most, bucket.level + max(0.0, at_s - bucket.at_s) * rate_per_s)
    if level >= 1.0:
        return Bucket(level - 1.0, at_s), 0.0
    return Bucket(level, at_s), (1.0 - level) / rate_per_s


class Rates:
    """The buckets of all callers. Used on the event loop alone."""

    def __init__(self, rate_per_s: float) -> None:
        self._rate_per_s = rate_per_s
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, caller: str, at_s: float) -> float:
        """Seconds that this caller must wait: 0 where its request is granted. A rate of 0 grants everything."""
        if self._rate_per_s <= 0:
            return 0.0
        bucket, wait_s = take(self._buckets.get(caller), at_s, rate_per_s=self._rate_per_s)
        self._buckets[caller] = bucket
        self._buckets.move_to_end(caller)
        if len(self._buckets) > CALLERS_MAX:
            self._buckets.popitem(last=False)
        return wait_s
