"""What a playbook must carry (merge.md, The policy file)."""

from policies.publication import missing
from policies.ruleset import PublicationRules


def test_fields_that_are_asked_for_and_not_there_are_named_in_order() -> None:
    rules = PublicationRules(frozenset({"verification", "owner", "stop"}))
    assert missing({"owner", "name"}, rules) == ("stop", "verification")


def test_nothing_is_asked_for_by_default() -> None:
    assert missing((), PublicationRules()) == ()
