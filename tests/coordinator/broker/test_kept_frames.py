"""A connection that nobody hears takes up a JoinGroup or a SyncGroup by what it kept of the one before; byte for byte it says what one says that keeps nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing
from tests.coordinator.broker.twin_clusters import Pair
from tests.coordinator.helpers import assigned, virtually

from groupproof.coordinator.broker.kept_frames import FRAME_BYTES_MAX, KIND, KeptFrame, KeptFrames
from groupproof.coordinator.broker.rights.authorizer import Denial
from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.protocol.faults import Answer, Fault, Move, Selector
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import frame, read_request, write_request

NAMES = ("a", "b", "c", "d")
STEPS = 40
OLD = {Api.JOIN_GROUP: 3, Api.SYNC_GROUP: 3, Api.HEARTBEAT: 4}
NEW = {Api.JOIN_GROUP: 9, Api.SYNC_GROUP: 5, Api.HEARTBEAT: 4}


class Rebalances:
    """What four members do, and what befalls them, drawn step by step; rebalances are most of it."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair, self.draw = pair, random.Random(seed)

    async def run(self) -> None:
        await self._loses_sessions()
        for _ in range(STEPS):
            steps = (self.rebalances, self._syncs_again, self._is_struck, self._reads_late, self._loses_sessions)
            await self.draw.choices(steps, (12, 3, 2, 1, 1))[0]()
            await trio.sleep(self.draw.choice((0, 0.1, 1)))

    def _correlation(self) -> int:
        return self.draw.randrange(-(1 << 31), 1 << 31)

    async def _feed(self, name: str, data: bytes) -> None:
        """Feed a frame, most often as it is: else in two pieces, or with a heartbeat behind it. Who waits for an answer sends none."""
        if self.pair.waits(name):
            return
        beat = self.pair.beat(name, self._correlation())
        at = self.draw.randrange(1, len(data))
        await self.pair.feed(name, *self.draw.choices(((data,), (data[:at], data[at:]), (data + beat,), (data, beat)), (20, 1, 1, 1))[0])

    def _leader_first(self) -> list[str]:
        names = self.draw.sample(NAMES, len(NAMES))
        view = self.pair.clusters[1]._coordinators.view("g")
        leader = None if view is None else next((member.member_id for member in view.members if member.is_leader), None)
        return sorted(names, key=lambda name: self.pair.ids[name] != leader)

    async def rebalances(self) -> None:
        """Let the leader join again, then all others, and those sync who were answered; somebody may bring something new, or not come at all."""
        names = self._leader_first()
        if self.draw.random() < 0.2:
            self.pair.user_data[self.draw.choice(NAMES)] = self.draw.choice((b"", b"1", b"22"))
        missing = self.draw.choice(NAMES) if self.draw.random() < 0.1 else ""
        for name in names:
            if name != missing:
                await self._feed(name, self.pair.join_of(name, self._correlation()))
        await self._learn()
        await self._sync(self.draw.sample(names, len(names)))

    async def _learn(self) -> None:
        """Let the members know the generation; where not all are in it, let the group form anew."""
        await trio.sleep(0.2)  # the initial delay is over
        view = self.pair.clusters[1]._coordinators.view("g")
        if view is None or view.state.value == "PreparingRebalance" or {member.member_id for member in view.members} != set(self.pair.ids.values()):
            await self._loses_sessions()
        else:
            self.pair.generation = view.generation

    async def _sync(self, names: Sequence[str]) -> None:
        leader = self._leader_first()[0]
        shares = tuple({"member_id": member_id, "assignment": assigned(0)} for member_id in self.pair.ids.values())
        for name in names:
            if self.draw.random() < 0.95:
                await self._feed(name, self._sync_of(name, shares if name == leader else ()))

    def _sync_of(self, name: str, shares: Sequence[Any] = (), **says: Any) -> bytes:
        named = {"protocol_type": "consumer", "protocol_name": "range"} if self.pair.versions is NEW else {}
        return frame(self.pair.request(name, Api.SYNC_GROUP, self._correlation(), assignments=shares, **{**named, **says}))

    async def _syncs_again(self) -> None:
        """Let members ask once more, some of them for another generation or as somebody else."""
        for name in NAMES:
            says = self.draw.choice(({}, {}, {"generation_id": self.pair.generation - 1}, {"member_id": self.pair.ids[name][:-1] + "x"}))
            await self._feed(name, self._sync_of(name, **says))

    async def _is_struck(self) -> None:
        """Arm a fault while some of a rebalance are parked, or before it."""
        api, name = self.draw.choice(("JoinGroup", "SyncGroup")), self.draw.choice(NAMES)
        selector = Selector(api=api, client=name, direction=self.draw.choice(("request", "response")))
        fault = Fault(name="f", selector=selector, action=Answer(error_code=ErrorCode.NOT_COORDINATOR))
        names, armed_at = self._leader_first(), self.draw.randrange(3)
        for number, member in enumerate(names):
            if number == armed_at:
                for cluster in self.pair.clusters:
                    cluster.arm(fault)
            await self._feed(member, self.pair.join_of(member, self._correlation()))
        for cluster in self.pair.clusters:
            cluster.heal("f")
        await self._learn()
        await self._sync(names)

    async def _reads_late(self) -> None:
        """Let the kernel take a part of each answer for a while: what comes next waits for the rest."""
        name, room = self.draw.choice(NAMES), self.draw.choice((0, 5))
        for lines in self.pair.lines:
            lines[name].narrow(room)
        for _ in range(2):
            await self._feed(name, self._sync_of(name))
        for lines in self.pair.lines:
            lines[name].widen()
        await trio.testing.wait_all_tasks_blocked()
        await self._feed(name, self._sync_of(name))

    async def _loses_sessions(self) -> None:
        """Let all be gone, and come back as others; in newer versions they are given their ids first."""
        await trio.sleep(11)
        self.pair.ids = dict.fromkeys(NAMES, "")
        await self.pair.form()
        if self.pair.versions is NEW:
            await self.pair.form()


