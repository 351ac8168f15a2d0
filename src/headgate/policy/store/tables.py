"""The tables of a catalog. A version names one document per kind, by hash; documents are shared and never change.

Only `catalog_head` is ever updated: it says which version is in force, and writers queue for its one row.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

REVISION_TABLE = "catalog_revision"
"""Where Alembic notes which migrations were run; not the default name, as a database may be shared."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

document_table = Table(
    "catalog_document",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

version_table = Table(
    "catalog_version",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    UniqueConstraint("digest"),
)

content_table = Table(
    "catalog_content",
    metadata,
    Column("version", Integer, ForeignKey("catalog_version.number"), primary_key=True, autoincrement=False),
    Column("kind", String(16), primary_key=True),
    Column("document", String(64), ForeignKey("catalog_document.digest"), nullable=False),
)

head_table = Table(
    "catalog_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, ForeignKey("catalog_version.number"), nullable=False),
    Column("digest", String(64), nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)
