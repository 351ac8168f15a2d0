"""`headgate token`."""

from __future__ import annotations

import hashlib
import json

import pytest


def test_a_token_and_the_line_for_the_file(headgate) -> None:
    code, out, err = headgate("token", "alice")
    token, line = out.splitlines()
    assert code == 0
    assert line == f"alice: {hashlib.sha256(token.removeprefix('token: ').encode()).hexdigest()}"
    assert "token file" in err
    assert headgate("token", "alice")[1] != out


def test_for_machines(headgate) -> None:
    code, out, err = headgate("token", "alice", "--json")
    made = json.loads(out)
    assert (code, err, made["user"]) == (0, "", "alice")
    assert made["sha256"] == hashlib.sha256(made["token"].encode()).hexdigest()
    assert len(made["token"]) >= 40


@pytest.mark.parametrize("name", ["", "a b", "alice:", "a\nb"])
def test_what_is_no_name_is_refused(headgate, name) -> None:
    code, out, err = headgate("token", name)
    assert (code, out) == (2, "")
    assert "is no name of a user" in err
