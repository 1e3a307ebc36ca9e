"""Every transition of a group that is not there, Empty, or preparing a rebalance, as one line of the catalogue."""

from __future__ import annotations

import pytest
from tests.coordinator.by_release import preparing, stable
from tests.coordinator.conftest import Scene
from tests.coordinator.transitions import (
    CHANGED,
    COMPLETING,
    EMPTY,
    NOT_2_4,
    PREPARING,
    SINCE_2_4,
    STABLE,
    Line,
    empty,
    fetched,
    full,
    kept_by,
    left,
    line,
    reloaded,
    unloaded,
)  # fmt: skip

from groupproof.protocol.vocabulary import ErrorCode


@pytest.mark.parametrize("row", [
    line(pytest.mark.requirement("TR-001"), lambda s: s.join(version=2), "parked", PREPARING, "0, J!300, InitialDelayEnd 3, stored 0 with 0"),
    line(pytest.mark.requirement("TR-002"), lambda s: s.join("x", version=2), "25", None, ""),
    line(pytest.mark.requirement("TR-003"), lambda s: s.join(version=4), "79", EMPTY, "0, pending 10, stored 0 with 0", SINCE_2_4),
    line(pytest.mark.requirement("TR-004"), lambda s: (s.sync("x"), s.heartbeat("x")), "25 25", None, ""),
    line(pytest.mark.requirement("TR-005"), lambda s: left(s, "x"), "25", None, ""),
    line(pytest.mark.requirement("TR-006"), lambda s: s.commit(version=3), "0", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-007"), lambda s: s.commit("x", 1, version=3), "22", None, ""),
    line(pytest.mark.requirement("TR-008"), fetched, "0 -1", None, ""),
    line(pytest.mark.requirement("TR-009"), lambda s: full(s, lambda s, a, b: reloaded(s).heartbeat(a), stable), "0", STABLE,
          "1, .!10 .10, stored 1 with 2"),
    line(pytest.mark.requirement("TR-010"),
          lambda s: full(s, lambda s, a, b: (left(s, a), left(s, b), reloaded(s).generation()), stable), "0 0 2", EMPTY, "2, stored 2 with 0"),
])  # fmt: skip
def test_without_a_group(row: Line) -> None:
    assert row.broken() == []


@pytest.mark.parametrize("row", [
    line(pytest.mark.requirement("TR-020"), lambda s: empty(s).join(version=2), "parked", PREPARING, "0, J!300, InitialDelayEnd 3, offsets 1+0"),
    line(pytest.mark.requirement("TR-022"), lambda s: empty(s).join(version=4), "79", EMPTY, "0, pending 10, offsets 1+0", SINCE_2_4),
    line(pytest.mark.requirement("TR-023"), lambda s: s.join(s.given_id(), version=4), "parked", PREPARING,
          "0, J!300, InitialDelayEnd 3, stored 0 with 0", SINCE_2_4),
    line(pytest.mark.requirement("TR-024"), lambda s: empty(s).join("x", version=2), "25", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-025"),
          lambda s: (empty(s).join(protocols=(), version=2), s.join(protocol_type="", version=2)), "23 23", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-026"), lambda s: empty(s).sync("x"), "25", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-027"), lambda s: empty(s).heartbeat("x"), "25", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-028"), lambda s: left(empty(s), "x"), "25", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-028"), lambda s: left(s, s.given_id()), "0", EMPTY, "0, stored 0 with 0", SINCE_2_4),
    line(pytest.mark.requirement("TR-029"), lambda s: empty(s).commit(version=3) + s.txn_commit(version=0), "0 0", EMPTY, "0, offsets 1+1"),
    line(pytest.mark.requirement("TR-030"), lambda s: empty(s).commit("x", 1, version=3), "25", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-031"), lambda s: fetched(empty(s)), "0 5", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-032"),
          lambda s: full(s, lambda s, a, b: (left(s, a), left(s, b), s.after(1_200_000).path()[-1]), stable), "0 0 Dead", None, ""),
    line(pytest.mark.requirement("TR-033"), lambda s: fetched(empty(s).after(1_200_000)), "0 5", EMPTY, "0, offsets 1+0"),
    line(pytest.mark.requirement("TR-034"), lambda s: unloaded(empty(s)), "Dead", None, ""),
    line(pytest.mark.requirement("TR-035"), lambda s: (empty(s).delete(version=0)["g"], s.path()[-1], *fetched(s)), "0 Dead 0 -1", None, ""),
    line(pytest.mark.requirement("TR-036"), lambda s: (s.given_id(), len(s.after(10_000).view().pending))[1], "0", EMPTY,
          "0, stored 0 with 0", SINCE_2_4),
])  # fmt: skip
def test_in_empty(row: Line) -> None:
    assert row.broken() == []


def _two_incarnations(s: Scene) -> object:
    leader, _, static = s.stable(2, instances=["a"])
    s.join(leader)
    return s.join(static, instance="a", version=5), s.join(instance="a", version=5)


