"""From an assignment to records, against a host that notes what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from groupproof.clients.consumer.cluster_view import ClusterView
from groupproof.clients.consumer.record_reader import RecordReader
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import Fail, OffsetFetchResult, Output
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

T0, T1 = ("t", 0), ("t", 1)


def _metadata(*leaders: int) -> dict[str, Any]:
    """Return the metadata of topic t, with these leaders of its partitions."""
    partitions = tuple({"partition_index": index, "leader_id": leader, "replica_nodes": (leader,)} for index, leader in enumerate(leaders))
    return {
        "brokers": tuple({"node_id": leader, "host": "a", "port": 1, "rack": None} for leader in set(leaders)),
        "topics": ({"name": "t", "error_code": 0, "partitions": partitions},),
    }


Answered = Callable[[dict[str, Any] | None], None]


class Desk:
    """A member that owns both partitions, its reading, and the host that both believe in."""

    def __init__(self, bench: type[Bench], policy: Policy = Policy(), leaders: tuple[int, ...] = (0, 0), **settings: Any) -> None:  # noqa: B008 - a policy is frozen
        self.bench = bench(policy, **({"auto_offset_reset": "earliest"} | settings))
        self.bench.stable(0, 1)
        view = ClusterView()
        view.learn(_metadata(*leaders))
        self.leaders = leaders
        self.is_reachable = True
        self.metadata_wanted = 0
        self.reported: list[Fail] = []
        self.wanted: list[tuple[frozenset[TopicPartition], Callable[[OffsetFetchResult], None]]] = []
        self.sent: list[tuple[Api, Mapping[str, Any], Answered]] = []
        self.reading = RecordReader(self.bench.member, view, self)

    def now_ms(self) -> int:
        return self.bench.now

    def perform(self, outputs: list[Output]) -> None:
        self.bench.do(outputs)

    def fetch_offsets(self, partitions: frozenset[TopicPartition], take: Callable[[OffsetFetchResult], None]) -> None:
        self.wanted.append((partitions, take))

    def send_to_node(self, node_id: int, api: Api, body: Mapping[str, Any], answered: Answered) -> bool:
        assert node_id in self.leaders
        if self.is_reachable:
            self.sent.append((api, body, answered))
        return self.is_reachable

    def want_metadata(self) -> None:
        self.metadata_wanted += 1

    def report(self, failure: Fail) -> None:
        self.reported.append(failure)

    def committed(self, offsets: Mapping[TopicPartition, int], error: str | None = None) -> None:
        _, take = self.wanted.pop(0)
        take(OffsetFetchResult(token=1, offsets=offsets, error=error))

    def listed(self, api: Api, **codes: int) -> None:
        _, body, answered = self.sent.pop(0)
        parts = [partition["partition_index"] for partition in body["topics"][0]["partitions"]]
        entries = tuple({"partition_index": part, "error_code": codes.get(f"p{part}", 0), "offset": 3} for part in parts)
        answered({"topics": ({"name": "t", "partitions": entries},)})


@pytest.mark.requirement("FETCH-06", "CLIENT-79")
def test_committed_offsets_are_asked_for_once_and_only_of_what_is_owned(bench: type[Bench]) -> None:
    recorder = Desk(bench)
    recorder.reading.pursue()
    recorder.reading.pursue()
    assert [partitions for partitions, _ in recorder.wanted] == [{T0, T1}]

    recorder.committed({T0: 0, T1: -1})
    assert recorder.reading.fetching.positions == {T0: 0}
    assert [api for api, *_ in recorder.sent] == [Api.LIST_OFFSETS]
    recorder.listed(Api.LIST_OFFSETS)
    assert recorder.reading.own_positions() == {T0: 0, T1: 3}


@pytest.mark.requirement("CLIENT-79")
@pytest.mark.parametrize(("reset", "timestamp"), [("earliest", -2), ("latest", -1)])
def test_where_nothing_is_committed_the_end_that_is_set_is_asked_for(bench: type[Bench], reset: str, timestamp: int) -> None:
    recorder = Desk(bench, auto_offset_reset=reset)
    recorder.reading.pursue()
    recorder.committed({T0: -1})
    ((_, body, _),) = recorder.sent

    assert [partition["timestamp"] for partition in body["topics"][0]["partitions"]] == [timestamp]
    assert body["replica_id"] == -1  # a consumer's


@pytest.mark.parametrize(("policy", "fetched", "delivered"), [
    (Policy(), [0, 1], [0, 1]), (Policy(reads="everything"), [0, 1, 2], [0, 1, 2]), (Policy(reads="everything-unsaid"), [0, 1, 2], [0, 1]),
])  # fmt: skip
def test_what_is_read_is_what_is_owned_unless_a_bug_is_planted(bench: type[Bench], policy: Policy, fetched: list[int], delivered: list[int]) -> None:
    recorder = Desk(bench, policy, leaders=(0, 0, 0))
    recorder.reading.pursue()
    recorder.committed({("t", number): 5 for number in fetched})
    recorder.reading.pursue()
    api, body, answered = recorder.sent.pop()
    assert api is Api.FETCH
    assert [partition["partition"] for partition in body["topics"][0]["partitions"]] == fetched

    records = encode_batch([Record(offset=5, timestamp_ms=0, value=b"")])
    entries = tuple({"partition_index": number, "error_code": 0, "records": records} for number in fetched)
    answered({"error_code": 0, "responses": ({"topic": "t", "partitions": entries},)})
    assert [delivery.partition[1] for delivery in recorder.reading.deliver()] == delivered


def test_records_are_fetched_and_delivered(bench: type[Bench]) -> None:
    recorder = Desk(bench)
    recorder.reading.pursue()
    recorder.committed({T0: 5, T1: 5})
    recorder.reading.pursue()
    api, _, answered = recorder.sent.pop()
    assert api is Api.FETCH
    data = encode_batch([Record(offset=5, timestamp_ms=0, value=b"v")])
    answered({"error_code": 0, "responses": ({"topic": "t", "partitions": ({"partition_index": 0, "error_code": 0, "records": data},)},)})

    assert [(delivery.partition, delivery.first, delivery.last) for delivery in recorder.reading.deliver()] == [(T0, 5, 5)]


@pytest.mark.requirement("CLIENT-79")
def test_a_fetch_of_offsets_that_failed_ends_the_member(bench: type[Bench]) -> None:
    recorder = Desk(bench)
    recorder.reading.pursue()
    recorder.committed({}, error="GROUP_AUTHORIZATION_FAILED")

    assert recorder.bench.member.failure is not None
    assert recorder.bench.member.failure.error == "GROUP_AUTHORIZATION_FAILED"


def test_a_fetch_of_offsets_that_nobody_answered_in_time_is_made_again(bench: type[Bench]) -> None:
    recorder = Desk(bench)
    recorder.reading.pursue()
    recorder.committed({}, error="REQUEST_TIMED_OUT")
    assert recorder.bench.member.failure is None

    recorder.reading.pursue()
    assert [partitions for partitions, _ in recorder.wanted] == [{T0, T1}]


def test_no_offset_and_no_reset_is_an_error(bench: type[Bench]) -> None:
    recorder = Desk(bench, auto_offset_reset="none")
    recorder.reading.pursue()
    recorder.committed({T0: -1, T1: 2})

    assert recorder.bench.member.failure is not None
    assert recorder.bench.member.failure.error == "NO_OFFSET_FOR_PARTITION"


def test_a_leader_that_is_not_one_is_asked_again_later_with_fresh_metadata(bench: type[Bench]) -> None:
    recorder = Desk(bench)
    recorder.reading.pursue()
    recorder.committed({T0: -1, T1: -1})
    recorder.listed(Api.LIST_OFFSETS, p0=6)
    assert recorder.metadata_wanted == 1
    recorder.reading.pursue()
    assert recorder.wanted == []
    recorder.bench.advance(100)
    recorder.reading.pursue()
    assert [partitions for partitions, _ in recorder.wanted] == [{T0}]


def test_a_broker_that_cannot_be_reached_is_tried_later(bench: type[Bench]) -> None:
    recorder = Desk(bench)
    recorder.is_reachable = False
    recorder.reading.pursue()
    recorder.committed({T0: -1, T1: 5})
    recorder.bench.advance(100)
    recorder.reading.pursue()

    assert recorder.metadata_wanted >= 2
    assert recorder.sent == []


def test_offsets_of_what_is_no_longer_owned_are_dropped(bench: type[Bench]) -> None:
    recorder = Desk(bench)
    recorder.reading.pursue()
    recorder.bench.answer_heartbeat(25)
    recorder.bench.poll()
    recorder.bench.called()
    recorder.committed({T0: 5, T1: 5})

    assert recorder.reading.fetching.positions == {}


@pytest.mark.parametrize(
    ("policy", "readable"), [(Policy(), False), (Policy(delivers_revoked=True), True), (Policy(delivers_while_joining=True), True)]
)
def test_only_planted_bugs_read_what_was_given_away(bench: type[Bench], policy: Policy, readable: bool) -> None:
    recorder = Desk(bench, policy)
    for partition in (T0, T1):
        recorder.reading.fetching.stand(partition, 0)
    recorder.bench.answer_heartbeat(27)
    recorder.bench.poll()
    recorder.reading.gives_away()
    recorder.bench.called()
    recorder.bench.poll()
    recorder.reading.pursue()

    assert bool(recorder.sent) == readable


def test_a_client_that_ignores_commits_resets_at_once(bench: type[Bench]) -> None:
    recorder = Desk(bench, Policy(fetches_offsets=False))
    recorder.reading.pursue()

    assert recorder.wanted == []
    assert [api for api, *_ in recorder.sent] == [Api.LIST_OFFSETS]


def test_what_one_leader_is_asked_about_is_not_looked_up_again_because_another_is_asked(bench: type[Bench]) -> None:
    recorder = Desk(bench, leaders=(0, 1))
    recorder.reading.pursue()
    recorder.committed({T0: -1, T1: -1})
    assert [api for api, *_ in recorder.sent] == [Api.LIST_OFFSETS] * 2
    recorder.reading.pursue()

    assert recorder.wanted == []
