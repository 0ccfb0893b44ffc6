"""A mass change is held back, an ordinary one is not (merge.md, A mass change is held back)."""

import pytest

from policies.change import is_too_large


def names(count: int, start: int = 0) -> list[str]:
    return [f"playbook-{number}" for number in range(start, start + count)]


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        (20, 20, False),
        (20, 10, False),  # exactly half
        (20, 9, True),  # more than half, and 11
        (19, 9, True),  # more than half, and exactly 10
        (17, 8, False),  # more than half, but only 9
        (1000, 600, False),  # many, but not half
        (10, 0, True),  # emptied, and it had 10
        (9, 0, False),  # emptied, but it had 9
        (0, 0, False),
        (0, 500, False),
    ],
)
def test_more_than_half_and_at_least_ten_taken_away_is_held(*, before: int, after: int, held: bool) -> None:
    assert (is_too_large(names(before), names(after)) is not None) == held


def test_other_names_in_place_of_the_old_ones_do_not_make_up_for_them() -> None:
    assert is_too_large(names(10), names(50, start=10)) is not None


def test_a_name_that_is_given_twice_counts_once() -> None:
    assert is_too_large(names(9) * 2, []) is None


def test_the_sentence_counts_what_would_go_and_says_what_to_do() -> None:
    assert is_too_large(names(20), names(5)) == (
        "The change would take away 15 of 20 playbooks, so what is in force stays. If it is meant, apply this "
        "commit; if not, push one that brings them back."
    )


def test_an_emptied_source_is_named_as_such() -> None:
    assert "all 12 playbooks" in (is_too_large(names(12), []) or "")


def test_a_missing_branch_is_held_whatever_it_leaves() -> None:
    assert "branch is missing" in (is_too_large([], [], branch_missing=True) or "")
