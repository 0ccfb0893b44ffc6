"""The record of every run."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Makes the table of runs."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Text),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("source", sa.JSON, nullable=False),
        sa.Column("snapshot", sa.Text, nullable=False),
        sa.Column("repository", sa.Text),
        sa.Column("task", sa.Text),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("inputs", sa.JSON, nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("team", sa.Text),
        sa.Column("request_key", sa.Text),
        sa.Column("request", sa.Text),
        sa.Column("defaulted", sa.JSON, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("principal", "request_key", name="uq_runs_request_key"),
    )
    for column in ("repository", "name", "team"):
        op.create_index(f"ix_runs_{column}", "runs", [column, "id"])
