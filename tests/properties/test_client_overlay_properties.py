"""What holds of every overlay: a working copy never gets more than its push would, and mostly just that."""

from dataclasses import replace
from datetime import UTC, datetime, time

from catalogs import ON, a_catalog, a_copy, a_revision, a_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from test_catalog_properties import NAMES, worlds

from policies.decision import CopyState
from registry.catalog.revision import Copy
from registry.client.overlay import Overlay, overlaid
from registry.client.snapshot import Snapshot, read_snapshot

NOW = datetime.combine(ON, time(12), UTC)
edits = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["edited", "deleted"]), max_size=4)


def snapshot_of(central, local, ruleset) -> Snapshot:
    made = a_snapshot(a_catalog(a_revision(*central), a_revision(*local, kind="local"), ruleset))
    return read_snapshot(made.body, made.digest)


def pushed(local: list[Copy], changes: dict[str, str]) -> list[Copy]:
    """The repository's copies after a push of the changes."""
    kept = [copy for copy in local if copy.name not in changes]
    return [*kept, *(a_copy(name, "local", version="2.0.0") for name, change in changes.items() if change == "edited")]


def overlay_of(snapshot: Snapshot, changes: dict[str, str]) -> Overlay:
    copies = {
        name: a_copy(name, "local", version="2.0.0") if change == "edited" else None for name, change in changes.items()
    }
    return overlaid(
        snapshot,
        snapshot.serving(NOW),
        copies,
        is_central=False,
        contracts=lambda _: {"document": "skill/1", "name": "any", "version": "1.0.0"},
    )


def served(entries) -> dict[str, tuple[str, str]]:
    """Name -> (side, digest); what comes from the working copy counts as the repository's own."""
    kinds = {"worktree": "local"}
    return {
        entry["name"]: (kinds.get(entry["source"]["kind"], entry["source"]["kind"]), entry["digest"])
        for entry in entries
    }


@given(worlds(), edits)
@settings(max_examples=150)
def test_an_overlay_serves_no_working_copy_that_a_push_would_not(world, changes):
    central, local, ruleset = world
    overlay = overlay_of(snapshot_of(central, local, ruleset), changes)
    after = served(snapshot_of(central, pushed(local, changes), ruleset).entries)
    mine = {name: copy for name, copy in served(overlay.entries.values()).items() if name in changes}
    assert {name: copy for name, copy in mine.items() if copy[0] == "local"}.items() <= after.items()


@given(worlds(), edits)
@settings(max_examples=150)
def test_an_overlay_serves_what_a_push_would_wherever_the_snapshot_tells_how_a_name_stands(world, changes):
    central, local, ruleset = world
    before = snapshot_of(central, local, ruleset)
    overlay = overlay_of(before, changes)
    after = served(snapshot_of(central, pushed(local, changes), ruleset).entries)
    told = set(NAMES) - {lost["name"] for lost in before.unavailable}
    # What a snapshot does not list beside what serves: copies that cannot be used, and those that were withdrawn.
    unusable = {copy.name for copy in central if copy.head is None}
    withdrawn = {item.name for item in ruleset.withdrawals}
    for name in told - unusable - withdrawn:
        assert served(overlay.entries.values()).get(name) == after.get(name), name


@given(worlds(), edits)
@settings(max_examples=100)
def test_what_was_not_changed_stays_as_it_was(world, changes):
    snapshot = snapshot_of(*world)
    overlay = overlay_of(snapshot, changes)
    untouched = {name: entry for name, entry in snapshot.serving(NOW).items() if name not in changes}
    assert untouched.items() <= dict(overlay.entries).items()


@given(worlds())
@settings(max_examples=100)
def test_a_file_that_does_not_load_changes_nothing_but_the_notes(world):
    snapshot = snapshot_of(*world)
    broken = {"alpha": replace(a_copy("alpha", "local"), state=CopyState.BROKEN, head=None)}
    overlay = overlaid(snapshot, snapshot.serving(NOW), broken, is_central=False, contracts=lambda _: {})
    assert dict(overlay.entries) == snapshot.serving(NOW)
    assert len(overlay.notes) == 1


@given(worlds(), edits)
@settings(max_examples=100)
def test_a_name_stands_in_one_list(world, changes):
    overlay = overlay_of(snapshot_of(*world), changes)
    lost = {entry["name"] for entry in overlay.unavailable}
    assert not lost & overlay.entries.keys()
    assert len([entry["name"] for entry in overlay.unavailable]) == len(lost)
