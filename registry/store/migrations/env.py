"""What Alembic runs: the migrations, in the transaction that the caller opened and will commit."""

from alembic import context

from registry.store.models import METADATA, SCHEMA_VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=SCHEMA_VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
