"""The shape of a decision on one name in one repository's catalog (merge.md, The table)."""

from dataclasses import dataclass
from enum import StrEnum


class CopyState(StrEnum):
    """How one side's copy of a name stands before the merge (merge.md, Facts for one name)."""

    ABSENT = "absent"
    GOOD = "good"
    HELD = "held"
    BROKEN = "broken"
    AMBIGUOUS = "ambiguous"


class Requirement(StrEnum):
    """Whether the central copy must hold here: no, yes, or waived for this repository."""

    NO = "no"
    YES = "yes"
    WAIVED = "waived"


class Outcome(StrEnum):
    """The row of the table that decided; `withdrawn` replaces the row whose serving copy was withdrawn."""

    CENTRAL_ONLY = "central_only"
    LOCAL_WINS = "local_wins"
    REQUIRED_HOLDS = "required_holds"
    WAIVER = "waiver"
    LOCAL_BROKEN = "local_broken"
    CENTRAL_BROKEN = "central_broken"
    REQUIRED_BROKEN = "required_broken"
    BROKEN = "broken"
    LOCAL_ONLY = "local_only"
    REQUIRED_MISSING = "required_missing"
    WITHDRAWN = "withdrawn"


class Side(StrEnum):
    """Where a copy comes from: the central repository or the repository whose catalog this is."""

    CENTRAL = "central"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Decision:
    """Who serves a name, and why.

    `serves` is None where the name is `unavailable`. Of the copies that are there, each stands in at most one place:
    it serves, or is in `over` (good, but another one goes before it), in `refused` (good, but a required playbook
    keeps it out) or in `beside` (its problem, or its withdrawal, is shown beside what serves). Where somebody serves,
    every copy stands in one of them; where nobody does, the rest are listed with the unavailable name. Each tuple is
    ordered central first. `reason` is one plain sentence, the same for the same outcome and states.
    """

    outcome: Outcome
    serves: Side | None
    over: tuple[Side, ...]
    refused: tuple[Side, ...]
    reason: str
    beside: tuple[Side, ...] = ()