def _pending_blocks(s: Scene, leader: str, follower: str) -> object:
    asked = s.join(version=4)
    return asked, s.join(follower, version=2)


def _all_joined(s: Scene, leader: str, follower: str) -> object:
    first, second = s.join(leader, version=2), s.join(follower, version=2)
    return first, second, len(first.answer.members), len(second.answer.members), s.generation()


def _deadline(s: Scene) -> object:
    leader, _ = stable(s, rebalance_ms=60_000, session_ms=300_000)
    joined = s.join(leader, version=2, rebalance_ms=60_000, session_ms=300_000)
    s.after(59_999)
    assert joined.is_parked
    return s.after(1).generation(), joined, len(s.members())


def _nobody_joined(s: Scene) -> object:
    leader, *_ = stable(s, 3, rebalance_ms=60_000, session_ms=300_000)
    left(s, leader)
    return s.after(60_000).generation()


def _static_absent(s: Scene) -> object:
    s.stable(0, instances=["a"], version=5, session_ms=700_000)
    s.join()
    s.leave(s.members()[-1], version=3)
    return s.after(300_000).generation(), len(s.members())


def _parked_is_kept(s: Scene, leader: str, follower: str) -> object:
    joined = s.join(leader, version=2)
    s.after(6_000).heartbeat(follower)
    return s.after(6_000).heartbeat(follower), joined, len(s.members())


def _newcomer_waits(s: Scene) -> object:
    (leader,) = s.stable(rebalance_ms=600_000)
    newcomer = s.join(rebalance_ms=600_000)
    for _ in range(59):
        s.after(5_000).heartbeat(leader)
    assert s.after(4_999).heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert newcomer.is_parked
    s.after(1)
    return newcomer


def _pending_joins_last(s: Scene) -> object:
    (leader,) = s.stable()
    pending = s.given_id()
    joined = s.join(leader)
    assert joined.is_parked
    return s.join(pending, version=4), joined


def _pending_ends(s: Scene) -> object:
    (leader,) = s.stable(session_ms=60_000)
    s.given_id()
    joined = s.join(leader, session_ms=60_000)
    s.after(9_999)
    assert joined.is_parked
    s.after(1)
    return joined


def _instance_joins_last(s: Scene) -> object:
    leader, _ = s.stable(1, instances=["a"])
    joined = s.join(leader)
    assert joined.is_parked
    return s.join(instance="a", version=5), joined


def _pending_leaves(s: Scene) -> object:
    (leader,) = s.stable()
    pending = s.given_id()
    joined = s.join(leader)
    assert joined.is_parked
    return left(s, pending), joined


