"""Every transition of a group that completes a rebalance, is Stable or Dead, as one line of the catalogue."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.coordinator.by_release import completing, dead, stable
from tests.coordinator.conftest import Scene
from tests.coordinator.transitions import (
    BEFORE_4,
    CHANGED,
    COMPLETING,
    DEAD,
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
    unloaded,
)  # fmt: skip

from groupproof.protocol.vocabulary import ErrorCode


def _assigned(s: Scene, leader: str, follower: str) -> object:
    parked = s.sync(follower)
    return s.sync(leader, assigned={follower: b"f"}), parked, parked.answer.assignment == b"f"


def _not_stored(s: Scene, leader: str, follower: str) -> object:
    parked = s.sync(follower)
    s.coordinator.append_error = ErrorCode.NOT_COORDINATOR
    return s.sync(leader), parked


def _while_parked(act: Callable[[Scene, str, str], object]) -> Callable[[Scene], object]:
    """Return the course in which `act` follows when the follower's SyncGroup is parked; what became of it is told last."""

    def course(s: Scene) -> object:
        leader, follower = completing(s)
        parked = s.sync(follower)
        return act(s, leader, follower), parked

    return course


def _hasty_parked(s: Scene) -> object:
    s.join(version=2)
    hasty = s.join(version=2, session_ms=6_000)
    s.after(6_000)
    parked = s.sync(hasty.answer.member_id)
    return s.after(6_000).state(), parked, len(s.members())


@pytest.mark.parametrize("row", [
    line(pytest.mark.requirement("TR-080"), lambda s: full(s, lambda s, a, b: s.sync(b), completing), "parked", COMPLETING,
          "1, .!10 S10, SyncDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-082"), lambda s: full(s, _assigned, completing), "0 0 True", STABLE, "1, .!10 .10, stored 1 with 2"),
    line(pytest.mark.requirement("TR-083"), lambda s: full(s, _not_stored, completing), "16 16", PREPARING,
          "1, .!10 .10, JoinDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-085"), lambda s: full(s, lambda s, a, b: (s.sync("x"), s.sync(b, 9)), completing), "25 22", COMPLETING,
          "1, .!10 .10, SyncDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-086"),
          lambda s: full(s, lambda s, a, b: (s.join(b, version=2), s.join(a, version=2), s.generation()), completing), "0 0 1", COMPLETING,
          "1, .!10 .10, SyncDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-087"), _while_parked(lambda s, a, b: s.join(a, version=2, protocols=CHANGED)), "parked 27", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-088"), _while_parked(lambda s, a, b: s.join(version=2)), "parked 27", PREPARING,
          "1, .!10 .10 J300, JoinDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-088"), _while_parked(lambda s, a, b: s.join(instance="i", version=5)), "parked 27", PREPARING,
          "1, .!10 .10 J300, JoinDeadline 300, stored 0 with 0", SINCE_2_4),
    line(pytest.mark.requirement("TR-088"), _while_parked(lambda s, a, b: s.join(s.given_id(), version=4)), "parked 27", PREPARING,
          "1, .!10 .10 J300, JoinDeadline 300, stored 0 with 0", SINCE_2_4),
    line(pytest.mark.requirement("TR-089"), lambda s: (s.joined(1, instances=["a"]), s.join(instance="a", version=5))[1], "0", COMPLETING,
          "1, .!- .10", ("kafka-2.4",)),
    line(pytest.mark.requirement("TR-089"), lambda s: (s.joined(1, instances=["a"]), s.join(instance="a", version=5))[1], "parked", PREPARING,
          "1, .!10 J10, JoinDeadline 300, stored 0 with 0", ("kafka-2.5", "kafka-4.1")),
    line(pytest.mark.requirement("TR-090"), lambda s: full(s, lambda s, a, b: s.heartbeat(b), completing), "27", COMPLETING, "1, .!- .-", BEFORE_4),
    line(pytest.mark.requirement("TR-090"),
          lambda s: kept_by(s, lambda s, a: s.heartbeat(a), completing, others=0, first_ms=5_000), "27 False", EMPTY,
          "2, stored 2 with 0", ("kafka-1.1",)),
    line(pytest.mark.requirement("TR-091"), lambda s: full(s, lambda s, a, b: s.heartbeat("x"), completing), "25", COMPLETING,
          "1, .!10 .10, SyncDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-092"), _while_parked(lambda s, a, b: len(s.after(10_000).members())), "1 27", PREPARING,
          "1, .!10, JoinDeadline 300, stored 0 with 0", NOT_2_4),
    line(pytest.mark.requirement("TR-093"), _hasty_parked, "CompletingRebalance parked 2", COMPLETING,
          "1, .!4 S-, SyncDeadline 294, stored 0 with 0"),
    line(pytest.mark.requirement("TR-094"), _while_parked(lambda s, a, b: left(s, a)), "0 27", PREPARING,
          "1, .!10, JoinDeadline 300, stored 0 with 0"),
    line(pytest.mark.requirement("TR-096"),
          lambda s: full(s, lambda s, a, b: s.commit(b, 1) + s.commit("x", 1) + s.commit(b, 9), completing), "27 25 22", COMPLETING,
          "1, .!10 .10, SyncDeadline 300, stored 0 with 0", SINCE_2_4),
    line(pytest.mark.requirement("TR-097"), lambda s: (completing(empty(s)), fetched(s))[1], "0 5", COMPLETING,
          "1, .!10 .10, SyncDeadline 300, offsets 1+0"),
    line(pytest.mark.requirement("TR-099"), _while_parked(lambda s, a, b: unloaded(s)), "Dead 16", None, ""),
    line(pytest.mark.requirement("TR-100"), lambda s: (completing(s), s.delete(version=0)["g"])[1], "68", COMPLETING,
          "1, .!10 .10, SyncDeadline 300, stored 0 with 0"),
])  # fmt: skip
def test_in_completing_rebalance(row: Line) -> None:
    assert row.broken() == []


