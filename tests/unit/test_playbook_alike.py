"""Which playbook was meant by a name that there is none of."""

import pytest

from registry.playbook.spelling import alike

NAMES = ("clean-up-experiment", "deploy-rollback", "rotate-signing-key", "rotate-tls-certificate", "triage-incident")


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("deploy-rolback", "deploy-rollback"),
        ("rollback-deploy", "deploy-rollback"),
        ("rollback", "deploy-rollback"),
        ("experiment-clean-up", "clean-up-experiment"),
        ("triage-incidents", "triage-incident"),
        ("rotate-key", "rotate-signing-key"),
    ],
)
def test_a_name_that_is_misspelt_or_of_the_same_words_is_found(name, first):
    assert alike(name, NAMES)[0] == first


def test_a_name_like_none_finds_none():
    assert alike("bake-a-cake", NAMES) == ()


def test_equally_likely_names_are_in_the_order_of_the_alphabet():
    assert alike("rotate-x", ("rotate-b", "rotate-a")) == ("rotate-a", "rotate-b")


def test_no_more_than_were_asked_for_are_named():
    assert len(alike("a-b", [f"a-{n}" for n in range(9)], at_most=2)) == 2


def test_there_may_be_no_names_at_all():
    assert alike("a", ()) == ()
