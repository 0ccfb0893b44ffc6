"""Selection cases of a catalog: which are asked, and the report on them."""

from catalogs import a_head

from registry.catalog.documents import CENTRAL_SCOPE
from registry.digest import canonical
from registry.service import selecting
from registry.service.selecting import Selectable, evaluate_selection, from_entries, from_heads


def a_contract(purpose, *, finds=(), near=()):
    return {"purpose": purpose, "selection": {"should_find": list(finds), "should_not_find": list(near)}}


def a_playbook(name, purpose="", **cases):
    return Selectable(name, f"sha256:{name}", a_contract(purpose, **cases))


def many(count, each=3):
    """Playbooks with `each` tasks of their own."""
    names = [f"n{number}" for number in range(count)]
    return [a_playbook(name, finds=[f"{name} task {number}" for number in range(each)]) for name in names]


BAKE = a_playbook("bake", "Put bread into the oven.", finds=["bread"], near=["slice bread"])
SLICE = a_playbook("slice", "Bread and bread again, cut.", finds=["make slices"])


def test_a_missed_task_says_where_its_playbook_is_and_what_takes_it():
    assert evaluate_selection([BAKE, SLICE])["missed"][0] == {
        "playbook": "bake",
        "task": "bread",
        "rank": 2,
        "taken_by": "slice",
        "claimed_by": [],
    }


def test_a_near_miss_that_finds_its_playbook_says_where():
    assert evaluate_selection([BAKE])["attracted"] == [
        {"playbook": "bake", "task": "slice bread", "rank": 1, "belongs_to": []}
    ]


def test_a_near_miss_says_whose_task_it_is():
    owner = a_playbook("slice", finds=["slice bread"])
    assert evaluate_selection([BAKE, owner])["attracted"][0]["belongs_to"] == ["slice"]


def test_a_task_that_two_playbooks_claim_says_who_else_does():
    rival = a_playbook("toast", "Bread.", finds=["bread"])
    (missed,) = (one for one in evaluate_selection([BAKE, rival])["missed"] if one["playbook"] == "bake")
    assert (missed["taken_by"], missed["claimed_by"]) == ("toast", ["toast"])


def test_who_takes_from_whom_is_counted():
    assert evaluate_selection([BAKE, SLICE])["takings"] == [{"by": "slice", "from": "bake", "tasks": 1}]


def test_totals_are_over_all_playbooks():
    report = evaluate_selection([BAKE, SLICE])
    assert (report["playbooks"], report["cases"], report["tasks"]["cases"]) == (2, 3, 2)


def test_each_playbook_with_cases_has_its_figures():
    report = evaluate_selection([BAKE, SLICE, a_playbook("wash")])
    assert [one["name"] for one in report["by_playbook"]] == ["bake", "slice"]


def test_a_catalog_without_cases_has_no_figures():
    report = evaluate_selection([a_playbook("wash")])
    assert (report["cases"], report["tasks"]["recall_at_1"], report["near_misses"]["first"]) == (0, None, None)


def test_a_text_that_is_written_twice_is_one_case():
    assert evaluate_selection([a_playbook("bake", finds=["bread", "bread"])])["cases"] == 1


def test_of_two_playbooks_with_one_name_the_last_one_counts():
    assert evaluate_selection([BAKE, a_playbook("bake")])["cases"] == 0


def test_cases_beyond_the_limit_are_counted():
    report = evaluate_selection(many(3), cases_max=4)
    assert (report["cases"], report["not_run"]) == (4, 5)


def test_a_large_catalog_leaves_room_for_fewer_cases():
    report = evaluate_selection(many(5), pairs_max=36)
    assert (report["cases"], report["not_run"]) == (7, 8)


def test_every_playbook_has_its_turn_before_one_has_two():
    report = evaluate_selection(many(4), cases_max=4)
    assert [one["tasks"]["cases"] for one in report["by_playbook"]] == [1, 1, 1, 1]


def test_tasks_and_near_misses_take_turns():
    report = evaluate_selection([a_playbook("bake", finds=["a1", "b1"], near=["c1", "d1"])], cases_max=2)
    assert (report["tasks"]["cases"], report["near_misses"]["cases"]) == (1, 1)


def test_those_named_first_are_asked_whole():
    report = evaluate_selection(many(4), first={"n3"}, cases_max=4)
    assert {one["name"]: one["tasks"]["cases"] for one in report["by_playbook"]} == {"n0": 1, "n3": 3}


def test_a_case_that_is_no_task_in_words_is_not_asked():
    endless = "a" * (selecting.CASE_CHARACTERS_MAX + 1)
    report = evaluate_selection([a_playbook("bake", finds=[endless, "bread"])])
    assert (report["cases"], report["not_run"]) == (1, 1)


def test_a_case_too_long_for_what_is_left_leaves_room_for_shorter_ones():
    report = evaluate_selection([a_playbook("bake", finds=["bread " * 5, "rolls"])], characters_max=10)
    assert (report["cases"], report["not_run"]) == (1, 1)


def test_the_entries_of_a_full_catalog_are_its_playbooks():
    entry = {
        "name": "bake",
        "digest": "sha256:b",
        "source": {"kind": "local", "repository": "host/a"},
        "contract": a_contract("Bread."),
    }
    assert from_entries([entry]) == [Selectable("bake", "sha256:b", entry["contract"], "host/a")]


def test_entries_of_central_are_in_its_scope():
    entry = {"name": "b", "digest": "d", "source": {"kind": "central", "repository": "host/c"}, "contract": {}}
    assert from_entries([entry])[0].scope == CENTRAL_SCOPE


def test_what_has_no_contract_is_left_out():
    assert from_entries([{"name": "bake", "contract": None}, {"name": "slice"}, None, 3]) == []


def test_heads_are_playbooks_with_their_documents():
    head = a_head("bake")
    contract = a_contract("Bread.")
    (found,) = from_heads([head, a_head("gone", digest="sha256:gone")], {head.digest: canonical(contract)})
    assert (found.name, found.contract) == ("bake", contract)


def test_a_contract_of_any_shape_is_evaluated():
    odd = [{}, {"selection": None}, {"selection": {"should_find": "no list", "should_not_find": [3, None, ""]}}]
    report = evaluate_selection([Selectable(str(number), str(number), one) for number, one in enumerate(odd)])
    assert (report["playbooks"], report["cases"]) == (3, 1)
