"""A connection that nobody hears answers a heartbeat from what it kept of the one before; byte for byte it says what one says that keeps nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest
import trio
import trio.testing
from tests.coordinator.broker.twin_clusters import NAMES, Line, Pair
from tests.coordinator.helpers import virtually

from groupproof.coordinator.broker.broker import Broker
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.broker.repeated_frames import FRAME_BYTES_MAX, RepeatedFrame
from groupproof.coordinator.broker.rights.authorizer import Denial
from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.protocol.faults import Answer, Fault, Move, Selector
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import Framer, frame, read_request, read_response, write_answer, write_request
from groupproof.protocol.wire.messages import HeartbeatResponse

STEPS = 60


class History:
    """What two members do, and what befalls them, drawn step by step; heartbeats are most of it."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair, self.draw = pair, random.Random(seed)

    async def run(self) -> None:
        await self.pair.form()
        await self._beats("")
        for _ in range(STEPS):
            steps = (
                self._beats,
                self._beats_in_pieces,
                self._beats_twice,
                self._errs,
                self._joins_and_beats,
                self._is_struck,
                self._is_denied,
                self._reads_late,
                self._sleeps,
            )
            await self.draw.choices(steps, (20, 3, 3, 3, 1, 1, 1, 1, 1))[0](self.draw.choice(NAMES))
            await trio.sleep(self.draw.choice((0, 0.1, 1, 1, 2)))
            if self.draw.random() < 0.15:
                await self.pair.form()

    def _beat(self, name: str, **body: Any) -> bytes:
        return self.pair.beat(name, self.draw.randrange(1 << 31), **body)

    async def _beats(self, _: str) -> None:
        for name in NAMES:
            await self.pair.feed(name, self._beat(name))

    async def _beats_in_pieces(self, name: str) -> None:
        data, at = self._beat(name), self.draw.randrange(1, 30)
        await self.pair.feed(name, data[:at], data[at:])

    async def _beats_twice(self, name: str) -> None:
        await self.pair.feed(name, self._beat(name) + self._beat(name))

    async def _errs(self, name: str) -> None:
        wrong = {"generation_id": self.pair.generation - 1} if self.draw.random() < 0.5 else {"member_id": self.pair.ids[name][:-1] + "x"}
        await self.pair.feed(name, self._beat(name, **wrong))

    async def _joins_and_beats(self, name: str) -> None:
        """Send a heartbeat behind a JoinGroup that is parked until the other member joins, in one piece with it or after it."""
        self.pair.user_data[name] = self.draw.choice((b"", b"1"))
        join, beat = self.pair.join_of(name), self._beat(name)
        await self.pair.feed(name, *self.draw.choice(((join, beat), (join + beat,))))
        await self.pair.form()

    async def _is_struck(self, name: str) -> None:
        fault = Fault(name="f", selector=Selector(api="Heartbeat", client=name, nth=2), action=Answer(error_code=ErrorCode.NOT_COORDINATOR))
        for cluster in self.pair.clusters:
            cluster.arm(fault)
        for _ in range(3):
            await self._beats(name)
        for cluster in self.pair.clusters:
            cluster.heal("f")

    async def _is_denied(self, name: str) -> None:
        for denials in ([Denial.of(f"READ group g client={name}")], []):
            for cluster in self.pair.clusters:
                cluster.deny(denials)
            await self._beats(name)
            await self._beats(name)

    async def _reads_late(self, name: str) -> None:
        """Let the kernel take a part of each answer for a while: what comes next waits for the rest."""
        room = self.draw.choice((0, 5))
        for lines in self.pair.lines:
            lines[name].narrow(room)
        await self._beats(name)
        await self._beats(name)
        for lines in self.pair.lines:
            lines[name].widen()
        await trio.testing.wait_all_tasks_blocked()
        await self._beats(name)

    async def _sleeps(self, _: str) -> None:
        await trio.sleep(self.draw.choice((5, 11)))


