"""Who may do what: default deny for changes, the access list for executing (merge.md, The policy file)."""

import pytest

from policies.access import (
    Action,
    Permission,
    Principal,
    Scope,
    Subject,
    may,
    may_execute,
    may_record_worktree,
    runs_seen,
)
from policies.ruleset import AccessRule, RuleSet, Who

MONEY = AccessRule(
    "deny",
    risk=frozenset({"money"}),
    unless=Who(teams=frozenset({"finance-ops"})),
    reason="Money moves only by finance-ops.",
)
PAYMENTS = AccessRule("allow", Who(teams=frozenset({"payments"})), tags=frozenset({"payments"}))
POLICY = (PAYMENTS, MONEY)


def who(*scopes: Scope, team: str | None = "payments", name: str = "ann") -> Principal:
    return Principal(name, team, frozenset(scope.value for scope in scopes))


def runs(principal: Principal | None, *rules: AccessRule, **facts: object) -> Permission:
    return may_execute(principal, Subject("refund", **facts), rules)  # type: ignore[arg-type]


def executor(team: str | None = "payments", name: str = "ann") -> Principal:
    return who(Scope.PLAYBOOK_EXECUTE, team=team, name=name)


@pytest.mark.parametrize("action", list(Action))
def test_nobody_may_do_anything_without_a_token(action: Action) -> None:
    assert not may(None, action, team="payments").allowed


@pytest.mark.parametrize("action", [action for action in Action if action is not Action.READ])
def test_open_reading_opens_reading_alone(action: Action) -> None:
    assert not may(None, action, team="payments", anonymous_read=True).allowed


def test_reading_may_be_open_to_everybody() -> None:
    assert may(None, Action.READ, anonymous_read=True).allowed


@pytest.mark.parametrize("action", list(Action))
def test_a_token_without_scopes_may_do_nothing(action: Action) -> None:
    assert not may(who(), action, team="payments").allowed


def test_an_unknown_scope_counts_for_nothing() -> None:
    assert not may(Principal("ann", "payments", frozenset({"everything"})), Action.READ).allowed


def test_a_refusal_names_the_scope_that_is_missing() -> None:
    assert may(who(Scope.CATALOG_READ), Action.SET_POLICY).reason == "This needs a token with the scope policy:write."


@pytest.mark.parametrize(
    ("scope", "action"),
    [
        (Scope.CATALOG_READ, Action.READ),
        (Scope.POLICY_WRITE, Action.READ_AUDIT),
        (Scope.POLICY_WRITE, Action.SET_POLICY),
        (Scope.ADMIN, Action.MANAGE_TOKENS),
    ],
)
def test_a_scope_allows_its_action(scope: Scope, action: Action) -> None:
    assert may(who(scope), action).allowed


@pytest.mark.parametrize("action", [Action.REGISTER, Action.DEREGISTER, Action.SYNC, Action.APPLY])
def test_a_team_may_change_its_own_repository(action: Action) -> None:
    assert may(who(Scope.REPOSITORY_WRITE), action, team="payments").allowed


@pytest.mark.parametrize("action", [Action.REGISTER, Action.DEREGISTER, Action.SYNC, Action.APPLY])
@pytest.mark.parametrize("team", ["checkout", None])
def test_a_team_may_not_change_what_is_not_its_own(action: Action, team: str | None) -> None:
    assert not may(who(Scope.REPOSITORY_WRITE), action, team=team).allowed


def test_a_token_of_no_team_is_not_of_the_team_nobody() -> None:
    assert not may(who(Scope.REPOSITORY_WRITE, team=None), Action.REGISTER, team=None).allowed


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("central", [False, True])
def test_an_admin_may_do_everything(*, action: Action, central: bool) -> None:
    assert may(who(Scope.ADMIN, team=None), action, team="checkout", central=central).allowed


def test_the_platform_team_may_sync_any_repository() -> None:
    assert may(who(Scope.POLICY_WRITE, team="platform"), Action.SYNC, team="checkout").allowed


def test_the_platform_team_may_not_apply_the_revision_of_another_team() -> None:
    assert not may(who(Scope.POLICY_WRITE, team="platform"), Action.APPLY, team="payments").allowed


@pytest.mark.parametrize("action", [Action.SYNC, Action.APPLY])
def test_central_is_applied_and_synced_by_the_platform_team(action: Action) -> None:
    assert may(who(Scope.POLICY_WRITE, team="platform"), action, team="x", central=True).allowed


@pytest.mark.parametrize("action", [Action.SYNC, Action.APPLY])
def test_central_is_not_applied_by_a_token_of_its_team_alone(action: Action) -> None:
    assert not may(who(Scope.REPOSITORY_WRITE), action, team="payments", central=True).allowed


def test_anonymous_never_executes_even_where_a_rule_allows_everybody() -> None:
    assert not runs(None, AccessRule("allow")).allowed


def test_a_token_without_the_scope_never_executes_even_where_a_rule_allows_it() -> None:
    assert not runs(who(Scope.CATALOG_READ), AccessRule("allow")).allowed


def test_any_token_with_the_scope_executes_where_no_rule_speaks() -> None:
    assert runs(executor(team=None)) == Permission(
        allowed=True, reason="No access rule speaks of it: any token with playbook:execute may."
    )


def test_a_deny_rule_denies_with_its_reason() -> None:
    assert runs(executor("checkout"), *POLICY, risk=frozenset({"money", "read"})) == Permission(
        allowed=False, reason="Money moves only by finance-ops.", rule=MONEY
    )


