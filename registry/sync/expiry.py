"""The end of waivers as a due item: the stored rule date moves past it (merge.md, Required)."""

from datetime import date

from policies import rules
from policies.rules import RuleSet
from registry.catalog.revision import read_revision
from registry.ports import ApiRules, Pointer, Store


class RuleClock:
    """Moves the stored rule date forward once a waiver has ended. Used by one thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._policy: tuple[str, RuleSet] = ("", RuleSet())

    def advance(self, central: Pointer, api: ApiRules, today: date) -> bool:
        """Whether a waiver of central's policy file or of the API ended before `today`, so that the date moved."""
        if self._policy[0] != central.revision:
            body = self._store.revision(central.revision)
            policy = read_revision(body).policy if body is not None else None
            self._policy = (central.revision, policy or RuleSet())
        from_api = RuleSet(marks=api.marks, waivers=api.waivers, withdrawals=api.withdrawals)
        expiry = rules.next_expiry(rules.combine(self._policy[1], from_api), api.rule_date)
        if expiry is None or expiry >= today:
            return False
        self._store.advance_rule_date(today)
        return True
