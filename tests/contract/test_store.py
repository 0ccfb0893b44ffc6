"""What every store keeps to (registry.ports.Store). One fact per test, on SQLite and on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta, timezone
from threading import Barrier

import pytest
from store_places import (
    APP,
    NOON,
    PLACES,
    entry,
    mark,
    place,
    publication,
    recipe,
    registration,
    status,
    token,
    waiver,
    withdrawal,
)

from policies.rules import Mark
from registry.digest import digest_of
from registry.errors import Conflict, Unknown
from registry.ports import ApiRules, Counts, Pointer, Role, Store, SyncRequest, SyncState
from registry.store.sql import open_store

LATER = NOON + timedelta(hours=1)
OTHER = "git.example/acme/other"


@pytest.fixture(params=PLACES)
def url(request, tmp_path):
    with place(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def store(url):
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def second(store, url):
    """Another opening of the same store, as another process has it."""
    opened = open_store(url)
    yield opened
    opened.close()


def in_force(store: Store) -> dict[str, str]:
    return {pointer.repository: pointer.revision for pointer in store.changes_since(0).pointers}


# The sequence


def test_a_new_store_is_at_sequence_zero(store):
    assert store.sequence() == 0


def test_every_write_moves_the_sequence_by_one(store):
    store.register(registration(), entry())
    store.put_mark(mark(), entry())
    assert store.sequence() == 2


@pytest.mark.parametrize(
    "nothing",
    [
        lambda store: store.deregister("git.example/not/here", NOON, entry()),
        lambda store: store.take_requests(),
        lambda store: store.record_statuses([]),
        lambda store: store.record_statuses([status("git.example/not/here")]),
        lambda store: store.publish([]),
        lambda store: store.publish([publication(b"1", repository="git.example/not/here")]),
        lambda store: store.put_documents({}),
        lambda store: store.hand_out({}, NOON),
        lambda store: store.delete_mark("not-there", entry()),
        lambda store: store.delete_waiver("not-there", APP, entry()),
        lambda store: store.delete_withdrawal("not-there", "sha256:x", entry()),
        lambda store: store.advance_rule_date(date(1969, 12, 31)),
        lambda store: store.revoke_token("not-there", NOON, entry()),
    ],
)
def test_what_changes_nothing_leaves_the_sequence_and_the_audit_log_alone(store, nothing):
    nothing(store)
    assert (store.sequence(), store.audit(limit=10)) == (0, ())


def test_a_failed_write_leaves_the_sequence_alone(store):
    store.put_token(token(), entry())
    with pytest.raises(Conflict):
        store.put_token(token(), entry())
    assert store.sequence() == 1


def test_another_opening_sees_the_sequence(store, second):
    store.register(registration(), entry())
    assert second.sequence() == 1


def test_writers_of_two_openings_never_share_a_sequence(store, second):
    store.register(registration(APP), entry())
    store.register(registration(OTHER), entry())
    start = Barrier(4)

    def ask(opened, repository):
        start.wait()
        return [opened.request_sync(repository) for _ in range(10)]

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, opened, name) for opened in (store, second) for name in (APP, OTHER)]
        sequences = [sequence for future in asked for sequence in future.result()]
    assert sorted(sequences) == list(range(3, 43))


def test_a_follower_misses_nothing_while_two_openings_write(store, second, url):
    names = [f"git.example/acme/{number}" for number in range(40)]

    def register(opened, mine):
        for name in mine:
            opened.register(registration(name), entry())

    seen, at = set(), 0
    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(register, store, names[::2]), pool.submit(register, second, names[1::2])]
        while True:
            done = all(writer.done() for writer in writers)
            changes = store.changes_since(at)
            seen |= {found.id for found in changes.registrations}
            at = changes.sequence
            if done:
                break
        for writer in writers:
            writer.result()
    assert seen == set(names)


# What followers read


def test_the_changes_of_a_new_store_are_its_empty_rules(store):
    changes = store.changes_since(0)
    assert (changes.sequence, changes.registrations, changes.rules) == (0, (), ApiRules())


def test_changes_hold_only_what_came_after(store):
    store.register(registration(), entry())
    before = store.sequence()
    store.register(registration(OTHER), entry())
    assert [found.id for found in store.changes_since(before).registrations] == [OTHER]


def test_nothing_changed_reads_as_nothing(store):
    store.register(registration(), entry())
    changes = store.changes_since(store.sequence())
    assert (changes.registrations, changes.pointers, changes.statuses, changes.rules) == ((), (), (), None)


def test_rules_are_read_only_where_a_rule_changed(store):
    store.put_mark(mark(), entry())
    before = store.sequence()
    store.register(registration(), entry())
    assert store.changes_since(before).rules is None


def test_a_deleted_mark_is_a_change_of_the_rules(store):
    store.put_mark(mark(), entry())
    before = store.sequence()
    store.delete_mark("rotate-keys", entry())
    assert store.changes_since(before).rules == ApiRules()


def test_from_a_sequence_that_is_still_to_come_everything_is_read(store):
    store.register(registration(), entry())
    assert [found.id for found in store.changes_since(99).registrations] == [APP]


# Sources


@pytest.mark.parametrize(
    "given",
    [
        registration(),
        registration(
            role=Role.CENTRAL,
            ref="refs/heads/live",
            paths=("ops/**", "*.md"),
            aliases=("a/b", "c/d"),
            credential="deploy",
        ),
        registration(paths=()),
        registration(registered_at=NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))),
    ],
)
def test_a_registration_is_read_as_it_was_written(store, given):
    store.register(given, entry())
    assert store.changes_since(0).registrations == (given,)


def test_registering_again_replaces(store):
    store.register(registration(), entry())
    store.register(registration(team="checkout"), entry())
    assert [found.team for found in store.changes_since(0).registrations] == ["checkout"]


def test_registering_again_keeps_what_is_in_force(store):
    store.register(registration(), entry())
    store.publish([publication(b"1")])
    store.register(registration(team="checkout"), entry())
    assert in_force(store) == {APP: digest_of(b"1")}


def test_a_deregistered_source_stays_listed_with_its_end(store):
    store.register(registration(), entry())
    store.deregister(APP, LATER, entry())
    assert [found.deregistered_at for found in store.changes_since(0).registrations] == [LATER]


def test_the_end_of_a_registration_is_a_change(store):
    store.register(registration(), entry())
    before = store.sequence()
    store.deregister(APP, LATER, entry())
    assert [found.id for found in store.changes_since(before).registrations] == [APP]


def test_deregistering_takes_the_pointer_away(store):
    store.register(registration(), entry())
    store.publish([publication(b"1")])
    store.deregister(APP, LATER, entry())
    assert in_force(store) == {}


def test_deregistering_takes_the_status_away(store):
    store.register(registration(), entry())
    store.record_statuses([status()])
    store.deregister(APP, LATER, entry())
    assert store.changes_since(0).statuses == ()


def test_deregistering_takes_the_sync_request_away(store):
    store.register(registration(), entry())
    store.request_sync(APP)
    store.deregister(APP, LATER, entry())
    assert store.take_requests() == ()


def test_deregistering_takes_only_its_own_api_waivers_away(store):
    store.register(registration(), entry())
    store.put_waiver(waiver(), entry())
    store.put_waiver(waiver(repository=OTHER), entry())
    before = store.sequence()
    store.deregister(APP, LATER, entry())
    assert store.changes_since(before).rules.waivers == (waiver(repository=OTHER),)


def test_deregistering_leaves_other_sources_alone(store):
    for name in (APP, OTHER):
        store.register(registration(name), entry())
        store.publish([publication(b"1", repository=name)])
    store.deregister(APP, LATER, entry())
    assert in_force(store) == {OTHER: digest_of(b"1")}


def test_a_deregistered_source_keeps_its_first_end(store):
    store.register(registration(), entry())
    store.deregister(APP, NOON, entry())
    store.deregister(APP, LATER, entry())
    assert [found.deregistered_at for found in store.changes_since(0).registrations] == [NOON]


def test_a_deregistered_source_comes_back_to_life_by_registering(store):
    store.register(registration(), entry())
    store.deregister(APP, LATER, entry())
    store.register(registration(), entry())
    assert store.changes_since(0).registrations == (registration(),)


# Sync requests


def test_a_sync_request_is_taken_once(store):
    store.register(registration(), entry())
    store.request_sync(APP)
    assert (len(store.take_requests()), store.take_requests()) == (1, ())


def test_a_sync_request_carries_the_sequence_that_was_answered(store):
    store.register(registration(), entry())
    sequence = store.request_sync(APP, apply="c0ffee")
    assert store.take_requests() == (SyncRequest(sequence, APP, "c0ffee"),)


def test_a_later_request_replaces_the_one_before(store):
    store.register(registration(), entry())
    store.request_sync(APP, apply="c0ffee")
    sequence = store.request_sync(APP, apply="beef")
    assert store.take_requests() == (SyncRequest(sequence, APP, "beef"),)


def test_requests_are_taken_oldest_first(store):
    for name in (APP, OTHER):
        store.register(registration(name), entry())
    for name in (OTHER, APP):
        store.request_sync(name)
    assert [request.repository for request in store.take_requests()] == [OTHER, APP]


def test_requests_that_came_later_than_a_sequence_stay_for_the_next_time(store):
    for name in (APP, OTHER):
        store.register(registration(name), entry())
    seen = store.request_sync(APP)
    store.request_sync(OTHER)
    assert [request.repository for request in store.take_requests(seen)] == [APP]
    assert [request.repository for request in store.take_requests()] == [OTHER]


def test_a_request_for_what_is_not_registered_is_refused(store):
    with pytest.raises(Unknown):
        store.request_sync(APP)


def test_a_request_for_what_was_deregistered_is_refused(store):
    store.register(registration(), entry())
    store.deregister(APP, LATER, entry())
    with pytest.raises(Unknown):
        store.request_sync(APP)


def test_two_takers_never_get_the_same_request(store, second):
    names = [f"git.example/acme/{number}" for number in range(20)]
    for name in names:
        store.register(registration(name), entry())
        store.request_sync(name)
    start = Barrier(2)

    def take(opened):
        start.wait()
        return [request.repository for request in opened.take_requests()]

    with ThreadPoolExecutor(2) as pool:
        first, other = pool.map(take, (store, second))
    assert sorted(first + other) == sorted(names)


# Statuses


def test_a_status_is_read_as_it_was_written(store):
    given = status(
        state=SyncState.SUSPENDED,
        since=NOON,
        ref="refs/heads/main",
        head="c2",
        seen="c2",
        suspended="c2",
        checked_at=NOON,
        synced_at=LATER,
        next_due_at=LATER,
        attempts=3,
        message="12 of 14 playbooks would go.",
        handled=7,
    )
    store.register(registration(), entry())
    store.record_statuses([given])
    assert store.changes_since(0).statuses == (given,)


def test_a_status_replaces_the_one_before(store):
    store.register(registration(), entry())
    store.record_statuses([status(attempts=1, message="No answer.")])
    store.record_statuses([status()])
    assert store.changes_since(0).statuses == (status(),)


def test_of_two_statuses_of_one_source_in_a_batch_the_last_one_stays(store):
    store.register(registration(), entry())
    store.record_statuses([status(attempts=1), status(attempts=2)])
    assert [found.attempts for found in store.changes_since(0).statuses] == [2]


def test_a_status_of_what_is_not_registered_is_dropped_and_the_others_stay(store):
    store.register(registration(), entry())
    store.record_statuses([status(OTHER), status()])
    assert store.changes_since(0).statuses == (status(),)


def test_a_status_of_what_was_deregistered_is_dropped(store):
    store.register(registration(), entry())
    store.deregister(APP, LATER, entry())
    store.record_statuses([status()])
    assert store.changes_since(0).statuses == ()


def test_more_statuses_than_one_statement_takes_are_recorded(store):
    names = [f"git.example/acme/{number}" for number in range(1_100)]
    for name in names[-2:]:
        store.register(registration(name), entry())
    store.record_statuses([status(name) for name in names])
    assert len(store.changes_since(0).statuses) == 2


def test_what_no_database_can_keep_in_a_message_is_replaced(store):
    store.register(registration(), entry())
    store.record_statuses([status(message="bad \0 and \ud800 but \U0001f600")])
    assert [found.message for found in store.changes_since(0).statuses] == ["bad \ufffd and \ufffd but \U0001f600"]


# Publishing


def test_a_first_publication_is_in_force(store):
    store.register(registration(), entry())
    assert store.publish([publication(b"1", playbooks=2, problems=1, held=1)]) == (True,)
    assert store.changes_since(0).pointers == (Pointer(APP, digest_of(b"1"), Counts(2, 1, 1)),)


def test_a_publication_from_what_is_in_force_moves_the_pointer(store):
    store.register(registration(), entry())
    store.publish([publication(b"1")])
    assert store.publish([publication(b"2", expected=b"1")]) == (True,)
    assert in_force(store) == {APP: digest_of(b"2")}


@pytest.mark.parametrize("expected", [None, b"0"])
def test_a_publication_from_something_else_moves_nothing(store, expected):
    store.register(registration(), entry())
    store.publish([publication(b"1")])
    assert store.publish([publication(b"2", expected=expected)]) == (False,)
    assert in_force(store) == {APP: digest_of(b"1")}


def test_a_first_publication_that_expects_something_moves_nothing(store):
    store.register(registration(), entry())
    assert store.publish([publication(b"2", expected=b"1")]) == (False,)


def test_a_publication_of_what_was_deregistered_moves_nothing(store):
    store.register(registration(), entry())
    store.deregister(APP, LATER, entry())
    assert store.publish([publication(b"1")]) == (False,)


def test_a_publication_that_moves_nothing_does_not_stop_the_others(store):
    store.register(registration(OTHER), entry())
    assert store.publish([publication(b"1"), publication(b"1", repository=OTHER)]) == (False, True)


def test_two_steps_of_one_source_follow_one_another(store):
    store.register(registration(), entry())
    steps = [publication(b"1"), publication(b"2", expected=b"1"), publication(b"3", expected=b"1")]
    assert store.publish(steps) == (True, True, False)
    assert in_force(store) == {APP: digest_of(b"2")}


def test_a_publication_brings_its_revision(store):
    store.register(registration(), entry())
    store.publish([publication(b"1")])
    assert store.revision(digest_of(b"1")) == b"1"


def test_a_publication_brings_its_documents(store):
    store.register(registration(), entry())
    store.publish([publication(b"1", documents=(b"x", b"y"))])
    assert store.documents([digest_of(b"x"), digest_of(b"y")]) == {digest_of(b"x"): b"x", digest_of(b"y"): b"y"}


def test_the_revision_before_can_still_be_read(store):
    store.register(registration(), entry())
    store.publish([publication(b"1"), publication(b"2", expected=b"1")])
    assert store.revision(digest_of(b"1")) == b"1"


def test_sources_can_share_revisions_and_documents(store):
    for name in (APP, OTHER):
        store.register(registration(name), entry())
    steps = [publication(b"1", repository=name, documents=(b"x",)) for name in (APP, OTHER)]
    assert store.publish(steps) == (True, True)


def test_the_same_revision_again_brings_its_new_counts(store):
    store.register(registration(), entry())
    store.publish([publication(b"1", playbooks=1)])
    store.publish([publication(b"1", expected=b"1", playbooks=1, problems=4)])
    assert [pointer.counts for pointer in store.changes_since(0).pointers] == [Counts(1, 4, 0)]


def test_more_publications_than_one_transaction_takes_are_all_in_force(store):
    names = [f"git.example/acme/{number}" for number in range(260)]
    for name in names:
        store.register(registration(name), entry())
    assert store.publish([publication(name.encode(), repository=name) for name in names]) == (True,) * 260
    assert in_force(store) == {name: digest_of(name.encode()) for name in names}


def test_of_two_openings_that_step_from_the_same_revision_one_moves(store, second):
    store.register(registration(), entry())
    start = Barrier(2)

    def step(opened, body):
        start.wait()
        return opened.publish([publication(body)])

    with ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(step, (store, second), (b"1", b"2"))
    assert sorted(outcomes) == [(False,), (True,)]


def test_an_unknown_revision_is_none(store):
    assert store.revision("sha256:none") is None


# Documents


def test_stored_bytes_are_read_as_they_were_written(store):
    every_byte = bytes(range(256))
    store.put_documents({"sha256:all": every_byte, "sha256:empty": b""})
    assert store.documents(["sha256:all", "sha256:empty"]) == {"sha256:all": every_byte, "sha256:empty": b""}


def test_revisions_that_are_not_there_are_left_out(store):
    store.register(registration(), entry())
    store.publish([publication(b"1")])
    digest = digest_of(b"1")
    assert store.revisions([digest, "sha256:none"]) == {digest: b"1"}


def test_documents_that_are_not_there_are_left_out(store):
    store.put_documents({"sha256:x": b"x"})
    assert store.documents({"sha256:x", "sha256:none"}) == {"sha256:x": b"x"}


def test_what_is_there_already_stays(store):
    store.put_documents({"sha256:x": b"first"})
    store.put_documents({"sha256:x": b"second", "sha256:y": b"y"})
    assert store.documents(["sha256:x", "sha256:y"]) == {"sha256:x": b"first", "sha256:y": b"y"}


def test_more_documents_than_one_statement_takes_are_written_and_read(store):
    many = {digest_of(str(number).encode()): str(number).encode() for number in range(1_100)}
    store.put_documents(many)
    assert store.documents(many) == many


def test_more_digests_can_be_asked_for_than_any_database_binds_in_one_statement(store):
    store.put_documents({"sha256:x": b"x"})
    assert store.documents([*(f"sha256:{number}" for number in range(70_000)), "sha256:x"]) == {"sha256:x": b"x"}


# Snapshots handed out


@pytest.mark.parametrize("given", [recipe(), recipe(repository=None, local=None)])
def test_a_recipe_is_read_as_it_was_written(store, given):
    store.hand_out({"sha256:s": given}, NOON)
    assert store.recipe("sha256:s") == given


def test_a_recipe_that_is_known_is_left_alone(store):
    store.hand_out({"sha256:s": recipe()}, NOON)
    store.hand_out({"sha256:s": recipe(central="sha256:other"), "sha256:t": recipe()}, LATER)
    assert store.recipe("sha256:s") == recipe()


def test_handing_out_what_is_known_writes_nothing(store):
    store.hand_out({"sha256:s": recipe()}, NOON)
    store.hand_out({"sha256:s": recipe()}, LATER)
    assert store.sequence() == 1


def test_a_digest_that_was_never_handed_out_has_no_recipe(store):
    assert store.recipe("sha256:none") is None


def test_two_openings_can_hand_out_the_same_digests_at_once(store, second):
    recipes = {f"sha256:{number}": recipe() for number in range(50)}
    start = Barrier(2)

    def hand_out(opened):
        start.wait()
        opened.hand_out(recipes, NOON)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(hand_out, (store, second)))
    assert all(store.recipe(digest) == recipe() for digest in recipes)


# Rules


def test_rules_are_read_as_they_were_written(store):
    store.put_mark(mark(), entry())
    store.put_waiver(waiver(), entry())
    store.put_withdrawal(withdrawal(), entry())
    store.advance_rule_date(date(2026, 3, 1))
    assert store.changes_since(0).rules == ApiRules((mark(),), (waiver(),), (withdrawal(),), date(2026, 3, 1))


def test_rules_come_in_an_order_that_no_database_chooses(store):
    names = ["z", "a-b", "ab", "a", "a1"]
    for name in names:
        store.put_mark(mark(name), entry())
    assert [found.name for found in store.changes_since(0).rules.marks] == sorted(names)


def test_a_mark_replaces_the_one_of_its_name(store):
    store.put_mark(mark(), entry())
    store.put_mark(mark(reason="another"), entry())
    assert store.changes_since(0).rules.marks == (mark(reason="another"),)


def test_a_mark_by_tag_is_not_the_api_s(store):
    with pytest.raises(ValueError, match="has a name"):
        store.put_mark(Mark(origin="api", name=None, tag="security", reason=""), entry())


def test_a_waiver_replaces_the_one_of_its_name_and_repository(store):
    longer = waiver(until=date(2026, 12, 31))
    for given in (waiver(), longer, waiver(repository=OTHER)):
        store.put_waiver(given, entry())
    assert set(store.changes_since(0).rules.waivers) == {longer, waiver(repository=OTHER)}


def test_a_withdrawal_replaces_the_one_of_its_name_and_digest(store):
    given = (withdrawal(), withdrawal(reason="another"), withdrawal(digest="sha256:worse"))
    for item in given:
        store.put_withdrawal(item, entry())
    assert set(store.changes_since(0).rules.withdrawals) == set(given[1:])


def test_a_deleted_mark_is_gone(store):
    store.put_mark(mark(), entry())
    assert store.delete_mark("rotate-keys", entry()) is True
    assert store.changes_since(0).rules.marks == ()


def test_a_deleted_waiver_is_gone_and_those_of_other_repositories_stay(store):
    store.put_waiver(waiver(), entry())
    store.put_waiver(waiver(repository=OTHER), entry())
    assert store.delete_waiver("rotate-keys", APP, entry()) is True
    assert store.changes_since(0).rules.waivers == (waiver(repository=OTHER),)


def test_a_deleted_withdrawal_is_gone_and_those_of_other_digests_stay(store):
    store.put_withdrawal(withdrawal(), entry())
    store.put_withdrawal(withdrawal(digest="sha256:worse"), entry())
    assert store.delete_withdrawal("rotate-keys", "sha256:bad", entry()) is True
    assert store.changes_since(0).rules.withdrawals == (withdrawal(digest="sha256:worse"),)


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.put_mark(mark(), entry()),
        lambda store: store.put_waiver(waiver(), entry()),
        lambda store: store.put_withdrawal(withdrawal(), entry()),
        lambda store: store.advance_rule_date(date(2026, 3, 1)),
    ],
)
def test_each_kind_of_rule_is_a_change_of_the_rules(store, write):
    store.register(registration(), entry())
    before = store.sequence()
    write(store)
    assert store.changes_since(before).rules is not None


def test_the_rule_date_moves_forward(store):
    assert store.advance_rule_date(date(2026, 3, 1)) == date(2026, 3, 1)


def test_the_rule_date_never_moves_back(store):
    store.advance_rule_date(date(2026, 3, 1))
    assert store.advance_rule_date(date(2026, 2, 28)) == date(2026, 3, 1)


def test_another_opening_reads_the_rule_date(store, second):
    store.advance_rule_date(date(2026, 3, 1))
    assert second.advance_rule_date(date(2026, 2, 1)) == date(2026, 3, 1)


# Tokens


@pytest.mark.parametrize(
    "given",
    [token(), token(team=None, scopes=frozenset(), expires_at=LATER, revoked_at=LATER), token(principal="ü\U0001f600")],
)
def test_a_token_is_read_as_it_was_written(store, given):
    store.put_token(given, entry())
    assert store.token_by_hash(given.hash) == given


def test_an_unknown_hash_has_no_token(store):
    assert store.token_by_hash("sha256:none") is None


@pytest.mark.parametrize("taken", [token(hash="sha256:new"), token("two", hash="sha256:one")])
def test_a_token_with_a_taken_id_or_hash_is_refused(store, taken):
    store.put_token(token(), entry())
    with pytest.raises(Conflict):
        store.put_token(taken, entry())


def test_tokens_are_listed_newest_first(store):
    for name, at in (("old", NOON), ("new", LATER), ("middle", NOON + timedelta(minutes=1))):
        store.put_token(token(name, created_at=at), entry())
    assert [found.id for found in store.tokens()] == ["new", "middle", "old"]


def test_a_revoked_token_says_since_when(store):
    store.put_token(token(), entry())
    assert store.revoke_token("one", LATER, entry()) is True
    assert store.token_by_hash("sha256:one").revoked_at == LATER


def test_a_token_is_revoked_once(store):
    store.put_token(token(), entry())
    store.revoke_token("one", NOON, entry())
    assert store.revoke_token("one", LATER, entry()) is False
    assert store.token_by_hash("sha256:one").revoked_at == NOON


# The audit log


def test_an_audit_entry_is_read_as_it_was_written(store):
    given = entry(reason="asked for", detail={"from": None, "to": [1, 2.5, "x", True], "é": {}})
    store.add_audit(given)
    assert [replace(found, id=None) for found in store.audit(limit=10)] == [given]


def test_the_audit_log_is_read_newest_first(store):
    for action in ("one", "two", "three"):
        store.add_audit(entry(action))
    assert [found.action for found in store.audit(limit=2)] == ["three", "two"]


def test_the_audit_log_is_read_on_from_an_id(store):
    for action in ("one", "two", "three"):
        store.add_audit(entry(action))
    newest = store.audit(limit=1)[0]
    assert [found.action for found in store.audit(limit=10, before=newest.id)] == ["two", "one"]


@pytest.mark.parametrize(
    "write",
    [
        lambda store, audit: store.register(registration(), audit),
        lambda store, audit: store.deregister(OTHER, LATER, audit),
        lambda store, audit: store.put_mark(mark(), audit),
        lambda store, audit: store.delete_mark("there", audit),
        lambda store, audit: store.put_waiver(waiver(), audit),
        lambda store, audit: store.delete_waiver("there", APP, audit),
        lambda store, audit: store.put_withdrawal(withdrawal(), audit),
        lambda store, audit: store.delete_withdrawal("there", "sha256:bad", audit),
        lambda store, audit: store.put_token(token(), audit),
        lambda store, audit: store.revoke_token("there", LATER, audit),
    ],
)
def test_a_change_and_its_audit_entry_are_written_together(store, write):
    store.register(registration(OTHER), entry())
    store.put_mark(mark("there"), entry())
    store.put_waiver(waiver("there"), entry())
    store.put_withdrawal(withdrawal("there"), entry())
    store.put_token(token("there"), entry())
    before = store.sequence()
    write(store, entry("told"))
    assert (store.audit(limit=1)[0].action, store.sequence()) == ("told", before + 1)


def test_a_refused_change_leaves_no_audit_entry(store):
    store.put_token(token(), entry("first"))
    with pytest.raises(Conflict):
        store.put_token(token(), entry("second"))
    assert [found.action for found in store.audit(limit=10)] == ["first"]


# Across openings


def test_a_naive_instant_is_refused(store):
    with pytest.raises(Exception, match="aware"):
        store.deregister(APP, NOON.replace(tzinfo=None), entry())


def test_everything_is_there_after_opening_again(url):
    first = open_store(url)
    first.register(registration(), entry())
    first.publish([publication(b"1", documents=(b"x",))])
    first.put_mark(mark(), entry())
    written = first.changes_since(0)
    first.close()
    again = open_store(url)
    assert again.changes_since(0) == written
    again.close()


def test_a_plain_wish_keeps_the_commit_that_waits_to_be_applied(store):
    store.register(registration(), entry())
    store.request_sync(APP, "a" * 40)
    newest = store.request_sync(APP)
    assert [(item.sequence, item.apply) for item in store.take_requests()] == [(newest, "a" * 40)]
