"""What a reading remarks on a repository beside its revision."""

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Nothing yet."""