def _instance_returns(s: Scene) -> object:
    leader, _ = s.stable(0, instances=["a", "b"], version=5)
    back = s.join(instance="a", version=5)
    return back, back.answer.leader == leader, back.answer.member_id == leader, len(back.answer.members), s.generation()


@pytest.mark.parametrize("row", [
    line(pytest.mark.requirement("TR-110"), lambda s: full(s, lambda s, a, b: s.join(version=2), stable), "parked", PREPARING,
          "1, .!10 .10 J300, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-110"), lambda s: full(s, lambda s, a, b: s.join(instance="i", version=5), stable), "parked", PREPARING,
          "1, .!10 .10 J300, JoinDeadline 300, stored 1 with 2", SINCE_2_4),
    line(pytest.mark.requirement("TR-110"), lambda s: full(s, lambda s, a, b: s.join(s.given_id(), version=4), stable), "parked", PREPARING,
          "1, .!10 .10 J300, JoinDeadline 300, stored 1 with 2", SINCE_2_4),
    line(pytest.mark.requirement("TR-111"), lambda s: full(s, lambda s, a, b: s.join(a, version=2), stable), "parked", PREPARING,
          "1, J!10 .10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-112"), lambda s: full(s, lambda s, a, b: s.join(b, version=2, protocols=CHANGED), stable), "parked", PREPARING,
          "1, .!10 J10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-113"),
          lambda s: full(s, lambda s, a, b: (j := s.join(b, version=2), j.answer.generation_id, len(j.answer.members)), stable), "0 1 0", STABLE,
          "1, .!10 .10, stored 1 with 2"),
    line(pytest.mark.requirement("TR-114"),
          lambda s: full(s, lambda s, a, b: (s.join("x", version=2), s.join(version=2, protocols=("custom",))), stable), "25 23", STABLE,
          "1, .!10 .10, stored 1 with 2"),
    line(pytest.mark.requirement("TR-115"), _instance_returns, "0 True False 0 1", STABLE, "1, .10 .!10, stored 1 with 2", SINCE_2_4),
    line(pytest.mark.requirement("TR-115"), lambda s: (s.stable(0, instances=["a"]), s.join(instance="a", version=9))[1], "0", STABLE,
          "1, .!10, stored 1 with 1",
          ("kafka-4.1",)),
    line(pytest.mark.requirement("TR-116"),
          lambda s: full(s, lambda s, a, b: (again := s.sync(b), again.answer.assignment == b.encode()), stable), "0 True", STABLE,
          "1, .!10 .10, stored 1 with 2"),
    line(pytest.mark.requirement("TR-116"), lambda s: kept_by(s, lambda s, a: s.sync(a), others=0), "0 True", STABLE,
          "1, .!1, stored 1 with 1", ("kafka-1.1",)),
    line(pytest.mark.requirement("TR-117"), lambda s: full(s, lambda s, a, b: (s.sync("x"), s.sync(b, 9)), stable), "25 22", STABLE,
          "1, .!10 .10, stored 1 with 2"),
    line(pytest.mark.requirement("TR-118"), lambda s: kept_by(s, lambda s, a: s.heartbeat(a), others=0), "0 True", STABLE, "1, .!1, stored 1 with 1"),
    line(pytest.mark.requirement("TR-119"), lambda s: full(s, lambda s, a, b: (s.heartbeat("x"), s.heartbeat(b, 9)), stable), "25 22", STABLE,
          "1, .!10 .10, stored 1 with 2"),
    line(pytest.mark.requirement("TR-120"),
          lambda s: full(s, lambda s, a, b: (s.after(5_000).heartbeat(a), len(s.after(5_000).members())), stable), "0 1", PREPARING,
          "1, .!5, JoinDeadline 300, stored 1 with 2", NOT_2_4),
    line(pytest.mark.requirement("TR-121"), lambda s: (left(s, stable(s, 1)[0]), s.generation(), *s.path()[-2:]),
          "0 2 PreparingRebalance Empty", EMPTY,
          "2, stored 2 with 0"),
    line(pytest.mark.requirement("TR-122"), lambda s: full(s, lambda s, a, b: (left(s, b), len(s.members())), stable), "0 1", PREPARING,
          "1, .!10, JoinDeadline 300, stored 1 with 2"),
    line(pytest.mark.requirement("TR-123"), lambda s: kept_by(s, lambda s, a: s.commit(a, 1, version=3)[0], others=0), "0 True", STABLE,
          "1, .!1, stored 1 with 1, offsets 1+0"),
    line(pytest.mark.requirement("TR-124"),
          lambda s: full(s, lambda s, a, b: s.commit("x", 1, version=3) + s.commit(b, 9, version=3) + s.commit(version=3), stable), "25 22 25", STABLE,
          "1, .!10 .10, stored 1 with 2"),
    line(pytest.mark.requirement("TR-125"), lambda s: (stable(empty(s)), fetched(s))[1], "0 5", STABLE, "1, .!10 .10, stored 1 with 2, offsets 1+0"),
    line(pytest.mark.requirement("TR-126"), lambda s: (stable(s), unloaded(s))[1], "Dead", None, ""),
    line(pytest.mark.requirement("TR-127"), lambda s: (stable(s), s.delete(version=0)["g"])[1], "68", STABLE, "1, .!10 .10, stored 1 with 2"),
])  # fmt: skip
def test_in_stable(row: Line) -> None:
    assert row.broken() == []


