"""A scenario that is right, and ways to spoil it."""

from __future__ import annotations

import json

BASE = """\
version: 1
streams:
  S:
    columns: {ts: timestamp, id: string, x: int, d: double}
    tid: id
    elements:
      - {ts: "2026-01-01T08:00:00Z", id: a, x: 1, d: 0.5}
  T:
    columns: {ts: timestamp, id: string, y: int}
users: {u1: {roles: [r]}}
queries:
  q: {by: u1, cql: "SELECT x FROM S"}
"""
POLICY = "  - {id: p, subject: {role: r}, object: {streams: [S]}, allow: [read]}\n"
PUNCTUATION = (
    '{"sp": {"pt": "dsp", "ddp": {"stream": "S", "tuple": %s, "attributes": "*"}, '
    '"srp": {"model": "rbac", "subjects": ["r"]}, "sign": "+", "ts": "2026-01-01T08:00:00Z"}}'
)


def replaced(old: str, new: str, text: str = BASE) -> str:
    assert old in text, "the sample must have what is replaced"
    return text.replace(old, new)


def asking(cql: str) -> str:
    return replaced('"SELECT x FROM S"', json.dumps(cql))


def from_file(path: str) -> str:
    elements = '    elements:\n      - {ts: "2026-01-01T08:00:00Z", id: a, x: 1, d: 0.5}\n'
    return replaced(elements, f"    source: {{format: json, path: {path}}}\n")