def test_a_deny_rule_passes_over_its_exception() -> None:
    assert runs(executor("finance-ops"), *POLICY, risk=frozenset({"money"})).rule is None


def test_a_deny_rule_passes_over_a_principal_in_its_exception() -> None:
    rule = AccessRule("deny", unless=Who(principals=frozenset({"ann"})))
    assert runs(executor(), rule).allowed


def test_a_deny_rule_leaves_other_risks_alone() -> None:
    assert runs(executor("checkout"), *POLICY, risk=frozenset({"read"})).allowed


def test_the_first_rule_that_matches_decides() -> None:
    found = runs(executor("payments"), *POLICY, tags=frozenset({"payments"}), risk=frozenset({"money"}))
    assert (found.allowed, found.rule) == (True, PAYMENTS)


def test_in_the_other_order_the_other_rule_decides() -> None:
    found = runs(executor("payments"), MONEY, PAYMENTS, tags=frozenset({"payments"}), risk=frozenset({"money"}))
    assert (found.allowed, found.rule) == (False, MONEY)


def test_a_rule_for_a_team_leaves_a_token_of_no_team_alone() -> None:
    assert runs(executor(team=None), AccessRule("deny", Who(teams=frozenset({"payments"})))).allowed


def test_a_rule_may_name_a_principal() -> None:
    rule = AccessRule("deny", Who(principals=frozenset({"ann"})))
    assert not runs(executor(), rule).allowed
    assert runs(executor(name="bob"), rule).allowed


def test_a_rule_with_names_speaks_of_these_alone() -> None:
    assert runs(executor(), AccessRule("deny", names=frozenset({"deploy"}))).allowed
    assert not runs(executor(), AccessRule("deny", names=frozenset({"refund"}))).allowed


def test_a_rule_speaks_only_where_all_its_filters_agree() -> None:
    rule = AccessRule("deny", names=frozenset({"refund"}), tags=frozenset({"money"}))
    assert runs(executor(), rule, tags=frozenset({"keys"})).allowed


def test_an_empty_exception_excepts_nobody() -> None:
    assert not runs(executor(), AccessRule("deny", unless=Who())).allowed


def test_a_deny_rule_binds_an_admin_too() -> None:
    assert not runs(who(Scope.ADMIN), MONEY, risk=frozenset({"money"})).allowed


def test_a_rule_without_a_reason_gets_a_sentence() -> None:
    assert runs(executor(), AccessRule("deny")).reason == (
        "A rule of the policy file does not allow this principal to execute refund."
    )


def test_what_serves_by_waiver_is_for_its_own_team() -> None:
    assert runs(executor("payments"), by_waiver=True, repository_team="payments").allowed


@pytest.mark.parametrize("owner", ["checkout", None])
def test_what_serves_by_waiver_is_for_no_other_team_even_where_a_rule_allows_it(owner: str | None) -> None:
    found = runs(executor("payments"), AccessRule("allow"), by_waiver=True, repository_team=owner)
    assert (found.allowed, found.rule) == (False, None)


def test_what_serves_by_waiver_is_for_an_admin() -> None:
    assert runs(who(Scope.ADMIN, team=None), by_waiver=True, repository_team="payments").allowed


def test_what_serves_by_waiver_is_still_under_the_access_rules() -> None:
    assert not runs(executor(), AccessRule("deny"), by_waiver=True, repository_team="payments").allowed


def records(principal: Principal | None, *rules: AccessRule, worktree: str = "allow", **facts: object) -> Permission:
    subject = Subject("refund", **facts)  # type: ignore[arg-type]
    return may_record_worktree(principal, subject, RuleSet(access=rules, worktree=worktree))  # type: ignore[arg-type]


def test_a_working_trees_copy_is_recorded_for_who_may_execute_it() -> None:
    assert records(executor()).allowed


@pytest.mark.parametrize("principal", [None, who(), who(Scope.CATALOG_READ)])
def test_a_working_trees_copy_is_recorded_for_nobody_else(principal: Principal | None) -> None:
    assert not records(principal).allowed


def test_a_working_trees_copy_is_under_the_access_rules() -> None:
    assert records(executor(), MONEY, risk=frozenset({"money"})).reason == "Money moves only by finance-ops."


@pytest.mark.parametrize("principal", [executor(), who(Scope.ADMIN)])
def test_where_the_policy_file_denies_working_trees_nobody_records_a_run_of_one(principal: Principal) -> None:
    found = records(principal, worktree="deny")
    assert (found.allowed, found.reason) == (False, "The policy file does not allow runs of working-tree copies.")


@pytest.mark.parametrize(
    ("principal", "opened_by", "team", "sees"),
    [
        (executor(), "ann", None, True),
        (executor(), "bob", "payments", True),
        (executor(), "bob", "checkout", False),
        (executor(), "bob", None, False),
        (executor(team=None), "bob", None, False),
        (executor(team=None), "ann", "checkout", True),
        (who(name="ann"), "ann", "checkout", True),
        (who(Scope.POLICY_WRITE, team="platform"), "bob", "checkout", True),
        (who(Scope.ADMIN, team=None), "bob", None, True),
    ],
)
def test_runs_are_seen_by_who_opened_them_by_their_team_and_by_the_platform(
    principal: Principal, opened_by: str, team: str | None, *, sees: bool
) -> None:
    assert runs_seen(principal).covers(opened_by, team) is sees
