"""Callers' tokens in the store: never a value, only its hash."""

from datetime import datetime

from sqlalchemy import insert, select, update

from registry.ports import AuditEntry, Token
from registry.store import models, rows
from registry.store.audit import log
from registry.store.engine import Transactions


class Tokens(Transactions):
    """The part of the store that knows tokens."""

    def put_token(self, token: Token, audit: AuditEntry) -> None:
        """Insert a token; Conflict where its id or hash is there already."""
        with self._database.writing() as writing:
            writing.connection.execute(insert(models.tokens), [{**rows.token_row(token), "sequence": writing.sequence}])
            log(writing, audit)

    def token_by_hash(self, token_hash: str) -> Token | None:
        """The token with that hash, revoked or expired ones included."""
        chosen = select(models.tokens).where(models.tokens.c.hash == token_hash)
        with self._database.reading() as connection:
            row = connection.execute(chosen).mappings().one_or_none()
            return None if row is None else rows.token(row)

    def tokens(self) -> tuple[Token, ...]:
        """All tokens, newest first."""
        table = models.tokens
        chosen = select(table).order_by(table.c.created_at.desc(), table.c.sequence.desc())
        with self._database.reading() as connection:
            return tuple(rows.token(row) for row in connection.execute(chosen).mappings())

    def revoke_token(self, token_id: str, at: datetime, audit: AuditEntry) -> bool:
        """Whether there was an unrevoked token of that id."""
        table = models.tokens
        with self._database.writing() as writing:
            revoked = writing.connection.execute(
                update(table)
                .where(table.c.id == token_id, table.c.revoked_at.is_(None))
                .values(revoked_at=at, sequence=writing.sequence)
            )
            if revoked.rowcount == 0:
                writing.abandon()
                return False
            log(writing, audit)
            return True
