"""What holds of the policies whatever the facts (merge.md, Proof expected of the code)."""

from datetime import UTC, date, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.access import Action, Principal, Scope, Subject, may, may_execute
from policies.change import is_too_large
from policies.decision import CopyState, Requirement, Side
from policies.precedence import Candidate, decide
from policies.publication import missing
from policies.rules import (
    AccessRule,
    Mark,
    PublicationRules,
    RuleSet,
    Standing,
    Waiver,
    Who,
    Withdrawal,
    combine,
    from_json,
    next_expiry,
    scoped,
    standing,
    tighten,
    to_json,
    unmatched,
    weakens,
)
from policies.schedule import BACKOFF_CAP_S, backoff_s, first_due, next_due, poll_s

quick = settings(max_examples=60, deadline=None)

# Few words, so that rules and playbooks meet.
words = st.sampled_from(["a", "b", "c"])
repositories = st.sampled_from(["h/o/one", "h/o/two"])
days = st.dates(date(2026, 12, 28), date(2027, 1, 4))
reasons = st.sampled_from(["", "Audited.", "Old."])
origins = st.sampled_from(["policy-file", "api"])
some = st.frozensets(words, max_size=2)
jitters = st.floats(0, 1, exclude_max=True)

candidates = st.builds(Candidate, st.sampled_from(CopyState), st.booleans())
requirements = st.sampled_from(Requirement)
marks = st.one_of(
    st.builds(Mark, origins, words, st.none(), reasons), st.builds(Mark, origins, st.none(), words, reasons)
)
waivers = st.builds(Waiver, words, repositories, days, reasons, st.just("ann"), origins)
people = st.builds(Who, some, some)
access_rules = st.builds(AccessRule, st.sampled_from(["allow", "deny"]), people, some, some, some, people, reasons)
rulesets = st.builds(
    RuleSet,
    st.lists(marks, max_size=4).map(tuple),
    st.lists(waivers, max_size=4).map(tuple),
    st.lists(st.builds(Withdrawal, words, st.sampled_from(["sha256:1", "sha256:2"]), reasons), max_size=3).map(tuple),
    st.builds(PublicationRules, some),
    st.lists(access_rules, max_size=3).map(tuple),
)
principals = st.builds(
    Principal,
    words,
    st.one_of(st.none(), words),
    st.frozensets(st.sampled_from([*(item.value for item in Scope), "x"])),
)
subjects = st.builds(Subject, words, some, some, st.booleans(), st.one_of(st.none(), words))


def turned(rules: RuleSet) -> RuleSet:
    """The same facts in another order and said twice."""
    return RuleSet(
        (*reversed(rules.marks), *rules.marks),
        (*reversed(rules.waivers), *rules.waivers),
        (*reversed(rules.withdrawals), *rules.withdrawals),
        rules.publication,
        rules.access,
    )


def stands(
    rules: RuleSet, name: str = "a", repository: str | None = "h/o/one", on: date = date(2027, 1, 1)
) -> Standing:
    return standing(rules, name=name, tags=("b",), front_matter=False, repository=repository, on=on)


@given(candidates, candidates, requirements)
@settings(max_examples=300, deadline=None)
def test_every_copy_that_is_there_stands_in_exactly_one_place(
    central: Candidate, local: Candidate, requirement: Requirement
) -> None:
    decision = decide(central, local, requirement)
    present = [side for side, copy in zip(Side, (central, local), strict=True) if copy.state is not CopyState.ABSENT]
    placed = [] if decision is None else [*decision.over, *decision.refused, *decision.beside]
    if decision is not None and decision.serves is not None:
        assert sorted([decision.serves, *placed]) == sorted(present)
    else:
        assert len(placed) == len(set(placed))
        assert set(placed) <= set(present)


@given(candidates, candidates, requirements)
@settings(max_examples=300, deadline=None)
def test_only_a_good_or_held_copy_that_is_not_withdrawn_serves(
    central: Candidate, local: Candidate, requirement: Requirement
) -> None:
    decision = decide(central, local, requirement)
    if decision is not None and decision.serves is not None:
        copy = central if decision.serves is Side.CENTRAL else local
        assert copy.servable
        assert not copy.withdrawn


@given(candidates, candidates)
@settings(max_examples=200, deadline=None)
def test_a_local_copy_never_serves_under_a_required_name(central: Candidate, local: Candidate) -> None:
    decision = decide(central, local, Requirement.YES)
    assert decision is not None
    assert decision.serves is not Side.LOCAL
    assert Side.LOCAL not in decision.over


