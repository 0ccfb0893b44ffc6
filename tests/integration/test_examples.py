"""The example repositories tell the stories that examples/README.md promises."""

from datetime import date
from pathlib import Path

import pytest

from policies.decision import Requirement
from policies.rules import standing
from policies.ruleset import RuleSet
from registry.playbook.model import Level, Playbook, Problem, Reading
from registry.playbook.policy_file import read_policy
from registry.playbook.reading import read_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
READ_SUFFIXES = {".yaml", ".yml", ".json", ".md"}
BROKEN = {"legacy-billing/playbooks/close-billing-month.yaml", "legacy-billing-next/playbooks/replay-invoices.yaml"}


def readings(repository: str) -> dict[str, Reading]:
    """path in the repository -> what its file gave, sorted by path."""
    root = EXAMPLES / repository
    role = "central" if repository == "central" else "service"
    paths = sorted(path for path in (root / "playbooks").rglob("*") if path.suffix in READ_SUFFIXES)
    found = {}
    for path in paths:
        inside = path.relative_to(root).as_posix()
        found[inside] = read_file(inside, path.read_bytes(), role=role)
    return found


def playbooks(repository: str) -> dict[str, Playbook]:
    return {reading.playbook.key: reading.playbook for reading in readings(repository).values() if reading.playbook}


def central_rules() -> RuleSet:
    rules, problems = read_policy("policy.yaml", (EXAMPLES / "central" / "policy.yaml").read_bytes())
    assert problems == ()
    assert rules is not None
    return rules


def error_in(repository: str, path: str) -> Problem:
    (error,) = [problem for problem in readings(repository)[path].problems if problem.level is Level.ERROR]
    return error


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path.relative_to(EXAMPLES), id=path.relative_to(EXAMPLES).as_posix())
        for path in sorted(EXAMPLES.glob("*/playbooks/**/*.*"))
        if path.relative_to(EXAMPLES).as_posix() not in BROKEN
    ],
)
def test_a_good_example_loads_without_a_single_remark(path: Path):
    repository, *inside = path.parts
    reading = readings(repository)["/".join(inside)]
    assert reading.problems == ()
    assert reading.playbook is not None


def test_the_company_has_at_least_eight_playbooks_in_all_three_spellings():
    found = readings("central")
    assert len(found) >= 8
    assert {Path(path).suffix for path in found} == {".yaml", ".json", ".md"}


def test_the_policy_requires_two_playbooks_one_by_name_and_one_by_tag():
    required = {
        key
        for key, playbook in playbooks("central").items()
        if standing(
            central_rules(),
            name=key,
            tags=playbook.tags,
            front_matter=playbook.required,
            repository=None,
            on=date(2026, 12, 1),
        ).requirement
        is Requirement.YES
    }
    assert required == {"deploy-rollback", "delete-customer-data"}


def test_payments_shadows_a_playbook_that_is_not_required():
    shared = playbooks("payments").keys() & playbooks("central").keys()
    assert shared == {"rotate-signing-key"}


def test_checkout_tries_to_shadow_a_required_one_under_another_file_name():
    shared = playbooks("checkout").keys() & playbooks("central").keys()
    assert shared == {"deploy-rollback"}


def test_the_second_commit_of_legacy_billing_breaks_what_was_good_in_the_first():
    path = "playbooks/replay-invoices.yaml"
    assert readings("legacy-billing")[path].playbook is not None
    broken = readings("legacy-billing-next")[path]
    assert broken.playbook is None
    assert broken.claims == "replay-invoices"


def test_the_typo_is_named_at_its_line_and_column_with_the_word_that_was_meant():
    error = error_in("legacy-billing-next", "playbooks/replay-invoices.yaml")
    assert (error.code, error.line, error.column) == ("unknown-key", 15, 1)
    assert "preconditions" in error.message


def test_the_list_that_was_never_closed_is_reported_where_it_opens():
    error = error_in("legacy-billing", "playbooks/close-billing-month.yaml")
    assert (error.code, error.line, error.column) == ("yaml-syntax", 7, 7)


def test_the_file_that_never_loaded_still_claims_its_name():
    reading = readings("legacy-billing")["playbooks/close-billing-month.yaml"]
    assert reading.claims == "close-billing-month"


@pytest.mark.parametrize("repository", ["central", "payments"])
def test_every_playbook_names_tasks_that_must_find_it(repository: str):
    assert [key for key, playbook in playbooks(repository).items() if not playbook.should_find] == []


def test_the_installed_package_carries_the_examples():
    link = EXAMPLES.parent / "registry" / "examples"
    assert link.resolve() == EXAMPLES
