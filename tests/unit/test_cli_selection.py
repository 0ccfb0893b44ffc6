"""Selection reports for people: what is said, in which order, and that the rest is counted."""

import click

from registry.cli.selection import SHOWN_MAX, selection_lines


def a_missed(playbook="bake", task="bread", rank=2, taken_by="slice", claimed_by=()):
    return {
        "playbook": playbook,
        "task": task,
        "rank": rank,
        "taken_by": taken_by,
        "claimed_by": list(claimed_by),
    }


def an_attracted(playbook="bake", task="slice bread", rank=1, belongs_to=()):
    return {"playbook": playbook, "task": task, "rank": rank, "belongs_to": list(belongs_to)}


def lines(*, missed=(), attracted=(), takings=(), tasks=4, near_misses=2, not_run=0, **options):
    misses = [one for one in missed if one["rank"] is None or one["rank"] > 5]
    first = [one for one in attracted if one["rank"] == 1]
    report = {
        "playbooks": 3,
        "cases": tasks + near_misses,
        "not_run": not_run,
        "tasks": {
            "cases": tasks,
            "recall_at_1": round(1 - len(missed) / tasks, 4) if tasks else None,
            "recall_at_5": round(1 - len(misses) / tasks, 4) if tasks else None,
            "mrr": 0.5,
        },
        "near_misses": {
            "cases": near_misses,
            "first": round(len(first) / near_misses, 4) if near_misses else None,
            "within_5": 0.5,
        },
        "missed": list(missed),
        "attracted": list(attracted),
        "takings": list(takings),
        "by_playbook": [],
    }
    return [click.unstyle(line) for line in selection_lines(report, **options)]


def test_the_first_line_counts():
    assert lines(missed=[a_missed()], attracted=[an_attracted()])[0] == (
        "selection cases: 3 of 4 tasks find their playbook first, 4 within 5; 1 of 2 near misses are taken for a task"
    )


def test_a_share_of_thousands_is_counted_right():
    assert lines(missed=[a_missed()], tasks=3_333)[0].startswith("selection cases: 3332 of 3,333 tasks")


def test_one_case_is_said_in_the_singular():
    assert lines(tasks=1, near_misses=1)[0] == (
        "selection cases: 1 of 1 task finds its playbook first, 1 within 5; 0 of 1 near miss is taken for a task"
    )


def test_without_near_misses_nothing_is_said_of_them():
    assert lines(near_misses=0) == ["selection cases: 4 of 4 tasks find their playbook first, 4 within 5"]


def test_without_cases_nothing_is_said():
    assert lines(tasks=0, near_misses=0) == []


def test_a_missed_task_says_its_rank_and_what_comes_first():
    assert lines(missed=[a_missed()])[1] == '  rank 2     bake: "bread"; slice comes first'


def test_a_task_that_another_playbook_lists_says_so():
    assert lines(missed=[a_missed(claimed_by=["slice"])])[1].endswith("slice comes first, which lists the same task")


def test_a_task_that_is_not_found_says_so():
    assert lines(missed=[a_missed(rank=None)])[1] == '  not found  bake: "bread"; slice comes first'


def test_a_task_that_finds_nothing_at_all_says_why():
    found = lines(missed=[a_missed(rank=None, taken_by=None)])[1]
    assert found == '  not found  bake: "bread" shares no word with any playbook once its own text is left out'


def test_a_near_miss_that_comes_first_says_whose_task_it_is():
    found = lines(attracted=[an_attracted(belongs_to=["slice"])])[1]
    assert found == '  near miss  bake comes first for "slice bread", which is a task of slice'


def test_a_near_miss_further_down_is_not_listed():
    assert len(lines(attracted=[an_attracted(rank=2)])) == 1


def test_what_is_out_of_reach_comes_first_then_near_misses_then_the_rest():
    found = lines(missed=[a_missed(rank=6), a_missed(rank=2)], attracted=[an_attracted()])
    assert [line.split("  ")[1] for line in found[1:]] == ["rank 6", "near miss", "rank 2"]


def test_more_than_fit_are_counted():
    found = lines(missed=[a_missed(task=str(number)) for number in range(SHOWN_MAX + 3)], tasks=50)
    assert (len(found), found[-1]) == (SHOWN_MAX + 2, "  and 3 more; as JSON all of them are there")


def test_only_what_touches_the_named_playbooks_is_listed():
    missed = [a_missed("bake"), a_missed("fry", taken_by="bake"), a_missed("wash", taken_by="dry")]
    found = lines(missed=missed, attracted=[an_attracted("wash")], about={"bake"})
    assert [line.split()[2] for line in found[1:]] == ["bake:", "fry:"]


def test_who_takes_several_tasks_is_summed_up():
    takings = [{"by": "slice", "from": "bake", "tasks": 2}, {"by": "dry", "from": "wash", "tasks": 1}]
    assert lines(takings=takings)[-1] == "  taken most: slice takes 2 from bake"


def test_cases_that_were_not_tried_are_counted():
    assert lines(not_run=1_200)[-1] == (
        "  1,200 cases not tried: too many for one report, or over 2,000 characters long"
    )


def test_a_long_task_is_cut():
    assert lines(missed=[a_missed(task="a" * 200)])[1].count("a") < 120


def test_nothing_in_a_task_reaches_the_terminal():
    assert "\x1b" not in "".join(lines(missed=[a_missed(task="\x1b[2J", playbook="\x1b[1m")]))
