"""Which tests `make test FAST=1` runs, and the order in which workers of pytest-xdist are given tests.

A change in hand is tried by what is quick and needs no other program: nothing that is marked `slow`, `java`, `docker` or `network`, and of a test with
many parameters a share, drawn by name.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest

__all__ = ["IS_FAST", "dealt", "too_long_for_a_change_in_hand"]

IS_FAST: Final = bool(os.environ.get("GROUPPROOF_FAST"))

LONG: Final = ("slow", "java", "docker", "network")
PARAMETERS_MAX: Final = 12
SHARE: Final = 8
"""Of a test with more parameters one in so many runs."""

SPARK: Final = "spark"
"""The fixture of a Spark session, which a worker starts once."""


def too_long_for_a_change_in_hand(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return what `make test FAST=1` leaves out."""
    parameters = Counter(_function(item) for item in items)
    return {
        item for item in items
        if any(item.get_closest_marker(mark) is not None for mark in LONG)
        or (parameters[_function(item)] > PARAMETERS_MAX and zlib.crc32(item.nodeid.encode()) % SHARE != 0)
    }  # fmt: skip


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the tests so that one worker alone starts Spark, and what is long comes before what is quick.

    `--dist worksteal` gives each worker a part of the list as it stands. The first part begins with Spark's tests, the other parts with the slow ones;
    who has nothing left takes from the end of another's part.
    """
    spark = [item for item in items if SPARK in getattr(item, "fixturenames", ())]
    slow = [item for item in items if SPARK not in getattr(item, "fixturenames", ()) and item.get_closest_marker("slow") is not None]
    begun = {*spark, *slow}
    quick = [item for item in items if item not in begun]
    others = workers - 1
    heads = [spark, *(slow[number::others] for number in range(others))] if others else [spark + slow]
    ends = [len(items) * (number + 1) // workers for number in range(workers)]
    order: list[pytest.Item] = []
    for head, end in zip(heads, ends, strict=True):
        order += head
        room = max(0, end - len(order))
        order += quick[:room]
        quick = quick[room:]
    return order + quick


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
