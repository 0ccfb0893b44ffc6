"""The first schema: sources, content, what is in force, rules, tokens and the audit log."""

from datetime import date

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

INSTANT = sa.DateTime(timezone=True)
ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _create_state()
    _create_sources()
    _create_content()
    _create_rules()
    _create_tokens_and_audit()


def _sequence() -> sa.Column[int]:
    return sa.Column("sequence", sa.BigInteger, nullable=False)


def _create_state() -> None:
    state = op.create_table(
        "state",
        sa.Column("id", sa.Integer, autoincrement=False),
        _sequence(),
        sa.Column("rules_sequence", sa.BigInteger, nullable=False),
        sa.Column("rule_date", sa.Date, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_state"),
        sa.CheckConstraint("id = 1", name="ck_state_one_row"),
    )
    op.bulk_insert(state, [{"id": 1, "sequence": 0, "rules_sequence": 0, "rule_date": date(1970, 1, 1)}])


def _create_sources() -> None:
    op.create_table(
        "registrations",
        sa.Column("id", sa.Text),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("ref", sa.Text),
        sa.Column("team", sa.Text, nullable=False),
        sa.Column("paths", sa.JSON),
        sa.Column("aliases", sa.JSON, nullable=False),
        sa.Column("credential", sa.Text),
        sa.Column("registered_at", INSTANT, nullable=False),
        sa.Column("deregistered_at", INSTANT),
        _sequence(),
        sa.PrimaryKeyConstraint("id", name="pk_registrations"),
    )
    op.create_table(
        "statuses",
        sa.Column("repository", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("since", INSTANT),
        sa.Column("ref", sa.Text),
        sa.Column("head", sa.Text),
        sa.Column("seen", sa.Text),
        sa.Column("suspended", sa.Text),
        sa.Column("checked_at", INSTANT),
        sa.Column("synced_at", INSTANT),
        sa.Column("next_due_at", INSTANT),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("handled", sa.BigInteger, nullable=False),
        _sequence(),
        sa.PrimaryKeyConstraint("repository", name="pk_statuses"),
        sa.ForeignKeyConstraint(["repository"], ["registrations.id"], name="fk_statuses_repository"),
    )
    op.create_table(
        "sync_requests",
        sa.Column("repository", sa.Text),
        sa.Column("apply", sa.Text),
        _sequence(),
        sa.PrimaryKeyConstraint("repository", name="pk_sync_requests"),
        sa.ForeignKeyConstraint(["repository"], ["registrations.id"], name="fk_sync_requests_repository"),
    )
    for table in ("registrations", "statuses", "sync_requests"):
        op.create_index(f"ix_{table}_sequence", table, ["sequence"])


def _create_content() -> None:
    for table in ("documents", "revisions"):
        op.create_table(
            table,
            sa.Column("digest", sa.Text),
            sa.Column("body", sa.LargeBinary, nullable=False),
            _sequence(),
            sa.PrimaryKeyConstraint("digest", name=f"pk_{table}"),
        )
    op.create_table(
        "pointers",
        sa.Column("repository", sa.Text),
        sa.Column("revision", sa.Text, nullable=False),
        sa.Column("playbooks", sa.Integer, nullable=False),
        sa.Column("problems", sa.Integer, nullable=False),
        sa.Column("held", sa.Integer, nullable=False),
        _sequence(),
        sa.PrimaryKeyConstraint("repository", name="pk_pointers"),
        sa.ForeignKeyConstraint(["repository"], ["registrations.id"], name="fk_pointers_repository"),
        sa.ForeignKeyConstraint(["revision"], ["revisions.digest"], name="fk_pointers_revision"),
    )
    op.create_index("ix_pointers_sequence", "pointers", ["sequence"])
    op.create_table(
        "snapshots",
        sa.Column("digest", sa.Text),
        sa.Column("repository", sa.Text),
        sa.Column("central", sa.Text, nullable=False),
        sa.Column("local", sa.Text),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("rule_date", sa.Date, nullable=False),
        sa.Column("handed_out_at", INSTANT, nullable=False),
        sa.Column("collected_at", INSTANT),
        _sequence(),
        sa.PrimaryKeyConstraint("digest", name="pk_snapshots"),
    )


def _create_rules() -> None:
    op.create_table(
        "marks",
        sa.Column("name", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        _sequence(),
        sa.PrimaryKeyConstraint("name", name="pk_marks"),
    )
    op.create_table(
        "waivers",
        sa.Column("name", sa.Text),
        sa.Column("repository", sa.Text),
        sa.Column("until", sa.Date, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("approved_by", sa.Text, nullable=False),
        _sequence(),
        sa.PrimaryKeyConstraint("name", "repository", name="pk_waivers"),
    )
    op.create_index("ix_waivers_repository", "waivers", ["repository"])
    op.create_table(
        "withdrawals",
        sa.Column("name", sa.Text),
        sa.Column("digest", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        _sequence(),
        sa.PrimaryKeyConstraint("name", "digest", name="pk_withdrawals"),
    )


def _create_tokens_and_audit() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("team", sa.Text),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT),
        sa.Column("revoked_at", INSTANT),
        _sequence(),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_table(
        "audit_log",
        # Said here and not below: SQLite counts on by itself only where the column itself is the key.
        sa.Column("id", ROW_ID, primary_key=True),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("detail", sa.JSON),
        _sequence(),
        sqlite_autoincrement=True,
    )