LEFT_OF_THE_DEAD = "1, .!- .-, stored 1 with 2"


@pytest.mark.parametrize(("releases", "code"), [(("kafka-1.1",), "25"), (SINCE_2_4, "15")])
@pytest.mark.parametrize("act", [
    pytest.param(lambda s, a: s.join(a, version=2), marks=pytest.mark.requirement("TR-140")),
    pytest.param(lambda s, a: s.sync(a), marks=pytest.mark.requirement("TR-141")),
    pytest.param(lambda s, a: s.heartbeat(a), marks=pytest.mark.requirement("TR-142")),
    pytest.param(left, marks=pytest.mark.requirement("TR-143")),
    pytest.param(lambda s, a: s.commit(a, 1, version=3), marks=pytest.mark.requirement("TR-144")),
])  # fmt: skip
def test_in_dead(releases: tuple[str, ...], code: str, act: Callable[[Scene, str], object]) -> None:
    assert Line(lambda s: act(s, dead(s)[0]), code, DEAD, LEFT_OF_THE_DEAD, releases).broken() == []


@pytest.mark.requirement("TR-145")
def test_a_dead_group_still_has_an_answer_to_who_asks_for_offsets() -> None:
    assert Line(lambda s: (dead(s), fetched(s))[1], "0 -1", DEAD, LEFT_OF_THE_DEAD).broken() == []
