"""How Alembic reaches the catalog: on the connection, and in the transaction, of whoever asked for the migration."""

from __future__ import annotations

from alembic import context

from headgate.policy.store.tables import REVISION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=REVISION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
