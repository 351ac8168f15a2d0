"""Tuples in typed columns, their punctuations beside them: what comes out is what the reference gives."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from against_reference import QUICK, assert_equals_reference, groups
from hypothesis import given, settings
from hypothesis import strategies as st
from pushed import in_files
from pyspark.sql import SparkSession

from headgate.columnar.strategy import Strategy
from headgate.model.datatype import DataType
from headgate.model.element import Element, Tuple, element_to_json
from headgate.model.schema import StreamSchema
from headgate.spark.engine import Engine, Settings
from headgate.spark.sources import SourceSpec, StreamSources

WAYS = ("all pushed", "punctuations pushed", "punctuations beside")
STORED = {
    DataType.STRING: pa.string(),
    DataType.INT: pa.int32(),
    DataType.DOUBLE: pa.float64(),
    DataType.BOOLEAN: pa.bool_(),
    DataType.DATE: pa.date32(),
    DataType.TIMESTAMP: pa.timestamp("us", "UTC"),
}


@dataclass
class Outside:
    """The folders that the sources of one stream read, and how its elements get into them."""

    stream: StreamSchema
    folder: Path
    way: str
    written: int = field(default=0)

    def sources(self) -> StreamSources:
        if self.way == "all pushed":
            return StreamSources()
        for name in ("tuples", "said"):
            (self.folder / name).mkdir(parents=True)
        beside = SourceSpec("json", path=str(self.folder / "said")) if self.way == "punctuations beside" else None
        return StreamSources(SourceSpec("parquet", path=str(self.folder / "tuples")), beside)

    def write(self, elements: list[Element]) -> list[Element]:
        """Write down what goes to these folders; what is left is pushed."""
        if self.way == "all pushed":
            return elements
        self.written += 1
        tuples = [one for one in elements if isinstance(one, Tuple)]
        said = [one for one in elements if not isinstance(one, Tuple)]
        if tuples:
            pq.write_table(self._table(tuples), self.folder / "tuples" / f"{self.written}.parquet")
        if self.way == "punctuations pushed" or not said:
            return said
        lines = [json.dumps(element_to_json(one, self.stream)) + "\n" for one in said]
        (self.folder / "said" / f"{self.written}.json").write_text("".join(lines))
        return []

    def _table(self, tuples: list[Tuple]) -> pa.Table:
        cells = list(zip(*(one.values for one in tuples), strict=True))
        columns = {}
        for column, own in zip(self.stream.columns, cells, strict=True):
            kind = STORED.get(column.type, pa.int64())
            days = pa.int32() if column.type is DataType.DATE else kind
            columns[column.name] = pa.array(own, days).cast(kind)
        return pa.table(columns)


@settings(max_examples=8, **QUICK)
@given(data=st.data())
def test_property_typed_sources_equal_the_reference(spark: SparkSession, tmp_path_factory, data: st.DataObject) -> None:
    """Four systems side by side; each of their streams comes in a way of its own, and some epochs bring no line."""
    group = data.draw(groups(4))
    folder = tmp_path_factory.mktemp("typed")
    way = st.sampled_from(WAYS)
    outside = {one.name: Outside(one, folder / one.name, data.draw(way, one.name)) for one in group.system.streams}
    engine = Engine(
        spark,
        str(folder / "engine"),
        group.system,
        {name: own.sources() for name, own in outside.items()},
        Settings(data.draw(st.sampled_from(Strategy), "strategy"), live=False),
    )
    for elements in in_files(group, data.draw(st.integers(1, 6), "epochs")):
        left = []
        for name, own in outside.items():
            left += [(name, one) for one in own.write([one for stream, one in elements if stream == name])]
        if left:
            engine.push_folder.put_lines(engine.lines_of(left))
        engine.drain()
    engine.finish()
    assert_equals_reference(engine, group)
