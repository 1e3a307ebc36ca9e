from __future__ import annotations

import time

import trio

from groupproof.chaos.spark.streaming.streaming_cluster import opened
from groupproof.harness.subjects.networks.request_connection import CLIENT_ID, asking
from groupproof.protocol.faults import Answer, Fault, Selector
from groupproof.protocol.vocabulary import Api, ErrorCode


def test_the_topic_grows_until_it_is_told_to_stop_and_what_fills_it_is_not_in_the_trace() -> None:
    async def main() -> None:
        before_s = time.time()
        async with opened(None, profile="kafka-4.1", seed=1, topic="t", partitions=2, rate=3) as cluster:
            with trio.fail_after(120):
                while cluster.topic.produced < 6:
                    await trio.lowlevel.checkpoint()
            resting = await cluster.topic.stop()
            assert resting == dict.fromkeys(range(2), cluster.topic.produced)
            assert cluster.topic.produced % 3 == 0
            assert not [obs for obs in cluster.trace if obs.client == CLIENT_ID]
            assert before_s <= cluster.began_s <= time.time()
            cluster.topic.go_on()
            assert cluster.topic.flows

    trio.run(main)


def test_a_fault_acts_on_clients_of_the_cluster_and_leaves_its_receipt() -> None:
    async def main() -> int:
        async with opened(None, profile="kafka-4.1", seed=1, topic="t", partitions=1, rate=1) as cluster:
            fault = Fault(name="f", selector=Selector(api=Api.FIND_COORDINATOR.title, client="stranger"), action=Answer(error_code=15))
            cluster.interception.arm(fault)
            host, _, port = cluster.bootstrap.partition(",")[0].partition(":")
            async with asking(await trio.open_tcp_stream(host, int(port)), client_id="stranger") as asker:
                answer = await asker.ask(Api.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": ("g",)})
            assert answer["coordinators"][0]["error_code"] == ErrorCode.COORDINATOR_NOT_AVAILABLE
            return cluster.delivered("f")

    assert trio.run(main) == 1
