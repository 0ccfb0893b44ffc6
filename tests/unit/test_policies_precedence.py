"""The table of merge.md, one row per combination, and what a withdrawal does to it."""

import pytest

from policies.decision import CopyState, Decision, Outcome, Requirement, Side
from policies.precedence import Candidate, decide

TABLE = """
central   local     required  outcome           serves   over     refused  beside
absent    absent    no        unlisted
absent    absent    yes       required_missing  nobody   -        -        -
absent    absent    waived    unlisted
absent    good      no        local_only        local    -        -        -
absent    good      yes       required_missing  nobody   -        -        -
absent    good      waived    waiver            local    -        -        -
absent    held      no        local_only        local    -        -        -
absent    held      yes       required_missing  nobody   -        -        -
absent    held      waived    waiver            local    -        -        -
absent    broken    no        broken            nobody   -        -        local
absent    broken    yes       required_missing  nobody   -        -        local
absent    broken    waived    broken            nobody   -        -        local
absent    ambiguous no        broken            nobody   -        -        local
absent    ambiguous yes       required_missing  nobody   -        -        local
absent    ambiguous waived    broken            nobody   -        -        local
good      absent    no        central_only      central  -        -        -
good      absent    yes       central_only      central  -        -        -
good      absent    waived    central_only      central  -        -        -
good      good      no        local_wins        local    central  -        -
good      good      yes       required_holds    central  -        local    -
good      good      waived    waiver            local    central  -        -
good      held      no        local_wins        local    central  -        -
good      held      yes       required_holds    central  -        local    -
good      held      waived    waiver            local    central  -        -
good      broken    no        local_broken      central  -        -        local
good      broken    yes       local_broken      central  -        -        local
good      broken    waived    local_broken      central  -        -        local
good      ambiguous no        local_broken      central  -        -        local
good      ambiguous yes       local_broken      central  -        -        local
good      ambiguous waived    local_broken      central  -        -        local
held      absent    no        central_only      central  -        -        -
held      absent    yes       central_only      central  -        -        -
held      absent    waived    central_only      central  -        -        -
held      good      no        local_wins        local    central  -        -
held      good      yes       required_holds    central  -        local    -
held      good      waived    waiver            local    central  -        -
held      held      no        local_wins        local    central  -        -
held      held      yes       required_holds    central  -        local    -
held      held      waived    waiver            local    central  -        -
held      broken    no        local_broken      central  -        -        local
held      broken    yes       local_broken      central  -        -        local
held      broken    waived    local_broken      central  -        -        local
held      ambiguous no        local_broken      central  -        -        local
held      ambiguous yes       local_broken      central  -        -        local
held      ambiguous waived    local_broken      central  -        -        local
broken    absent    no        broken            nobody   -        -        central
broken    absent    yes       broken            nobody   -        -        central
broken    absent    waived    broken            nobody   -        -        central
broken    good      no        central_broken    local    -        -        central
broken    good      yes       required_broken   nobody   -        local    central
broken    good      waived    waiver            local    -        -        central
broken    held      no        central_broken    local    -        -        central
broken    held      yes       required_broken   nobody   -        local    central
broken    held      waived    waiver            local    -        -        central
broken    broken    no        broken            nobody   -        -        central,local
broken    broken    yes       broken            nobody   -        -        central,local
broken    broken    waived    broken            nobody   -        -        central,local
broken    ambiguous no        broken            nobody   -        -        central,local
broken    ambiguous yes       broken            nobody   -        -        central,local
broken    ambiguous waived    broken            nobody   -        -        central,local
ambiguous absent    no        broken            nobody   -        -        central
ambiguous absent    yes       broken            nobody   -        -        central
ambiguous absent    waived    broken            nobody   -        -        central
ambiguous good      no        central_broken    local    -        -        central
ambiguous good      yes       required_broken   nobody   -        local    central
ambiguous good      waived    waiver            local    -        -        central
ambiguous held      no        central_broken    local    -        -        central
ambiguous held      yes       required_broken   nobody   -        local    central
ambiguous held      waived    waiver            local    -        -        central
ambiguous broken    no        broken            nobody   -        -        central,local
ambiguous broken    yes       broken            nobody   -        -        central,local
ambiguous broken    waived    broken            nobody   -        -        central,local
ambiguous ambiguous no        broken            nobody   -        -        central,local
ambiguous ambiguous yes       broken            nobody   -        -        central,local
ambiguous ambiguous waived    broken            nobody   -        -        central,local
"""
HEADER, *ROWS = (line.split() for line in TABLE.strip().splitlines())


