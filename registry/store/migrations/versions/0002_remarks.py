"""What was remarked on a repository beside its revision."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Makes the tables of remarks and of how many problems there are; the worker fills them."""
    op.create_table(
        "remarks",
        sa.Column("repository", sa.Text),
        sa.Column("made_of", sa.Text, nullable=False),
        sa.Column("shadows", sa.JSON, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("repository", name="pk_remarks"),
        sa.ForeignKeyConstraint(["repository"], ["registrations.id"], name="fk_remarks_repository"),
    )
    op.create_table(
        "tallies",
        sa.Column("repository", sa.Text),
        sa.Column("code", sa.Text),
        sa.Column("level", sa.Text),
        sa.Column("problems", sa.Integer, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("repository", "code", "level", name="pk_tallies"),
        sa.ForeignKeyConstraint(["repository"], ["registrations.id"], name="fk_tallies_repository"),
    )
    op.create_index("ix_tallies_code", "tallies", ["code", "level", "repository", "problems"])
