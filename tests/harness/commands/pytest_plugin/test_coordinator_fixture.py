from __future__ import annotations

import asyncio

import pytest
import trio

from groupproof.harness.commands.pytest_plugin.coordinator_fixture import GroupproofCoordinator, served
from groupproof.harness.commands.pytest_plugin.group_fixture import GroupproofGroup
from groupproof.protocol.vocabulary import ErrorCode, GroupState

pytest_plugins = ["pytester"]


@pytest.mark.groupproof(profile="kafka-2.8", topics={"orders": 3}, brokers=2, group="orders")
def test_the_marker_says_what_is_served(groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup) -> None:
    groupproof_group.add("a")
    view = groupproof_group.wait_until_stable(members=1)

    assert groupproof_coordinator.profile == "kafka-2.8"
    assert len(groupproof_coordinator.bootstrap.split(",")) == 2
    assert (view.group_id, view.state, [member.client_id for member in view.members]) == ("orders", GroupState.STABLE, ["a"])
    assert groupproof_group.assignments == {"a": {("orders", 0), ("orders", 1), ("orders", 2)}}
    assert groupproof_coordinator.group("nobody's") is None


def test_an_answer_in_place_of_the_brokers_is_received_as_an_error(
    groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup
) -> None:
    groupproof_group.add("a")
    groupproof_group.wait_until_stable(members=1)
    before = len(groupproof_coordinator.trace)
    fault = groupproof_coordinator.answer("Heartbeat", "REBALANCE_IN_PROGRESS", client="a")

    fault.wait()
    groupproof_coordinator.wait_for("JoinGroup", client="a", since=before)

    errors = [obs.error for obs in groupproof_coordinator.trace.responses("Heartbeat", client="a")]
    assert errors.count(ErrorCode.REBALANCE_IN_PROGRESS) == fault.struck == 1


def test_what_came_after_a_fault_is_looked_for_from_the_fault_on(
    groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup
) -> None:
    fault = groupproof_coordinator.answer("Heartbeat", "REBALANCE_IN_PROGRESS", client="a")
    with pytest.raises(ValueError, match="has not taken effect, so nothing came after it yet"):
        groupproof_coordinator.wait_for("JoinGroup", client="a", since=fault)
    groupproof_group.add("a")

    struck = fault.wait()
    join = groupproof_coordinator.wait_for("JoinGroup", client="a", since=fault)

    assert join == groupproof_coordinator.trace.requests("JoinGroup", client="a", since=struck)[0]
    assert join not in groupproof_coordinator.trace.requests("JoinGroup", client="a", since=join)
    assert len(groupproof_coordinator.trace.requests("JoinGroup", client="a")) > len(groupproof_coordinator.trace.requests("JoinGroup", since=fault))
    with pytest.raises(TypeError, match="since= takes a place in the trace"):
        groupproof_coordinator.wait_for("JoinGroup", since="now")  # type: ignore[arg-type]  # what is no place is what is tested


def test_a_frame_is_held_until_it_is_let_go(groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup) -> None:
    with groupproof_coordinator.hold("SyncGroup", client="a") as held:
        groupproof_group.add("a")
        held.wait()
        view = groupproof_coordinator.group()
        assert view is not None
        assert view.state is GroupState.COMPLETING_REBALANCE

    assert groupproof_group.wait_until_stable(members=1).generation == 1


@pytest.mark.groupproof(brokers=2)
def test_the_coordinator_moves_and_members_follow(groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup) -> None:
    groupproof_group.add("a")
    groupproof_group.wait_until_stable(members=1)
    number = len(groupproof_coordinator.trace)

    groupproof_coordinator.move()

    groupproof_coordinator.wait_for("FindCoordinator", client="a", since=number)
    answered = groupproof_coordinator.wait_for("Heartbeat", kind="response", error="NONE", client="a", since=len(groupproof_coordinator.trace))
    assert answered.node is not None


def test_what_does_not_come_in_time_fails_with_what_was_seen(
    groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup
) -> None:
    groupproof_group.add("a", stepping=True).step()

    with pytest.raises(AssertionError, match=r"1 request OffsetCommit of a did not come within 0.05 s.*(?s:.)*JoinGroup"):
        groupproof_coordinator.wait_for("OffsetCommit", client="a", within_s=0.05)


def test_a_wrong_word_is_answered_with_the_nearest(groupproof_coordinator: GroupproofCoordinator) -> None:
    with pytest.raises(ValueError, match="no API is called 'HartBeat'; did you mean Heartbeat"):
        groupproof_coordinator.drop("HartBeat")
    with pytest.raises(ValueError, match="did you mean REBALANCE_IN_PROGRESS"):
        groupproof_coordinator.answer("Heartbeat", "REBALANCE_IN_PROGRES")
    with pytest.raises(TypeError, match="did you mean client"):
        groupproof_coordinator.cut("Heartbeat", cleint="a")  # type: ignore[call-arg]  # the wrong word
    with pytest.raises(TypeError, match="takes no topic; did you mean topics"), served([{"topic": 1}]):
        pass
    with pytest.raises(TypeError, match="takes only keywords"), served([], ["kafka-4.1"]):
        pass
    with pytest.raises(Exception, match=r"kafka-9\.9"), served([{"profile": "kafka-9.9"}]):
        pass


def test_a_fault_that_never_acted_fails_the_test() -> None:
    serving = served([])
    coordinator = serving.__enter__()
    coordinator.answer("Heartbeat", 27)
    coordinator.silence("Heartbeat", may_miss=True)

    with pytest.raises(AssertionError, match=r"never took effect.*: answer Heartbeat 1 "):
        serving.__exit__(None, None, None)


def test_in_a_loop_one_awaits(groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup) -> None:
    async def in_a_loop() -> int:
        groupproof_group.add()
        with pytest.raises(RuntimeError, match=r"await groupproof_group.until_stable"):
            groupproof_group.wait_until_stable()
        view = await groupproof_group.until_stable(members=len(groupproof_group.members))
        beat = await groupproof_coordinator.until("Heartbeat", since=len(groupproof_coordinator.trace))
        assert beat.kind == "request"
        return len(view.members)

    assert asyncio.run(in_a_loop()) == 1
    assert trio.run(in_a_loop) == 2


def test_a_test_of_ones_own_that_fails_shows_the_last_frames(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_own(groupproof_group, groupproof_trace):\n"
        "    groupproof_group.add('a')\n    groupproof_group.wait_until_stable(members=1)\n    assert groupproof_trace.requests('LeaveGroup')\n"
    )

    result = pytester.runpytest_inprocess("-p", "no:randomly")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*groupproof trace*", "  frames *", "* a * → * v*"])