def sides(word: str) -> tuple[Side, ...]:
    return () if word == "-" else tuple(Side(part) for part in word.split(","))


def decided(central: str, local: str, requirement: str, *, withdrawn: str = "") -> Decision | None:
    return decide(
        Candidate(CopyState(central), withdrawn="central" in withdrawn),
        Candidate(CopyState(local), withdrawn="local" in withdrawn),
        Requirement(requirement),
    )


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_every_combination_is_decided_as_the_table_says(row: list[str]) -> None:
    central, local, requirement, outcome, *rest = row
    decision = decided(central, local, requirement)
    if outcome == "unlisted":
        assert decision is None
        return
    serves, over, refused, beside = rest
    assert decision is not None
    assert decision.outcome is Outcome(outcome)
    assert decision.serves == (None if serves == "nobody" else Side(serves))
    assert (decision.over, decision.refused, decision.beside) == (sides(over), sides(refused), sides(beside))


def test_the_table_has_each_of_the_75_combinations_once() -> None:
    combinations = {tuple(row[:3]) for row in ROWS}
    assert len(ROWS) == len(combinations) == len(CopyState) ** 2 * len(Requirement) == 75


def test_every_outcome_but_withdrawn_is_a_row_of_the_table() -> None:
    assert {row[3] for row in ROWS} == {*(item.value for item in Outcome), "unlisted"} - {"withdrawn"}


def test_a_decision_carries_one_sentence_of_reason() -> None:
    decision = decided("good", "good", "yes")
    assert decision is not None
    assert decision.reason == (
        "The central copy serves: the playbook is required, so this repository's own copy is refused."
    )


@pytest.mark.parametrize("row", [row for row in ROWS if row[3] != "unlisted" and row[4] != "nobody"], ids="-".join)
def test_nobody_serves_where_the_copy_whose_turn_it_is_was_withdrawn(row: list[str]) -> None:
    decision = decided(*row[:3], withdrawn=row[4])
    assert decision is not None
    assert (decision.outcome, decision.serves, decision.over) == (Outcome.WITHDRAWN, None, ())


@pytest.mark.parametrize("row", [row for row in ROWS if row[3] != "unlisted" and row[4] == "nobody"], ids="-".join)
def test_a_withdrawal_changes_nothing_where_nobody_serves_anyway(row: list[str]) -> None:
    assert decided(*row[:3], withdrawn="central,local") == decided(*row[:3])


def test_the_name_does_not_fall_to_the_central_copy_when_the_local_one_is_withdrawn() -> None:
    decision = decided("good", "good", "no", withdrawn="local")
    assert decision is not None
    assert decision.serves is None


def test_a_withdrawn_required_copy_still_keeps_the_local_one_refused() -> None:
    decision = decided("good", "good", "yes", withdrawn="central")
    assert decision is not None
    assert (decision.outcome, decision.refused) == (Outcome.WITHDRAWN, (Side.LOCAL,))


def test_a_withdrawn_copy_behind_the_serving_one_is_shown_beside_and_not_in_over() -> None:
    decision = decided("held", "good", "no", withdrawn="central")
    assert decision is not None
    assert (decision.serves, decision.over, decision.beside) == (Side.LOCAL, (), (Side.CENTRAL,))


def test_a_withdrawn_copy_that_is_refused_stays_refused() -> None:
    decision = decided("good", "held", "yes", withdrawn="local")
    assert decision == decided("good", "held", "yes")


def test_two_withdrawn_copies_leave_the_name_unavailable() -> None:
    decision = decided("good", "good", "waived", withdrawn="central,local")
    assert decision is not None
    assert (decision.outcome, decision.serves) == (Outcome.WITHDRAWN, None)


def test_the_reason_of_a_withdrawal_names_the_side_whose_turn_it_was() -> None:
    decision = decided("good", "absent", "no", withdrawn="central")
    assert decision is not None
    assert "the central copy" in decision.reason
