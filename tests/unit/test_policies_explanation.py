"""A decision in words: who serves, why, by which rule, and what is wrong with a copy (http-api.md, explain)."""

from datetime import date

import pytest

from policies.decision import CopyState, Outcome, Requirement, Side
from policies.explanation import QUOTE_LENGTH_MAX, Account, explain
from policies.precedence import Candidate, decide
from policies.rules import FRONT_MATTER_REASON, Standing, Waiver

HERE = "github.com/acme/payments"
REQUIRED = Standing(Requirement.YES, ("The rollback path is audited.",), ("policy-file",))
WAIVED = Standing(
    Requirement.WAIVED,
    ("The rollback path is audited.",),
    ("policy-file",),
    Waiver("deploy-rollback", HERE, date(2027, 1, 31), "Runs on the old deployer", "platform-deploy", "policy-file"),
)
OPEN = Standing(Requirement.NO)


def central(state: str = "good", **facts: str) -> Account:
    return Account(CopyState(state), "1.4.0 at playbooks/rollback.yaml", **facts)


def local(state: str = "good", **facts: str) -> Account:
    return Account(CopyState(state), "0.9 at .playbooks/rollback.md", **facts)


def told(
    central_copy: Account, local_copy: Account, standing: Standing = OPEN, repository: str | None = HERE
) -> tuple[str, ...]:
    decision = decide(
        Candidate(central_copy.state, withdrawn=central_copy.withdrawn is not None),
        Candidate(local_copy.state, withdrawn=local_copy.withdrawn is not None),
        standing.requirement,
    )
    assert decision is not None
    return explain(
        decision,
        name="deploy-rollback",
        repository=repository,
        central=central_copy,
        local=local_copy,
        standing=standing,
    )


def test_a_central_playbook_that_nobody_shadows() -> None:
    assert told(central(), local("absent")) == (
        f"In {HERE}, deploy-rollback comes from the central repository: 1.4.0 at playbooks/rollback.yaml.",
        "There is no other copy of that name here, so the central one applies.",
    )


def test_the_central_catalog_is_called_by_that_name() -> None:
    assert told(central(), local("absent"), repository=None)[0].startswith("In the central catalog, deploy-rollback ")


def test_a_local_copy_that_wins() -> None:
    assert told(central(), local()) == (
        f"In {HERE}, deploy-rollback comes from the repository itself: 0.9 at .playbooks/rollback.md.",
        (
            "A repository's own playbook goes before the central one of the same name, unless the central one is required, "
            "and here it is not."
        ),
        "The central copy (1.4.0 at playbooks/rollback.yaml) goes on serving repositories without a copy of their own.",
    )


def test_a_required_playbook_that_holds() -> None:
    assert told(central(), local(), REQUIRED) == (
        f"In {HERE}, deploy-rollback comes from the central repository: 1.4.0 at playbooks/rollback.yaml.",
        (
            "The playbook is required: the central copy holds everywhere. The repository's own copy "
            "(0.9 at .playbooks/rollback.md) is refused: it is listed as such and never serves. Delete or rename it, or "
            "ask the platform team for a waiver."
        ),
        "It is made required by the central repository's policy file.",
        "The reason given: The rollback path is audited.",
    )


def test_a_waiver_with_its_end_and_what_comes_after() -> None:
    assert told(central(), local(), WAIVED)[-2:] == (
        (
            "The waiver holds through 2027-01-31 23:59:59 UTC and was approved by platform-deploy: "
            "Runs on the old deployer."
        ),
        "After that the central copy serves again.",
    )


def test_a_waiver_leaves_the_required_copy_serving_everybody_else() -> None:
    assert told(central(), local(), WAIVED)[2] == (
        "The central copy (1.4.0 at playbooks/rollback.yaml) goes on serving every repository without such a waiver."
    )


@pytest.mark.parametrize("copy", [central("broken"), Account(CopyState.ABSENT), central(withdrawn="Leaks keys.")])
def test_a_waiver_after_which_nobody_serves(copy: Account) -> None:
    assert "After that nobody serves it, unless a central copy can be used by then." in told(copy, local(), WAIVED)


def test_a_waiver_that_is_not_why_the_copy_serves_says_nothing_of_after() -> None:
    assert told(central(), local("absent"), WAIVED)[-1].startswith("The waiver holds through 2027-01-31")


def test_a_required_playbook_that_nobody_shadows_warns_of_shadowing_it() -> None:
    assert told(central(), local("absent"), REQUIRED)[-1] == (
        "If this repository had a good copy of its own, it would be refused."
    )


def test_a_broken_copy_with_its_problem() -> None:
    assert told(central(), local("broken", problem="line 3: unknown key `preconditons`"))[-2:] == (
        "The repository's own copy does not load, and no earlier good version of it is known.",
        "The problem: line 3: unknown key `preconditons`.",
    )


