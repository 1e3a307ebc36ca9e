from __future__ import annotations

import pytest

from groupproof.harness.commands.pytest_plugin.coordinator_fixture import GroupproofCoordinator
from groupproof.harness.commands.pytest_plugin.group_fixture import GroupproofGroup
from groupproof.harness.commands.pytest_plugin.trace_fixture import GroupproofTrace
from groupproof.protocol.vocabulary import GroupState


def test_members_share_what_there_is_and_leave_in_order(groupproof_group: GroupproofGroup, groupproof_trace: GroupproofTrace) -> None:
    one, other = groupproof_group.add("one"), groupproof_group.add("other")
    groupproof_group.wait_until_stable(members=2)
    assert sorted(len(assignment) for assignment in groupproof_group.assignments.values()) == [1, 1]
    assert one.commit([("t", next(iter(one.assignment()))[1], 5)])["ok"]

    other.close()

    assert [member.client_id for member in groupproof_group.wait_until_stable(members=1).members] == ["one"]
    assert one.assignment() == {("t", 0), ("t", 1)}
    assert groupproof_trace.requests("LeaveGroup", client="other")
    assert list(groupproof_trace.committed("g").values()) == [5]
    groupproof_trace.check("g")


def test_a_group_is_waited_for_by_the_names_of_its_members(groupproof_group: GroupproofGroup) -> None:
    groupproof_group.add("a")
    groupproof_group.add("b")

    assert len(groupproof_group.wait_until_stable(["b", "a"]).members) == 2
    with pytest.raises(AssertionError, match=r"not Stable with a within .* with 2 members \(a, b\)"):
        groupproof_group.wait_until_stable("a", within_s=0.05)


def test_a_commit_of_nothing_is_no_success(groupproof_group: GroupproofGroup) -> None:
    groupproof_group.add("has all", assignors=["range"])
    groupproof_group.wait_until_stable("has all")
    member = groupproof_group.add("waits", stepping=True)

    with pytest.raises(RuntimeError, match="waits committed nothing: it has read no partition yet"):
        member.commit()


def test_a_member_that_is_killed_is_missed_when_its_session_is_over(groupproof_group: GroupproofGroup, groupproof_trace: GroupproofTrace) -> None:
    member = groupproof_group.add("gone", session_timeout_ms=300, heartbeat_interval_ms=100)
    groupproof_group.add("stays")
    groupproof_group.wait_until_stable(members=2)

    member.kill()

    groupproof_group.wait_until_stable(members=1)
    assert not groupproof_trace.requests("LeaveGroup")


def test_a_member_goes_step_by_step(groupproof_group: GroupproofGroup) -> None:
    member = groupproof_group.add("slow", stepping=True)

    steps = [member.step().api for _ in range(3)]

    assert steps == ["JoinGroup", "JoinGroup", "SyncGroup"]
    groupproof_group.wait_until_stable(members=1)
    assert member.step().api == "Heartbeat"
    member.let_go()
    with pytest.raises(RuntimeError, match="runs by itself"):
        member.step()


def test_a_paused_member_is_silent(groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup) -> None:
    member = groupproof_group.add("still")
    groupproof_group.wait_until_stable(members=1)

    member.freeze()
    with pytest.raises(AssertionError, match="did not come"):
        groupproof_coordinator.wait_for("Heartbeat", client="still", since=len(groupproof_coordinator.trace), count=2, within_s=0.7)
    member.thaw()

    groupproof_coordinator.wait_for("Heartbeat", client="still", since=len(groupproof_coordinator.trace))


def test_a_member_takes_another_subscription_and_waits_when_paused(
    groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup
) -> None:
    groupproof_coordinator.grow("more", 1)
    member = groupproof_group.add("a", max_poll_interval_ms=60_000)
    groupproof_group.wait_until_stable(members=1)
    member.pause()
    member.resume()
    member.resubscribe("more")

    groupproof_coordinator.wait_for("SyncGroup", kind="response", client="a", count=2)

    assert groupproof_group.assignments == {"a": {("more", 0)}}


def test_a_group_that_does_not_settle_says_how_far_it_is(groupproof_group: GroupproofGroup) -> None:
    groupproof_group.add("a")
    assert groupproof_group.wait_until_stable().state is GroupState.STABLE

    with pytest.raises(
        AssertionError, match=r"group 'g' was not Stable with 2 members within 0\.05 s: it is Stable in generation 1 with 1 members \(a\)"
    ):
        groupproof_group.wait_until_stable(members=2, within_s=0.05)
    with pytest.raises(AssertionError, match=r"group 'g' was not Stable with application within 0\.05 s: .* with 1 members \(a\)"):
        groupproof_group.wait_until_stable(members="application", within_s=0.05)
    with pytest.raises(ValueError, match="'a' is in use"):
        groupproof_group.add("a")


EPOCHS = {"group.consumer.min.heartbeat.interval.ms": 50, "group.consumer.heartbeat.interval.ms": 50, "group.consumer.assignment.interval.ms": 0}


@pytest.mark.groupproof(settings=EPOCHS)
def test_members_of_kip_848s_protocol_share_what_there_is(groupproof_group: GroupproofGroup, groupproof_trace: GroupproofTrace) -> None:
    groupproof_group.add("one", group_protocol="consumer")
    groupproof_group.wait_until_stable("one")
    assert groupproof_group.assignments == {"one": {("t", 0), ("t", 1)}}
    other = groupproof_group.add("other", group_protocol="consumer")
    groupproof_group.wait_until_stable(members=2)

    assert sorted(len(assignment) for assignment in groupproof_group.assignments.values()) == [1, 1]
    with pytest.raises(AssertionError, match=r"it is Stable in epoch \d with 2 members"):
        groupproof_group.wait_until_stable(members=3, within_s=0.05)
    other.close()
    assert [member.client_id for member in groupproof_group.wait_until_stable(members=1).members] == ["one"]
    groupproof_trace.check("g")


@pytest.mark.groupproof(settings=EPOCHS)
def test_a_member_of_kip_848s_protocol_goes_step_by_step(groupproof_group: GroupproofGroup) -> None:
    member = groupproof_group.add("slow", stepping=True, group_protocol="consumer")

    steps = [member.step() for _ in range(2)]

    assert [(step.api, step.member_epoch) for step in steps] == [("ConsumerGroupHeartbeat", 0), ("ConsumerGroupHeartbeat", 1)]
