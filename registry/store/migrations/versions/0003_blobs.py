"""The original bytes of what was read, by digest."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Makes the table of blobs; the next reading of each source fills it."""
    op.create_table(
        "blobs",
        sa.Column("digest", sa.Text),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_blobs"),
    )
