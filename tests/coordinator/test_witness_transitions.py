"""Every transition of the catalogue as one line: in these releases, so asked, a group answers so and is then in this state.

The sentences were read in 1.1 and 2.4; 4.1 stands beside them where it still does the same. Answers are codes, `parked`, or figures that the
line itself returns: generations, members, whether bytes came back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.coordinator.by_release import completing, dead, leave, preparing, said, stable
from tests.coordinator.conftest import Scene

from groupproof.protocol.vocabulary import ErrorCode, GroupState

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
ALL = ("kafka-1.1", "kafka-2.4", "kafka-4.1")
SINCE_2_4 = ("kafka-2.4", "kafka-4.1")
BEFORE_4 = ("kafka-1.1", "kafka-2.4")
NOT_2_4 = ("kafka-1.1", "kafka-4.1")  # in 2.4 no session of a newcomer runs before its first heartbeat (KAFKA-9752)
PARTITION = 3
CHANGED = ("range", "x")


@dataclass(frozen=True)
class Line:
    """What is done, what comes back, and where the group is then; None: there is no group."""

    act: Callable[[Scene], object]
    answer: str
    after: GroupState | None
    releases: tuple[str, ...] = ALL

    def broken(self) -> list[str]:
        """Return the releases in which something else comes back, or the group is elsewhere, with what there is instead."""
        found = []
        for release in self.releases:
            scene = Scene(release)
            answer, after = _told(self.act(scene)), scene.state()
            if (answer, after) != (self.answer, self.after):
                found.append(f"{release}: {answer}, then {after}")
        return found


def _line(mark: pytest.MarkDecorator, act: Callable[[Scene], object], answer: str, after: GroupState | None, releases: tuple[str, ...] = ALL) -> Any:
    return pytest.param(Line(act, answer, after, releases), marks=mark, id=f"{mark.args[0]} {releases[0]}")


def _told(outcome: object) -> str:
    if outcome is None:
        return "-"
    return " ".join(map(said, outcome)) if isinstance(outcome, tuple | list) else said(outcome)


def left(s: Scene, member_id: str) -> int:
    """Return what the member is told that leaves, in whatever version."""
    answer = leave(s, member_id).answer
    return answer.error_code or answer.members[0].error_code


def fetched(s: Scene) -> tuple[int, int]:
    (group,) = s.fetch(0).answer.groups
    return group.topics[0].partitions[0].error_code or group.error_code, group.topics[0].partitions[0].committed_offset


def empty(s: Scene) -> Scene:
    s.commit(version=3)
    return s


def unloaded(s: Scene) -> str:
    s.take(s.coordinator.unload(PARTITION, s.now_ms))
    return s.path()[-1].value


def reloaded(s: Scene) -> Scene:
    stored = s.coordinator.stored(PARTITION)
    unloaded(s)
    s.take(s.coordinator.load(PARTITION, stored, s.now_ms))
    return s


def full(s: Scene, act: Callable[[Scene, str, str], object], stage: Callable[..., list[str]]) -> object:
    """Let `act` follow when two members, the leader first, have come to a stage."""
    return act(s, *stage(s))


@pytest.mark.parametrize("line", [
    _line(pytest.mark.requirement("TR-001"), lambda s: s.join(version=2), "parked", PREPARING),
    _line(pytest.mark.requirement("TR-002"), lambda s: s.join("x", version=2), "25", None),
    _line(pytest.mark.requirement("TR-003"), lambda s: s.join(version=4), "79", EMPTY, SINCE_2_4),
    _line(pytest.mark.requirement("TR-004"), lambda s: (s.sync("x"), s.heartbeat("x")), "25 25", None),
    _line(pytest.mark.requirement("TR-005"), lambda s: left(s, "x"), "25", None),
    _line(pytest.mark.requirement("TR-006"), lambda s: s.commit(version=3), "0", EMPTY),
    _line(pytest.mark.requirement("TR-007"), lambda s: s.commit("x", 1, version=3), "22", None),
    _line(pytest.mark.requirement("TR-008"), fetched, "0 -1", None),
    _line(pytest.mark.requirement("TR-009"), lambda s: full(s, lambda s, a, b: reloaded(s).heartbeat(a), stable), "0", STABLE),
    _line(pytest.mark.requirement("TR-010"),
          lambda s: full(s, lambda s, a, b: (left(s, a), left(s, b), reloaded(s).generation()), stable), "0 0 2", EMPTY),
])  # fmt: skip
def test_without_a_group(line: Line) -> None:
    assert line.broken() == []


@pytest.mark.parametrize("line", [
    _line(pytest.mark.requirement("TR-020"), lambda s: empty(s).join(version=2), "parked", PREPARING),
    _line(pytest.mark.requirement("TR-022"), lambda s: empty(s).join(version=4), "79", EMPTY, SINCE_2_4),
    _line(pytest.mark.requirement("TR-023"), lambda s: s.join(s.given_id(), version=4), "parked", PREPARING, SINCE_2_4),
    _line(pytest.mark.requirement("TR-024"), lambda s: empty(s).join("x", version=2), "25", EMPTY),
    _line(pytest.mark.requirement("TR-025"),
          lambda s: (empty(s).join(protocols=(), version=2), s.join(protocol_type="", version=2)), "23 23", EMPTY),
    _line(pytest.mark.requirement("TR-026"), lambda s: empty(s).sync("x"), "25", EMPTY),
    _line(pytest.mark.requirement("TR-027"), lambda s: empty(s).heartbeat("x"), "25", EMPTY),
    _line(pytest.mark.requirement("TR-028"), lambda s: left(empty(s), "x"), "25", EMPTY),
    _line(pytest.mark.requirement("TR-028"), lambda s: left(s, s.given_id()), "0", EMPTY, SINCE_2_4),
    _line(pytest.mark.requirement("TR-029"), lambda s: empty(s).commit(version=3) + s.txn_commit(version=0), "0 0", EMPTY),
    _line(pytest.mark.requirement("TR-030"), lambda s: empty(s).commit("x", 1, version=3), "25", EMPTY),
    _line(pytest.mark.requirement("TR-031"), lambda s: fetched(empty(s)), "0 5", EMPTY),
    _line(pytest.mark.requirement("TR-032"),
          lambda s: full(s, lambda s, a, b: (left(s, a), left(s, b), s.after(1_200_000).path()[-1]), stable), "0 0 Dead", None),
    _line(pytest.mark.requirement("TR-033"), lambda s: fetched(empty(s).after(1_200_000)), "0 5", EMPTY),
    _line(pytest.mark.requirement("TR-034"), lambda s: unloaded(empty(s)), "Dead", None),
    _line(pytest.mark.requirement("TR-035"), lambda s: (empty(s).delete(version=0)["g"], s.path()[-1], *fetched(s)), "0 Dead 0 -1", None),
    _line(pytest.mark.requirement("TR-036"), lambda s: (s.given_id(), len(s.after(10_000).view().pending))[1], "0", EMPTY, SINCE_2_4),
])  # fmt: skip
def test_in_empty(line: Line) -> None:
    assert line.broken() == []


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


def _kept_by(
    s: Scene, sign: Callable[[Scene, str], object], stage: Callable[..., list[str]] = stable, *, others: int = 1, first_ms: int = 9_000
) -> object:
    """Return the sign's answer, and whether the member is still there when its session would be over without the sign."""
    *_, member = stage(s, 1 + others)
    answer = sign(s.after(first_ms), member)
    return answer, member in s.after(9_000).members()


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


