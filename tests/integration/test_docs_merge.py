"""docs/merge.md explains every outcome and state, and its table is what the policies decide."""

import itertools
import re

import pytest
from shellblocks import page, section

from policies.decision import CopyState, Outcome, Requirement
from policies.precedence import Candidate, decide

PAGE = page("docs/merge.md")
WORDS = {
    "usable": {CopyState.GOOD, CopyState.HELD},
    "unusable": {CopyState.BROKEN, CopyState.AMBIGUOUS},
    "absent": {CopyState.ABSENT},
}


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    lines = [line for line in section(PAGE, heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def states(cell: str) -> set[CopyState]:
    return set(CopyState) if cell == "any" else set().union(*(WORDS[word] for word in cell.split(" or ")))


def requirements(cell: str) -> set[Requirement]:
    return set(Requirement) if cell == "any" else {Requirement(word) for word in cell.split(" or ")}


def test_every_outcome_is_explained_and_no_other():
    assert {row[0].strip("`") for row in rows("Outcomes")} == {outcome.value for outcome in Outcome}


def test_every_state_of_a_copy_is_explained_and_no_other():
    assert {row[0].strip("`") for row in rows("What a copy can be")} == {state.value for state in CopyState}


@pytest.mark.parametrize(
    ("central", "local", "requirement"), list(itertools.product(CopyState, CopyState, Requirement))
)
def test_one_row_of_the_table_says_what_is_decided(central: CopyState, local: CopyState, requirement: Requirement):
    decision = decide(Candidate(central), Candidate(local), requirement)
    said = [
        row[3].strip("`-")
        for row in rows("The whole table")
        if central in states(row[0]) and local in states(row[1]) and requirement in requirements(row[2])
    ]
    assert said == ["" if decision is None else decision.outcome.value]


@pytest.mark.parametrize("row", rows("Outcomes"), ids=lambda row: row[0])
def test_who_serves_is_what_is_decided(row: list[str]):
    served = {
        decision.serves.value if decision.serves else "nobody"
        for central, local, requirement in itertools.product(CopyState, CopyState, Requirement)
        for withdrawn in (False, True)
        if (decision := decide(Candidate(central, withdrawn), Candidate(local, withdrawn), requirement))
        and decision.outcome.value == row[0].strip("`")
    }
    assert served == {row[1]}


def test_the_folding_that_the_page_shows_is_the_one_that_happens():
    from registry.names import name_key

    found = re.search(r"So `([^`]+)` is `([^`]+)`", PAGE)
    assert found is not None
    assert name_key(found[1]) == found[2]
