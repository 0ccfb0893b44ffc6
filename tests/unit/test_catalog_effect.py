"""What a change does to one catalog, and what stands in for a file that does not load."""

from dataclasses import replace

from catalogs import PAYMENTS, a_catalog, a_copy, a_revision

from policies.decision import CopyState
from policies.rules import Mark, RuleSet
from registry.catalog.effect import Sort, central_rows, held_on, local_rows

REQUIRED = RuleSet(marks=(Mark("api", "deploy", None, "Audited."),))
CENTRAL = a_revision(a_copy("deploy"), a_copy("drain"))


def local(*copies):
    return a_revision(*copies, kind="local")


def change(before, after, ruleset=None, central=CENTRAL):
    """Sort -> names, of a change in the local revision."""
    rows = local_rows(a_catalog(central, before, ruleset), a_catalog(central, after, ruleset))
    return {sort: [row.name for row in found] for sort, found in rows.items()}


def mine(name, state=CopyState.GOOD, **members):
    return a_copy(name, "local", state, **members)


def test_a_new_copy_of_a_central_name_is_added_and_shadows():
    assert change(local(), local(mine("drain"))) == {Sort.ADDED: ["drain"], Sort.SHADOWING: ["drain"]}


def test_a_new_name_shadows_nothing():
    assert change(local(), local(mine("own"))) == {Sort.ADDED: ["own"]}


def test_a_copy_that_goes_leaves_the_name_to_central():
    rows = local_rows(a_catalog(CENTRAL, local(mine("drain"))), a_catalog(CENTRAL, local()))
    (row,) = rows[Sort.REMOVED]
    assert (row.before.decision.outcome.value, row.after.decision.outcome.value) == ("local_wins", "central_only")


def test_another_content_is_a_change():
    assert change(local(mine("own")), local(mine("own", version="2"))) == {Sort.CHANGED: ["own"]}


def test_a_copy_of_a_required_name_is_refused():
    assert change(local(), local(mine("deploy")), REQUIRED)[Sort.REFUSED] == ["deploy"]


def test_a_copy_that_was_refused_before_is_told_again_and_not_as_new():
    stays = local(mine("deploy"))
    rows = local_rows(a_catalog(CENTRAL, stays, REQUIRED), a_catalog(CENTRAL, stays, REQUIRED))
    assert [(sort, row.is_new) for sort, found in rows.items() for row in found] == [(Sort.REFUSED, False)]


def test_a_copy_of_a_required_name_that_does_not_load_is_refused_too():
    found = change(local(), local(mine("deploy", CopyState.BROKEN)), REQUIRED)
    assert found[Sort.REFUSED] == ["deploy"]


def test_a_file_that_loads_again_is_mended():
    assert change(local(mine("own", CopyState.HELD)), local(mine("own"))) == {Sort.MENDED: ["own"]}
    assert change(local(mine("own", CopyState.BROKEN)), local(mine("own"))) == {Sort.MENDED: ["own"]}


def test_two_files_that_claim_a_name_collide_and_nobody_serves_it():
    found = change(local(mine("own")), local(mine("own", CopyState.AMBIGUOUS)))
    assert found == {Sort.CHANGED: ["own"], Sort.COLLIDING: ["own"], Sort.UNAVAILABLE: ["own"]}


def test_a_playbook_whose_replacement_goes_dangles():
    old = mine("old")
    old = replace(old, head=replace(old.head, deprecated={"replaced_by": "New_One"}))
    assert change(local(old, mine("new-one")), local(old))[Sort.DANGLING] == ["old"]


def test_a_replacement_that_central_still_has_does_not_dangle():
    old = mine("old")
    old = replace(old, head=replace(old.head, deprecated={"replaced_by": "drain"}))
    assert Sort.DANGLING not in change(local(old, mine("drain")), local(old))


def test_a_required_name_that_central_drops_is_served_by_nobody():
    before, after = (a_catalog(central, None, REQUIRED).base for central in (CENTRAL, a_revision(a_copy("drain"))))
    rows = central_rows(before, after)
    assert {sort: [row.name for row in found] for sort, found in rows.items()} == {
        Sort.REMOVED: ["deploy"],
        Sort.UNAVAILABLE: ["deploy"],
    }


def test_a_file_that_breaks_is_held_at_what_served():
    held = held_on(local(mine("own", CopyState.BROKEN)), local(mine("own"))).copy("own")
    assert (held.state, held.digest) == (CopyState.HELD, mine("own").digest)


def test_a_file_whose_name_cannot_be_read_any_more_keeps_the_one_that_it_had():
    found = held_on(local(), local(mine("own")), ["playbooks/own.yaml"])
    assert [(copy.name, copy.state) for copy in found.copies] == [("own", CopyState.HELD)]


def test_a_file_that_is_gone_is_not_held():
    assert held_on(local(), local(mine("own"))).copies == ()


def test_a_broken_file_that_never_loaded_stays_broken():
    broken = local(mine("own", CopyState.BROKEN))
    assert held_on(broken, local()) == broken


def test_a_good_file_goes_before_a_broken_one_of_its_name():
    good = replace(mine("own", version="2"), path="playbooks/other.yaml")
    found = held_on(local(good), local(mine("own")), ["playbooks/own.yaml"])
    assert [(copy.name, copy.head.version) for copy in found.copies] == [("own", "2")]


def test_a_broken_file_that_moved_inherits_what_its_name_served():
    moved = replace(mine("own", CopyState.BROKEN), path="playbooks/moved.yaml")
    assert held_on(local(moved), local(mine("own"))).copy("own").state is CopyState.HELD


def test_the_repository_of_a_row_is_whose_catalog_it_is():
    rows = local_rows(a_catalog(CENTRAL, local()), a_catalog(CENTRAL, local(mine("own"))))
    assert rows[Sort.ADDED][0].repository == PAYMENTS
