"""When each remote is looked at next, and which are being looked at now. Pure: every instant is an argument."""

import heapq
from datetime import UTC, datetime

Group = tuple[str, str | None]
"""One (remote, ref) as registered: polled, mirrored and read once for all registrations of it."""

SOONEST = datetime.min.replace(tzinfo=UTC)
"""Before everything that only became due: what somebody waits for."""


class Agenda:
    """The due times of groups. Used by one thread.

    A group that was taken is busy until it is released; whatever is planned for it meanwhile waits for that, so that
    two jobs never share a mirror.
    """

    def __init__(self) -> None:
        self._planned: dict[Group, datetime] = {}
        self._busy: set[Group] = set()
        self._heap: list[tuple[datetime, str, str, Group]] = []

    def plan(self, group: Group, at: datetime) -> None:
        """Have a group looked at when `at` has come, or when an earlier plan of it has."""
        known = self._planned.get(group)
        if known is not None and known <= at:
            return
        self._planned[group] = at
        if group not in self._busy:
            self._push(group, at)

    def take(self, now: datetime, most: int) -> tuple[Group, ...]:
        """Up to `most` groups that are due, the longest due first; each is busy from now on."""
        taken: list[Group] = []
        while len(taken) < most and self._next() is not None and self._heap[0][0] <= now:
            group = heapq.heappop(self._heap)[3]
            del self._planned[group]
            self._busy.add(group)
            taken.append(group)
        return tuple(taken)

    def hold(self, group: Group) -> bool:
        """Whether a group was not being worked on; it is busy from now on, whatever is planned for it."""
        if group in self._busy:
            return False
        self._busy.add(group)
        return True

    def release(self, group: Group) -> None:
        """End the work on a group; what was planned for it meanwhile counts from now on."""
        self._busy.discard(group)
        at = self._planned.get(group)
        if at is not None:
            self._push(group, at)

    def next_at(self) -> datetime | None:
        """When the first group that is not busy is due, or None."""
        return self._next()

    @property
    def busy(self) -> int:
        """How many groups are being worked on."""
        return len(self._busy)

    def _push(self, group: Group, at: datetime) -> None:
        heapq.heappush(self._heap, (at, group[0], group[1] or "", group))

    def _next(self) -> datetime | None:
        # A plan that was replaced by an earlier one, or taken, leaves its row in the heap until it comes up.
        while self._heap and (
            self._heap[0][3] in self._busy or self._planned.get(self._heap[0][3]) != self._heap[0][0]
        ):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None
