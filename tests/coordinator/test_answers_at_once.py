"""Requests that are answered where they were read: sockets, no fault, nothing to wait for. What is seen and said is as on the long way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
import trio.testing
from tests.coordinator.helpers import Client, assigned

from groupproof.coordinator.broker.served_cluster import ServingCluster, serve
from groupproof.protocol.faults import Answer, Cut, Fault, Selector
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import Framer, frame, write_request

SETTINGS = {"group.initial.rebalance.delay.ms": 0}


@asynccontextmanager
async def served(*, keeps: bool = True) -> AsyncIterator[tuple[ServingCluster, Recorder]]:
    recorder = Recorder(lambda: 0, keeps=keeps)
    async with trio.open_nursery() as nursery:

        async def start(task_status: trio.TaskStatus[ServingCluster]) -> None:
            await serve(ports=(0,), settings=SETTINGS, topics={"t": 2}, recorder=recorder, task_status=task_status)

        yield await nursery.start(start), recorder
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def client(serving: ServingCluster, name: str = "m0") -> AsyncIterator[Client]:
    async with await trio.open_tcp_stream(*serving.addresses[0]) as stream:
        yield Client(stream, name)


async def stable(member: Client) -> None:
    assert (await member.join())["error_code"] == 0
    assert (await member.sync(**{member.member_id: assigned(0, 1)}))["error_code"] == 0


def test_what_is_heard_of_a_request_is_its_arrival_its_taking_up_and_its_answer() -> None:
    async def run() -> None:
        async with served() as (serving, recorder), client(serving) as member:
            await stable(member)
            assert await member.heartbeat() == 0

            assert [(obs.kind, obs.member) for obs in recorder.trace if obs.api == "Heartbeat"] == [
                ("request", member.member_id), ("processed", member.member_id), ("response", member.member_id),
            ]  # fmt: skip

    trio.run(run)


def test_requests_that_come_together_all_arrive_before_the_first_is_processed_and_are_answered_in_order() -> None:
    async def run() -> None:
        async with served() as (serving, recorder), client(serving) as member:
            await stable(member)
            for _ in range(100):
                await member.send(Api.HEARTBEAT, member.who())
            for _ in range(100):
                assert (await member.receive())["error_code"] == 0

            beats = [obs for obs in recorder.trace if obs.api == "Heartbeat"]
            for kind in ("request", "processed", "response"):
                correlations = [obs.correlation for obs in beats if obs.kind == kind]
                assert correlations == sorted(correlations, key=lambda correlation: correlation or 0)
                assert len(correlations) == 100

    trio.run(run)


def test_what_a_client_sends_behind_a_parked_join_waits_for_its_answer() -> None:
    async def run() -> None:
        async with served() as (serving, recorder), client(serving) as first, client(serving, "m1") as second:
            await stable(first)
            await second.send(Api.JOIN_GROUP, second.join_body(), 3)
            await second.send(Api.HEARTBEAT, {"group_id": "g", "generation_id": 2, "member_id": "nobody"})
            while await first.heartbeat() == 0:
                pass
            assert not [obs for obs in recorder.trace if obs.kind == "processed" and obs.member == "nobody"]
            await first.join()

            assert second.joined(await second.receive())["generation_id"] == 2
            assert (await second.receive())["error_code"] == ErrorCode.UNKNOWN_MEMBER_ID

    trio.run(run)


def test_what_comes_in_one_piece_with_a_request_that_takes_the_long_way_is_answered_after_it() -> None:
    async def run() -> None:
        async with served() as (serving, _), client(serving) as member:
            await stable(member)
            requests = ((Api.HEARTBEAT, member.who()), (Api.METADATA, {"topics": ()}), (Api.HEARTBEAT, member.who()))
            await member.stream.send_all(b"".join(frame(write_request(api, 4, number, "m0", body)) for number, (api, body) in enumerate(requests)))
            framer = Framer()
            answered: list[int] = []
            while len(answered) < len(requests):
                answered += [int.from_bytes(data[:4], "big") for data in framer.feed(bytes(await member.stream.receive_some()))]

            assert answered == [0, 1, 2]

    trio.run(run)


def test_a_server_without_listeners_answers_the_same_and_keeps_nothing() -> None:
    async def run() -> None:
        async with served(keeps=False) as (serving, recorder), client(serving) as member:
            await stable(member)
            assert await member.heartbeat() == 0
            assert await member.leave() == 0
            assert recorder.trace == []

    trio.run(run)


def test_a_fault_that_is_armed_while_a_request_is_parked_acts_on_its_answer_though_nobody_heard_of_the_request() -> None:
    async def run() -> None:
        async with served(keeps=False) as (serving, _), client(serving) as first, client(serving, "m1") as second:
            await stable(first)
            await second.send(Api.JOIN_GROUP, second.join_body(), 3)
            while await first.heartbeat() == 0:
                pass
            selector = Selector(api="JoinGroup", direction="response", client="m1")
            serving.cluster.arm(Fault(name="f", selector=selector, action=Answer(error_code=ErrorCode.NOT_COORDINATOR)))
            await first.join()

            assert (await second.receive())["error_code"] == ErrorCode.NOT_COORDINATOR

    trio.run(run)


def test_an_armed_fault_acts_on_a_request_that_would_be_answered_at_once() -> None:
    async def run() -> None:
        async with served(keeps=False) as (serving, _), client(serving) as member:
            await stable(member)
            serving.cluster.arm(Fault(name="f", selector=Selector(api="Heartbeat", client="m0"), action=Cut()))
            await member.send(Api.HEARTBEAT, member.who())

            assert await member.is_closed()

    trio.run(run)


def test_a_client_that_reads_late_gets_a_long_answer_whole_and_then_the_next() -> None:
    many = tuple({"member_id": f"{'x' * 20_000}{number}", "group_instance_id": None} for number in range(500))

    async def run() -> None:
        async with served() as (serving, _), client(serving) as member:
            await stable(member)
            await member.send(Api.LEAVE_GROUP, {"group_id": "g", "members": many}, 3)
            await member.send(Api.HEARTBEAT, member.who())
            await trio.testing.wait_all_tasks_blocked(0.1)

            assert len((await member.receive())["members"]) == len(many)
            assert (await member.receive())["error_code"] == 0

    trio.run(run)


def test_both_ways_leave_the_same_observations_and_answers() -> None:
    async def observed(*, is_long: bool) -> list[tuple[object, ...]]:
        async with served() as (serving, recorder), client(serving) as member:
            if is_long:  # a fault that no frame matches: each request of these APIs is offered to it
                for api in ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"):
                    serving.cluster.arm(Fault(name=api, selector=Selector(api=api, client="nobody"), action=Cut()))
            await stable(member)
            assert await member.heartbeat() == 0
            assert await member.leave() == 0
            names = {member.member_id: "the member's", "": ""}
            frames = [obs for obs in recorder.trace if obs.kind in ("request", "processed", "response", "transition")]
            return [
                (obs.kind, obs.api, obs.correlation, names.get(obs.member or ""), obs.generation, obs.error, obs.state_after, sorted(obs.body))
                for obs in frames
            ]

    short, long = trio.run(lambda: observed(is_long=False)), trio.run(lambda: observed(is_long=True))

    assert short == long
    assert len(short) > 12
