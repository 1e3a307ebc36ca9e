"""What the application owes its group, before a coordinator that can be told to misbehave."""

from __future__ import annotations

from queue import Queue
from typing import Any

import pytest
from orders import Orders


@pytest.mark.groupproof(group="orders", topics={"orders": 2}, records=20)
def test_an_application_that_was_thrown_out_of_its_group_comes_back(groupproof_coordinator: Any, groupproof_group: Any) -> None:
    counted: Queue[Any] = Queue()
    with Orders(groupproof_coordinator.bootstrap, counted.put, **{"heartbeat.interval.ms": 300, "session.timeout.ms": 1000}).running() as future:
        for _ in range(40):
            counted.get(timeout=20)
        thrown_out = groupproof_coordinator.answer("Heartbeat", "UNKNOWN_MEMBER_ID", client="orders").wait()
        groupproof_coordinator.wait_for("SyncGroup", kind="response", error="NONE", since=thrown_out.seq)
        assert future.running(), future.exception()