@pytest.mark.parametrize("versions", [OLD, NEW], ids=["old", "new"])
@pytest.mark.parametrize("seed", range(4))
@virtually
async def test_what_is_kept_of_a_rebalance_changes_no_byte_of_any_answer(seed: int, versions: dict[Api, int]) -> None:
    again: list[bool] = []
    process_again = KeptFrames.process_again

    def counted(frames: KeptFrames, data: bytes) -> Any:
        found = process_again(frames, data)
        again.append(found is not None)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeptFrames, "process_again", counted)
        async with trio.open_nursery() as nursery:
            await Rebalances(Pair(nursery, names=NAMES, versions=versions), seed).run()
            nursery.cancel_scope.cancel()

    assert sum(again) > STEPS, "few frames are taken up by what was kept: the history shows nothing"
    assert not all(again), "the long way is never in between"


@virtually
async def test_a_coordinator_that_moves_and_drops_what_came_again_ends_its_connection_where_nobody_hears_too() -> None:
    async with trio.open_nursery() as nursery:
        pair = Pair(nursery, brokers=2, names=NAMES)
        await pair.form()
        await pair.form()
        for name in NAMES[:3]:
            await pair.feed(name, pair.join_of(name, 7))
        assert pair.parked() == [3, 3]
        for cluster in pair.clusters:
            cluster.move(Move(to=0, parked="drop"), "g")
        await trio.testing.wait_all_tasks_blocked()

        assert (pair.connections(), pair.parked()) == ([1, 1], [0, 0])
        nursery.cancel_scope.cancel()


@virtually
async def test_a_join_that_came_before_is_refused_once_it_is_denied() -> None:
    async with trio.open_nursery() as nursery:
        pair = Pair(nursery, names=NAMES)
        await pair.form()
        await pair.form()
        for cluster in pair.clusters:
            cluster.deny([Denial.of("READ group g")])
        await pair.feed(NAMES[0], pair.join_of(NAMES[0], 7))

        assert pair.last(NAMES[0], Api.JOIN_GROUP)["error_code"] == ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert pair.parked() == [0, 0]
        nursery.cancel_scope.cancel()


def _kept(api: Api, version: int, **body: Any) -> tuple[KeptFrame, bytes]:
    data = frame(write_request(api, version, 1, "c", {"group_id": "g", "member_id": "m", **body}))
    return KeptFrame(data, IncomingRequest(read_request(data[4:], is_for_machine=True), {})), data


@pytest.mark.parametrize("version", range(6))
def test_a_sync_group_is_read_in_another_generation_with_another_correlation_id(version: int) -> None:
    kept, _ = _kept(Api.SYNC_GROUP, version, generation_id=1)
    for generation, correlation in ((1, 5), (2, -1), (2, 0), (-3, 1 << 30)):
        body = {"group_id": "g", "member_id": "m", "generation_id": generation}
        payload = write_request(Api.SYNC_GROUP, version, correlation, "c", body)
        arrived = kept.again(frame(payload))
        assert arrived is not None
        assert arrived.wire == read_request(payload)


@pytest.mark.parametrize("api", [Api.JOIN_GROUP, Api.SYNC_GROUP])
@pytest.mark.parametrize("says", [{"group_id": "h"}, {"member_id": "n"}, {"member_id": "mm"}])
def test_a_frame_that_says_something_else_is_no_other_one_again(api: Api, says: dict[str, Any]) -> None:
    kept, _ = _kept(api, 3)
    _, other = _kept(api, 3, **says)

    assert kept.again(other) is None


def test_neither_a_long_frame_nor_the_end_of_one_nor_what_was_heard_is_kept() -> None:
    frames: list[tuple[KeptFrame | None, bool]] = []
    for size, rest, columns, kept in ((1, 0, {}, True), (FRAME_BYTES_MAX, 0, {}, False), (1, 1, {}, False), (1, 0, {"api": "JoinGroup"}, False)):
        data = frame(write_request(Api.JOIN_GROUP, 3, 1, "c", {"group_id": "g", "member_id": "m" * size}))
        every = KeptFrames(None, None)  # type: ignore[arg-type]  # who keeps asks nobody
        every.last[data[KIND]] = data, IncomingRequest(read_request(data[4:], is_for_machine=True), columns), len(data) - 4 - rest
        frames.append((every._kept(data[KIND]), kept))

    assert [found is not None for found, _ in frames] == [kept for _, kept in frames]
