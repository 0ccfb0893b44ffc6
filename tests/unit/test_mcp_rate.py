"""The bucket of one caller, and the table of all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.mcp import rate
from registry.mcp.rate import Bucket, Rates, take


def test_a_new_caller_may_ask_for_ten_seconds_worth_at_once():
    rates = Rates(2)
    waits = [rates.take("a", 100.0) for _ in range(21)]
    assert waits[:20] == [0.0] * 20
    assert waits[20] == pytest.approx(0.5)


def test_asking_too_early_costs_nothing():
    full, _ = take(None, 0.0, rate_per_s=0.1)
    for at_s in (1.0, 2.0, 9.0):
        full, wait_s = take(full, at_s, rate_per_s=0.1)
        assert wait_s > 0
    assert take(full, 10.0, rate_per_s=0.1)[1] == 0.0


def test_a_caller_does_not_pay_for_another():
    rates = Rates(0.1)
    assert (rates.take("a", 0.0), rates.take("b", 0.0)) == (0.0, 0.0)
    assert rates.take("a", 0.0) > 0


def test_no_rate_is_no_limit():
    rates = Rates(0)
    assert {rates.take("a", 0.0) for _ in range(1_000)} == {0.0}


def test_the_table_forgets_who_was_quiet_longest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rate, "CALLERS_MAX", 2)
    rates = Rates(0.1)
    for caller in ("a", "b", "c"):
        rates.take(caller, 0.0)
    assert rates.take("c", 0.0) > 0
    assert rates.take("a", 0.0) == 0.0


@given(st.lists(st.floats(0, 100), max_size=200), st.floats(0.1, 50))
def test_no_more_is_granted_than_the_rate_and_one_burst(gaps: list[float], rate_per_s: float):
    bucket: Bucket | None = None
    at_s, granted = 0.0, 0
    for gap in gaps:
        at_s += gap
        bucket, wait_s = take(bucket, at_s, rate_per_s=rate_per_s)
        granted += wait_s == 0.0
    assert granted <= max(1.0, rate.BURST_S * rate_per_s) + rate_per_s * at_s + 1e-6


def test_a_clock_that_goes_back_fills_nothing():
    bucket = Bucket(0.5, 10.0)
    assert take(bucket, 5.0, rate_per_s=1.0)[0].level == 0.5
