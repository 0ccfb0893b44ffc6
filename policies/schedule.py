"""When a source is due: polls with jitter, backoff after a fault (git.md, What goes wrong).

Randomness is an argument: every `jitter` is a number from 0 up to, but not including, 1, drawn anew for each call.
"""

import math
from datetime import datetime, timedelta

POLL_SPREAD = 0.2
"""A poll comes up to this share of the interval earlier or later, so that sources drift apart."""
BACKOFF_FIRST_S = 5.0
BACKOFF_CAP_S = 900.0
RETRY_AFTER_MAX_S = 86_400.0
"""A host that asks for a longer pause than a day is asked again after a day."""
_DOUBLINGS_MAX = 64


def first_due(start: datetime, *, interval_s: float, jitter: float) -> datetime:
    """When a source that was known at start-up is polled first: anywhere within one interval."""
    return start + timedelta(seconds=interval_s * jitter)


def next_due(
    now: datetime, *, interval_s: float, jitter: float, attempts: int = 0, retry_after_s: float | None = None
) -> datetime:
    """When a source is due again after a check at `now`.

    `attempts` counts the failed checks in a row, 0 after a good one. `retry_after_s` is the pause that the host asked
    for, if it did; the next check never comes before it.
    """
    plain_s = poll_s(interval_s, jitter=jitter) if attempts < 1 else backoff_s(attempts, jitter=jitter)
    return now + timedelta(seconds=max(plain_s, _asked_s(retry_after_s, jitter)))


def poll_s(interval_s: float, *, jitter: float) -> float:
    """Seconds until the next ordinary poll: the interval, up to 20 % less or more."""
    return interval_s * (1 - POLL_SPREAD + 2 * POLL_SPREAD * jitter)


def backoff_s(attempts: int, *, jitter: float, first_s: float = BACKOFF_FIRST_S, cap_s: float = BACKOFF_CAP_S) -> float:
    """Seconds until the next try after `attempts` failures in a row (1 or more): doubling, never above `cap_s`.

    Between half and the whole of the doubled pause, so that those that failed together come back apart.
    """
    doublings = min(max(attempts, 1) - 1, _DOUBLINGS_MAX)
    return min(first_s * 2.0**doublings, cap_s) * (0.5 + 0.5 * jitter)


def _asked_s(retry_after_s: float | None, jitter: float) -> float:
    """The pause that was asked for and a little more: all who were told the same must not come back at once."""
    if retry_after_s is None or math.isnan(retry_after_s) or retry_after_s <= 0:
        return 0.0
    return min(retry_after_s, RETRY_AFTER_MAX_S) * (1 + POLL_SPREAD * jitter)
