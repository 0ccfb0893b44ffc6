"""The figures of an evaluation."""

from indexer.evals import Case, evaluate


def a_case(query="q", relevant=("a",), forbidden=()):
    return Case(query, frozenset(relevant), frozenset(forbidden))


def report(found, *cases):
    return evaluate(cases, lambda _: found)


def test_the_first_right_id_is_a_hit():
    assert report(["a", "b"], a_case()).hit_at_1 == 1.0


def test_recall_is_the_share_of_right_ids_found():
    assert report(["x", "a", "y"], a_case(relevant=("a", "b"))).recall == {1: 0.0, 3: 0.5, 5: 0.5, 10: 0.5}


def test_mrr_is_one_over_the_first_right_rank():
    assert report(["x", "a"], a_case()).mrr == 0.5


def test_nothing_found_counts_as_missed():
    assert report([], a_case()).mrr == 0.0


def test_a_forbidden_first_id_is_a_near_miss():
    assert report(["b"], a_case(forbidden=("b",)), a_case(forbidden=("c",)), a_case()).near_miss == 0.5


def test_a_case_without_right_ids_counts_for_near_misses_alone():
    assert report(["a"], a_case(), a_case(relevant=(), forbidden=("a",))).hit_at_1 == 1.0


def test_no_cases_give_zeros():
    assert report([]).recall[5] == 0.0


def test_missed_cases_are_named():
    missed = report(["x"], a_case("one"), a_case("two", relevant=("x",))).missed()
    assert [outcome.case.query for outcome in missed] == ["one"]
