"""May this principal do this? Default deny (merge.md, The policy file; http-api.md, Write).

Finding a playbook is never filtered by who asks; permission is checked when something is changed or executed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from policies.ruleset import AccessRule, RuleSet, Who


class Scope(StrEnum):
    """What a token may carry. `admin` stands for all of them: its holder could make such a token anyway."""

    CATALOG_READ = "catalog:read"
    REPOSITORY_WRITE = "repository:write"
    POLICY_WRITE = "policy:write"
    PLAYBOOK_EXECUTE = "playbook:execute"
    ADMIN = "admin"


class Action(StrEnum):
    """What a caller may ask for, executing a playbook apart (see `may_execute`)."""

    READ = "read"
    READ_AUDIT = "read-audit"
    REGISTER = "register"
    DEREGISTER = "deregister"
    SYNC = "sync"
    APPLY = "apply"
    SET_POLICY = "set-policy"
    MANAGE_TOKENS = "manage-tokens"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, as the token says: `scopes` are words of `Scope`, others count for nothing."""

    name: str
    team: str | None
    scopes: frozenset[str]

    def holds(self, scope: Scope) -> bool:
        """Whether the token carries that scope, by itself or through `admin`."""
        return scope.value in self.scopes or Scope.ADMIN.value in self.scopes


@dataclass(frozen=True, slots=True)
class Subject:
    """The copy that is to be executed.

    `risk` holds the risk classes of its tools. `by_waiver` says that it serves by a waiver, and `repository_team` is
    the team of the repository whose catalog was asked, None where nobody registered it.
    """

    name: str
    tags: frozenset[str] = frozenset()
    risk: frozenset[str] = frozenset()
    by_waiver: bool = False
    repository_team: str | None = None


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether it may be done, with one sentence of reason; `rule` is the access rule that decided, if one did."""

    allowed: bool
    reason: str
    rule: AccessRule | None = None


_SCOPE = {
    Action.READ: Scope.CATALOG_READ,
    Action.READ_AUDIT: Scope.POLICY_WRITE,
    Action.REGISTER: Scope.REPOSITORY_WRITE,
    Action.DEREGISTER: Scope.REPOSITORY_WRITE,
    Action.SYNC: Scope.REPOSITORY_WRITE,
    Action.APPLY: Scope.REPOSITORY_WRITE,
    Action.SET_POLICY: Scope.POLICY_WRITE,
    Action.MANAGE_TOKENS: Scope.ADMIN,
}
_EXECUTE = Scope.PLAYBOOK_EXECUTE.value
# Read by models, who cannot mend it: whom to tell what is the next step.
_NO_TOKEN = (
    f"Executing a playbook always needs a token with the scope {_EXECUTE}, and none was sent: ask whoever set up this "
    "host to give it one."
)
_NO_EXECUTE = f"Executing a playbook needs a token with the scope {_EXECUTE}, which this one has not: ask for one."
_OF_A_TEAM = frozenset({Action.REGISTER, Action.DEREGISTER, Action.SYNC, Action.APPLY})
_OF_CENTRAL = frozenset({Action.SYNC, Action.APPLY})


def may(
    principal: Principal | None,
    action: Action,
    *,
    team: str | None = None,
    central: bool = False,
    anonymous_read: bool = False,
) -> Permission:
    """Whether `principal` (None: nobody signed in) may do `action`; what is not allowed here is denied.

    `team` is the team of the repository concerned; a registration that changes hands is asked for both teams.
    `central` says that the repository is the central one, which belongs to the platform team (`policy:write`).
    """
    if principal is None:
        if action is Action.READ and anonymous_read:
            return Permission(allowed=True, reason="Reading is open to everybody here.")
        return Permission(allowed=False, reason="This needs a token: send it as `Authorization: Bearer <token>`.")
    platform = (central and action in _OF_CENTRAL) or (action is Action.SYNC and principal.holds(Scope.POLICY_WRITE))
    needed = Scope.POLICY_WRITE if platform else _SCOPE[action]
    if not principal.holds(needed):
        return Permission(allowed=False, reason=f"This needs a token with the scope {needed.value}.")
    if action not in _OF_A_TEAM or platform:
        return Permission(allowed=True, reason=f"The token has the scope {needed.value}.")
    return _for_team(principal, team)


def may_execute(principal: Principal | None, subject: Subject, rules: Iterable[AccessRule]) -> Permission:
    """Whether `principal` may execute that copy: a token with `playbook:execute`, then the first rule that matches.

    Without a token never. A copy that serves by waiver is for its repository's own team and admins, before any rule:
    the repository in a URL is routing, never authority (merge.md, The policy file).
    """
    if principal is None:
        return Permission(allowed=False, reason=_NO_TOKEN)
    if not principal.holds(Scope.PLAYBOOK_EXECUTE):
        return Permission(allowed=False, reason=_NO_EXECUTE)
    if subject.by_waiver:
        of_team = _for_team(principal, subject.repository_team)
        if not of_team.allowed:
            return Permission(
                allowed=False,
                reason=f"{subject.name} serves by a waiver here: only the repository's own team may execute it.",
            )
    for rule in rules:
        if matches(rule, principal, subject):
            return _by_rule(rule, subject)
    return Permission(allowed=True, reason="No access rule speaks of it: any token with playbook:execute may.")


def may_record_worktree(principal: Principal | None, subject: Subject, rules: RuleSet) -> Permission:
    """Whether `principal` may have a run of a working tree's copy recorded, as far as it is a matter of who asks.

    Where the policy file says `worktree: deny` nobody may; else whoever may execute such a copy. That a required name
    is never run from a working tree is not said here: it holds for everybody (merge.md, The policy file).
    """
    permission = may_execute(principal, subject, rules.access)
    if permission.allowed and rules.worktree == "deny":
        return Permission(allowed=False, reason="The policy file does not allow runs of working-tree copies.")
    return permission


@dataclass(frozen=True, slots=True)
class RunsSeen:
    """Which runs a principal may look at: all of them, or those that it opened and those of its team's repositories."""

    everybodys: bool
    principal: str
    team: str | None

    def covers(self, opened_by: str, team: str | None) -> bool:
        """Whether a run that `opened_by` opened in a repository of `team` is among them."""
        return self.everybodys or opened_by == self.principal or (team is not None and team == self.team)