@pytest.mark.parametrize("seed", range(8))
@virtually
async def test_what_is_kept_of_a_heartbeat_changes_no_byte_of_any_answer(seed: int) -> None:
    repeated: list[bool] = []
    repeat = Broker.repeat

    def counted(broker: Broker, message: Any, arrival: Arrival) -> Any:
        answer = repeat(broker, message, arrival)
        repeated.append(answer is not None)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Broker, "repeat", counted)
        async with trio.open_nursery() as nursery:
            await History(Pair(nursery), seed).run()
            nursery.cancel_scope.cancel()

    assert sum(repeated) > STEPS // 4, "few heartbeats are answered from what was kept: the history shows nothing"
    assert not all(repeated), "the machine is never in between"


@virtually
async def test_what_is_denied_from_now_on_is_refused_to_the_next_heartbeat_and_what_is_allowed_again_is_answered() -> None:
    async with trio.open_nursery() as nursery:
        pair = Pair(nursery)
        await pair.form()
        codes = []
        for denials in ([], ["READ group h"], ["READ group g"], []):
            for cluster in pair.clusters:
                cluster.deny(map(Denial.of, denials))
            for _ in range(2):
                await pair.feed("a", pair.beat("a"))
                codes.append(pair.last("a", Api.HEARTBEAT)["error_code"])
        nursery.cancel_scope.cancel()

    assert codes == [0, 0, 0, 0, *[ErrorCode.GROUP_AUTHORIZATION_FAILED] * 2, 0, 0]


@virtually
async def test_a_heartbeat_of_the_consumer_protocol_that_is_denied_is_not_answered_from_what_was_kept() -> None:
    async with trio.open_nursery() as nursery:
        line, cluster = Line(), Cluster(brokers=1, topics={"t": 1}, recorder=Recorder(lambda: 0, keeps=False))
        nursery.start_soon(cluster.run)
        nursery.start_soon(cluster.serve_connection, 0, line, "127.0.0.1:1")
        join = {"group_id": "g", "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 1, "topic_partitions": ()}
        beat = {"group_id": "g", "member_id": "m", "member_epoch": 1}
        repeated: list[bool] = []
        codes = []

        async def ask(body: dict[str, Any]) -> None:
            line.feed(frame(write_request(Api.CONSUMER_GROUP_HEARTBEAT, 1, 1, "c", body)))
            await trio.testing.wait_all_tasks_blocked()
            codes.append(read_response(Api.CONSUMER_GROUP_HEARTBEAT, 1, Framer().feed(line.sent)[-1])[1]["error_code"])

        repeat = Broker.repeat

        def counted(broker: Broker, message: Any, arrival: Arrival) -> Any:
            answer = repeat(broker, message, arrival)
            repeated.append(answer is not None)
            return answer

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Broker, "repeat", counted)
            for body in ({**join, "subscribed_topic_names": ("t",)}, beat, beat, beat):
                await ask(body)
            cluster.deny([Denial.of("READ group g")])
            await ask(beat)
        nursery.cancel_scope.cancel()

    assert codes == [0, 0, 0, 0, ErrorCode.GROUP_AUTHORIZATION_FAILED]
    assert repeated[-2:] == [True, False], "the one before was answered from what was kept"


@virtually
async def test_a_heartbeat_behind_a_part_of_a_frame_is_read_as_the_rest_of_it() -> None:
    async with trio.open_nursery() as nursery:
        pair = Pair(nursery)
        await pair.form()
        beat = pair.beat("a")
        inner = frame(pair.request("a", Api.HEARTBEAT, 7, group_id="x" * (len(beat) - 8)))
        at = inner.index(b"x" * 9)
        await pair.feed("a", beat, beat)
        before = len(pair.lines[1]["a"].sent)
        await pair.feed("a", inner[:at], beat)
        assert len(pair.lines[1]["a"].sent) == before, "the frame is not whole yet"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(("behind", "connections"), [("", 1), ("beat", 2)])
