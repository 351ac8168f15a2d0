"""Work in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def apart(work: Callable[Given, Made], *arguments: Given.args, **named: Given.kwargs) -> Made:
    """What a function gives in a new process. A Spark lives as long as the process that has started it, and so does
    what Java makes of its code."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments, **named).result()
