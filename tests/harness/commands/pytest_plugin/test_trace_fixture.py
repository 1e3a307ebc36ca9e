from __future__ import annotations

from pathlib import Path

import pytest

from groupproof.harness.commands.pytest_plugin.coordinator_fixture import GroupproofCoordinator
from groupproof.harness.commands.pytest_plugin.group_fixture import GroupproofGroup
from groupproof.harness.commands.pytest_plugin.trace_fixture import GroupproofTrace
from groupproof.protocol.trace import read_trace


def test_a_member_that_breaks_a_rule_fails_the_check_with_the_rule_and_the_frames(
    groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup, groupproof_trace: GroupproofTrace
) -> None:
    groupproof_group.add("bad", properties={"groupproof.variant": "syncs-with-previous-generation"})
    groupproof_coordinator.wait_for("SyncGroup", client="bad")

    with pytest.raises(
        AssertionError, match=r"(?s)^CLIENT-11: SyncGroup carried .*requirement  CLIENT-11 \(MUST\).*expected .*frames .*JoinGroup.*SyncGroup"
    ):
        groupproof_trace.check()


def test_nothing_to_judge_is_no_pass(groupproof_trace: GroupproofTrace) -> None:
    with pytest.raises(AssertionError, match="the trace has nothing about a group"):
        groupproof_trace.check()
    with pytest.raises(AssertionError, match="the trace has nothing about group 'orders'"):
        groupproof_trace.check("orders")


def test_a_member_that_ends_without_a_leave_is_unclean(
    groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup, groupproof_trace: GroupproofTrace
) -> None:
    member = groupproof_group.add("rude")
    groupproof_group.wait_until_stable(members=1)
    member.kill()
    closed = [obs for obs in groupproof_trace if obs.who == "link" and obs.body.get("name") == "connected"]
    groupproof_coordinator.server.done(
        lambda: groupproof_coordinator.observed(lambda obs: obs.who == "link" and obs.body.get("name") == "closed", len(closed), 0, 10, "no end"),
        "",
    )

    groupproof_trace.check()
    with pytest.raises(AssertionError, match="unclean goodbye: rude went without a LeaveGroup"):
        groupproof_trace.check(goodbye=True)


def test_a_trace_can_be_looked_through_and_kept(groupproof_group: GroupproofGroup, groupproof_trace: GroupproofTrace, tmp_path: Path) -> None:
    groupproof_group.add("a")
    groupproof_group.wait_until_stable(members=1)
    place = len(groupproof_trace)

    groupproof_trace.save(tmp_path / "trace.ndjson")

    kept = list(read_trace((tmp_path / "trace.ndjson").read_text().splitlines()))
    assert [obs.to_json() for obs in kept[:place]] == [obs.to_json() for obs in groupproof_trace[:place]]
    assert groupproof_trace.requests("JoinGroup")[0] == next(obs for obs in groupproof_trace if obs.api == "JoinGroup")
    assert groupproof_trace.requests("JoinGroup", since=place) == []
    assert "SyncGroup" in groupproof_trace.tail()
    with pytest.raises(ValueError, match="did you mean JoinGroup"):
        groupproof_trace.requests("Join")
