"""What holds of every merge, whatever the copies and rules."""

import json
from datetime import date, timedelta

from catalogs import ON, PAYMENTS, a_catalog, a_copy, a_revision, a_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.decision import CopyState, Side
from policies.rules import Mark, RuleSet, Waiver, Withdrawal
from registry.catalog.snapshot import snapshot_json
from registry.digest import canonical

NAMES = ("alpha", "beta", "gamma", "delta")
STATES = (CopyState.GOOD, CopyState.HELD, CopyState.BROKEN, CopyState.AMBIGUOUS)


@st.composite
def sides(draw, kind):
    names = draw(st.sets(st.sampled_from(NAMES)))
    return [
        a_copy(
            name,
            kind,
            draw(st.sampled_from(STATES)),
            says_required=draw(st.booleans()),
            tags=draw(st.sampled_from([(), ("t",)])),
        )
        for name in sorted(names)
    ]


@st.composite
def rulesets(draw, central, local):
    marks = [
        Mark(draw(st.sampled_from(["api", "policy-file"])), name, None, "why")
        for name in draw(st.sets(st.sampled_from(NAMES)))
    ]
    marks += draw(st.sampled_from([[], [Mark("policy-file", None, "t", "tagged")]]))
    waivers = [
        Waiver(name, PAYMENTS, ON + timedelta(days=draw(st.integers(-2, 2))), "why", "who", "api")
        for name in draw(st.sets(st.sampled_from(NAMES)))
    ]
    heads = [copy.head for copy in (*central, *local) if copy.head is not None]
    gone = draw(st.sets(st.sampled_from(range(len(heads))))) if heads else set()
    withdrawals = [Withdrawal(heads[at].name, heads[at].digest, "why") for at in gone]
    return RuleSet(marks=tuple(marks), waivers=tuple(waivers), withdrawals=tuple(withdrawals))


@st.composite
def worlds(draw):
    central, local = draw(sides("central")), draw(sides("local"))
    return central, local, draw(rulesets(central, local))


@given(worlds(), st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_the_order_of_the_facts_changes_no_byte(world, random):
    central, local, ruleset = world
    first = a_snapshot(a_catalog(a_revision(*central), a_revision(*local, kind="local"), ruleset))
    shuffled = [list(central), list(local), list(ruleset.marks), list(ruleset.waivers), list(ruleset.withdrawals)]
    for items in shuffled:
        random.shuffle(items)
    again = RuleSet(marks=tuple(shuffled[2]), waivers=tuple(shuffled[3]), withdrawals=tuple(shuffled[4]))
    second = a_snapshot(a_catalog(a_revision(*shuffled[0]), a_revision(*shuffled[1], kind="local"), again))
    # Problems are sorted when a revision is read; here their order is that of the copies.
    assert {**json.loads(first.body), "problems": 0} == {**json.loads(second.body), "problems": 0}


@given(worlds())
@settings(max_examples=200)
def test_the_spliced_bytes_are_the_canonical_ones(world):
    central, local, ruleset = world
    catalog = a_catalog(a_revision(*central), a_revision(*local, kind="local"), ruleset)
    assert a_snapshot(catalog).body == canonical(snapshot_json(catalog))


@given(worlds())
@settings(max_examples=200)
def test_a_required_name_is_never_served_by_a_local_copy_without_a_waiver(world):
    central, local, ruleset = world
    catalog = a_catalog(a_revision(*central), a_revision(*local, kind="local"), ruleset)
    for verdict in catalog.verdicts():
        if verdict.required:
            assert verdict.decision.serves is not Side.LOCAL
        if verdict.serving is not None and verdict.serving.source.kind == "local" and verdict.standing.reasons:
            assert verdict.waiver is not None
            assert verdict.waiver.until >= ON


@given(worlds())
@settings(max_examples=150)
def test_an_unrelated_playbook_changes_no_other_decision(world):
    central, local, ruleset = world
    before = a_catalog(a_revision(*central), a_revision(*local, kind="local"), ruleset)
    more = [*central, a_copy("unrelated")]
    after = a_catalog(a_revision(*more), a_revision(*local, kind="local"), ruleset)
    decisions = {verdict.name: verdict.decision for verdict in after.verdicts() if verdict.name != "unrelated"}
    assert decisions == {verdict.name: verdict.decision for verdict in before.verdicts()}


@given(worlds())
@settings(max_examples=200)
def test_every_copy_appears_once_in_entries_over_refused_or_unavailable(world):
    central, local, ruleset = world
    catalog = a_catalog(a_revision(*central), a_revision(*local, kind="local"), ruleset)
    body = json.loads(a_snapshot(catalog).body)
    places = [(item["name"], item["source"]["kind"]) for item in body["entries"]]
    places += [(item["name"], item["source"]["kind"]) for item in body["refused"]]
    places += [(item["name"], over["source"]["kind"]) for item in body["entries"] for over in item["decision"]["over"]]
    places += [(item["name"], copy["source"]["kind"]) for item in body["unavailable"] for copy in item["copies"]]
    broken = {(item["name"], item["source"]) for item in body["problems"]}
    withdrawn = {(item.name, item.digest) for item in ruleset.withdrawals}
    for kind, copies in (("central", central), ("local", local)):
        for copy in copies:
            seen = places.count((copy.name, kind))
            is_withdrawn = copy.head is not None and (copy.name, copy.head.digest) in withdrawn
            # A copy that cannot be used stands among the problems; a withdrawn one behind another is no fallback
            # and stands in the policy's list of withdrawals.
            assert seen == 1 or (seen == 0 and ((copy.name, kind) in broken or is_withdrawn))


@given(worlds(), st.dates(date(2026, 1, 1), date(2027, 12, 31)))
@settings(max_examples=50)
def test_merging_again_gives_the_same_digest(world, on):
    central, local, ruleset = world
    make = lambda: a_snapshot(a_catalog(a_revision(*central), a_revision(*local, kind="local"), ruleset, on))  # noqa: E731
    assert make() == make()