def runs_seen(principal: Principal) -> RunsSeen:
    """The runs that `principal` may look at: the platform team and admins see everybody's."""
    return RunsSeen(principal.holds(Scope.POLICY_WRITE), principal.name, principal.team)


def matches(rule: AccessRule, principal: Principal, subject: Subject) -> bool:
    """Whether the rule decides for this principal and this copy: who, every filter that is set, and no exception."""
    return (
        (rule.who == Who() or _names(rule.who, principal))
        and (not rule.tags or not rule.tags.isdisjoint(subject.tags))
        and (not rule.names or subject.name in rule.names)
        and (not rule.risk or not rule.risk.isdisjoint(subject.risk))
        and not _names(rule.unless, principal)
    )


def _names(who: Who, principal: Principal) -> bool:
    return principal.name in who.principals or (principal.team is not None and principal.team in who.teams)


def _for_team(principal: Principal, team: str | None) -> Permission:
    if principal.holds(Scope.ADMIN):
        return Permission(allowed=True, reason="The token has the scope admin.")
    if team is not None and principal.team == team:
        return Permission(allowed=True, reason=f"The token is of the team {team}.")
    owner = "nobody but an admin" if team is None else f"the team {team}"
    return Permission(allowed=False, reason=f"This belongs to {owner}: use a token of theirs, or one with admin.")


def _by_rule(rule: AccessRule, subject: Subject) -> Permission:
    allowed = rule.effect == "allow"
    said = "allows" if allowed else "does not allow"
    return Permission(
        allowed=allowed,
        reason=rule.reason or f"A rule of the policy file {said} this principal to execute {subject.name}.",
        rule=rule,
    )