@given(candidates, candidates, requirements)
@settings(max_examples=200, deadline=None)
def test_a_held_copy_is_decided_like_a_good_one(central: Candidate, local: Candidate, requirement: Requirement) -> None:
    def awake(copy: Candidate) -> Candidate:
        return Candidate(CopyState.GOOD, copy.withdrawn) if copy.servable else copy

    assert decide(central, local, requirement) == decide(awake(central), awake(local), requirement)


@given(candidates, candidates, requirements)
@settings(max_examples=200, deadline=None)
def test_withdrawing_a_copy_never_makes_another_one_serve(
    central: Candidate, local: Candidate, requirement: Requirement
) -> None:
    before = decide(central, local, requirement)
    for after in (
        decide(Candidate(central.state, withdrawn=True), local, requirement),
        decide(central, Candidate(local.state, withdrawn=True), requirement),
    ):
        assert (before is None) == (after is None)
        assert before is None or after is None or after.serves in {before.serves, None}


@given(rulesets, days, st.one_of(st.none(), repositories))
@quick
def test_the_order_of_the_facts_changes_nothing(rules: RuleSet, on: date, repository: str | None) -> None:
    other = turned(rules)
    assert to_json(rules) == to_json(other)
    assert scoped(rules, repository=repository, on=on) == scoped(other, repository=repository, on=on)
    assert stands(rules, repository=repository, on=on) == stands(other, repository=repository, on=on)
    assert unmatched(rules, {"a": ("b",)}) == unmatched(other, {"a": ("b",)})
    assert (weakens(rules, other), weakens(other, rules)) == ((), ())


@given(rulesets)
@quick
def test_json_gives_the_rules_back(rules: RuleSet) -> None:
    assert from_json(to_json(rules)) == combine(rules)


@given(rulesets, rulesets, rulesets)
@quick
def test_combining_is_idempotent_and_associative(one: RuleSet, two: RuleSet, three: RuleSet) -> None:
    both = combine(one, two)
    assert combine(both) == both == combine(both, both)
    assert combine(both, three) == combine(one, combine(two, three))


@given(rulesets, words, days, st.one_of(st.none(), repositories))
@quick
def test_scoping_loses_nothing_that_decides(rules: RuleSet, name: str, on: date, repository: str | None) -> None:
    narrow = scoped(rules, repository=repository, on=on)
    assert stands(narrow, name, repository, on) == stands(rules, name, repository, on)
    assert scoped(narrow, repository=repository, on=on) == narrow


@given(rulesets, words, days, repositories)
@quick
def test_more_marks_never_make_a_name_free(rules: RuleSet, name: str, on: date, repository: str) -> None:
    more = combine(rules, RuleSet(marks=(Mark("api", "a", None, ""), Mark("api", None, "c", ""))))
    if stands(rules, name, repository, on).requirement is Requirement.YES:
        assert stands(more, name, repository, on).requirement is Requirement.YES


@given(rulesets, words, repositories, days)
@quick
def test_a_standing_names_grounds_exactly_where_something_requires(
    rules: RuleSet, name: str, repository: str, on: date
) -> None:
    found = stands(rules, name, repository, on)
    assert bool(found.by) == (found.requirement is not Requirement.NO) == bool(found.reasons)
    assert (found.waiver is not None) == (found.requirement is Requirement.WAIVED)


@given(rulesets, rulesets, words, repositories, days)
@quick
def test_rules_of_another_name_or_repository_change_no_standing(
    rules: RuleSet, other: RuleSet, name: str, repository: str, on: date
) -> None:
    foreign = RuleSet(
        marks=(Mark("api", "unrelated", None, ""), Mark("api", None, "unrelated", "")),
        waivers=tuple(item for item in other.waivers if item.repository != repository),
        withdrawals=other.withdrawals,
        publication=other.publication,
        access=other.access,
    )
    assert stands(combine(rules, foreign), name, repository, on) == stands(rules, name, repository, on)


@given(rulesets, days)
@quick
def test_nothing_changes_before_the_next_expiry_and_something_does_after_it(rules: RuleSet, on: date) -> None:
    last = next_expiry(rules, on)
    holding = [item for item in rules.waivers if item.holds(on)]
    if last is None:
        assert holding == []
    else:
        assert [item for item in holding if item.holds(last)] == holding
        assert [item for item in holding if item.holds(last + timedelta(days=1))] != holding


@given(rulesets, rulesets, words, repositories, days)
@quick
def test_tightened_rules_require_what_either_revision_requires(
    old: RuleSet, new: RuleSet, name: str, repository: str, on: date
) -> None:
    tight = stands(tighten(old, new), name, repository, on).requirement
    # A name that is required in the old rules and waived in the new ones is still required, and the other way round.
    if Requirement.YES in {
        stands(old, name, repository, on).requirement,
        stands(new, name, repository, on).requirement,
    }:
        assert tight is Requirement.YES
    assert weakens(old, tighten(old, new)) == ()


