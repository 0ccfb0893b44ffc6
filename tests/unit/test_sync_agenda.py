from datetime import UTC, datetime, timedelta

from registry.sync.agenda import SOONEST, Agenda

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ONE = "https://git.example/acme/one"


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def agenda(**plans: float) -> Agenda:
    made = Agenda()
    for name, seconds in plans.items():
        made.plan((name, None), at(seconds))
    return made


def names(groups) -> list[str]:
    return [url for url, _ in groups]


def test_only_what_is_due_is_taken_the_longest_due_first():
    assert names(agenda(a=5, b=-5, c=-9).take(NOON, 10)) == ["c", "b"]


def test_no_more_are_taken_than_there_is_room_for():
    made = agenda(a=-1, b=-2, c=-3)
    assert names(made.take(NOON, 2)) == ["c", "b"]
    assert names(made.take(NOON, 2)) == ["a"]


def test_what_somebody_waits_for_goes_before_everything_that_only_became_due():
    made = agenda(a=-3600, b=60)
    made.plan(("b", None), SOONEST)
    assert names(made.take(NOON, 1)) == ["b"]


def test_the_earlier_of_two_plans_counts_whatever_their_order():
    for first, second in ((5, -5), (-5, 5)):
        made = agenda(a=first)
        made.plan(("a", None), at(second))
        assert names(made.take(NOON, 10)) == ["a"]
        made.release(("a", None))
        assert made.take(at(3600), 10) == ()


def test_a_busy_group_is_not_taken_again_before_it_is_released():
    made = agenda(a=-1)
    made.take(NOON, 1)
    made.plan(("a", None), SOONEST)
    assert made.take(NOON, 1) == ()
    made.release(("a", None))
    assert names(made.take(NOON, 1)) == ["a"]


def test_a_plan_made_while_busy_is_one_plan_and_not_two():
    made = agenda(a=10)
    made.plan(("a", None), at(-1))
    made.take(NOON, 1)
    made.plan(("a", None), at(10))
    made.release(("a", None))
    assert names(made.take(at(10), 5)) == ["a"]
    made.release(("a", None))
    assert made.take(at(20), 5) == ()


def test_the_next_instant_is_that_of_the_first_group_that_is_not_busy():
    made = agenda(a=-1, b=30)
    made.take(NOON, 1)
    made.plan(("a", None), at(1))
    assert made.next_at() == at(30)
    made.release(("a", None))
    assert made.next_at() == at(1)


def test_two_refs_of_one_remote_are_two_groups():
    made = Agenda()
    made.plan((ONE, None), NOON)
    made.plan((ONE, "release"), NOON)
    assert len(made.take(NOON, 5)) == made.busy == 2
