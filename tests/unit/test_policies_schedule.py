"""When a source is due (git.md, What goes wrong)."""

from datetime import UTC, datetime, timedelta

import pytest

from policies.schedule import (
    BACKOFF_CAP_S,
    RETRY_AFTER_MAX_S,
    backoff_s,
    first_due,
    next_due,
    poll_s,
)

NOW = datetime(2026, 11, 30, 7, 0, tzinfo=UTC)


def wait_s(jitter: float = 0.5, attempts: int = 0, retry_after_s: float | None = None) -> float:
    due = next_due(NOW, interval_s=60, jitter=jitter, attempts=attempts, retry_after_s=retry_after_s)
    return (due - NOW).total_seconds()


@pytest.mark.parametrize(("jitter", "seconds"), [(0.0, 48), (0.5, 60), (1.0, 72)])
def test_a_poll_comes_up_to_a_fifth_of_the_interval_earlier_or_later(jitter: float, seconds: float) -> None:
    assert poll_s(60, jitter=jitter) == pytest.approx(seconds)


def test_after_a_good_check_the_next_one_is_an_interval_away() -> None:
    assert wait_s() == pytest.approx(60)


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 5), (2, 10), (3, 20), (8, 640), (9, 900), (10_000, 900)])
def test_the_pause_doubles_up_to_its_cap(attempts: int, seconds: float) -> None:
    assert backoff_s(attempts, jitter=1.0) == pytest.approx(seconds)


def test_those_that_failed_together_come_back_between_half_and_the_whole_pause() -> None:
    assert backoff_s(4, jitter=0.0) == pytest.approx(backoff_s(4, jitter=1.0) / 2)


def test_no_attempt_counts_as_the_first() -> None:
    assert backoff_s(0, jitter=1.0) == backoff_s(1, jitter=1.0)


def test_after_a_failure_the_next_check_is_a_backoff_away() -> None:
    assert wait_s(jitter=0.0, attempts=3) == pytest.approx(10)


def test_a_pause_that_the_host_asked_for_is_kept() -> None:
    assert wait_s(jitter=0.0, attempts=1, retry_after_s=300) == pytest.approx(300)


def test_those_who_were_told_the_same_pause_come_back_apart() -> None:
    assert wait_s(jitter=0.9, attempts=1, retry_after_s=300) > 300


def test_a_shorter_pause_than_the_own_does_not_hasten_it() -> None:
    assert wait_s(jitter=0.0, attempts=12, retry_after_s=1) == pytest.approx(BACKOFF_CAP_S / 2)


def test_a_pause_is_kept_after_a_good_check_too() -> None:
    assert wait_s(jitter=0.0, retry_after_s=120) == pytest.approx(120)


@pytest.mark.parametrize("asked", [float("inf"), 1e300])
def test_a_pause_without_end_ends_after_a_day(asked: float) -> None:
    assert wait_s(jitter=0.0, attempts=1, retry_after_s=asked) == RETRY_AFTER_MAX_S


@pytest.mark.parametrize("asked", [float("nan"), -5.0, 0.0])
def test_a_pause_that_is_none_is_passed_over(asked: float) -> None:
    assert wait_s(jitter=0.0, attempts=1, retry_after_s=asked) == pytest.approx(2.5)


def test_first_polls_are_spread_over_one_interval() -> None:
    dues = [first_due(NOW, interval_s=60, jitter=number / 4) for number in range(4)]
    assert dues == [NOW + timedelta(seconds=seconds) for seconds in (0, 15, 30, 45)]
