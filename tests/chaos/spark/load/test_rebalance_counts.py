from __future__ import annotations

from typing import Any

from groupproof.chaos.spark.load.rebalance_counts import compared, formed_by_coordinator, formed_by_members
from groupproof.protocol.trace import Observation


def answered(generation: int, member: str, error: int = 0, **columns: Any) -> Observation:
    return Observation(
        seq=0, at_ns=0, kind="response", api="JoinGroup", group="g", generation=generation, member=member, error=error, **{"run": "r", **columns}
    )


def ended(generation: int, after: str = "CompletingRebalance", **columns: Any) -> Observation:
    return Observation(seq=0, at_ns=0, kind="transition", group="g", generation=generation, state_after=after, **{"run": "r", **columns})


def test_both_sides_count_a_generation_once() -> None:
    members = formed_by_members([answered(1, "a"), answered(1, "b"), answered(-1, "", error=79), answered(2, "a")])
    coordinator = formed_by_coordinator([ended(1), ended(1, "Stable"), ended(2), ended(3, "Empty")])

    comparison = compared(members, coordinator)

    assert comparison.is_same
    assert comparison.both == 2
    assert [(generation.generation, generation.count) for generation in members.values()] == [(1, 2), (2, 1)]


def test_what_one_side_alone_tells_is_named() -> None:
    members = formed_by_members([answered(1, "a"), answered(3, "a")])
    coordinator = formed_by_coordinator([ended(1, body={"members": 2}), ended(2)])

    comparison = compared(members, coordinator)

    assert not comparison.is_same
    assert (comparison.both, comparison.members_only, comparison.coordinator_only) == (1, (("g", 3),), (("g", 2),))
    assert comparison.counted_apart == (("g", 1, 1, 2),)


def test_a_second_run_has_generations_of_its_own() -> None:
    members = formed_by_members([answered(1, "a"), answered(1, "a", run="r2")])

    assert len(members) == 2
    assert compared(members, formed_by_coordinator([ended(1), ended(1, run="r2")])).both == 2


def test_a_brokers_log_knows_of_no_run() -> None:
    members = formed_by_members([answered(1, "a"), answered(2, "a")])

    assert compared(members, formed_by_coordinator([ended(1, run=""), ended(2, run="")])).is_same


def test_epochs_that_members_are_given_count_on_both_sides() -> None:
    def answer(epoch: int, error: int = 0) -> Observation:
        return Observation(seq=0, at_ns=0, run="r", kind="response", api="ConsumerGroupHeartbeat", group="g", member_epoch=epoch, error=error)

    received, sent = [answer(1), answer(2), answer(2), answer(-1), answer(0, 110)], [answer(1), answer(2), answer(3), answer(-1)]

    comparison = compared(formed_by_members(received), formed_by_coordinator(sent))

    assert (comparison.both, comparison.members_only, comparison.coordinator_only) == (2, (), (("g", 3),))
