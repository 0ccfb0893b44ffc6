"""A catalog's own cases, each asked without its own text."""

from dataclasses import replace

import pytest

from indexer.document import Document, document_id
from indexer.evals import SelectionCase
from indexer.memory import MemoryReader
from indexer.query import CANDIDATES_MAX
from indexer.rehearsal import Rehearsal
from indexer.schema import record


def a_playbook(name, purpose="", *, tasks=(), not_for=(), steps=(), tags=()):
    digest = f"sha256:{name}"
    return Document(document_id("central", digest), "central", name, tags, purpose, tasks, steps, digest, not_for)


def placed(playbook, text, *catalog):
    return Rehearsal(catalog).place(SelectionCase(playbook, text))


BAKE = a_playbook("bake", "Put dough into the oven.", tasks=("make bread for tomorrow",))
SELL = a_playbook("sell", "Take money at the till.")


def test_a_task_that_only_its_own_text_would_find_is_not_found():
    assert placed("bake", "make bread for tomorrow", BAKE, SELL).rank is None


def test_a_task_that_other_words_of_its_playbook_have_is_found():
    again = replace(BAKE, tasks=(*BAKE.tasks, "bread is sold out"))
    assert placed("bake", "make bread for tomorrow", again, SELL).rank == 1


def test_a_task_in_other_words_with_the_same_terms_is_left_out_too():
    again = replace(BAKE, tasks=(*BAKE.tasks, "Some breads for tomorrow!"))
    assert placed("bake", "make bread for tomorrow", again, SELL).rank is None


def test_a_purpose_in_the_same_words_stays():
    again = replace(BAKE, purpose="Make bread for tomorrow")
    assert placed("bake", "make bread for tomorrow", again, SELL).rank == 1


def test_the_same_task_of_another_playbook_is_left_out_too():
    thief = a_playbook("freeze", "Keep things cold.", tasks=("make bread for tomorrow",))
    assert placed("bake", "make bread for tomorrow", BAKE, thief).first is None


def test_it_is_told_who_has_the_same_task():
    thief = a_playbook("freeze", "Keep things cold.", tasks=("make bread for tomorrow",))
    assert placed("bake", "make bread for tomorrow", BAKE, thief).holders == ("bake", "freeze")


def test_what_takes_a_task_is_told():
    thief = a_playbook("slice", "Cut bread.")
    assert placed("bake", "make bread for tomorrow", BAKE, thief).first == "slice"


def test_rank_counts_those_that_come_before():
    first = a_playbook("slice", "Bread for tomorrow: slice the bread.")
    second = a_playbook("wrap", "Wrap bread and everything else that is to be taken home, in paper.")
    found = placed("eat", "wrap bread for tomorrow", first, second, a_playbook("eat", "Eat a wrap."))
    assert (found.first, found.rank) == ("slice", 3)


def test_a_near_miss_that_not_for_says_word_for_word_is_judged_without_it():
    guarded = a_playbook("bake", "Put it into the oven.", not_for=("broken hinges at the oven",))
    rival = a_playbook("mend", "Mend the door, the window and the oven of a house, or the roof.")
    assert placed("bake", "broken hinges at the oven", guarded, rival).first == "bake"


def test_a_near_miss_in_other_words_holds_its_playbook_back():
    plain = a_playbook("bake", "Put it into the oven.")
    rival = a_playbook("mend", "Mend the door, the window and the oven of a house, or the roof.")
    guarded = replace(plain, not_for=("broken hinges of an oven, loose doors",))
    text = "broken hinges at the oven"
    assert (placed("bake", text, plain, rival).first, placed("bake", text, guarded, rival).first) == ("bake", "mend")


def test_the_whole_text_as_a_name_comes_first():
    crowd = a_playbook("bread", "Bread, bread and bread.")
    assert placed("make-bread", "Make bread", a_playbook("make-bread"), crowd).rank == 1


def test_two_names_that_fold_to_one_text_are_told_apart_by_score():
    named = a_playbook("make-bread")
    other = a_playbook("Make_Bread", "Make bread.")
    assert placed("make-bread", "make bread", named, other).rank == 2


def test_words_that_only_the_left_out_text_has_are_taken_for_typing_errors():
    typo = a_playbook("bake", "Put dough into the oven.", tasks=("garlci rolls",))
    rolls = a_playbook("season", "Add garlic.")
    assert placed("bake", "garlci rolls", typo, rolls).first == "season"


def test_what_is_found_by_a_typing_error_alone_can_come_first():
    crowd = [a_playbook(f"oven-{number}", "Clean the oven.") for number in range(9)]
    season = a_playbook("season", "Add garlic.")
    assert placed("oven-3", "garlci oven", season, *crowd).first == "season"


def test_a_near_miss_is_looked_for_as_far_down_as_it_counts():
    crowd = [a_playbook(f"n{number}", f"{'key ' * number}door") for number in range(2, 9)]
    rehearsal = Rehearsal([*crowd, a_playbook("open", "Door and window and roof, with a key.")])
    ranks = [
        rehearsal.place(SelectionCase(name, "a door key", is_near_miss=True)).rank for name in ("n4", "n3", "open")
    ]
    assert ranks == [5, None, None]


def test_a_text_without_words_finds_nothing():
    assert placed("bake", "?!", BAKE, SELL) == placed("bake", "", BAKE, SELL)


def test_a_playbook_that_is_not_there_has_no_rank():
    assert placed("fry", "money at the till", BAKE, SELL).rank is None


def test_an_empty_catalog_places_nothing():
    assert placed("bake", "bread").first is None


def test_a_case_changes_nothing_for_the_next_one():
    rehearsal = Rehearsal([BAKE, SELL])
    case = SelectionCase("bake", "make bread for tomorrow")
    before = rehearsal.place(case)
    rehearsal.place(SelectionCase("sell", "money for bread"))
    assert rehearsal.place(case) == before


@pytest.mark.parametrize("field", ["purpose", "steps"])
@pytest.mark.parametrize("text", ["rotate the key 7 of door 3", "key", "open door 9 and door 11 with a key"])
def test_a_crowd_is_cut_as_a_search_cuts_it(field, text):
    """More than a search looks at: which ones are scored is part of the ranking."""
    crowd = []
    for number in range(2 * CANDIDATES_MAX):
        words = f"Rotate the key of door {number % 13}, {'with care ' * (number % 7)}and {number % 29}."
        crowd.append(a_playbook(f"n{number:03}", **{field: words if field == "purpose" else (words,)}))
    crowd = [replace(one, tasks=(text,)) if one.name == "n047" else one for one in crowd]
    without = [replace(one, tasks=()) for one in crowd]
    hits = MemoryReader((record(document), ()) for document in without).search(text, limit=CANDIDATES_MAX)
    names = [hit.name for hit in hits]
    found = placed("n047", text, *crowd)
    assert (found.first, found.rank) == (names[0], names.index("n047") + 1 if "n047" in names else None)


def test_what_a_search_does_not_look_at_has_no_rank():
    crowd = [a_playbook(f"n{number:03}", "A key.") for number in range(CANDIDATES_MAX)]
    assert placed("long", "key", a_playbook("long", "key " * 200), *crowd).rank is None
