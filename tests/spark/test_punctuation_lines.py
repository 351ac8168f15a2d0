"""Punctuations read in great numbers are what they are one by one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.element import element_to_json, parse_line
from headgate.model.instant import format_timestamp
from headgate.spark.punctuation_lines import PunctuationReader
from headgate.testing.streams import punctuations, schemas, times


def _whole(found):
    return replace(found[0], at=found[1]) if isinstance(found, tuple) else found


@given(data=st.data(), stream=schemas("S"))
def test_property_lines_are_read_as_one_by_one(data: st.DataObject, stream) -> None:
    reader = PunctuationReader()
    body = element_to_json(data.draw(punctuations(stream)), stream)
    for _ in range(3):
        body["sp"]["ts"] = data.draw(times().map(format_timestamp) | st.sampled_from(["", "soon", "2026-01-01", 'a"b']))
        line = json.dumps(body, ensure_ascii=data.draw(st.booleans()))
        assert _whole(reader.read(line.encode(), stream)) == parse_line(line.encode(), stream)


@pytest.mark.parametrize(
    "line",
    [
        '{"sp": {"pt": "dsp", "ts": "2026-01-01T08:00:00Z"}}',
        '{"sp": {"pt": "dsp", "ts": "2026-01-01T08:00:00Z", "ts": "2026-01-01T09:00:00Z"}}',
        '{"sp": {"ts": "2026-01-01T08:00:00Z"}, "ts": "2026-01-01T09:00:00Z"}',
        '{"sp": {"ts": "2026-01-01T08:00:00Z"',
        '{"sp": "ts"}',
        '{"sp": {"pt": "dsp", "srp": {"model": "rbac", "subjects": ["r"]}, "sign": "+", "ts": "2026-01-01T08:00:00Z", '
        '"\\u0074s": "2026-01-01T09:00:00Z"}}',
        '{"ts": "2026-01-01T08:00:00Z", "k": "\\"sp\\""}',
    ],
)
@given(stream=schemas("S"))
def test_odd_lines_are_read_as_one_by_one(line: str, stream) -> None:
    assert _whole(PunctuationReader().read(line.encode(), stream)) == parse_line(line.encode(), stream)
