"""What the application owes its group, before a coordinator that can be told to misbehave."""

from __future__ import annotations

from queue import Queue
from typing import Any

import pytest
from orders import Orders


@pytest.mark.groupproof(group="orders", topics={"orders": 2}, records=20)
def test_what_was_counted_is_committed_before_another_takes_over(groupproof_coordinator: Any, groupproof_group: Any, groupproof_trace: Any) -> None:
    counted: Queue[Any] = Queue()
    with Orders(groupproof_coordinator.bootstrap, counted.put, heartbeat_interval_ms=300).running():
        for _ in range(40):
            counted.get(timeout=20)
        groupproof_group.add("another")
        groupproof_group.wait_until_stable(members=2)
        assert groupproof_trace.committed("orders") == {("orders", 0): 20, ("orders", 1): 20}
