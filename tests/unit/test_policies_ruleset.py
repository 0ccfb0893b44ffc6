"""Rules as JSON: canonical order, read back as they were, refused where they are anything else."""

from datetime import date
from typing import Any

import pytest

from policies.ruleset import (
    AccessRule,
    Mark,
    PublicationRules,
    RuleSet,
    Waiver,
    Who,
    Withdrawal,
    combine,
    from_json,
    to_json,
)

RULES = RuleSet(
    marks=(Mark("api", "b", None, "B."), Mark("policy-file", None, "t", "T."), Mark("policy-file", "c", None, "C.")),
    waivers=(
        Waiver("b", "h/o/r", date(2027, 1, 31), "R.", "ann", "policy-file"),
        Waiver("a", "h/o/r", date(2027, 1, 31), "R.", "ann", "api"),
    ),
    withdrawals=(Withdrawal("b", "sha256:1", "W."), Withdrawal("a", "sha256:2", "W.")),
    publication=PublicationRules(frozenset({"verification", "owner"})),
    access=(
        AccessRule("deny", risk=frozenset({"money"}), unless=Who(teams=frozenset({"finance-ops"})), reason="No."),
        AccessRule("allow", Who(frozenset({"x"}), frozenset({"y"})), frozenset({"t"}), frozenset({"a"})),
    ),
)


def broken(*path: str | int, value: Any) -> dict[str, Any]:
    data: Any = to_json(RULES)
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return data


def test_rules_are_read_back_as_they_were_written() -> None:
    assert from_json(to_json(RULES)) == combine(RULES)


def test_empty_rules_are_read_back_as_empty() -> None:
    assert from_json(to_json(RuleSet())) == RuleSet()


def test_the_json_form_is_fixed() -> None:
    assert to_json(RULES) == {
        "marks": [
            {"origin": "policy-file", "name": None, "tag": "t", "reason": "T."},
            {"origin": "policy-file", "name": "c", "tag": None, "reason": "C."},
            {"origin": "api", "name": "b", "tag": None, "reason": "B."},
        ],
        "waivers": [
            {
                "name": name,
                "repository": "h/o/r",
                "until": "2027-01-31",
                "reason": "R.",
                "approved_by": "ann",
                "origin": origin,
            }
            for name, origin in (("a", "api"), ("b", "policy-file"))
        ],
        "withdrawals": [
            {"name": "a", "digest": "sha256:2", "reason": "W."},
            {"name": "b", "digest": "sha256:1", "reason": "W."},
        ],
        "publication": ["owner", "verification"],
        "access": [
            {
                "effect": "deny",
                "who": {"teams": [], "principals": []},
                "tags": [],
                "names": [],
                "risk": ["money"],
                "unless": {"teams": ["finance-ops"], "principals": []},
                "reason": "No.",
            },
            {
                "effect": "allow",
                "who": {"teams": ["x"], "principals": ["y"]},
                "tags": ["t"],
                "names": ["a"],
                "risk": [],
                "unless": {"teams": [], "principals": []},
                "reason": "",
            },
        ],
    }


def test_access_rules_keep_their_order_because_the_first_match_decides() -> None:
    assert [rule.effect for rule in combine(RULES).access] == ["deny", "allow"]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({}, KeyError),
        (broken("marks", value="text"), TypeError),
        (broken("marks", value={}), TypeError),
        (broken("marks", 0, value=1), TypeError),
        (broken("marks", 0, "reason", value=None), TypeError),
        (broken("marks", 0, "origin", value="elsewhere"), ValueError),
        (broken("marks", 0, "tag", value=None), ValueError),
        (broken("waivers", 0, "until", value="soon"), ValueError),
        (broken("access", 0, "effect", value="maybe"), ValueError),
        (broken("access", 0, "who", value=None), TypeError),
        (broken("worktree", value="maybe"), ValueError),
    ],
)
def test_what_to_json_never_wrote_is_refused(data: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_json(data)


def test_rules_that_say_nothing_of_working_trees_keep_their_form() -> None:
    assert "worktree" not in to_json(RULES)


def test_rules_that_deny_working_trees_are_read_back() -> None:
    assert from_json(to_json(RuleSet(worktree="deny"))) == RuleSet(worktree="deny")


@pytest.mark.parametrize(
    ("one", "other", "both"), [("allow", "allow", "allow"), ("allow", "deny", "deny"), ("deny", "allow", "deny")]
)
def test_one_set_that_denies_working_trees_is_enough(one: Any, other: Any, both: str) -> None:
    assert combine(RuleSet(worktree=one), RuleSet(worktree=other)).worktree == both
