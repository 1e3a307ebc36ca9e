"""Any history of requests, moves, failing disks and time: the laws of groups hold at every step, and in the end everyone has an answer.

The machine asserts INV-01, INV-05, INV-06 and INV-11 itself; the scene fails on a second answer to one request (INV-08).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from groupproof.protocol.rules import ClassicEvent, api_versions, profiles, rows
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeaveGroupResponse, LeaveMember
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

PARTITION = 3
INSTANCES = ("a", "b", None)
PROTOCOLS = (("range",), ("range", "sticky"), ("sticky", "range"), ("custom",), ())
WAITS_MS = (0, 1, 500, 2_999, 3_000, 9_999, 10_000, 60_000, 300_000, 600_000)
_GOOD = encode_subscription(Subscription(topics=("t",)))
BROKEN = b"\x00\x00\x7f\xff\xff\xff"

ACTIONS = (
    "join", "join", "join", "rejoin", "rejoin", "rejoin", "sync", "sync", "sync", "heartbeat", "heartbeat", "commit", "fetch", "leave",
    "wait", "wait", "wait", "move", "disk", "retire", "settle", "settle",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One act of somebody; the numbers choose among what there is then."""

    action: str
    who: int
    which: int
    how: int


STEPS = st.lists(st.builds(Step, st.sampled_from(ACTIONS), who=st.integers(0, 5), which=st.integers(0, 7), how=st.integers(0, 7)), max_size=60)


@dataclass
class History:
    """Acts out steps in a scene; remembers every member id it was ever given."""

    scene: Scene
    ids: list[str] = field(default_factory=lambda: ["", "stranger"])
    session_ms: int = 10_000
    instances: tuple[str | None, ...] = (*INSTANCES, "unknown")

    def act(self, step: Step) -> None:
        getattr(self, f"_{step.action}")(step)
        self.ids += [name for name in self._member_ids() if name not in self.ids]

    def _member_ids(self) -> list[str]:
        view = self.scene.coordinator.view("g")
        return [] if view is None else [*(member.member_id for member in view.members), *view.pending]

    def _id(self, step: Step) -> str:
        """Return mostly a present member's id, at times any that ever was."""
        present = self._member_ids()
        return present[step.who % len(present)] if present and step.which else self.ids[step.who % len(self.ids)]

    def _instance(self, step: Step) -> str | None:
        """Return mostly no instance or the member's own, at times any or an unknown one."""
        view = self.scene.coordinator.view("g")
        own = {member.member_id: member.group_instance_id for member in view.members}.get(self._id(step)) if view else None
        return (own, own, None, None, own, self.instances[step.who % 3], self.instances[step.how % 3], self.instances[3])[step.which]

    def _generation(self, step: Step) -> int:
        view = self.scene.coordinator.view("g")
        generation = 0 if view is None else view.generation
        return generation if step.how else generation - 1

    def _session_ms(self, step: Step) -> int:
        return (6_000, 10_000, self.session_ms)[step.who % 3]

    def _join(self, step: Step) -> None:
        """Come without an id."""
        how: dict[str, Any] = {
            "rebalance_ms": (300_000, 5_000)[step.which % 2],
            "version": (3, 4, 5, 9)[step.how % 4],
            "protocols": PROTOCOLS[min(step.which, 4) if step.which < 6 else 0],
        }
        if step.how > 3:
            how["instance"] = self.instances[step.who % 3]
        self.scene.join(session_ms=self._session_ms(step), metadata=BROKEN if (step.who, step.which) == (5, 1) else _GOOD, **how)

    def _rejoin(self, step: Step) -> None:
        protocols = PROTOCOLS[(0, 0, 0, 0, 1, 2, 3, 4)[step.how]]
        self.scene.join(self._id(step), instance=self._instance(step), version=5, session_ms=self._session_ms(step), protocols=protocols)

    def _sync(self, step: Step) -> None:
        named = {name: name.encode() for name in self._member_ids()[step.how % 2 :]}
        protocol_type = "connect" if step.how == 7 else None
        self.scene.sync(self._id(step), self._generation(step), named, instance=self._instance(step), protocol_type=protocol_type)

    def _heartbeat(self, step: Step) -> None:
        self.scene.heartbeat(self._id(step), self._generation(step), instance=self._instance(step))

    def _commit(self, step: Step) -> None:
        member_id, generation = ("", -1) if step.how == 1 else (self._id(step), self._generation(step))
        self.scene.commit(member_id, generation, instance=self._instance(step) if step.how != 1 else None, version=(8, 9)[step.how % 2])

    def _fetch(self, step: Step) -> None:
        self.scene.fetch(step.who)

    def _leave(self, step: Step) -> None:
        entries = [LeaveMember(member_id=self._id(step), group_instance_id=self._instance(step))]
        if step.how > 5:
            entries += [LeaveMember(group_instance_id=self.instances[step.who % 3]), LeaveMember(member_id=self.ids[-1])]
        self.scene.send(LeaveGroupRequest(group_id="g", members=tuple(entries)), 5, LeaveGroupResponse)

    def _wait(self, step: Step) -> None:
        self.scene.after(WAITS_MS[(step.how + step.which) % len(WAITS_MS)])

    def _move(self, step: Step) -> None:
        if step.how > 2:
            return
        coordinator = self.scene.coordinator
        stored = coordinator.stored(PARTITION)
        self.scene.take(coordinator.unload(PARTITION, self.scene.now_ms, parked="answer" if step.how else "drop"))
        self.scene.take(coordinator.load(PARTITION, stored, self.scene.now_ms))

    def _settle(self, step: Step) -> None:
        """Let all members rejoin and sync, so that histories see Stable groups often."""
        view = self.scene.coordinator.view("g")
        for member in () if view is None else view.members:
            self.scene.join(member.member_id, instance=member.group_instance_id, version=5, session_ms=member.session_timeout_ms, rebalance_ms=5_000)
        self.scene.after(6_000)
        for member_id in self._member_ids()[: -1 if step.how == 0 else None]:
            self.scene.sync(member_id, self.scene.generation())

    def _disk(self, step: Step) -> None:
        self.scene.coordinator.append_error = ErrorCode.NOT_COORDINATOR if step.how == 7 else ErrorCode.NONE

    def _retire(self, step: Step) -> None:
        leaves_parked = self.scene.profile == "kafka-3.7-new" and self.scene.coordinator.parked(PARTITION)  # it answers nobody when a partition goes
        if step.how == 7 and self.scene.coordinator.view("g") is not None and not leaves_parked:
            self.scene.take(self.scene.coordinator.retire("g", self.scene.now_ms))


