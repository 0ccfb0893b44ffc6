from datetime import date

import pytest

from policies.ruleset import AccessRule, Mark, PublicationRules, RuleSet, Waiver, Who
from registry.playbook.policy_file import read_policy

WAIVER = "{name: deploy_rollback, repository: 'git@GitHub.com:Acme/Billing.git', until: 2027-01-31, reason: r, approved_by: p}"


def read(text, path="policy.yaml"):
    return read_policy(path, text if isinstance(text, bytes) else text.encode())


def codes(text):
    rules, problems = read(text)
    assert rules is None
    return [(each.code, each.line) for each in problems]


def test_an_empty_policy_has_no_rules():
    assert read("policy: 1\n") == (RuleSet(), ())


def test_names_tags_and_repositories_are_folded():
    rules, problems = read(
        f"policy: 1\nrequired: [{{name: Deploy_Rollback, reason: r}}, {{tag: Data.Deletion}}]\nwaivers: [{WAIVER}]\n"
    )
    assert problems == ()
    assert set(rules.marks) == {
        Mark("policy-file", "deploy-rollback", None, "r"),
        Mark("policy-file", None, "data-deletion", ""),
    }
    assert rules.waivers == (
        Waiver("deploy-rollback", "github.com/acme/billing", date(2027, 1, 31), "r", "p", "policy-file"),
    )


def test_publication_and_access_are_read_in_the_order_of_the_file():
    rules, _ = read(
        "policy: 1\npublication: {owner: required, verification: required}\n"
        "access:\n  - {allow: {teams: [payments]}, tags: [Payments]}\n"
        "  - {deny: {}, risk: [money], unless: {teams: [finance-ops]}, reason: no}\n"
    )
    assert rules.publication == PublicationRules(frozenset({"owner", "verification"}))
    assert rules.access == (
        AccessRule("allow", Who(teams=frozenset({"payments"})), tags=frozenset({"payments"})),
        AccessRule("deny", risk=frozenset({"money"}), unless=Who(teams=frozenset({"finance-ops"})), reason="no"),
    )


def test_json_is_read_by_the_end_of_the_files_name():
    assert read('{"policy": 1}', "policy.json") == (RuleSet(), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("policy: 2\n", [("field-type", 1)]),
        ("required: []\n", [("field-missing", 1)]),
        ("policy: 1\nrequird: []\n", [("unknown-key", 2)]),
        ("policy: 1\nrequired: [{reason: r}]\n", [("field-missing", 2)]),
        ("policy: 1\nrequired: [{name: a, tag: b}]\n", [("field-type", 2)]),
        ("policy: 1\nrequired: [{name: '?'}]\n", [("name-invalid", 2)]),
        ("policy: 1\nrequired:\n", [("field-type", 2)]),
        (f"policy: 1\nwaivers: [{WAIVER}]\n".replace("01-31", "02-31"), [("field-type", 2)]),
        (f"policy: 1\nwaivers: [{WAIVER}]\n".replace("2027-01-31", "soon"), [("field-type", 2)]),
        (
            f"policy: 1\nwaivers: [{WAIVER}]\n".replace("git@GitHub.com:Acme/Billing.git", "billing"),
            [("field-type", 2)],
        ),
        (f"policy: 1\nwaivers: [{WAIVER}]\n".replace(", approved_by: p", ""), [("field-missing", 2)]),
        ("policy: 1\npublication: {ownr: required}\n", [("unknown-key", 2)]),
        ("policy: 1\naccess: [{tags: [a]}]\n", [("field-missing", 2)]),
        ("policy: 1\naccess: [{allow: {}, deny: {}}]\n", [("field-type", 2)]),
        ("policy: 1\nx: ]", [("yaml-syntax", 2)]),
        ("", [("yaml-syntax", 1)]),
        (b"policy: 1\n\xff", [("encoding-invalid", 2)]),
        ("policy: 1\nx-a: 1e999\n", [("number-out-of-range", 1)]),
    ],
)
def test_anything_wrong_refuses_the_whole_file(text, expected):
    assert codes(text) == expected


def test_an_empty_list_of_teams_is_not_everybody():
    assert codes("policy: 1\naccess: [{allow: {teams: []}}]\n") == [("field-type", 2)]


@pytest.mark.parametrize(
    ("text", "said"), [("", "allow"), ("worktree: allow\n", "allow"), ("worktree: deny\n", "deny")]
)
def test_what_is_said_of_working_trees_is_read(text, said):
    rules, problems = read("policy: 1\n" + text)
    assert (rules.worktree, problems) == (said, ())


@pytest.mark.parametrize("text", ["worktree: never", "worktree: false", "worktree:", "worktre: deny"])
def test_anything_else_said_of_working_trees_refuses_the_file(text):
    assert len(codes("policy: 1\n" + text)) == 1
