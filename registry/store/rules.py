"""Rules in the store: what was set through the API, and the rule date."""

from datetime import date

from sqlalchemy import Connection, Table, delete, select

from policies.rules import Mark, Waiver, Withdrawal
from policies.ruleset import canonical_marks, canonical_waivers, canonical_withdrawals
from registry.ports import ApiRules, AuditEntry
from registry.store import models, rows
from registry.store.audit import log
from registry.store.engine import Row, Transactions


class Rules(Transactions):
    """The part of the store that knows the API's rules. Each change stamps the rules as a whole."""

    def put_mark(self, mark: Mark, audit: AuditEntry) -> None:
        """Insert or replace an API mark by name; ValueError for a mark by tag, which only a policy file makes."""
        if mark.name is None:
            raise ValueError("a mark that is set through the API has a name")
        self._put(models.marks, {"name": mark.name, "reason": mark.reason}, audit)

    def delete_mark(self, name: str, audit: AuditEntry) -> bool:
        """Whether there was an API mark to delete."""
        return self._delete(models.marks, {"name": name}, audit)

    def put_waiver(self, waiver: Waiver, audit: AuditEntry) -> None:
        """Insert or replace an API waiver by name and repository."""
        self._put(models.waivers, rows.waiver_row(waiver), audit)

    def delete_waiver(self, name: str, repository: str, audit: AuditEntry) -> bool:
        """Whether there was an API waiver to delete."""
        return self._delete(models.waivers, {"name": name, "repository": repository}, audit)

    def put_withdrawal(self, withdrawal: Withdrawal, audit: AuditEntry) -> None:
        """Insert or replace a withdrawal by name and digest."""
        self._put(models.withdrawals, rows.withdrawal_row(withdrawal), audit)

    def delete_withdrawal(self, name: str, digest: str, audit: AuditEntry) -> bool:
        """Whether there was a withdrawal to delete."""
        return self._delete(models.withdrawals, {"name": name, "digest": digest}, audit)

    def advance_rule_date(self, on: date) -> date:
        """The stored rule date after moving it forward to `on`; an earlier `on` changes nothing."""
        stored = select(models.state.c.rule_date)
        with self._database.reading() as connection:
            found: date = connection.execute(stored).scalar_one()
        if on <= found:
            return found
        with self._database.writing() as writing:
            found = writing.connection.execute(stored).scalar_one()  # another process may have been quicker
            if on <= found:
                writing.abandon()
                return found
            writing.rules_changed(rule_date=on)
            return on

    def _put(self, table: Table, row: Row, audit: AuditEntry) -> None:
        with self._database.writing() as writing:
            writing.put(table, [row])
            writing.rules_changed()
            log(writing, audit)

    def _delete(self, table: Table, key: Row, audit: AuditEntry) -> bool:
        with self._database.writing() as writing:
            chosen = delete(table).where(*(table.c[name] == value for name, value in key.items()))
            if writing.connection.execute(chosen).rowcount == 0:
                writing.abandon()
                return False
            writing.rules_changed()
            log(writing, audit)
            return True


def api_rules(connection: Connection, rule_date: date) -> ApiRules:
    """The API's rules in canonical order, which does not depend on how a database sorts."""
    return ApiRules(
        marks=canonical_marks(rows.mark(row) for row in connection.execute(select(models.marks)).mappings()),
        waivers=canonical_waivers(rows.waiver(row) for row in connection.execute(select(models.waivers)).mappings()),
        withdrawals=canonical_withdrawals(
            rows.withdrawal(row) for row in connection.execute(select(models.withdrawals)).mappings()
        ),
        rule_date=rule_date,
    )
