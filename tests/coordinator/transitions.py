"""Lines of transitions: in these releases, so asked, a group answers so, is then in this state, and has that left.

The sentences were read in 1.1 and 2.4; 4.1 stands beside them where it still does the same. Answers are codes, `parked`, or figures that the
line itself returns: generations, members, whether bytes came back. What is left is told of the newest of its releases: generation, members (J and
S: their JoinGroup or SyncGroup is parked; ! leads; the seconds until their session ends), pending ids, the group's timers, and what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.coordinator.by_release import leave, outcome_text, stable
from tests.coordinator.conftest import Scene

from groupproof.coordinator.machine.coordinator import MemberView
from groupproof.coordinator.machine.timers import TimerKey
from groupproof.protocol.rules import ClassicEvent
from groupproof.protocol.vocabulary import GroupState

__all__ = [
    "ALL", "BEFORE_4", "CHANGED", "COMPLETING", "DEAD", "EMPTY", "NOT_2_4", "PREPARING", "SINCE_2_4", "STABLE", "Line", "empty", "fetched", "full", "kept_by", "left",
    "line", "reloaded", "unloaded", "what_is_left",
]  # fmt: skip

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
    left: str
    releases: tuple[str, ...] = ALL

    def broken(self) -> list[str]:
        """Return the releases in which something else comes back, or the group is elsewhere, with what there is instead."""
        found = []
        for release in self.releases:
            scene = Scene(release)
            answer, after = _outcomes_text(self.act(scene)), scene.state()
            if (answer, after) != (self.answer, self.after):
                found.append(f"{release}: {answer}, then {after}")
            if release == self.releases[-1] and what_is_left(scene) != self.left:
                found.append(f"{release} leaves {what_is_left(scene)!r}")
        return found


def line(
    mark: pytest.MarkDecorator, act: Callable[[Scene], object], answer: str, after: GroupState | None, left: str, releases: tuple[str, ...] = ALL
) -> Any:
    """Return the line as a parameter of a test that is marked with its requirement."""
    return pytest.param(Line(act, answer, after, left, releases), marks=mark, id=f"{mark.args[0]} {releases[0]}")


def what_is_left(s: Scene) -> str:
    """Return all that a coordinator holds of the group, in short."""
    stored = s.coordinator.stored(PARTITION)
    of_group = ", ".join(
        [f"stored {group.generation} with {len(group.members)}" for group in stored.groups]
        + [f"offsets {len(offset.committed)}+{len(offset.pending)}" for offset in stored.offsets]
    )
    view = s.coordinator.view("g")
    if view is None:
        return of_group
    members = " ".join(_member(s, member) for member in view.members)
    pending = " ".join(f"pending {_seconds(s, ClassicEvent.SESSION_END, name)}" for name in view.pending)
    timers = (ClassicEvent.INITIAL_DELAY_END, ClassicEvent.JOIN_DEADLINE, ClassicEvent.SYNC_DEADLINE)
    running = " ".join(f"{kind.value} {_seconds(s, kind)}" for kind in timers if _seconds(s, kind) != "-")
    return ", ".join(name for name in (str(view.generation), members, pending, running, of_group) if name)


def _member(s: Scene, member: MemberView) -> str:
    parked = {"JoinGroup": "J", "SyncGroup": "S", None: "."}[member.parked]
    return f"{parked}{'!' * member.is_leader}{_seconds(s, ClassicEvent.SESSION_END, member.member_id)}"


def _seconds(s: Scene, kind: ClassicEvent, member_id: str = "") -> str:
    due_ms = s.coordinator._engine.timers.due_of(TimerKey(kind, "g", member_id))
    return "-" if due_ms is None else f"{(due_ms - s.now_ms) / 1000:g}"


def _outcomes_text(outcome: object) -> str:
    if outcome is None:
        return "-"
    return " ".join(map(outcome_text, outcome)) if isinstance(outcome, tuple | list) else outcome_text(outcome)


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


def kept_by(
    s: Scene, sign: Callable[[Scene, str], object], stage: Callable[..., list[str]] = stable, *, others: int = 1, first_ms: int = 9_000
) -> object:
    """Return the sign's answer, and whether the member is still there when its session would be over without the sign."""
    *_, member = stage(s, 1 + others)
    answer = sign(s.after(first_ms), member)
    return answer, member in s.after(9_000).members()
