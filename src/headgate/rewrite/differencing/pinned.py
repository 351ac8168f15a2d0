"""Where minima and maxima pin a tuple.

If the maximum of one window is greater than that of another, it belongs to a tuple that is in the first and not in the
second. Where only few tuples are in the one and not in the other, the maximum is the value of one of those few.
"""

from __future__ import annotations

from math import gcd

from headgate.rewrite.differencing.combination import Sliding


def pinned_together(one: Sliding, other: Sliding, below: int) -> int | None:
    """The least extent to which windows of two handles pin a value, if that is less than `below`.

    Extents are numbers of tuples, or lengths of time. What the windows of one handle pin by themselves, its step, is
    what the handle's own policy allows.

    >>> pinned_together(Sliding(3, 2), Sliding(4, 2), below=2)
    1
    >>> pinned_together(Sliding(2, 2), Sliding(4, 4), below=2) is None
    True
    """
    found = [*_left(one, other), *_left(other, one)]
    least = min(found, default=None)
    return least if least is not None and least < below else None


def _left(one: Sliding, other: Sliding) -> list[int]:
    """What can be left of a window of one handle without a window of the other: the least, among a few more.

    With the other's window beginning `later`, what is left is `max(later, 0)` before it and
    `max(one.size - other.size - later, 0)` behind it. That is least near where either of the two becomes nothing.
    """
    stride = gcd(one.step, other.step)
    residue = (other.offset - one.offset) % stride
    extents = []
    for corner in (0, one.size - other.size):
        nearest = corner - (corner - residue) % stride
        for later in range(nearest - stride, nearest + 2 * stride + 1, stride):
            before, behind = max(later, 0), max(one.size - other.size - later, 0)
            if -other.size < later < one.size and before + behind > 0:
                extents.append(before + behind)
    return extents
