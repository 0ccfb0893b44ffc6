"""Handing out over the real store: durable before it returns, and many callers in few writes."""

import threading
from datetime import UTC, date, datetime

import pytest

from registry.digest import digest_of
from registry.errors import StoreFault
from registry.ports import Recipe
from registry.service.handout import Composed, HandOut
from registry.store.sql import open_store

AT = datetime(2026, 11, 30, tzinfo=UTC)
RULES = b"{}"


def a_recipe(rules: bytes = RULES) -> Recipe:
    return Recipe(None, digest_of(b"central"), None, digest_of(rules), date(2026, 11, 30))


def a_snapshot(body: bytes) -> Composed:
    return Composed(digest_of(body), body, a_recipe(), RULES)


@pytest.fixture
def store(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'registry.db'}")
    yield store
    store.close()


def test_recipe_and_rules_are_stored_when_it_returns(store):
    HandOut(store, lambda: AT).hand_out(lambda: a_snapshot(b"a"))
    assert store.recipe(digest_of(b"a")) == a_recipe()
    assert store.documents([digest_of(RULES)]) == {digest_of(RULES): RULES}


def test_a_known_digest_writes_nothing(store):
    HandOut(store, lambda: AT).hand_out(lambda: a_snapshot(b"a"))
    before = store.sequence()
    HandOut(store, lambda: AT).hand_out(lambda: a_snapshot(b"a"))
    assert store.sequence() == before


def test_callers_at_the_same_time_share_writes(store):
    hand_out = HandOut(store, lambda: AT)
    hand_out.hand_out(lambda: a_snapshot(b"first"))
    before = store.sequence()
    bodies = [b"%d" % number for number in range(200)]
    start = threading.Barrier(20)

    def reads(mine):
        start.wait()
        for body in mine:
            hand_out.hand_out(lambda body=body: a_snapshot(body))

    readers = [threading.Thread(target=reads, args=(bodies[place::20],)) for place in range(20)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert all(store.recipe(digest_of(body)) == a_recipe() for body in bodies)
    assert store.sequence() - before < len(bodies) / 2


def test_a_failed_write_is_told_to_its_caller_and_hurts_no_later_one(store):
    class Failing:
        def __init__(self):
            self.fails = True

        def __getattr__(self, name):
            return getattr(store, name)

        def hand_out(self, recipes, at):
            if self.fails:
                raise StoreFault("the disk is full.")
            store.hand_out(recipes, at)

    failing = Failing()
    hand_out = HandOut(failing, lambda: AT)
    with pytest.raises(StoreFault):
        hand_out.hand_out(lambda: a_snapshot(b"a"))
    failing.fails = False
    hand_out.hand_out(lambda: a_snapshot(b"b"))
    assert store.recipe(digest_of(b"a")) is None
    assert store.recipe(digest_of(b"b")) == a_recipe()


def test_a_snapshot_that_cannot_be_composed_hurts_nobody_else(store):
    hand_out = HandOut(store, lambda: AT)

    def fails():
        raise StoreFault("a revision is missing.")

    with pytest.raises(StoreFault):
        hand_out.hand_out(fails)
    hand_out.hand_out(lambda: a_snapshot(b"b"))
    assert store.recipe(digest_of(b"b")) == a_recipe()
