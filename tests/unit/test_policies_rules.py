"""Required, waived, tightened, weakened: what the rules say (merge.md, Required)."""

from datetime import date, timedelta

import pytest

from policies.decision import Requirement
from policies.rules import (
    FRONT_MATTER_REASON,
    NEAREST_MARKS_MAX,
    Mark,
    PublicationRules,
    RuleSet,
    Standing,
    Waiver,
    Withdrawal,
    combine,
    next_expiry,
    scoped,
    standing,
    tighten,
    unmatched,
    waived,
    weakens,
)

HERE = "github.com/acme/legacy-billing"
LAST_DAY = date(2027, 1, 31)


def mark(
    name: str | None = "deploy-rollback", *, tag: str | None = None, api: bool = False, reason: str = "Audited."
) -> Mark:
    return Mark("api" if api else "policy-file", None if tag else name, tag, reason)


def waiver(
    name: str = "deploy-rollback", repository: str = HERE, until: date = LAST_DAY, reason: str = "Old."
) -> Waiver:
    return Waiver(name, repository, until, reason, "platform-deploy", "policy-file")


def stands(
    rules: RuleSet,
    *,
    name: str = "deploy-rollback",
    tags: tuple[str, ...] = (),
    front_matter: bool = False,
    repository: str | None = HERE,
    on: date = LAST_DAY,
) -> Standing:
    return standing(rules, name=name, tags=tags, front_matter=front_matter, repository=repository, on=on)


def test_without_rules_nothing_is_required() -> None:
    assert stands(RuleSet()) == Standing(Requirement.NO)


def test_front_matter_alone_makes_a_playbook_required() -> None:
    assert stands(RuleSet(), front_matter=True) == Standing(
        Requirement.YES, (FRONT_MATTER_REASON,), ("front-matter",), None
    )


def test_a_mark_by_name_makes_that_name_required() -> None:
    assert stands(RuleSet(marks=(mark(),))) == Standing(Requirement.YES, ("Audited.",), ("policy-file",), None)


def test_a_mark_by_name_leaves_other_names_alone() -> None:
    assert stands(RuleSet(marks=(mark("deploy"),))).requirement is Requirement.NO


def test_a_mark_by_tag_makes_what_carries_the_tag_required() -> None:
    rules = RuleSet(marks=(mark(tag="data-deletion", api=True),))
    assert stands(rules, tags=("keys", "data-deletion")).by == ("api",)


def test_a_mark_by_tag_leaves_what_does_not_carry_it_alone() -> None:
    rules = RuleSet(marks=(mark(tag="data-deletion"),))
    assert stands(rules, name="data-deletion", tags=("keys",)).requirement is Requirement.NO


def test_all_grounds_are_named_once_with_front_matter_first() -> None:
    rules = RuleSet(marks=(mark(api=True, reason="Said so."), mark(), mark(tag="t", reason="Tagged.")))
    found = stands(rules, tags=("t",), front_matter=True)
    assert found.by == ("front-matter", "policy-file", "api")
    assert found.reasons == (FRONT_MATTER_REASON, "Tagged.", "Audited.", "Said so.")


def test_a_mark_by_name_without_a_reason_gets_a_sentence() -> None:
    assert stands(RuleSet(marks=(mark(reason=""),))).reasons == ("The name deploy-rollback is marked as required.",)


def test_a_mark_by_tag_without_a_reason_gets_a_sentence() -> None:
    assert stands(RuleSet(marks=(mark(tag="t", reason=""),)), tags=("t",)).reasons == (
        "The tag t is marked as required.",
    )


@pytest.mark.parametrize(("name", "tag"), [(None, None), ("a", "b")])
def test_a_mark_has_either_a_name_or_a_tag(name: str | None, tag: str | None) -> None:
    with pytest.raises(ValueError, match="either a name or a tag"):
        Mark("api", name, tag, "")


def test_a_waiver_holds_on_its_last_day() -> None:
    found = stands(RuleSet(marks=(mark(),), waivers=(waiver(),)), on=LAST_DAY)
    assert (found.requirement, found.waiver) == (Requirement.WAIVED, waiver())


def test_a_waiver_is_over_on_the_day_after_its_last() -> None:
    found = stands(RuleSet(marks=(mark(),), waivers=(waiver(),)), on=LAST_DAY + timedelta(days=1))
    assert (found.requirement, found.waiver) == (Requirement.YES, None)