def _pending_leaves(s: Scene) -> object:
    (leader,) = s.stable()
    pending = s.given_id()
    joined = s.join(leader)
    assert joined.is_parked
    return left(s, pending), joined


@pytest.mark.parametrize("line", [
    _line(pytest.mark.requirement("TR-040"), lambda s: full(s, lambda s, a, b: s.join(version=2), preparing), "parked", PREPARING),
    _line(pytest.mark.requirement("TR-041"), lambda s: full(s, lambda s, a, b: s.join(a, version=2, protocols=CHANGED), preparing), "parked", PREPARING),
    _line(pytest.mark.requirement("TR-042"), lambda s: full(s, lambda s, a, b: s.join("x", version=2), preparing), "25", PREPARING),
    _line(pytest.mark.requirement("TR-043"),
          lambda s: full(s, lambda s, a, b: s.join(version=2, protocols=("custom",)), preparing), "23", PREPARING),
    _line(pytest.mark.requirement("TR-044"), _two_incarnations, "82 parked", PREPARING, SINCE_2_4),
    _line(pytest.mark.requirement("TR-045"), lambda s: full(s, _pending_blocks, preparing), "79 parked", PREPARING, SINCE_2_4),
    _line(pytest.mark.requirement("TR-046"), lambda s: full(s, _all_joined, stable), "0 0 2 0 2", COMPLETING),
    _line(pytest.mark.requirement("TR-047"),
          lambda s: full(s, lambda s, a, b: (left(s, b), left(s, a), s.generation()), lambda s: stable(s)), "0 0 2", EMPTY),
    _line(pytest.mark.requirement("TR-048"), _deadline, "2 0 1", COMPLETING),
    _line(pytest.mark.requirement("TR-049"), _nobody_joined, "2", EMPTY),
    _line(pytest.mark.requirement("TR-050"), _static_absent, "1 1", PREPARING, SINCE_2_4),
    _line(pytest.mark.requirement("TR-051"), lambda s: (s.join(version=2), s.join(version=2), s.after(3_000))[0], "parked", PREPARING),
    _line(pytest.mark.requirement("TR-052"), lambda s: (s.join(version=2), s.after(3_000))[0], "0", COMPLETING),
    _line(pytest.mark.requirement("TR-053"),
          lambda s: (s.join(version=2), left(s, s.members()[0]), s.after(3_000).generation())[1:], "0 1", EMPTY),
    _line(pytest.mark.requirement("TR-054"), lambda s: full(s, lambda s, a, b: s.sync(b), preparing), "27", PREPARING),
    _line(pytest.mark.requirement("TR-055"), lambda s: full(s, lambda s, a, b: (s.sync("x"), s.sync(b, 9)), preparing), "25 22", PREPARING),
    _line(pytest.mark.requirement("TR-056"), lambda s: _kept_by(s, lambda s, b: s.heartbeat(b), preparing), "27 True", PREPARING),
    _line(pytest.mark.requirement("TR-057"), lambda s: full(s, lambda s, a, b: (s.heartbeat("x"), s.heartbeat(b, 9)), preparing), "25 22", PREPARING),
    _line(pytest.mark.requirement("TR-058"),
          lambda s: full(s, lambda s, a, b: (s.join(a, version=2), len(s.after(10_000).members())), stable), "0 1", COMPLETING, NOT_2_4),
    _line(pytest.mark.requirement("TR-059"), lambda s: full(s, _parked_is_kept, stable), "27 parked 2", PREPARING),
    _line(pytest.mark.requirement("TR-060"), _newcomer_waits, "25", PREPARING, SINCE_2_4),
    _line(pytest.mark.requirement("TR-061"),
          lambda s: (ids := stable(s, 3), joined := s.join(ids[0], version=2), left(s, ids[0]), joined)[2:], "0 25", PREPARING, SINCE_2_4),
    _line(pytest.mark.requirement("TR-062"),
          lambda s: (s.join(version=2), second := s.join(version=2), left(s, s.members()[0]), second)[2:], "0 parked", PREPARING),
    _line(pytest.mark.requirement("TR-063"), _pending_leaves, "0 0", COMPLETING, SINCE_2_4),
    _line(pytest.mark.requirement("TR-064"),
          lambda s: full(s, lambda s, a, b: (*s.commit(b, 1, version=3), *fetched(s)), preparing), "0 0 5", PREPARING),
    _line(pytest.mark.requirement("TR-065"),
          lambda s: full(s, lambda s, a, b: s.commit("x", 1, version=3) + s.commit(b, 9, version=3), preparing), "25 22", PREPARING),
    _line(pytest.mark.requirement("TR-066"), lambda s: (preparing(empty(s)), fetched(s))[1], "0 5", PREPARING),
    _line(pytest.mark.requirement("TR-067"), lambda s: full(s, lambda s, a, b: (s.join(a, version=2), unloaded(s)), stable), "16 Dead", None),
    _line(pytest.mark.requirement("TR-068"), lambda s: (preparing(s), s.delete(version=0)["g"])[1], "68", PREPARING),
])  # fmt: skip
def test_in_preparing_rebalance(line: Line) -> None:
    assert line.broken() == []


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


