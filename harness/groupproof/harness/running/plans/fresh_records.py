"""Records for a member that has none left to read: a program of level 0 commits what it has read, and nobody can forbid it that.

Who takes partitions over from such a program begins behind the last record. A plan that waits until a member was given records would wait in vain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

import trio

from groupproof.harness.model.plan import Condition, Matches
from groupproof.harness.running.plans.member_control import Actor

__all__ = ["FRESH_MS", "FRESH_RECORDS", "leave_records", "waits_in_vain"]

FRESH_MS: Final = 2_000
"""How long records may take that are there already; confluent-kafka's program tells of a few once a poll of a second has brought nothing."""

FRESH_RECORDS: Final = 5

Append = Callable[[str, int, int], Awaitable[None]]


def waits_in_vain(condition: Condition, actors: Collection[Actor]) -> bool:
    """Tell whether a plan waits for records in a group whose members may have committed all of them."""
    return isinstance(condition, Matches) and condition.event == "records_consumed" and any(actor.commits_unasked for actor in actors)


async def leave_records(append: Append, topics: Mapping[str, int]) -> None:
    """Append a few records to each partition, once what is there must have come."""
    await trio.sleep(FRESH_MS / 1000)
    for topic, partitions in topics.items():
        await append(topic, partitions, FRESH_RECORDS)
