"""Hints for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, names: Iterable[str]) -> str:
    """A hint that names the likeliest of `names`, or lists some of them.

    >>> closest("heartrate", ["heartRate", "location"])
    'did you mean `heartRate`?'
    """
    known = list(names)
    if not known:
        return "there are none"
    by_folded = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), by_folded, n=1)
    if near:
        return f"did you mean `{by_folded[near[0]]}`?"
    shown = ", ".join(f"`{candidate}`" for candidate in known[:10])
    return f"known: {shown}" + (", ..." if len(known) > 10 else "")
