"""Appends records for members that have none left to read. A level 0 program commits all that it has read, and no plan can prevent it.

A member that takes partitions over from such a program starts after the last record, so a plan that waits for its records would wait in vain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

import trio

from groupproof.harness.model.plan import Condition, Matches
from groupproof.harness.running.plans.member_control import Actor

__all__ = ["FRESH_MS", "FRESH_RECORDS", "leave_records", "may_wait_forever"]

FRESH_MS: Final = 2_000
"""How long existing records may take to arrive. confluent-kafka's program reports a few only after a one-second poll returned nothing."""

FRESH_RECORDS: Final = 5

Append = Callable[[str, int, int], Awaitable[None]]


def may_wait_forever(condition: Condition, actors: Collection[Actor]) -> bool:
    """Return whether a plan waits for records in a group whose members may have committed all of them."""
    return isinstance(condition, Matches) and condition.event == "records_consumed" and any(actor.commits_unasked for actor in actors)


async def leave_records(append: Append, topics: Mapping[str, int]) -> None:
    """Append a few records to each partition, after the existing ones have had time to arrive."""
    await trio.sleep(FRESH_MS / 1000)
    for topic, partitions in topics.items():
        await append(topic, partitions, FRESH_RECORDS)
