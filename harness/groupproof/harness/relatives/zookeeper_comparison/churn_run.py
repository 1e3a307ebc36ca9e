"""The same churn for both designs, by real members: a group forms, one joins, one leaves, one is killed; what each cost until the group was stable."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.relatives.zookeeper.growth import CHURNS
from groupproof.harness.relatives.zookeeper_comparison.comparison import Row
from groupproof.harness.relatives.zookeeper_comparison.side import Side, until_stable

__all__ = ["REAL", "churned"]

REAL: Final = "real"
_QUIET_S: Final = 1.0
_LIMIT_S: Final = 600.0


async def churned(side: Side, members: int, partitions: int, seed: int, *, within_s: float = _LIMIT_S) -> AsyncIterator[Row]:
    """Form a group of so many members, and yield a row for each churn; who leaves and who crashes is drawn from the seed.

    Raises `BrokenEnvironment` where the group does not even form.
    """
    chance = random.Random(f"{seed}/{members}")
    async with trio.open_nursery() as nursery:
        for number in range(members):
            nursery.start_soon(side.begin, f"m{number:04d}")
    if await until_stable(side, within_s, _QUIET_S) is None:
        raise BrokenEnvironment(f"a group of {members} by the {side.design}'s design did not form within {within_s:g} s")
    for churn in CHURNS:
        yield await _churn(side, members, partitions, churn, chance, within_s)


async def _churn(side: Side, members: int, partitions: int, churn: str, chance: random.Random, within_s: float) -> Row:
    asked, heard, rebalances, failures = side.asked, side.heard, side.rebalances, side.failures
    asked = Counter(asked)
    began = trio.current_time()
    if churn == "join":
        await side.begin(f"m{members:04d}-late")
    elif churn == "leave":
        await side.leave(chance.choice(sorted(side.members)))
    else:
        await side.kill(chance.choice(sorted(side.members)))
    stable = await until_stable(side, within_s, _QUIET_S)
    return Row(
        design=side.design, engine=REAL, members=members, partitions=partitions, churn=churn, requests=dict(side.asked - asked),
        events=side.heard - heard, rebalances=side.rebalances - rebalances, failures=side.failures - failures,
        stable_ms=None if stable is None else round((stable - began) * 1000),
    )  # fmt: skip
