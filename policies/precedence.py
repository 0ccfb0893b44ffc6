"""Which of two copies serves: the table of merge.md, row by row, with withdrawals laid over it."""

from dataclasses import dataclass, replace

from policies.decision import CopyState, Decision, Outcome, Requirement, Side

_SERVABLE = frozenset({CopyState.GOOD, CopyState.HELD})

_REASONS = {
    Outcome.CENTRAL_ONLY: "The central copy serves: this repository has none of its own.",
    Outcome.LOCAL_WINS: "This repository's own copy serves: it goes before the central one.",
    Outcome.REQUIRED_HOLDS: (
        "The central copy serves: the playbook is required, so this repository's own copy is refused."
    ),
    Outcome.WAIVER: "This repository's own copy serves: a waiver lifts the requirement here until it ends.",
    Outcome.LOCAL_BROKEN: "The central copy serves: this repository's own copy cannot be used until it is mended.",
    Outcome.CENTRAL_BROKEN: "This repository's own copy serves; the central copy cannot be used until it is mended.",
    Outcome.REQUIRED_BROKEN: (
        "Nobody serves: the playbook is required and its central copy cannot be used until it is mended; "
        "this repository's own copy may not stand in for it."
    ),
    Outcome.BROKEN: "Nobody serves: no copy of the playbook can be used until one is mended.",
    Outcome.LOCAL_ONLY: "This repository's own copy serves: there is no central one.",
    Outcome.REQUIRED_MISSING: (
        "Nobody serves: the playbook is required, but the central repository has no copy of it; "
        "no other copy may stand in for it."
    ),
}
_WITHDRAWN = {
    Side.CENTRAL: "Nobody serves: the central copy, whose turn it is, was withdrawn by the platform team.",
    Side.LOCAL: "Nobody serves: this repository's own copy, whose turn it is, was withdrawn by the platform team.",
}


def reason_of(outcome: Outcome) -> str:
    """The sentence that goes with an outcome, whoever decided it."""
    return _REASONS.get(outcome, "Nobody serves: the copy whose turn it is was withdrawn by the platform team.")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One side's copy of a name. `withdrawn` speaks of the very copy that would serve; elsewhere it has no effect."""

    state: CopyState
    withdrawn: bool = False

    @property
    def servable(self) -> bool:
        """Whether the table may let it serve: good or held, withdrawn or not."""
        return self.state in _SERVABLE


def decide(central: Candidate, local: Candidate, requirement: Requirement) -> Decision | None:
    """The decision on one name, or None where the name is in no list (merge.md, The table).

    A withdrawn copy does not change whose turn it is: where it is its turn, nobody serves and the outcome is
    `withdrawn`, so that withdrawing a copy never promotes another one in silence (merge.md, Withdrawn).
    """
    row = _row(central, local, requirement)
    return None if row is None else _without_withdrawn(row, {Side.CENTRAL: central, Side.LOCAL: local})


def _row(central: Candidate, local: Candidate, requirement: Requirement) -> Decision | None:
    if central.state is CopyState.ABSENT:
        return _central_absent(local, requirement)
    if central.servable:
        return _central_servable(local, requirement)
    return _central_unusable(local, requirement)


def _central_servable(local: Candidate, requirement: Requirement) -> Decision:
    if local.state is CopyState.ABSENT:
        return _decision(Outcome.CENTRAL_ONLY, Side.CENTRAL)
    if not local.servable:
        return _decision(Outcome.LOCAL_BROKEN, Side.CENTRAL, beside=(Side.LOCAL,))
    if requirement is Requirement.YES:
        return _decision(Outcome.REQUIRED_HOLDS, Side.CENTRAL, refused=(Side.LOCAL,))
    outcome = Outcome.WAIVER if requirement is Requirement.WAIVED else Outcome.LOCAL_WINS
    return _decision(outcome, Side.LOCAL, over=(Side.CENTRAL,))


def _central_unusable(local: Candidate, requirement: Requirement) -> Decision:
    if not local.servable:
        both = (Side.CENTRAL,) if local.state is CopyState.ABSENT else (Side.CENTRAL, Side.LOCAL)
        return _decision(Outcome.BROKEN, None, beside=both)
    if requirement is Requirement.YES:
        return _decision(Outcome.REQUIRED_BROKEN, None, refused=(Side.LOCAL,), beside=(Side.CENTRAL,))
    outcome = Outcome.WAIVER if requirement is Requirement.WAIVED else Outcome.CENTRAL_BROKEN
    return _decision(outcome, Side.LOCAL, beside=(Side.CENTRAL,))


def _central_absent(local: Candidate, requirement: Requirement) -> Decision | None:
    unusable = local.state in {CopyState.BROKEN, CopyState.AMBIGUOUS}
    beside = (Side.LOCAL,) if unusable else ()
    if requirement is Requirement.YES:
        return _decision(Outcome.REQUIRED_MISSING, None, beside=beside)
    if local.state is CopyState.ABSENT:
        return None
    if unusable:
        return _decision(Outcome.BROKEN, None, beside=beside)
    outcome = Outcome.WAIVER if requirement is Requirement.WAIVED else Outcome.LOCAL_ONLY
    return _decision(outcome, Side.LOCAL)


def _without_withdrawn(row: Decision, copies: dict[Side, Candidate]) -> Decision:
    if row.serves is not None and copies[row.serves].withdrawn:
        return replace(row, outcome=Outcome.WITHDRAWN, serves=None, over=(), reason=_WITHDRAWN[row.serves])
    # A withdrawn copy that stands behind the one that serves must not look like a fallback.
    fallen = tuple(side for side in row.over if copies[side].withdrawn)
    return replace(row, over=(), beside=fallen) if fallen else row


def _decision(
    outcome: Outcome,
    serves: Side | None,
    *,
    over: tuple[Side, ...] = (),
    refused: tuple[Side, ...] = (),
    beside: tuple[Side, ...] = (),
) -> Decision:
    return Decision(outcome, serves, over, refused, _REASONS[outcome], beside)
