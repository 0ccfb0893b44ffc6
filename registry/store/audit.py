"""The audit log in the store."""

from sqlalchemy import insert, select

from registry.ports import AuditEntry
from registry.store import models, rows
from registry.store.engine import Transactions, Writing


class AuditLog(Transactions):
    """The part of the store that remembers who changed what."""

    def add_audit(self, audit: AuditEntry) -> None:
        """Append to the audit log what no other method of this port wrote."""
        with self._database.writing() as writing:
            log(writing, audit)

    def audit(self, *, limit: int, before: int | None = None) -> tuple[AuditEntry, ...]:
        """Audit entries, newest first, older than id `before`, at most `limit` of them."""
        table = models.audit_log
        chosen = select(table).order_by(table.c.id.desc()).limit(limit)
        if before is not None:
            chosen = chosen.where(table.c.id < before)
        with self._database.reading() as connection:
            return tuple(rows.audit_entry(row) for row in connection.execute(chosen).mappings())


def log(writing: Writing, audit: AuditEntry) -> None:
    """Append an entry in the transaction of what it tells of, so that neither is there without the other."""
    writing.connection.execute(insert(models.audit_log), [{**rows.audit_row(audit), "sequence": writing.sequence}])
