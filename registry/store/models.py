"""The tables, as SQLAlchemy Core sees them. The migrations make them; a test holds the two equal.

Every row that changes carries the `sequence` of the write that changed it last, with an index, so that followers read
what changed and nothing else. Content rows (documents, blobs, revisions, snapshots) are written once.
"""

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

SCHEMA_VERSION_TABLE = "schema_version"
STATE_ROW = 1


class Instant(TypeDecorator[datetime]):
    """An aware UTC instant; a database without time zones (SQLite) keeps the UTC reading of it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 (the base class's signature)
        """The instant in UTC; ValueError for a naive one, whose meaning would depend on the machine."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("the store takes aware instants only")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 (the base class's signature)
        """The instant as aware UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Prose(TypeDecorator[str]):
    """Text from outside, without what not every database can keep: NUL and lone surrogates become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 (the base class's signature)
        """The text as every database takes it."""
        if value is None:
            return None
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


# SQLite numbers a row by itself only where its key is an INTEGER.
_ROW_ID = BigInteger().with_variant(Integer, "sqlite")
METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def _sequence(*, index: bool = False) -> Column[int]:
    return Column("sequence", BigInteger, nullable=False, index=index)


state = Table(
    "state",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _sequence(),
    Column("rules_sequence", BigInteger, nullable=False),
    Column("rule_date", Date, nullable=False),
    CheckConstraint(f"id = {STATE_ROW}", name="one_row"),
)

registrations = Table(
    "registrations",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("ref", Text),
    Column("team", Text, nullable=False),
    Column("paths", JSON(none_as_null=True)),
    Column("aliases", JSON, nullable=False),
    Column("credential", Text),
    Column("registered_at", Instant, nullable=False),
    Column("deregistered_at", Instant),
    _sequence(index=True),
)

statuses = Table(
    "statuses",
    METADATA,
    Column("repository", Text, ForeignKey("registrations.id"), primary_key=True),
    Column("state", Text, nullable=False),
    Column("since", Instant),
    Column("ref", Prose),
    Column("head", Text),
    Column("seen", Text),
    Column("suspended", Text),
    Column("checked_at", Instant),
    Column("synced_at", Instant),
    Column("next_due_at", Instant),
    Column("attempts", Integer, nullable=False),
    Column("message", Prose, nullable=False),
    Column("handled", BigInteger, nullable=False),
    _sequence(index=True),
)

sync_requests = Table(
    "sync_requests",
    METADATA,
    Column("repository", Text, ForeignKey("registrations.id"), primary_key=True),
    Column("apply", Text),
    _sequence(index=True),
)

documents = Table(
    "documents",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    _sequence(),
)

revisions = Table(
    "revisions",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    _sequence(),
)

blobs = Table(
    "blobs",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("size", BigInteger, nullable=False),
    _sequence(),
)

pointers = Table(
    "pointers",
    METADATA,
    Column("repository", Text, ForeignKey("registrations.id"), primary_key=True),
    Column("revision", Text, ForeignKey("revisions.digest"), nullable=False),
    Column("playbooks", Integer, nullable=False),
    Column("problems", Integer, nullable=False),
    Column("held", Integer, nullable=False),
    _sequence(index=True),
)

remarks = Table(
    "remarks",
    METADATA,
    Column("repository", Text, ForeignKey("registrations.id"), primary_key=True),
    Column("made_of", Text, nullable=False),
    Column("shadows", JSON, nullable=False),
    Column("body", LargeBinary, nullable=False),
    _sequence(),
)

tallies = Table(
    "tallies",
    METADATA,
    Column("repository", Text, ForeignKey("registrations.id"), primary_key=True),
    Column("code", Text, primary_key=True),
    Column("level", Text, primary_key=True),
    Column("problems", Integer, nullable=False),
    _sequence(),
    # All that a question over all repositories looks at.
    Index("ix_tallies_code", "code", "level", "repository", "problems"),
)

snapshots = Table(
    "snapshots",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("repository", Text),
    Column("central", Text, nullable=False),
    Column("local", Text),
    Column("rules", Text, nullable=False),
    Column("rule_date", Date, nullable=False),
    Column("handed_out_at", Instant, nullable=False),
    Column("collected_at", Instant),
    _sequence(),
)

marks = Table(
    "marks",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("reason", Prose, nullable=False),
    _sequence(),
)

waivers = Table(
    "waivers",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("repository", Text, primary_key=True),
    Column("until", Date, nullable=False),
    Column("reason", Prose, nullable=False),
    Column("approved_by", Prose, nullable=False),
    _sequence(),
    Index("ix_waivers_repository", "repository"),
)

withdrawals = Table(
    "withdrawals",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("reason", Prose, nullable=False),
    _sequence(),
)

tokens = Table(
    "tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False, unique=True),
    Column("principal", Prose, nullable=False),
    Column("team", Prose),
    Column("scopes", JSON, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant),
    Column("revoked_at", Instant),
    _sequence(),
)

audit_log = Table(
    "audit_log",
    METADATA,
    Column("id", _ROW_ID, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("principal", Prose, nullable=False),
    Column("action", Prose, nullable=False),
    Column("subject", Prose, nullable=False),
    Column("reason", Prose, nullable=False),
    Column("detail", JSON(none_as_null=True)),
    _sequence(),
    # An id of the log is never given a second time, not even after old entries were removed.
    sqlite_autoincrement=True,
)

runs = Table(
    "runs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("version", Prose, nullable=False),
    Column("digest", Text, nullable=False),
    Column("source", JSON, nullable=False),
    Column("snapshot", Text, nullable=False),
    Column("repository", Text),
    Column("task", Prose),
    Column("principal", Prose, nullable=False),
    Column("inputs", JSON, nullable=False),
    Column("opened_at", Instant, nullable=False),
    Column("state", Text, nullable=False),
    Column("team", Prose),
    Column("request_key", Text),
    Column("request", Text),
    Column("defaulted", JSON, nullable=False),
    _sequence(),
    # A list is one of these and goes from the newest id on.
    Index("ix_runs_repository", "repository", "id"),
    Index("ix_runs_name", "name", "id"),
    Index("ix_runs_team", "team", "id"),
    UniqueConstraint("principal", "request_key", name="uq_runs_request_key"),
)