@pytest.mark.parametrize("row", [
    line(pytest.mark.requirement("TR-040"), lambda s: full(s, lambda s, a, b: s.join(version=2), preparing), "parked", PREPARING,
          "1, J!10 .10 J300, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-040"), lambda s: full(s, lambda s, a, b: s.join(instance="i", version=5), preparing), "parked", PREPARING,
          "1, J!10 .10 J300, JoinDeadline 300, stored 1 with 2", SINCE_2_4),
    line(pytest.mark.requirement("TR-040"), _pending_joins_last, "0 0", COMPLETING, "2, .!10 .10, SyncDeadline 300, stored 1 with 1", SINCE_2_4),
    line(pytest.mark.requirement("TR-041"), lambda s: full(s, lambda s, a, b: s.join(a, version=2, protocols=CHANGED), preparing),
          "parked", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-041"), lambda s: full(s, lambda s, a, b: s.join(b, version=2, session_ms=20_000), preparing), "0", COMPLETING,
          "2, .!10 .20, SyncDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-042"), lambda s: full(s, lambda s, a, b: s.join("x", version=2), preparing), "25", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-043"),
          lambda s: full(s, lambda s, a, b: s.join(version=2, protocols=("custom",)), preparing), "23", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-044"), _two_incarnations, "82 parked", PREPARING,
          "1, J!10 .10 J10, JoinDeadline 300, stored 1 with 3", SINCE_2_4),
    line(pytest.mark.requirement("TR-044"), _instance_joins_last, "0 0", COMPLETING, "2, .!10 .10, SyncDeadline 300, stored 1 with 2", SINCE_2_4),
    line(pytest.mark.requirement("TR-045"), lambda s: full(s, _pending_blocks, preparing), "79 parked", PREPARING,
          "1, J!10 J10, pending 10, JoinDeadline 300, stored 1 with 2", SINCE_2_4),
    line(pytest.mark.requirement("TR-046"), lambda s: full(s, _all_joined, stable), "0 0 2 0 2", COMPLETING,
          "2, .!10 .10, SyncDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-046"), lambda s: (preparing(s), len(s.after(10_000).members()))[1], "1", COMPLETING,
          "2, .!10, SyncDeadline 300, stored 1 with 2", NOT_2_4),
    line(pytest.mark.requirement("TR-047"),
          lambda s: full(s, lambda s, a, b: (left(s, b), left(s, a), s.generation()), lambda s: stable(s)), "0 0 2", EMPTY, "2, stored 2 with 0"),
    line(pytest.mark.requirement("TR-047"),
          lambda s: full(s, lambda s, a, b: (left(s, a), len(s.after(10_000).members())), preparing), "0 0", EMPTY, "2, stored 2 with 0", NOT_2_4),
    line(pytest.mark.requirement("TR-048"), _deadline, "2 0 1", COMPLETING, "2, .!300, SyncDeadline 60, stored 1 with 2"),
    line(pytest.mark.requirement("TR-049"), _nobody_joined, "2", EMPTY, "2, stored 2 with 0"),
    line(pytest.mark.requirement("TR-050"), _static_absent, "1 1", PREPARING, "1, .!400, JoinDeadline 300, stored 1 with 1", SINCE_2_4),
    line(pytest.mark.requirement("TR-051"), lambda s: (s.join(version=2), s.join(version=2), s.after(3_000))[0], "parked", PREPARING,
          "0, J!297 J297, InitialDelayEnd 3, stored 0 with 0"),
    line(pytest.mark.requirement("TR-052"), lambda s: (s.join(version=2), s.after(3_000))[0], "0", COMPLETING,
          "1, .!10, SyncDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-053"),
          lambda s: (s.join(version=2), left(s, s.members()[0]), s.after(3_000).generation())[1:], "0 1", EMPTY, "1, stored 1 with 0"),
    line(pytest.mark.requirement("TR-054"), lambda s: full(s, lambda s, a, b: s.sync(b), preparing), "27", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-055"), lambda s: full(s, lambda s, a, b: (s.sync("x"), s.sync(b, 9)), preparing), "25 22", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-056"), lambda s: kept_by(s, lambda s, b: s.heartbeat(b), preparing), "27 True", PREPARING,
          "1, J!- .1, JoinDeadline 282, stored 1 with 2"),
    line(pytest.mark.requirement("TR-057"), lambda s: full(s, lambda s, a, b: (s.heartbeat("x"), s.heartbeat(b, 9)), preparing), "25 22", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-058"),
          lambda s: full(s, lambda s, a, b: (s.join(a, version=2), len(s.after(10_000).members())), stable), "0 1", COMPLETING,
          "2, .!10, SyncDeadline 300, stored 1 with 2", NOT_2_4),
    line(pytest.mark.requirement("TR-059"), lambda s: full(s, _parked_is_kept, stable), "27 parked 2", PREPARING,
          "1, J!- .10, JoinDeadline 288, stored 1 with 2"),
    line(pytest.mark.requirement("TR-060"), _newcomer_waits, "25", PREPARING, "1, .!9.999, JoinDeadline 300, stored 1 with 1", SINCE_2_4),
    line(pytest.mark.requirement("TR-061"),
          lambda s: (ids := stable(s, 3), joined := s.join(ids[0], version=2), left(s, ids[0]), joined)[2:], "0 25", PREPARING,
          "1, .!10 .10, JoinDeadline 300, stored 1 with 3", SINCE_2_4),
    line(pytest.mark.requirement("TR-062"),
          lambda s: (s.join(version=2), second := s.join(version=2), left(s, s.members()[0]), second)[2:], "0 parked", PREPARING,
          "0, J!300, InitialDelayEnd 3, stored 0 with 0"),
    line(pytest.mark.requirement("TR-063"), _pending_leaves, "0 0", COMPLETING, "2, .!10, SyncDeadline 300, stored 1 with 1", SINCE_2_4),
    line(pytest.mark.requirement("TR-063"), _pending_ends, "0", COMPLETING, "2, .!60, SyncDeadline 300, stored 1 with 1", SINCE_2_4),
    line(pytest.mark.requirement("TR-064"),
          lambda s: full(s, lambda s, a, b: (*s.commit(b, 1, version=3), *fetched(s)), preparing), "0 0 5", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2, offsets 1+0"),
    line(pytest.mark.requirement("TR-065"),
          lambda s: full(s, lambda s, a, b: s.commit("x", 1, version=3) + s.commit(b, 9, version=3), preparing), "25 22", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-066"), lambda s: (preparing(empty(s)), fetched(s))[1], "0 5", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2, offsets 1+0"),
    line(pytest.mark.requirement("TR-067"), lambda s: full(s, lambda s, a, b: (s.join(a, version=2), unloaded(s)), stable), "16 Dead", None, ""),
    line(pytest.mark.requirement("TR-068"), lambda s: (preparing(s), s.delete(version=0)["g"])[1], "68", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
])  # fmt: skip
def test_in_preparing_rebalance(row: Line) -> None:
    assert row.broken() == []
