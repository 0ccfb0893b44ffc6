import pytest

from registry.playbook.model import Level, Problem
from registry.service.checking import Report, required_names


def problem(level: Level = Level.ERROR) -> Problem:
    return Problem("unknown-key", level, "playbooks/a.yaml", 4, 2, "Mend it.", "a")


def test_a_report_without_problems_passes():
    assert Report("service", 1, ()).passes(strict=True)


@pytest.mark.parametrize(
    ("level", "strict", "passes"),
    [
        (Level.ERROR, False, False),
        (Level.WARNING, False, True),
        (Level.WARNING, True, False),
        (Level.INFO, True, True),
    ],
)
def test_errors_stand_against_merging_and_warnings_where_it_is_strict(level: Level, strict: bool, passes: bool):
    assert Report("service", 1, (problem(level),)).passes(strict=strict) is passes


def test_a_report_counts_by_level():
    found = Report("service", 1, (problem(), problem(Level.WARNING), problem(Level.WARNING))).to_json()
    assert (found["errors"], found["warnings"], found["infos"]) == (1, 2, 0)


def test_a_name_is_required_where_its_entry_says_so():
    assert required_names({"entries": [{"name": "a", "required": True}, {"name": "b", "required": False}]}) == {"a"}


@pytest.mark.parametrize("outcome", ["required_broken", "required_missing"])
def test_a_required_name_that_nobody_serves_is_required_too(outcome: str):
    assert required_names({"entries": [], "unavailable": [{"name": "a", "outcome": outcome}]}) == {"a"}


def test_a_broken_name_is_not_required_for_that():
    assert required_names({"unavailable": [{"name": "a", "outcome": "broken"}]}) == frozenset()
