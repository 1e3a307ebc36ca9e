"""The consumer over streams with a member of KIP-848's protocol: what a coordinator offers, a classic member beside it, and when reading begins."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import pytest
import trio

from groupproof.clients.consumer.consumer import Consumer, ConsumerError, now_ms
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from tests.clients.conftest import Line, Pair

BEAT = Api.CONSUMER_GROUP_HEARTBEAT
Tell = Callable[..., None]
Story = Callable[["Pair"], Coroutine[Any, Any, None]]


def _owned(pair: Pair, member: str) -> set[int]:
    """Return the partitions that the callbacks have left a member with."""
    owned: set[int] = set()
    for event in pair.events(member):
        numbers = {partition["partition"] for partition in event.get("partitions", ())}
        if event["name"] == "partitions_assigned":
            owned |= numbers
        elif event["name"] in ("partitions_revoked", "partitions_lost"):
            owned -= numbers
    return owned


class _Lines(list["Line"]):
    """The lines of a shim; `returned` is how long the trace was each time that a callback had returned."""

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self._pair, self.returned = pair, list[int]()

    def append(self, line: Line) -> None:
        super().append(line)
        if line.get("name") == "callback_done":
            self.returned.append(len(self._pair.cluster.recorder.trace))


@pytest.mark.requirement("CGC-31")
def test_a_broker_without_the_protocol_is_sent_no_heartbeat_and_the_application_is_reported(tell: Tell) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", group_protocol="consumer")
        await pair.until(lambda: pair.events("m0", "error"))
        (error, *_) = pair.events("m0", "error")
        await trio.sleep(5)
        assert (error["error"], error["fatal"]) == ("UNSUPPORTED_VERSION", True)
        assert pair.requests(BEAT, "m0") == []

    tell(story, profile="kafka-3.9")


@pytest.mark.requirement("CGC-32")
def test_a_regular_expression_is_sent_in_version_1(tell: Tell) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", group_protocol="consumer", topics=[], pattern="t.*")
        await pair.until(lambda: len(_owned(pair, "m0")) == 4)
        beats = pair.requests(BEAT, "m0")
        assert {beat.version for beat in beats if beat.body["subscribed_topic_regex"]} == {1}
        assert any(beat.body["subscribed_topic_regex"] for beat in beats)

    tell(story, profile="kafka-4.1")


@pytest.mark.requirement("CGG-29", "CGG-70")
def test_a_classic_member_of_a_mixed_group_syncs_without_an_assignment_of_its_own(tell: Tell) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m1", group_protocol="consumer")
        await pair.until(lambda: len(_owned(pair, "m1")) == 4)
        await pair.start("m0", assignors=["cooperative-sticky"])
        await pair.until(lambda: len(_owned(pair, "m0")) == 2 and len(_owned(pair, "m1")) == 2)
        joins, syncs = ([pair.evidence.answer(request) for request in pair.requests(api, "m0")] for api in (Api.JOIN_GROUP, Api.SYNC_GROUP))
        bodies = [answer.body for answer in joins if answer is not None and not answer.error]
        assert bodies
        assert all(body["leader"] == "" and not body["members"] for body in bodies), "it is nobody's leader"
        assert syncs
        assert all(not request.body["assignments"] for request in pair.requests(Api.SYNC_GROUP, "m0"))

    tell(story, profile="kafka-4.1")


@pytest.mark.requirement("CGP-12")
def test_a_partition_is_fetched_when_its_position_is_known_and_the_callback_has_returned(tell: Tell) -> None:
    async def story(pair: Pair) -> None:
        pair.sent = lines = _Lines(pair)
        await pair.start("m0", group_protocol="consumer")
        await pair.until(lambda: sum(event["count"] for event in pair.events("m0", "records_consumed")) == 80)
        answers = [pair.evidence.answer(request) for request in pair.requests(Api.OFFSET_FETCH, "m0")]
        answered_at = min(answer.seq for answer in answers if answer is not None and not answer.error)
        first = min(fetch.seq for fetch in pair.requests(Api.FETCH, "m0") if fetch.offsets)
        assert max(answered_at, lines.returned[0]) <= first

    tell(story, profile="kafka-4.1")


@pytest.mark.requirement("CGP-18")
def test_a_commit_names_its_topics_in_version_9_for_this_client_knows_no_id_by_heart(tell: Tell) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", group_protocol="consumer")
        await pair.until(lambda: len(_owned(pair, "m0")) == 4)
        assert (await pair.ask("m0", "commit", offsets=[["t", 0, 1]]))["ok"]
        (commit,) = pair.requests(Api.OFFSET_COMMIT, "m0")
        assert (commit.version, [topic["name"] for topic in commit.body["topics"]]) == (9, ["t"])

    tell(story, profile="kafka-4.1")


@pytest.mark.requirement("CGC-34")
def test_what_the_coordinator_decides_is_no_setting_of_a_member_and_is_said_to_be_ignored(tell: Tell) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", group_protocol="consumer", session_timeout_ms=1_000, heartbeat_interval_ms=100, assignors=["range"])
        subscribed: Line = next(line for line in pair.sent if line.get("ok"))
        assert {"session_timeout_ms", "heartbeat_interval_ms", "assignors"} <= set(subscribed["ignored"])

    tell(story, profile="kafka-4.1")


class Refusing:
    """A consumer whose listener raises an error for each partition that goes."""

    def __init__(self, recorder: Recorder, *, by_epochs: bool) -> None:
        self.recorder, self.settings = recorder, MemberSettings(group="g", topics=("t",), by_epochs=by_epochs)

    async def listen(self, callback: Callback) -> None:
        if callback.kind is not CallbackKind.ASSIGNED:
            raise ValueError("the application's own")

    async def lived(self, story: Callable[[Consumer], Coroutine[Any, Any, None]]) -> None:
        network, cluster = MemoryNetwork(), Cluster(brokers=1, topics={"t": 2}, seed=1, recorder=self.recorder)
        async with network.opened(cluster) as bootstrap, trio.open_nursery() as nursery:
            await nursery.start(cluster.run)
            consumer = Consumer(self.settings, network.connect, bootstrap, client_id="m0", listener=self.listen, report=lambda _: None)
            await nursery.start(consumer.run)
            while not consumer.member.owned:
                await consumer.poll(500)
            await story(consumer)
            nursery.cancel_scope.cancel()


@pytest.mark.requirement("CGV-10")
@pytest.mark.parametrize("ends", ["close", "unsubscribe"])
@pytest.mark.parametrize(("by_epochs", "leave"), [(True, "ConsumerGroupHeartbeat"), (False, "LeaveGroup")])
def test_what_the_listener_raises_comes_back_from_close_and_the_member_has_left(ends: str, by_epochs: bool, leave: str) -> None:
    async def story(consumer: Consumer) -> None:
        with pytest.raises(ValueError, match="the application's own"):
            await getattr(consumer, ends)()

    recorder = Recorder(lambda: 0)
    run_virtually(lambda: Refusing(recorder, by_epochs=by_epochs).lived(story), seed=1)

    last = [obs for obs in recorder.trace if obs.kind == "request" and obs.api in ("ConsumerGroupHeartbeat", "LeaveGroup")][-1]
    assert (last.api, last.body.get("member_epoch", -1)) == (leave, -1)


def test_what_the_listener_raises_comes_back_from_the_next_poll_once() -> None:
    async def story(consumer: Consumer) -> None:
        consumer.perform(consumer.member.fail("X", "for good", now_ms()))
        for error in (ValueError, ConsumerError):
            with pytest.raises(error):
                await consumer.poll(500)
        assert await consumer.poll(500) == []

    run_virtually(lambda: Refusing(Recorder(lambda: 0), by_epochs=True).lived(story), seed=1)
