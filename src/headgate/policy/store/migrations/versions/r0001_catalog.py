"""The first catalog: documents by hash, versions that name them, and the head."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "catalog_document",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_catalog_document"),
    )
    op.create_table(
        "catalog_version",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_catalog_version"),
        sa.UniqueConstraint("digest", name="uq_catalog_version_digest"),
    )
    op.create_table(
        "catalog_content",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("document", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("version", "kind", name="pk_catalog_content"),
        sa.ForeignKeyConstraint(["version"], ["catalog_version.number"], name="fk_catalog_content_version"),
        sa.ForeignKeyConstraint(["document"], ["catalog_document.digest"], name="fk_catalog_content_document"),
    )
    op.create_table(
        "catalog_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_catalog_head"),
        sa.ForeignKeyConstraint(["version"], ["catalog_version.number"], name="fk_catalog_head_version"),
        sa.CheckConstraint("id = 1", name="ck_catalog_head_one_row"),
    )


def downgrade() -> None:
    for table in ("catalog_head", "catalog_content", "catalog_version", "catalog_document"):
        op.drop_table(table)