@pytest.mark.parametrize("other", [None, HERE.upper(), HERE + "-2", HERE + "/-/services/api", "github.com/acme/legacy"])
def test_a_waiver_is_for_exactly_one_repository(other: str | None) -> None:
    rules = RuleSet(marks=(mark(),), waivers=(waiver(),))
    assert stands(rules, repository=other).requirement is Requirement.YES


def test_a_waiver_is_for_exactly_one_name() -> None:
    rules = RuleSet(marks=(mark(),), waivers=(waiver("deploy"),))
    assert stands(rules).requirement is Requirement.YES


def test_a_waiver_lifts_every_ground_at_once() -> None:
    rules = RuleSet(marks=(mark(), mark(api=True)), waivers=(waiver(),))
    assert stands(rules, front_matter=True).requirement is Requirement.WAIVED


def test_a_waiver_of_what_nobody_requires_has_no_effect() -> None:
    assert stands(RuleSet(waivers=(waiver(),))) == Standing(Requirement.NO)


def test_a_standing_that_is_known_is_waived_as_one_that_is_looked_up() -> None:
    rules = RuleSet(marks=(mark(),), waivers=(waiver(),))
    known = stands(rules, repository=None)
    assert waived(known, rules, name="deploy-rollback", repository=HERE, on=LAST_DAY) == stands(rules)
    assert waived(known, rules, name="deploy-rollback", repository="a.example/b/c", on=LAST_DAY) == known


def test_what_is_not_required_cannot_be_waived() -> None:
    no = Standing(Requirement.NO)
    rules = RuleSet(waivers=(waiver(),))
    assert waived(no, rules, name="deploy-rollback", repository=HERE, on=LAST_DAY) is no


def test_an_unmatched_mark_gets_no_nearest_name_where_none_is_wanted() -> None:
    assert unmatched(RuleSet(marks=(mark("deploy-rolback"),)), {"deploy-rollback": ()}, nearest_max=0)[0][1] is None


def test_of_several_waivers_the_one_that_holds_longest_is_named() -> None:
    longer = waiver(until=LAST_DAY + timedelta(days=30))
    rules = RuleSet(marks=(mark(),), waivers=(longer, waiver()))
    assert stands(rules).waiver == longer


def test_scoped_rules_keep_marks_withdrawals_and_own_waivers_that_hold() -> None:
    withdrawal = Withdrawal("a", "sha256:0", "Bad.")
    others = (waiver(repository="github.com/acme/shop"), waiver(until=LAST_DAY - timedelta(days=1)))
    rules = RuleSet((mark(),), (waiver(), *others), (withdrawal,), PublicationRules(frozenset({"owner"})))
    assert scoped(rules, repository=HERE, on=LAST_DAY) == RuleSet((mark(),), (waiver(),), (withdrawal,))


def test_rules_that_are_scoped_to_no_repository_have_no_waivers() -> None:
    assert scoped(RuleSet(waivers=(waiver(),)), repository=None, on=LAST_DAY) == RuleSet()


def test_combining_keeps_what_two_sets_share_once() -> None:
    rules = RuleSet((mark(),), (waiver(),), (Withdrawal("a", "sha256:0", "Bad."),))
    assert combine(rules, rules) == rules


def test_combining_adds_up_what_publication_asks_for() -> None:
    one = RuleSet(publication=PublicationRules(frozenset({"owner"})))
    two = RuleSet(publication=PublicationRules(frozenset({"verification"})))
    assert combine(one, two).publication.required_fields == {"owner", "verification"}


def test_the_next_expiry_is_the_last_day_of_the_waiver_that_ends_first() -> None:
    rules = RuleSet(waivers=(waiver(until=LAST_DAY + timedelta(days=9)), waiver(), waiver(until=date(2026, 1, 1))))
    assert next_expiry(rules, LAST_DAY) == LAST_DAY


def test_there_is_no_next_expiry_where_no_waiver_holds() -> None:
    assert next_expiry(RuleSet(waivers=(waiver(),)), LAST_DAY + timedelta(days=1)) is None


def test_new_marks_of_a_suspended_revision_hold_at_once() -> None:
    old, new = RuleSet(marks=(mark("a"),)), RuleSet(marks=(mark("b"),))
    assert tighten(old, new).marks == (mark("a"), mark("b"))


def test_waivers_that_a_suspended_revision_ends_are_over_at_once() -> None:
    assert tighten(RuleSet(waivers=(waiver(),)), RuleSet()).waivers == ()


