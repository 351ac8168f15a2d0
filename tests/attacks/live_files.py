"""A few lines in files that are the table `live`, with a row that a deny on its department hides."""

from __future__ import annotations

from guarded import USERS, policy

from headgate.guard import Guard, Settings, Source, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies

LINES = [{"id": 1, "dept": "A", "salary": 50, "value": "x"}, {"id": 3, "dept": "B", "salary": 100, "value": "y"}]
SCHEMA = "id int, dept string, salary int, value string"
POLICIES = policy("open", "object: {tables: [live]}, allow: [read]") + policy(
    "closed", "object: {tables: [live], where: dept = 'B'}, deny: [read, assist, compute]"
)


def reader(world, folder, file_format: str | None = None, policies: str = POLICIES, **options):
    """A session in which a folder of files is the table `live`."""
    catalog = StreamCatalog([table_schema("live", world.spark.createDataFrame([], SCHEMA).schema)])
    source = Source(path=str(folder), format=file_format, options=options)
    parsed = parse_policies(f"version: 1\npolicies:\n{policies}", catalog)
    return session("ann", Guard(catalog, parsed, USERS, Settings({"live": source})), world.spark).read