@virtually
async def test_a_client_that_hangs_up_while_its_join_is_parked_goes_at_once_but_for_what_it_sent_behind_it(behind: str, connections: int) -> None:
    async with trio.open_nursery() as nursery:
        pair = Pair(nursery)
        await pair.form()
        await pair.rebalance("b")
        await pair.feed("b", *([pair.beat("b")] if behind else []), b"")

        assert pair.connections() == [connections] * 2
        assert pair.parked() == [connections - 1] * 2
        await pair.feed("a", pair.join_of("a"))
        assert (pair.connections(), pair.parked()) == ([1, 1], [0, 0])
        nursery.cancel_scope.cancel()


@virtually
async def test_a_fault_that_is_armed_while_a_join_is_parked_acts_on_its_answer_where_nobody_hears_too() -> None:
    async with trio.open_nursery() as nursery:
        pair = Pair(nursery)
        await pair.form()
        await pair.rebalance("b")
        selector = Selector(api="JoinGroup", direction="response", client="b")
        for cluster in pair.clusters:
            cluster.arm(Fault(name="f", selector=selector, action=Answer(error_code=ErrorCode.NOT_COORDINATOR)))
        await pair.feed("a", pair.join_of("a"))
        await trio.testing.wait_all_tasks_blocked()

        assert pair.last("b", Api.JOIN_GROUP)["error_code"] == ErrorCode.NOT_COORDINATOR
        assert pair.lines[0]["b"].sent == pair.lines[1]["b"].sent
        nursery.cancel_scope.cancel()


@virtually
async def test_a_coordinator_that_moves_and_drops_a_parked_join_ends_its_connection_where_nobody_hears_too() -> None:
    async with trio.open_nursery() as nursery:
        pair = Pair(nursery, brokers=2)
        await pair.form()
        await pair.rebalance("b")
        for cluster in pair.clusters:
            cluster.move(Move(to=0, parked="drop"), "g")
        await trio.testing.wait_all_tasks_blocked()

        assert (pair.connections(), pair.parked()) == ([1, 1], [0, 0])
        nursery.cancel_scope.cancel()


def _frame_of(data: bytes, payload_size: int | None = None) -> RepeatedFrame | None:
    arrived = IncomingRequest(read_request(data[4:], is_for_machine=True), {})
    return RepeatedFrame.of(data, arrived, len(data) - 4 if payload_size is None else payload_size, Arrival(1, 4, "c", "/h"))


def _beat(correlation: int = 1, member: str = "m", version: int = 4) -> bytes:
    return frame(write_request(Api.HEARTBEAT, version, correlation, "c", {"group_id": "g", "generation_id": 1, "member_id": member}))


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (_beat(-7), True),
        (_beat(member="n"), False),
        (_beat(member="mm"), False),
        (_beat(version=3), False),
        (_beat() + _beat(), False),
        (_beat()[:-1], False),
    ],
)
def test_a_frame_is_the_same_if_it_differs_in_its_correlation_id_alone(other: bytes, *, is_same: bool) -> None:
    kept = _frame_of(_beat())

    assert kept is not None
    assert kept.is_in(other) == is_same


def test_an_answer_is_what_the_codec_writes_and_another_one_is_written_again() -> None:
    kept = _frame_of(_beat())
    assert kept is not None
    for answer in (HeartbeatResponse(), HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), HeartbeatResponse()):
        for correlation in (0, 5, -1):
            assert kept.answered(_beat(correlation), answer) == write_answer(answer, 4, correlation)


def test_neither_a_long_frame_nor_the_end_of_one_is_kept() -> None:
    assert _frame_of(_beat(member="m" * FRAME_BYTES_MAX)) is None
    assert _frame_of(_beat(), payload_size=len(_beat())) is None