def test_waivers_that_a_suspended_revision_shortens_are_shorter_at_once() -> None:
    sooner = waiver(until=date(2026, 12, 31))
    assert tighten(RuleSet(waivers=(waiver(),)), RuleSet(waivers=(sooner,))).waivers == (sooner,)


@pytest.mark.parametrize(
    ("old", "new", "both"), [("allow", "deny", "deny"), ("deny", "allow", "deny"), ("allow", "allow", "allow")]
)
def test_while_a_revision_is_suspended_either_may_deny_working_trees(old, new, both) -> None:
    assert tighten(RuleSet(worktree=old), RuleSet(worktree=new)).worktree == both


def test_what_is_said_of_working_trees_gives_no_catalog_another_digest() -> None:
    assert scoped(RuleSet(worktree="deny"), repository="h/o/r", on=date(2026, 3, 1)) == RuleSet()


def test_waivers_that_a_suspended_revision_adds_or_prolongs_wait() -> None:
    new = RuleSet(waivers=(waiver("other"), waiver(until=LAST_DAY + timedelta(days=9))))
    assert tighten(RuleSet(waivers=(waiver(),)), new).waivers == (waiver(),)


def test_tightened_rules_keep_publication_of_the_revision_in_force() -> None:
    old = RuleSet(publication=PublicationRules(frozenset({"owner"})))
    new = RuleSet(publication=PublicationRules(frozenset({"verification"})))
    assert tighten(old, new).publication == old.publication


def test_a_dropped_mark_by_name_weakens() -> None:
    assert weakens(RuleSet(marks=(mark(),)), RuleSet()) == ("deploy-rollback would no longer be required.",)


def test_a_dropped_mark_by_tag_weakens() -> None:
    assert weakens(RuleSet(marks=(mark(tag="keys"),)), RuleSet()) == (
        "What carries the tag keys would no longer be required.",
    )


def test_a_mark_with_another_reason_or_origin_is_the_same_mark() -> None:
    assert weakens(RuleSet(marks=(mark(),)), RuleSet(marks=(mark(api=True, reason="Else."),))) == ()


def test_an_added_waiver_weakens() -> None:
    assert weakens(RuleSet(), RuleSet(waivers=(waiver(),))) == (
        f"{HERE} would get a waiver for deploy-rollback until 2027-01-31.",
    )


def test_a_prolonged_waiver_weakens() -> None:
    longer = RuleSet(waivers=(waiver(until=date(2027, 2, 1)),))
    assert weakens(RuleSet(waivers=(waiver(),)), longer) == (
        f"The waiver of {HERE} for deploy-rollback would hold until 2027-02-01 instead of 2027-01-31.",
    )


def test_a_shortened_waiver_does_not_weaken() -> None:
    shorter = RuleSet(waivers=(waiver(until=date(2027, 1, 1)),))
    assert weakens(RuleSet(waivers=(waiver(),)), shorter) == ()


def test_an_unmatched_name_comes_with_the_nearest_one() -> None:
    typo = mark("deploy-rolback")
    assert unmatched(RuleSet(marks=(typo,)), {"deploy-rollback": (), "restart": ()}) == ((typo, "deploy-rollback"),)


def test_an_unmatched_tag_comes_with_the_nearest_tag() -> None:
    typo = mark(tag="data-deletoin")
    assert unmatched(RuleSet(marks=(typo,)), {"data-deletoin-x": ("data-deletion",)}) == ((typo, "data-deletion"),)


def test_an_unmatched_name_that_resembles_nothing_comes_alone() -> None:
    assert unmatched(RuleSet(marks=(mark("zzz"),)), {"deploy-rollback": ()}) == ((mark("zzz"), None),)


def test_marks_that_match_are_not_named() -> None:
    rules = RuleSet(marks=(mark(), mark(tag="keys")))
    assert unmatched(rules, {"deploy-rollback": ("keys",)}) == ()


def test_a_flood_of_unmatched_marks_gets_nearest_names_for_the_first_alone() -> None:
    rules = RuleSet(marks=tuple(mark(f"deploy-{number:03}x") for number in range(NEAREST_MARKS_MAX + 1)))
    nearest = [word for _, word in unmatched(rules, {"deploy-001": ()})]
    assert nearest == ["deploy-001"] * NEAREST_MARKS_MAX + [None]
