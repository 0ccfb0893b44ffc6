"""What is said of a change is what two whole merges show, one before it and one after it, repository by repository."""

from dataclasses import replace
from datetime import timedelta

from catalogs import ON, a_catalog, a_copy, a_revision
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import rules
from policies.decision import CopyState
from policies.rules import Mark, RuleSet, Waiver, Withdrawal
from registry.catalog.merge import effective_rules
from registry.catalog.snapshot import snapshot_json
from registry.service.effects import Repositories, central_effect, service_effect

NAMES = ("alpha", "beta", "gamma")
HOUSES = ("github.com/acme/a", "github.com/acme/b", "github.com/acme/c")
STATES = (CopyState.GOOD, CopyState.HELD, CopyState.BROKEN, CopyState.AMBIGUOUS)


@st.composite
def copies(draw, kind):
    return tuple(
        a_copy(
            name,
            kind,
            draw(st.sampled_from(STATES)),
            says_required=draw(st.booleans()),
            version=draw(st.sampled_from(["1", "2"])),
            tags=draw(st.sampled_from([(), ("t",)])),
        )
        for name in sorted(draw(st.sets(st.sampled_from(NAMES))))
    )


@st.composite
def policies(draw):
    marks = [Mark("policy-file", name, None, "why") for name in sorted(draw(st.sets(st.sampled_from(NAMES))))]
    marks += draw(st.sampled_from([[], [Mark("policy-file", None, "t", "tagged")]]))
    granted = draw(st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(HOUSES)), max_size=3))
    waivers = [
        Waiver(name, house, ON + timedelta(days=draw(st.integers(-1, 1))), "why", "who", "policy-file")
        for name, house in sorted(granted)
    ]
    return RuleSet(marks=tuple(marks), waivers=tuple(waivers))


@st.composite
def api_rules(draw, *revisions):
    heads = [copy.head for revision in revisions for copy in revision.copies if copy.head is not None]
    gone = draw(st.sets(st.sampled_from(range(len(heads))), max_size=2)) if heads else set()
    marked = draw(st.sets(st.sampled_from(NAMES), max_size=1))
    return RuleSet(
        marks=tuple(Mark("api", name, None, "said") for name in sorted(marked)),
        withdrawals=tuple({Withdrawal(heads[at].name, heads[at].digest, "why") for at in gone}),
    )


@st.composite
def worlds(draw):
    before = a_revision(*draw(copies("central")), policy=draw(policies()))
    after = a_revision(*draw(copies("central")), policy=draw(policies()))
    houses = {
        house: replace(a_revision(*draw(copies("local")), kind="local"), repository=house)
        for house in sorted(draw(st.sets(st.sampled_from(HOUSES))))
    }
    return before, after, houses, draw(api_rules(before, after, *houses.values()))


def shown(central, local, everything):
    """What a catalog says of each name, read from its snapshot and none of its objects."""
    snapshot = snapshot_json(a_catalog(central, local, everything))
    found = {}
    for entry in snapshot["entries"]:
        held = entry["held"] is not None
        decided = (entry["decision"]["outcome"], entry["source"]["kind"], entry["digest"], entry["required"])
        found[entry["name"]] = (*decided, str(entry["waiver"]), held)
    for entry in snapshot["refused"]:
        found[entry["name"]] = (*found.get(entry["name"], ()), "refused", entry["digest"])
    for item in snapshot["unavailable"]:
        found[item["name"]] = (*found.get(item["name"], ()), item["outcome"])
    return found


def effect_of(before, after, houses, api):
    def find(names):
        found = {
            house: {copy.name: copy for copy in local.copies if copy.name in names} for house, local in houses.items()
        }
        return {house: there for house, there in found.items() if there}

    return central_effect(before, after, api, ON, Repositories(dict.fromkeys(houses, "team"), frozenset(houses), find))


@given(worlds())
@settings(max_examples=300, deadline=None)
def test_the_catalogs_that_change_are_those_whose_snapshots_say_something_else(world):
    before, after, houses, api = world
    old, new = effective_rules(before, api), effective_rules(after, api)
    expected = [house for house, local in houses.items() if shown(before, local, old) != shown(after, local, new)]
    found = effect_of(*world)["repositories"]["changed"]
    assert (found["items"], found["count"]) == (expected, len(expected))


