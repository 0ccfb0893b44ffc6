"""A run as it is kept: which copy of which playbook was opened, by whom, for what, with which inputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from registry.digest import Json

RUN_PREFIX: Final = "run_"
RANDOM_BYTES: Final = 10
WORKTREE: Final = "worktree"
"""The `kind` of the source of a copy that stands in a working tree."""
# Crockford's base 32: without i, l, o and u, and in the order of ASCII, so that sorted ids are in the order of time.
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_BITS: Final = 48
_DIGITS: Final = 26


class RunState(StrEnum):
    """Where a run stands. Nothing closes one yet."""

    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Run:
    """One run, pinned to one copy.

    `source` is that of the copy's entry; of a working-tree copy its kind is `worktree`, and it says `unreviewed`.
    `snapshot` is the digest of the catalog that it was opened under, and `repository` the one that was named, whether
    it is registered or not. `team` is the team of the repository at that time, who may look at it later. `request_key`
    is the caller's own name for the request and `request` the digest of what it asked for; `defaulted` are the pointers
    of those inputs that the playbook's schema gave. None of these four is shown with the run.
    """

    id: str
    name: str
    version: str
    digest: str
    source: Mapping[str, Json]
    snapshot: str
    repository: str | None
    task: str | None
    principal: str
    inputs: Mapping[str, Json]
    opened_at: datetime
    state: RunState = RunState.OPEN
    team: str | None = None
    request_key: str | None = None
    request: str | None = None
    defaulted: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The wire's run (http-api.md, Shapes)."""
        return {
            "id": self.id,
            "name": self.name,
            "version": self.version,
            "digest": self.digest,
            "source": self.source,
            "snapshot": self.snapshot,
            "repository": self.repository,
            "task": self.task,
            "principal": self.principal,
            "inputs": self.inputs,
            "opened_at": self.opened_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "state": self.state.value,
        }


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run whose procedure is where it was bound; `repeated` says that the same request had recorded it before."""

    run: Run
    repeated: bool = False


def run_id(at: datetime, randomness: bytes) -> str:
    """The id of a run opened at `at`: nobody guesses it, and ids sort by their millisecond.

    `randomness` are RANDOM_BYTES bytes from a generator that is fit for secrets.
    """
    if len(randomness) != RANDOM_BYTES:
        raise ValueError(f"a run's id takes {RANDOM_BYTES} random bytes")
    milliseconds = int(at.timestamp() * 1000) % (1 << _TIME_BITS)
    number = milliseconds << (8 * RANDOM_BYTES) | int.from_bytes(randomness)
    digits = (_ALPHABET[number >> (5 * place) & 31] for place in reversed(range(_DIGITS)))
    return RUN_PREFIX + "".join(digits)


def is_run_id(text: str) -> bool:
    """Whether `text` has the form of a run's id."""
    digits = text.removeprefix(RUN_PREFIX)
    return text.startswith(RUN_PREFIX) and len(digits) == _DIGITS and set(digits) <= set(_ALPHABET)