@pytest.mark.parametrize("line", [
    _line(pytest.mark.requirement("TR-080"), lambda s: full(s, lambda s, a, b: s.sync(b), completing), "parked", COMPLETING),
    _line(pytest.mark.requirement("TR-082"), lambda s: full(s, _assigned, completing), "0 0 True", STABLE),
    _line(pytest.mark.requirement("TR-083"), lambda s: full(s, _not_stored, completing), "16 16", PREPARING),
    _line(pytest.mark.requirement("TR-085"), lambda s: full(s, lambda s, a, b: (s.sync("x"), s.sync(b, 9)), completing), "25 22", COMPLETING),
    _line(pytest.mark.requirement("TR-086"),
          lambda s: full(s, lambda s, a, b: (s.join(b, version=2), s.join(a, version=2), s.generation()), completing), "0 0 1", COMPLETING),
    _line(pytest.mark.requirement("TR-087"), _while_parked(lambda s, a, b: s.join(a, version=2, protocols=CHANGED)), "parked 27", PREPARING),
    _line(pytest.mark.requirement("TR-088"), _while_parked(lambda s, a, b: s.join(version=2)), "parked 27", PREPARING),
    _line(pytest.mark.requirement("TR-089"), lambda s: (s.joined(1, instances=["a"]), s.join(instance="a", version=5))[1],
          "0", COMPLETING, ("kafka-2.4",)),
    _line(pytest.mark.requirement("TR-089"), lambda s: (s.joined(1, instances=["a"]), s.join(instance="a", version=5))[1],
          "parked", PREPARING, ("kafka-2.5", "kafka-4.1")),
    _line(pytest.mark.requirement("TR-090"), lambda s: full(s, lambda s, a, b: s.heartbeat(b), completing), "27", COMPLETING, BEFORE_4),
    _line(pytest.mark.requirement("TR-090"),
          lambda s: _kept_by(s, lambda s, a: s.heartbeat(a), completing, others=0, first_ms=5_000), "27 False", EMPTY, ("kafka-1.1",)),
    _line(pytest.mark.requirement("TR-091"), lambda s: full(s, lambda s, a, b: s.heartbeat("x"), completing), "25", COMPLETING),
    _line(pytest.mark.requirement("TR-092"), _while_parked(lambda s, a, b: len(s.after(10_000).members())), "1 27", PREPARING, NOT_2_4),
    _line(pytest.mark.requirement("TR-093"), _hasty_parked, "CompletingRebalance parked 2", COMPLETING),
    _line(pytest.mark.requirement("TR-094"), _while_parked(lambda s, a, b: left(s, a)), "0 27", PREPARING),
    _line(pytest.mark.requirement("TR-096"),
          lambda s: full(s, lambda s, a, b: s.commit(b, 1) + s.commit("x", 1) + s.commit(b, 9), completing), "27 25 22", COMPLETING, SINCE_2_4),
    _line(pytest.mark.requirement("TR-097"), lambda s: (completing(empty(s)), fetched(s))[1], "0 5", COMPLETING),
    _line(pytest.mark.requirement("TR-099"), _while_parked(lambda s, a, b: unloaded(s)), "Dead 16", None),
    _line(pytest.mark.requirement("TR-100"), lambda s: (completing(s), s.delete(version=0)["g"])[1], "68", COMPLETING),
])  # fmt: skip
def test_in_completing_rebalance(line: Line) -> None:
    assert line.broken() == []