@given(worlds())
@settings(max_examples=300, deadline=None)
def test_a_row_counts_exactly_the_repositories_in_which_its_name_changes(world):
    before, after, houses, api = world
    old, new = effective_rules(before, api), effective_rules(after, api)
    pairs = [(shown(before, local, old), shown(after, local, new)) for local in houses.values()]
    for listed in effect_of(*world)["effect"].values():
        for row in listed["items"]:
            if row["repository"] is None:
                assert row["repositories"] == sum(was.get(row["name"]) != now.get(row["name"]) for was, now in pairs)


@given(worlds())
@settings(max_examples=300, deadline=None)
def test_the_copies_that_become_refused_are_those_that_a_requirement_keeps_out_afterwards_alone(world):
    before, after, houses, api = world
    old, new = effective_rules(before, api), effective_rules(after, api)
    servable = {(house, copy.name) for house, local in houses.items() for copy in local.copies if copy.head}
    expected = set()
    for house, local in houses.items():
        was, now = kept_out(before, local, old), kept_out(after, local, new)
        expected |= {(house, name) for name in now - was} & servable
    rows = effect_of(*world)["effect"]["refused"]["items"]
    assert {(row["repository"], row["name"]) for row in rows} & servable == expected


def kept_out(central, local, everything):
    """The names whose local copy a requirement keeps from serving, in its own list or because central has none."""
    snapshot = snapshot_json(a_catalog(central, local, everything))
    missing = {item["name"] for item in snapshot["unavailable"] if item["outcome"] == "required_missing"}
    return {item["name"] for item in snapshot["refused"]} | missing


@given(worlds(), copies("local"))
@settings(max_examples=300, deadline=None)
def test_a_service_repositorys_change_touches_exactly_the_names_that_its_catalog_shows_otherwise(world, then):
    central, _, houses, api = world
    house, was = next(iter(houses.items()), (HOUSES[0], None))
    now = replace(a_revision(*then, kind="local"), repository=house)
    everything = effective_rules(central, api)
    scoped_part = a_catalog(central, None, everything).base
    found = service_effect(scoped_part, everything, house, was, now)["effect"]
    before = shown(central, was, everything) if was else shown(central, replace(now, copies=()), everything)
    after = shown(central, now, everything)
    changed = {name for name in NAMES if before.get(name) != after.get(name)}
    told = {
        row["name"] for sort, listed in found.items() for row in listed["items"] if row["new"] and sort != "dangling"
    }
    assert changed <= told
    refused = {row["name"] for row in found["refused"]["items"]}
    required = {name for name in NAMES if _is_required(scoped_part, everything, name, house)}
    assert refused == required & {copy.name for copy in then}


def _is_required(part, everything, name, house):
    standing = part.standings.get(name)
    waived = any(item.name == name and item.repository == house and item.holds(ON) for item in everything.waivers)
    return standing is not None and bool(standing.by) and not waived


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_a_change_that_changes_nothing_has_no_effect(world):
    before, _, houses, api = world
    found = effect_of(before, before, houses, api)
    assert [sort for sort, listed in found["effect"].items() if listed["count"]] == []
    assert found["repositories"]["changed"]["count"] == 0
    assert {name for name, listed in found["rules"].items() if listed["count"]} <= {"unmatched"}


@given(policies(), policies())
@settings(max_examples=60, deadline=None)
def test_every_mark_and_waiver_stays_or_comes_or_goes(old, new):
    found = effect_of(a_revision(policy=old), a_revision(policy=new), {}, RuleSet())["rules"]
    came = {item["name"] or item["tag"] for item in found["marks_added"]["items"]}
    went = {item["name"] or item["tag"] for item in found["marks_removed"]["items"]}
    before, after = ({mark.name or mark.tag for mark in each.marks} for each in (old, new))
    assert (came, went) == (after - before, before - after)
    assert rules.combine(old) == rules.combine(new) or any(listed["count"] for listed in found.values())
