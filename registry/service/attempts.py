"""Attempts at opening a run: each is counted by what it came to, and who was denied is in the log, without inputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final

import structlog

from policies.access import Principal
from registry.errors import Refusal
from registry.service.repositories import name_of

OPENED: Final = "opened"
REPEATED: Final = "repeated"
RECORDED: Final = "recorded"
INVALID: Final = "invalid"
DENIED: Final = ("unauthenticated", "forbidden", "refused")
OUTCOMES: Final = (
    *(OPENED, REPEATED, RECORDED),
    *DENIED,
    *("playbook-unknown", "playbook-unavailable", "inputs-invalid", INVALID),
)
"""What an attempt can come to: INVALID stands for every other refusal, such as a name that is none."""
NAME_SHOWN_CHARS: Final = 64

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Attempt:
    """One attempt: `name` and `repository` as far as they are known, `outcome` what it came to."""

    principal: Principal | None
    name: str = ""
    repository: str | None = None
    outcome: str = OPENED


class Attempts:
    """Counts of a process's attempts. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts = dict.fromkeys(OUTCOMES, 0)

    def counts(self) -> dict[str, int]:
        """Outcome -> how many, for every outcome there is."""
        with self._lock:
            return dict(self._counts)

    @contextmanager
    def watched(self, attempt: Attempt) -> Iterator[Attempt]:
        """A block that is counted by `attempt.outcome`, or by the refusal that it raises."""
        try:
            yield attempt
        except Refusal as refusal:
            outcome = refusal.code if refusal.code in OUTCOMES else INVALID
            if outcome in DENIED:
                self._log(attempt, refusal)
            self._count(outcome)
            raise
        self._count(attempt.outcome)

    def _count(self, outcome: str) -> None:
        with self._lock:
            self._counts[outcome] += 1

    def _log(self, attempt: Attempt, refusal: Refusal) -> None:
        # Whoever has no token at all may knock as often as he likes, and must not fill the log with warnings.
        say = log.info if attempt.principal is None else log.warning
        say(
            "a run was denied",
            code=refusal.code,
            reason=refusal.detail,
            principal=name_of(attempt.principal),
            playbook=attempt.name[:NAME_SHOWN_CHARS],
            repository=attempt.repository,
        )
