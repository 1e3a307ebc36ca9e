from __future__ import annotations

from typing import Any

import pytest

from groupproof.chaos.scenarios.member_names import Cast
from groupproof.chaos.scenarios.scenario import Fault
from groupproof.chaos.scenarios.scenario_waits import UNTIL, conditions_of
from groupproof.harness.model.plan import Condition, GroupSettled, Matches

FAULTS = {
    "lost": Fault(name="lost", kind="silence", who="followers", how={"api": "Heartbeat"}),
    "cut": Fault(name="cut", kind="cut", how={"api": "JoinGroup"}),
}


@pytest.mark.parametrize(
    ("until", "conditions"),
    [
        ({"settled": "others"}, [GroupSettled(members=("m0", "m2"), topics={"t": 6}, after="p")]),
        ({"delivered": "lost"}, [Matches(kind_of="fault", fault="lost-m1"), Matches(kind_of="fault", fault="lost-m2")]),
        ({"delivered": "cut", "count": 3}, [Matches(kind_of="fault", fault="cut", count=3)]),
        ({"sent": "JoinGroup", "who": "one", "count": 2}, [Matches(kind_of="request", api="JoinGroup", client="m1", after="p", count=2)]),
        (
            {"answered": "Heartbeat", "who": "one", "error": "UNKNOWN_MEMBER_ID"},
            [Matches(kind_of="response", api="Heartbeat", client="m1", after="p", error=25)],
        ),
        ({"answered": "Heartbeat", "who": "leader"}, [Matches(kind_of="response", api="Heartbeat", client="m0", after="p", error=0)]),
        (
            {"sent": "ConsumerGroupHeartbeat", "who": "one", "epoch": -2},
            [Matches(kind_of="request", api="ConsumerGroupHeartbeat", client="m1", after="p", where={"member_epoch": -2})],
        ),
        ({"told": "partitions_lost", "who": "one"}, [Matches(kind_of="event", event="partitions_lost", client="m1", after="p")]),
    ],
)
def test_what_is_waited_for_is_seen_of_each_member(until: dict[str, Any], conditions: list[Condition]) -> None:
    assert conditions_of(until, Cast.of(3), after="p", faults=FAULTS, topics={"t": 6}) == conditions


def test_everything_that_can_be_waited_for_was_tried() -> None:
    assert set(UNTIL) == {"settled", "delivered", "sent", "answered", "told"}