def test_a_held_copy() -> None:
    assert told(central("held"), local("absent"))[-1] == (
        "The central copy is held: what is newest of it cannot be used, so its last good version stands for it until "
        "that is mended or deleted."
    )


def test_an_ambiguous_copy() -> None:
    assert told(central(), local("ambiguous"))[-1] == (
        "The repository's own copy is ambiguous: files with different content claim the name, and none is chosen."
    )


def test_a_withdrawn_local_copy() -> None:
    assert told(central(), local(withdrawn="Leaks keys")) == (
        f"In {HERE}, nobody serves deploy-rollback: it is unavailable.",
        (
            "It is the turn of the repository's own copy (0.9 at .playbooks/rollback.md), and the platform team withdrew "
            "exactly that copy. No other copy takes its place in silence. Publish a corrected version, or ask the platform "
            "team to take the withdrawal back."
        ),
        "The repository's own copy was withdrawn and never serves: Leaks keys.",
    )


def test_a_withdrawn_required_copy_is_the_central_ones_turn() -> None:
    found = told(central(withdrawn=""), local(), REQUIRED)
    assert found[1].startswith("It is the turn of the central copy (1.4.0 at playbooks/rollback.yaml)")
    assert found[-1] == "The central copy was withdrawn and never serves: no reason was given."


def test_a_withdrawn_central_copy_that_is_alone() -> None:
    assert "the turn of the central copy" in told(central(withdrawn="Bad."), local("absent"))[1]


def test_a_withdrawn_copy_behind_the_serving_one_serves_nowhere() -> None:
    assert not any("goes on serving" in sentence for sentence in told(central(withdrawn="Bad."), local()))


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (("api",), "by a mark made through the API."),
        (("front-matter", "api"), "by the central playbook itself and a mark made through the API."),
        (
            ("front-matter", "policy-file", "api"),
            "by the central playbook itself, the central repository's policy file and a mark made through the API.",
        ),
    ],
)
def test_all_places_that_require_it_are_named(by, words: str) -> None:
    found = told(central(), local(), Standing(Requirement.YES, ("Audited.",), by))
    assert f"It is made required {words}" in found


def test_what_a_file_that_never_loaded_says_of_itself_is_not_claimed_to_be_known() -> None:
    standing = Standing(Requirement.YES, (FRONT_MATTER_REASON,), ("front-matter",))
    found = told(central("broken"), local(), standing)
    assert "Its central file does not load, and counts as required until it does." in found
    assert not any("It is made required by" in sentence for sentence in found)


def test_a_rule_is_named_beside_a_file_that_never_loaded() -> None:
    standing = Standing(Requirement.YES, (FRONT_MATTER_REASON, "Audited."), ("front-matter", "api"))
    found = told(central("broken"), local(), standing)
    assert "It is made required by a mark made through the API." in found
    assert "Its central file does not load, and counts as required until it does." in found


def test_front_matter_gives_no_reason_of_its_own() -> None:
    found = told(central(), local(), Standing(Requirement.YES, (FRONT_MATTER_REASON,), ("front-matter",)))
    assert found[-1] == "It is made required by the central playbook itself."


def test_a_copy_without_a_label_is_called_by_the_name() -> None:
    assert told(Account(CopyState.GOOD), local("absent"))[0].endswith("from the central repository: deploy-rollback.")


def test_a_foreign_text_of_many_lines_becomes_one() -> None:
    assert told(central(), local("broken", problem="a\nIn b,\r\n\tc"))[-1] == "The problem: a In b, c."


def test_a_long_foreign_text_is_cut() -> None:
    sentence = told(central(), local("broken", problem="x" * 10_000))[-1]
    assert sentence == "The problem: " + "x" * (QUOTE_LENGTH_MAX - 1) + "…"


def test_braces_in_a_foreign_text_are_text() -> None:
    label = Account(CopyState.GOOD, "{name.__class__} at {0}")
    assert told(label, local("absent"))[0].endswith("from the central repository: {name.__class__} at {0}.")


@pytest.mark.parametrize("central_state", list(CopyState))
@pytest.mark.parametrize("local_state", list(CopyState))
@pytest.mark.parametrize("standing", [OPEN, REQUIRED, WAIVED], ids=["no", "yes", "waived"])
def test_every_decision_is_told_in_whole_sentences(
    central_state: CopyState, local_state: CopyState, standing: Standing
) -> None:
    decision = decide(Candidate(central_state), Candidate(local_state), standing.requirement)
    if decision is None:
        return
    found = told(central(central_state), local(local_state), standing)
    assert len(found) >= 2
    assert all(sentence.endswith(".") and "{" not in sentence for sentence in found)


def test_the_side_that_serves_is_the_side_that_is_named() -> None:
    decision = decide(Candidate(CopyState.BROKEN), Candidate(CopyState.GOOD), Requirement.NO)
    assert decision is not None
    assert (decision.outcome, decision.serves) == (Outcome.CENTRAL_BROKEN, Side.LOCAL)
    assert "comes from the repository itself" in told(central("broken"), local())[0]