def _settled(scene: Scene) -> None:
    """Let everything run out, and check that nothing waits for ever (INV-12): no member is left, and nothing is parked."""
    scene.coordinator.append_error = ErrorCode.NONE
    scene.after(3_600_000)
    assert scene.coordinator.parked(PARTITION) == []
    assert scene.state() in (None, GroupState.EMPTY, GroupState.DEAD) or _broke_off_for_good(scene)


def _broke_off_for_good(scene: Scene) -> bool:
    """Whether the end of an initial delay came to nothing, and with it the only try.

    The coordinator in Scala marks a delayed operation as completed before it runs `onComplete`, and `InitialDelayedJoin.tryComplete` is
    always false: where a subscription breaks off the one, nobody who comes or goes later tries again.
    """
    is_tried_once = any(kind is ClassicEvent.ABSENCE_CHECK and row.name == "initial-delay" for kind, _, row in rows(scene.profile))
    is_broken = "InitialDelayEnd/PreparingRebalance/subscription-breaks" in scene.rules()
    return is_tried_once and is_broken and scene.state() is GroupState.PREPARING_REBALANCE and scene.members() == []


def _checked(scene: Scene) -> None:
    """Check what the transitions of one tenure must be like (INV-01, INV-04)."""
    generation = 0
    for moved in scene.transitions:
        if moved.before in (None, GroupState.DEAD) or moved.after is GroupState.DEAD:
            generation = 0 if moved.before is None else generation
            continue
        if moved.after in (GroupState.COMPLETING_REBALANCE, GroupState.EMPTY):
            assert moved.generation > generation
            generation = moved.generation
        assert moved.generation >= generation


def _reload_resets(scene: Scene) -> bool:
    return any(applied.rule.startswith(("Unloaded/", "Loaded/")) for applied in scene.applied)


@pytest.mark.slow
@pytest.mark.requirement("INV-01", "INV-02", "INV-04", "INV-05", "INV-06", "INV-08", "INV-11", "INV-12", "TR-129")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(steps=[Step("join", who=5, which=1, how=0)], delay_ms=0, profile="kafka-2.7")
@given(steps=STEPS, delay_ms=st.sampled_from((0, 3_000)), profile=st.sampled_from(profiles()))
def test_the_invariants_hold_in_any_history(scene_of: Callable[..., Scene], steps: list[Step], delay_ms: int, profile: str) -> None:
    scene = scene_of(profile, group_initial_rebalance_delay_ms=delay_ms)
    history = History(scene, instances=(None,) * 4) if api_versions(profile)[Api.JOIN_GROUP][1] < 5 else History(scene)
    for step in steps:
        history.act(step)
    if profile == "kafka-2.4":  # whose newcomers need not sync: no session runs before they do (KAFKA-9752)
        scene.leave(*scene.members()) if scene.state() else None
    _settled(scene)
    if not _reload_resets(scene):
        _checked(scene)
