"""What the application owes its group, before a coordinator that can be told to misbehave."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from orders import Orders


@pytest.mark.groupproof(group="orders", topics={"orders": 2}, records=20)
def test_what_was_counted_is_committed_before_another_takes_over(groupproof_coordinator: Any, groupproof_group: Any, groupproof_trace: Any) -> None:
    async def taken_over() -> None:
        counted: asyncio.Queue[Any] = asyncio.Queue()
        async with Orders(groupproof_coordinator.bootstrap, counted.put_nowait, heartbeat_interval_ms=300).running():
            for _ in range(40):
                await asyncio.wait_for(counted.get(), 20)
            groupproof_group.add("another")
            await groupproof_group.until_stable(members=2)
            assert groupproof_trace.committed("orders") == {("orders", 0): 20, ("orders", 1): 20}

    asyncio.run(taken_over())
