"""What every store keeps to of remarks (registry.ports.Store). One fact per test, on SQLite and on PostgreSQL."""

import pytest
from store_places import APP, NOON, PLACES, entry, place, publication, registration

from registry.playbook.model import Level, Problem
from registry.ports import Remarks
from registry.store.sql import open_store

OTHER = "git.example/acme/other"
DRIFT = Problem("shadow-drift", Level.WARNING, "playbooks/a.yaml", 1, 1, "central's has moved on \N{BELL} \x00 é", "a")


@pytest.fixture(params=PLACES)
def store(request, tmp_path):
    with place(request.param, tmp_path) as url:
        opened = open_store(url)
        opened.register(registration(APP), entry())
        opened.register(registration(OTHER), entry())
        yield opened
        opened.close()


def remarks(repository: str = APP, **values) -> Remarks:
    return Remarks(
        **{
            "repository": repository,
            "made_of": "one",
            "shadows": ("a", "b"),
            "problems": (DRIFT,),
            "memory": {"head": "c" * 40, "list": [1, None, "x"]},
            "tallies": {("shadow-drift", Level.WARNING): 1, ("field-missing", Level.ERROR): 2},
            **values,
        }
    )


def test_what_was_put_is_what_is_read(store):
    store.put_remarks([remarks(), remarks(OTHER, problems=(), memory=None, shadows=(), tallies={})])
    assert store.remarks([APP, OTHER, "git.example/not/here"]) == {
        APP: remarks(),
        OTHER: remarks(OTHER, problems=(), memory=None, shadows=(), tallies={}),
    }


def test_later_remarks_replace_earlier_ones_as_a_whole(store):
    store.put_remarks([remarks()])
    later = remarks(made_of="two", problems=(), tallies={("near-duplicate", Level.WARNING): 3})
    store.put_remarks([later])
    assert store.remarks([APP])[APP] == later
    assert store.tally() == {("near-duplicate", Level.WARNING): 3}


def test_of_two_remarks_on_one_source_in_one_write_the_last_counts(store):
    store.put_remarks([remarks(), remarks(made_of="two")])
    assert store.remarks([APP])[APP].made_of == "two"


def test_remarks_on_a_source_that_is_not_registered_are_dropped(store):
    before = store.sequence()
    store.put_remarks([remarks("git.example/not/here")])
    store.put_remarks([])
    assert store.remarks(["git.example/not/here"]) == {}
    assert store.sequence() == before


def test_what_remarks_are_made_of_is_read_for_all_at_once(store):
    store.put_remarks([remarks(), remarks(OTHER, shadows=())])
    assert store.remarked() == {APP: ("one", ("a", "b")), OTHER: ("one", ())}


def test_sources_are_found_by_code_and_level(store):
    store.put_remarks([remarks(), remarks(OTHER, tallies={("field-missing", Level.WARNING): 1})])
    assert store.repositories_with() == {APP, OTHER}
    assert store.repositories_with(["field-missing"]) == {APP, OTHER}
    assert store.repositories_with(["field-missing", "shadow-drift"], Level.ERROR) == {APP}
    assert store.repositories_with(level=Level.WARNING) == {APP, OTHER}
    assert store.repositories_with(["no-such-code"]) == frozenset()


def test_problems_are_counted_over_all_sources(store):
    store.put_remarks([remarks(), remarks(OTHER)])
    assert store.tally() == {("shadow-drift", Level.WARNING): 2, ("field-missing", Level.ERROR): 4}


def test_a_source_that_is_deregistered_takes_its_remarks_along(store):
    store.put_remarks([remarks(), remarks(OTHER)])
    store.deregister(APP, NOON, entry())
    assert (store.remarks([APP]), store.repositories_with()) == ({}, {OTHER})
    assert set(store.remarked()) == {OTHER}


def test_remarks_change_nothing_that_followers_have_to_read(store):
    store.publish([publication(b"1")])
    before = store.changes_since(0)
    store.put_remarks([remarks()])
    after = store.changes_since(before.sequence)
    assert (after.registrations, after.pointers, after.statuses, after.rules) == ((), (), (), None)
