"""The figures of an evaluation."""

from indexer.evals import Case, Placing, SelectionCase, Taking, evaluate, report_selection


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


def a_placer(ranks, *, first="x", holders=()):
    """A searcher that puts the playbook of a case at the rank that its text is mapped to."""

    def place(case):
        rank = ranks[case.text]
        return Placing(rank, case.playbook if rank == 1 else first, holders)

    return place


def selection(ranks, *cases, **placer):
    return report_selection(cases, a_placer(ranks, **placer))


def a_task(text, playbook="a"):
    return SelectionCase(playbook, text)


def a_near_miss(text, playbook="a"):
    return SelectionCase(playbook, text, is_near_miss=True)


def test_tasks_are_counted_by_their_ranks():
    figures = selection({"t": 1, "u": 5, "v": 6, "w": None}, *map(a_task, "tuvw")).overall
    assert (figures.recall_at_1, figures.recall_at_5) == (0.25, 0.5)


def test_a_task_that_is_not_found_is_worth_nothing():
    assert selection({"t": 2, "u": None}, a_task("t"), a_task("u")).overall.mrr == 0.25


def test_near_misses_are_counted_by_themselves():
    figures = selection({"t": 1, "u": 5, "v": 6}, *map(a_near_miss, "tuv")).overall
    assert (figures.tasks, figures.near_misses, figures.attracted, figures.attracted_at_5) == (0, 3, 1 / 3, 2 / 3)


def test_no_case_gives_no_figure():
    figures = selection({}).overall
    assert (figures.recall_at_1, figures.mrr, figures.attracted) == (None, None, None)


def test_each_playbook_has_figures_of_its_own():
    report = selection({"t": 1, "u": 2}, a_task("t", "b"), a_task("u", "a"))
    assert {name: one.recall_at_1 for name, one in report.by_playbook.items()} == {"a": 0.0, "b": 1.0}


def test_tasks_whose_playbook_is_not_first_are_missed_the_worst_first():
    report = selection({"t": 2, "u": 1, "v": None, "w": 9}, *map(a_task, "tuvw"))
    assert [one.case.text for one in report.missed] == ["v", "w", "t"]


def test_near_misses_are_attracted_within_five_the_first_ones_first():
    report = selection({"t": 3, "u": 1, "v": 6, "w": None}, *map(a_near_miss, "tuvw"))
    assert [one.case.text for one in report.attracted] == ["u", "t"]


def test_it_is_counted_who_takes_how_many_tasks_from_whom():
    report = selection({"t": 2, "u": 3, "v": 1}, a_task("t", "b"), a_task("u", "a"), a_task("v", "a"))
    assert report.takings == (Taking("x", "a", 1), Taking("x", "b", 1))


def test_who_takes_most_comes_first():
    report = selection({"t": 2, "u": 3, "v": 2}, a_task("t", "a"), a_task("u", "b"), a_task("v", "b"))
    assert [taking.loser for taking in report.takings] == ["b", "a"]


def test_nobody_takes_a_task_for_which_nothing_is_found():
    assert selection({"t": None}, a_task("t"), first=None).takings == ()


def test_a_near_miss_is_no_taking():
    assert selection({"t": 2}, a_near_miss("t")).takings == ()


def test_the_order_of_cases_changes_nothing():
    cases = [a_task("t", "b"), a_near_miss("u", "a"), a_task("v", "a"), a_task("t", "a")]
    ranks = {"t": 2, "u": 1, "v": None}
    assert selection(ranks, *cases) == selection(ranks, *reversed(cases))
