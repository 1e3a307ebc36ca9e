"""What is kept of an answer says byte for byte what one says that is made anew, whatever becomes of the cluster meanwhile."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
import trio
import trio.testing
from tests.coordinator.broker.twin_clusters import Line
from tests.coordinator.helpers import virtually

from groupproof.coordinator.broker import kept_answers
from groupproof.coordinator.broker.advertised_versions import advertised
from groupproof.coordinator.broker.kept_answers import ANSWERS_MAX, KeptAnswer, KeptAnswers
from groupproof.coordinator.broker.metadata import OFFSETS_TOPIC, BrokerNode, ClusterMetadata, api_versions, metadata
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.broker.topics import Topics
from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.protocol.faults import Answer, Fault, Selector, Silence
from groupproof.protocol.trace import Observation, Recorder
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import WireRequest, frame, read_response, write_request, write_response
from groupproof.protocol.wire.observation_columns import response_columns

NAMED = {"client_software_name": "kit", "client_software_version": "1"}
GROUPS = {"coordinator_keys": ("g", "h"), "key_type": 0}
OFFSETS = {"replica_id": -1, "isolation_level": 0, "topics": ({"name": "t", "partitions": ({"partition_index": 0, "timestamp": -1},)},)}
ON_OTHERS = Fault(name="other", selector=Selector(api=Api.HEARTBEAT.title), action=Answer(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
STEPS = 200


@pytest.fixture
def cluster() -> ClusterMetadata:
    topics = Topics(records=0)
    topics.grow("t", 3)
    nodes = [BrokerNode(0, "a", 1), BrokerNode(1, "b", 2)]
    return ClusterMetadata(nodes=nodes, topics=topics, owners=[0, 1], epochs=[0, 4], owner_of=lambda group: 0, versions=advertised("kafka-4.1"))


def asks(api: Api, body: Mapping[str, Any], version: int | None = None, correlation: int = 7) -> IncomingRequest:
    newest = {Api.API_VERSIONS: 4}.get(api, 13) if version is None else version
    return IncomingRequest(WireRequest(api=api, version=newest, correlation=correlation, client_id="c", body=dict(body)), {})


def named(*topics: str) -> dict[str, Any]:
    return {"topics": tuple({"name": topic, "topic_id": None} for topic in topics)}


@pytest.mark.parametrize("seed", range(4))
def test_an_answer_is_the_one_that_would_be_made_now(cluster: ClusterMetadata, seed: int) -> None:
    draw, kept = random.Random(seed), KeptAnswers(cluster)
    for _ in range(STEPS):
        change = draw.random()
        if change < 0.1:
            cluster.nodes[draw.randrange(2)].is_up = draw.random() < 0.5
        elif change < 0.15:
            cluster.nodes[draw.randrange(2)].port = draw.randrange(1, 9)
        elif change < 0.25:
            name = draw.choice("tuv")
            cluster.topics.grow(name, draw.randrange(1, 9) if (topic := cluster.topics.named(name)) is None else len(topic.partitions) + 1)
        elif change < 0.3 and (topics := cluster.topics.all()):
            cluster.topics.delete(draw.choice(topics).name)
        api = draw.choice((Api.API_VERSIONS, Api.METADATA, Api.METADATA))
        body = {**NAMED, **named(*draw.choices("tuvw", k=draw.randrange(1, 3)))}
        version, correlation = draw.choice((0, 3, 4)) if api is Api.API_VERSIONS else draw.choice((4, 9, 12, 13)), draw.randrange(1 << 31)

        answer = kept.answer(asks(api, body, version, correlation))

        made = (api_versions if api is Api.API_VERSIONS else metadata)(cluster, body, version)
        assert answer is not None
        assert answer.frame(correlation) == frame(write_response(api, version, correlation, made))
        assert answer.columns == response_columns(api, body, made, cluster.topics.name_of)


def test_what_is_asked_again_is_written_once(cluster: ClusterMetadata, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptAnswers(cluster)
    first = kept.answer(asks(Api.METADATA, named("t")))
    monkeypatch.setattr(kept_answers, "write_response", lambda *_: pytest.fail("it was written already"))

    assert kept.answer(asks(Api.METADATA, named("t"), correlation=8)) is first


@pytest.mark.parametrize(
    ("api", "body"),
    [
        (Api.METADATA, {"topics": None}),
        (Api.METADATA, {"topics": ()}),
        (Api.METADATA, named("t", OFFSETS_TOPIC)),
        (Api.METADATA, {"topics": ({"name": None, "topic_id": "00000000-0000-0000-0000-000000000001"},)}),
        (Api.METADATA, {"topics": ({"name": "", "topic_id": "00000000-0000-0000-0000-000000000001"},)}),
        (Api.FIND_COORDINATOR, {"coordinator_keys": ("g",)}),
    ],
)
def test_an_answer_that_depends_on_more_is_not_kept(cluster: ClusterMetadata, api: Api, body: dict[str, Any]) -> None:
    assert KeptAnswers(cluster).answer(asks(api, body)) is None


def test_the_answer_to_a_version_that_is_refused_is_not_kept(cluster: ClusterMetadata) -> None:
    assert KeptAnswers(cluster).answer(asks(Api.API_VERSIONS, NAMED)._replace(is_refused=True)) is None


def test_what_is_kept_is_bounded(cluster: ClusterMetadata) -> None:
    kept = KeptAnswers(cluster)
    for number in range(2 * ANSWERS_MAX + 1):
        kept.answer(asks(Api.METADATA, named(f"t{number}")))
        assert len(kept._kept) <= ANSWERS_MAX


async def _observed(line: trio.abc.Stream, feed: Callable[[bytes], Awaitable[None]], *, fault: Fault | None = None) -> list[Observation]:
    """Serve a line of a cluster, ask what is looked up over it twice, and return what was observed of that."""
    recorder = Recorder(lambda: 0)
    cluster = Cluster(brokers=1, topics={"t": 2}, recorder=recorder)
    if fault is not None:
        cluster.arm(fault)
    requests = [(Api.API_VERSIONS, NAMED, 3), (Api.METADATA, named("t"), 12), (Api.FIND_COORDINATOR, GROUPS, 4), (Api.LIST_OFFSETS, OFFSETS, 7)] * 2
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.serve_connection, 0, line, "127.0.0.1:1")
        for correlation, (api, body, version) in enumerate(requests):
            await feed(frame(write_request(api, version, correlation, "c", body)))
            await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return [obs for obs in recorder.trace if obs.api]


class WideLine(Line):
    """A socket in memory that takes a whole answer at once."""

    def __init__(self) -> None:
        super().__init__()
        self.room = 1 << 20

    async def take(self, data: bytes) -> None:
        self.feed(data)


@pytest.mark.parametrize("fault", [None, ON_OTHERS], ids=["without a fault", "with a fault on other frames"])
@virtually
async def test_a_socket_shows_the_same_as_a_line_that_answers_each_separately(fault: Fault | None) -> None:
    line, (ours, theirs) = WideLine(), trio.testing.memory_stream_pair()
    at_once = await _observed(line, line.take, fault=fault)
    anew = await _observed(ours, theirs.send_all, fault=fault)

    assert at_once == anew
    assert [obs.kind for obs in at_once] == ["request", "processed", "response"] * 8
    assert line.sent == bytes(await theirs.receive_some())


@virtually
async def test_a_fault_finds_what_would_be_kept() -> None:
    line, refusal = WideLine(), Answer(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    selector = Selector(api=Api.METADATA.title, nth=2)
    observed = await _observed(line, line.take, fault=Fault(name="f", selector=selector, action=refusal))

    assert [obs.fault for obs in observed if obs.api == "Metadata" and obs.kind == "response"] == [None, "f"]


@virtually
async def test_what_is_looked_up_is_answered_at_once_unless_a_fault_looks_at_it() -> None:
    cluster = Cluster(brokers=1, topics={"t": 2}, recorder=Recorder(lambda: 0))
    peer: Any = None  # nobody is asked who sent it
    found = asks(Api.FIND_COORDINATOR, GROUPS, 4)
    cluster.arm(ON_OTHERS)
    answer = cluster._brokers[0].process_at_once(found, peer)
    assert isinstance(answer, KeptAnswer)
    assert read_response(Api.FIND_COORDINATOR, 4, answer.frame(7)[4:])[1]["coordinators"][0]["node_id"] == 0

    cluster.arm(Fault(name="own", selector=Selector(api=Api.FIND_COORDINATOR.title), action=Silence()))
    assert cluster._brokers[0].process_at_once(found, peer) is None
