"""The original bytes of what was read, by digest."""

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Nothing yet."""