def _instance_returns(s: Scene) -> object:
    leader, _ = s.stable(0, instances=["a", "b"], version=5)
    back = s.join(instance="a", version=5)
    return back, back.answer.leader == leader, back.answer.member_id == leader, len(back.answer.members), s.generation()


@pytest.mark.parametrize("line", [
    _line(pytest.mark.requirement("TR-110"), lambda s: full(s, lambda s, a, b: s.join(version=2), stable), "parked", PREPARING),
    _line(pytest.mark.requirement("TR-111"), lambda s: full(s, lambda s, a, b: s.join(a, version=2), stable), "parked", PREPARING),
    _line(pytest.mark.requirement("TR-112"), lambda s: full(s, lambda s, a, b: s.join(b, version=2, protocols=CHANGED), stable), "parked", PREPARING),
    _line(pytest.mark.requirement("TR-113"),
          lambda s: full(s, lambda s, a, b: (j := s.join(b, version=2), j.answer.generation_id, len(j.answer.members)), stable), "0 1 0", STABLE),
    _line(pytest.mark.requirement("TR-114"),
          lambda s: full(s, lambda s, a, b: (s.join("x", version=2), s.join(version=2, protocols=("custom",))), stable), "25 23", STABLE),
    _line(pytest.mark.requirement("TR-115"), _instance_returns, "0 True False 0 1", STABLE, SINCE_2_4),
    _line(pytest.mark.requirement("TR-116"),
          lambda s: full(s, lambda s, a, b: (again := s.sync(b), again.answer.assignment == b.encode()), stable), "0 True", STABLE),
    _line(pytest.mark.requirement("TR-116"), lambda s: _kept_by(s, lambda s, a: s.sync(a), others=0), "0 True", STABLE, ("kafka-1.1",)),
    _line(pytest.mark.requirement("TR-117"), lambda s: full(s, lambda s, a, b: (s.sync("x"), s.sync(b, 9)), stable), "25 22", STABLE),
    _line(pytest.mark.requirement("TR-118"), lambda s: _kept_by(s, lambda s, a: s.heartbeat(a), others=0), "0 True", STABLE),
    _line(pytest.mark.requirement("TR-119"), lambda s: full(s, lambda s, a, b: (s.heartbeat("x"), s.heartbeat(b, 9)), stable), "25 22", STABLE),
    _line(pytest.mark.requirement("TR-120"),
          lambda s: full(s, lambda s, a, b: (s.after(5_000).heartbeat(a), len(s.after(5_000).members())), stable), "0 1", PREPARING, NOT_2_4),
    _line(pytest.mark.requirement("TR-121"), lambda s: (left(s, stable(s, 1)[0]), s.generation(), *s.path()[-2:]), "0 2 PreparingRebalance Empty", EMPTY),
    _line(pytest.mark.requirement("TR-122"), lambda s: full(s, lambda s, a, b: (left(s, b), len(s.members())), stable), "0 1", PREPARING),
    _line(pytest.mark.requirement("TR-123"), lambda s: _kept_by(s, lambda s, a: s.commit(a, 1, version=3)[0], others=0), "0 True", STABLE),
    _line(pytest.mark.requirement("TR-124"),
          lambda s: full(s, lambda s, a, b: s.commit("x", 1, version=3) + s.commit(b, 9, version=3) + s.commit(version=3), stable), "25 22 25", STABLE),
    _line(pytest.mark.requirement("TR-125"), lambda s: (stable(empty(s)), fetched(s))[1], "0 5", STABLE),
    _line(pytest.mark.requirement("TR-126"), lambda s: (stable(s), unloaded(s))[1], "Dead", None),
    _line(pytest.mark.requirement("TR-127"), lambda s: (stable(s), s.delete(version=0)["g"])[1], "68", STABLE),
])  # fmt: skip
def test_in_stable(line: Line) -> None:
    assert line.broken() == []


@pytest.mark.parametrize(("releases", "code"), [(("kafka-1.1",), "25"), (SINCE_2_4, "15")])
@pytest.mark.parametrize("act", [
    pytest.param(lambda s, a: s.join(a, version=2), marks=pytest.mark.requirement("TR-140")),
    pytest.param(lambda s, a: s.sync(a), marks=pytest.mark.requirement("TR-141")),
    pytest.param(lambda s, a: s.heartbeat(a), marks=pytest.mark.requirement("TR-142")),
    pytest.param(left, marks=pytest.mark.requirement("TR-143")),
    pytest.param(lambda s, a: s.commit(a, 1, version=3), marks=pytest.mark.requirement("TR-144")),
])  # fmt: skip
def test_in_dead(releases: tuple[str, ...], code: str, act: Callable[[Scene, str], object]) -> None:
    assert Line(lambda s: act(s, dead(s)[0]), code, DEAD, releases).broken() == []


@pytest.mark.requirement("TR-145")
def test_a_dead_group_still_has_an_answer_to_who_asks_for_offsets() -> None:
    assert Line(lambda s: (dead(s), fetched(s))[1], "0 -1", DEAD).broken() == []