@given(rulesets, rulesets)
@quick
def test_tightening_is_idempotent_and_by_equal_rules_does_nothing(old: RuleSet, new: RuleSet) -> None:
    once = tighten(old, new)
    assert tighten(once, new) == once
    assert tighten(old, old).marks == combine(old).marks


@given(rulesets, rulesets, words, repositories, days)
@quick
def test_what_does_not_weaken_keeps_required_names_required(
    old: RuleSet, new: RuleSet, name: str, repository: str, on: date
) -> None:
    if weakens(old, new) == () and stands(old, name, repository, on).requirement is Requirement.YES:
        assert stands(new, name, repository, on).requirement is Requirement.YES


@given(rulesets, st.dictionaries(words, some))
@quick
def test_a_mark_is_unmatched_exactly_where_it_covers_no_playbook(
    rules: RuleSet, playbooks: dict[str, frozenset[str]]
) -> None:
    loose = {mark for mark, _ in unmatched(rules, playbooks)}
    for mark in rules.marks:
        assert (mark in loose) != any(mark.covers(name, tags) for name, tags in playbooks.items())


@given(st.frozensets(st.integers(0, 40)), st.frozensets(st.integers(0, 40)))
@quick
def test_only_what_is_taken_away_counts(before: frozenset[int], after: frozenset[int]) -> None:
    old, new = {str(item) for item in before}, {str(item) for item in after}
    removed = len(old - new)
    assert (is_too_large(old, new) is not None) == (removed >= 10 and removed > len(old) / 2)
    assert is_too_large(old, old | new) is None


@given(some, some)
@quick
def test_what_is_missing_is_what_is_asked_for_and_not_there(present: frozenset[str], asked: frozenset[str]) -> None:
    assert set(missing(present, PublicationRules(asked))) == asked - present


@given(st.one_of(st.none(), principals), subjects, st.lists(access_rules, max_size=4))
@settings(max_examples=200, deadline=None)
def test_without_a_token_and_its_scope_nothing_is_ever_executed(
    principal: Principal | None, subject: Subject, rules: list[AccessRule]
) -> None:
    found = may_execute(principal, subject, rules)
    if principal is None or not principal.scopes & {"playbook:execute", "admin"}:
        assert not found.allowed
    assert found.reason


@given(principals, subjects, st.lists(access_rules, max_size=4))
@settings(max_examples=200, deadline=None)
def test_no_rule_gives_a_waived_copy_to_another_team(
    principal: Principal, subject: Subject, rules: list[AccessRule]
) -> None:
    stranger = principal.team is None or principal.team != subject.repository_team
    if subject.by_waiver and stranger and "admin" not in principal.scopes:
        assert not may_execute(principal, subject, rules).allowed


@given(principals, subjects, st.lists(access_rules, max_size=4), st.lists(access_rules, max_size=2))
@quick
def test_rules_after_the_one_that_decided_change_nothing(
    principal: Principal, subject: Subject, rules: list[AccessRule], later: list[AccessRule]
) -> None:
    found = may_execute(principal, subject, rules)
    if found.rule is not None:
        assert may_execute(principal, subject, [*rules, *later]) == found


@given(principals, st.sampled_from(Action), st.one_of(st.none(), words), st.booleans())
@settings(max_examples=200, deadline=None)
def test_what_a_token_may_do_it_may_do_with_more_scopes(
    principal: Principal, action: Action, team: str | None, central: bool
) -> None:
    admin = Principal(principal.name, principal.team, principal.scopes | {"admin"})
    more = Principal(principal.name, principal.team, principal.scopes | {"catalog:read", "policy:write"})
    assert may(admin, action, team=team, central=central).allowed
    if may(principal, action, team=team, central=central).allowed:
        assert may(more, action, team=team, central=central).allowed


@given(st.integers(-3, 10**6), jitters, st.one_of(st.none(), st.floats()))
@quick
def test_a_next_check_is_always_in_the_future_and_within_bounds(
    attempts: int, jitter: float, retry_after_s: float | None
) -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    due = next_due(now, interval_s=60, jitter=jitter, attempts=attempts, retry_after_s=retry_after_s)
    assert timedelta(0) < due - now <= timedelta(days=1.2)


@given(jitters, st.integers(1, 200))
@quick
def test_pauses_grow_to_their_cap_and_polls_stay_within_a_fifth(jitter: float, attempts: int) -> None:
    assert backoff_s(attempts, jitter=jitter) <= backoff_s(attempts + 1, jitter=jitter) <= BACKOFF_CAP_S
    assert 48 <= poll_s(60, jitter=jitter) <= 72
    start = datetime(2026, 11, 30, tzinfo=UTC)
    assert start <= first_due(start, interval_s=60, jitter=jitter) <= start + timedelta(seconds=60)
