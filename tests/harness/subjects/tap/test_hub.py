from __future__ import annotations

import pytest
import trio
from tests.harness.subjects.tap.tapped import Scene, played

from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.judging.observed.both_sides import judge_sides
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.subjects.tap import hub as hub_module
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.protocol.faults import Answer, Fault, Selector
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api


async def two_members(scene: Scene) -> None:
    """Let one member join, a second make them rebalance, and both go."""
    first, second = scene.shop("m0"), scene.shop("m1")
    await first.join()
    await second.join()
    await first.until("partitions_assigned", 2)
    await first.say("commit", mode="sync", offsets=[["t", 0, 1]])
    await first.until("offsets_committed")
    await second.close()
    await first.until("partitions_assigned", 3)
    await first.close()


def test_members_rebalance_through_the_tap_as_without_it_and_keep_coming_through() -> None:
    trace = played(two_members)

    nodes = {obs.node for obs in trace if obs.kind == "request"}
    asked = {obs.api for obs in trace if obs.kind == "request"}
    assert nodes == {0, 1}
    assert {"JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "Fetch", "LeaveGroup"} <= asked
    (result,) = judge_live(trace)
    assert (result.ruling.verdict, result.ruling.goodbye) == (Verdict.OK, Goodbye.CLEAN)


def test_every_request_has_its_answer_in_the_trace() -> None:
    trace = played(two_members)

    asked = {obs.exchange_id for obs in trace if obs.kind == "request"}
    answered = {obs.exchange_id for obs in trace if obs.kind == "response"}
    gone = {obs.connection for obs in trace if obs.who == "link" and obs.body["name"] == "closed"}
    assert answered <= asked
    assert {connection for connection, _ in asked - answered} <= gone


def test_a_fault_leaves_its_receipts_and_the_client_reacts() -> None:
    fault = Fault(name="rebalance", selector=Selector(api="Heartbeat", client="m0", nth=2), action=Answer(error_code=27))
    stages: list[str | None] = []

    async def act(scene: Scene) -> None:
        first = scene.shop("m0")
        await first.join()
        await first.until("partitions_assigned", 2)
        await first.close()
        stages.extend(scene.stages("rebalance"))

    trace = played(act, fault)

    assert stages == ["armed", "triggered", "delivered"]
    delivered = next(obs.seq for obs in trace if obs.kind == "fault" and obs.detail == "delivered")
    assert any(obs.api == Api.JOIN_GROUP.title and obs.kind == "request" for obs in trace[delivered:])
    assert judge_live(trace)[0].ruling.verdict is Verdict.OK


def test_a_broker_is_known_by_its_id_once_an_answer_has_named_it() -> None:
    async def act(scene: Scene) -> None:
        address = scene.cluster.addresses[1]
        assert (await scene.hub.route_to(("alias", 9092))).node is None
        body = {"brokers": ({"node_id": 1, "host": address[0], "port": address[1]}, {"node_id": 7, "host": "elsewhere", "port": 1})}

        fields = await scene.hub.localized(Api.METADATA, body)

        assert [(broker["host"], broker["port"]) for broker in fields["brokers"]] == [("tap-1", 9092), ("tap-3", 9092)]
        assert [route.node for route in scene.hub.routes.values()] == [0, 1, None, 7]
        assert await scene.hub.route_to(("elsewhere", 1)) is scene.hub.routes["elsewhere", 1]

    assert len([obs for obs in played(act) if obs.body.get("name") == "routed"]) == 4


def test_a_broker_that_dies_ends_its_connections_and_members_find_the_next_through_the_tap() -> None:
    async def act(scene: Scene) -> None:
        first = scene.shop("m0")
        await first.join()
        coordinator = next(obs.node for obs in scene.trace if obs.api == "SyncGroup")
        assert coordinator is not None
        await scene.cluster.stop(coordinator)
        await first.say("commit", mode="sync", offsets=[["t", 0, 1]])
        await first.until("offsets_committed")
        await first.close()

    trace = played(act)

    ended = [obs for obs in trace if obs.body.get("name") == "closed" and obs.body["by"] == "upstream"]
    assert {obs.body["reason"] for obs in ended} <= {"the broker closed it", "the broker can't be reached: nobody listens on broker-1:9092"}
    (commit,) = {obs.node for obs in trace if obs.api == "OffsetCommit" and obs.kind == "response" and not obs.error}
    assert commit not in {obs.node for obs in ended}
    results, unjudged = judge_sides(trace)
    assert [result.ruling.verdict for result in results] == [Verdict.OK]
    assert [item.side for item in unjudged] == ["coordinator"]


def test_an_upstream_that_names_new_addresses_for_ever_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "ROUTES_MAX", 2)

    async def act(scene: Scene) -> None:
        with pytest.raises(BrokenEnvironment, match="has named 2 addresses"):
            await scene.hub.route_to(("elsewhere", 1))

    assert played(act)


def test_ports_follow_the_first_and_one_in_use_is_reported() -> None:
    async def main() -> None:
        recorder = Recorder(lambda: 0)
        async with trio.open_nursery() as nursery:
            free = TcpDoors(nursery=nursery, advertise="tap.example")
            hub = Hub(recorder=recorder, connect=trio.open_tcp_stream, doors=free, interception=Interception(recorder))
            route = await hub.route_to(("127.0.0.1", 1))
            host, port = route.local
            assert (host, port > 0) == ("tap.example", True)
            with pytest.raises(BrokenEnvironment, match=f"can't listen on 127.0.0.1:{port}"):
                await TcpDoors(nursery=nursery, first_port=port).open(hub._serve, route)  # type: ignore[arg-type]  # never called
            stream = await trio.open_tcp_stream("127.0.0.1", port)
            assert await stream.receive_some() == b""
            await stream.aclose()
            nursery.cancel_scope.cancel()
        assert [obs.body["by"] for obs in recorder.trace if obs.body["name"] == "closed"] == ["upstream"]

    trio.run(main)
