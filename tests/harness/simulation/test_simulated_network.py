"""The network: in order, slow, silent, reset; what is held goes on, what is lost is told."""

from __future__ import annotations

import random

import pytest
from tests.harness.simulation.made import Client

from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.simulated_network import AskTopics, Connection, Network, Request, Topics

ASK, TOPICS = AskTopics(), Topics(())


class World:
    """One client and a broker that answers everything, or is told not to."""

    def __init__(self) -> None:
        self.heap, self.client = Heap(), Client()
        self.arrived: list[int] = []
        self.is_up = self.answers = True
        self.network = Network(self.heap, random.Random(1), 10, self._arrive, lambda _: self.is_up)
        self.path = self.network.path("m0", 0)

    def _arrive(self, connection: Connection, request_id: int, request: Request) -> None:
        self.arrived.append(request_id)
        if self.answers:
            self.network.answer(connection, request_id, TOPICS)

    def send(self, *request_ids: int) -> None:
        for request_id in request_ids:
            self.network.send(self.client, 0, "group", request_id, ASK)

    def after(self, ms: int) -> World:
        self.heap.run(self.heap.now_ms + ms)
        return self

    @property
    def reports(self) -> list[int]:
        return [request_id for request_id, _ in self.client.answers]


def test_requests_arrive_and_answers_come_back_in_order() -> None:
    world = World()
    world.send(*range(20))
    world.after(200)

    assert world.arrived == world.reports == list(range(20))
    assert world.network.connected(world.client, "group") == 0


def test_frames_overtake_each_other_where_the_path_lets_them() -> None:
    world = World()
    world.send(0)
    world.after(100).path.is_unordered = 1
    world.path.slow_ms = 1_000
    world.send(*range(1, 20))
    world.after(5_000)

    assert sorted(world.arrived) == list(range(20))
    assert world.arrived != sorted(world.arrived)


@pytest.mark.parametrize(("out", "back", "arrives"), [(1, 0, False), (0, 1, True), (1, 1, False)])
def test_a_silent_path_holds_what_is_sent_until_it_is_healed(out: int, back: int, arrives: bool) -> None:
    world = World()
    world.send(0)
    world.after(100)
    world.path.silent_out, world.path.silent_back = out, back
    world.send(1)
    world.after(5_000)
    assert (world.arrived == [0, 1], world.reports) == (arrives, [0])

    world.path.silent_out = world.path.silent_back = 0
    world.network.flow(world.path)
    world.after(100)
    assert world.arrived == world.reports == [0, 1]


def test_a_connection_that_cannot_be_made_is_given_up_after_ten_seconds() -> None:
    world = World()
    world.path.silent_out = world.path.silent_back = 1
    world.send(0, 1)
    world.after(9_999)
    assert world.client.losses == 0

    world.after(100)
    assert (world.client.losses, world.client.unanswered, world.arrived) == (1, [0, 1], [])


def test_a_broker_that_is_down_refuses_connections() -> None:
    world = World()
    world.is_up = False
    world.send(0)
    world.after(100)

    assert (world.client.unanswered, world.arrived) == ([0], [])


def test_a_reset_loses_what_is_under_way_and_the_next_request_opens_a_new_connection() -> None:
    world = World()
    world.answers = False
    world.send(0)
    world.after(100)
    world.send(1)
    assert world.network.reset(name="m0") == 1
    world.send(2)
    world.after(100)
    assert (world.arrived, world.client.unanswered) == ([0], [0, 1, 2])

    world.send(3)
    world.after(100)
    assert world.arrived == [0, 3]
    assert world.network.reset(name="m9") == world.network.reset(node=7) == 0


def test_what_was_sent_before_a_client_closed_still_arrives_and_its_answer_goes_nowhere() -> None:
    world = World()
    world.send(0)
    world.after(100)
    world.send(1)
    world.network.close(world.client, lanes=("group",))
    world.after(100)

    assert (world.arrived, world.reports, world.client.losses) == ([0, 1], [0], 0)
    assert world.network.connected(world.client, "group") is None


def test_a_reset_is_not_noticed_from_silence() -> None:
    world = World()
    world.send(0)
    world.after(100)
    world.path.silent_back = 1
    world.network.reset(node=0)
    world.after(1_000)
    assert world.client.losses == 0

    world.path.silent_back = 0
    world.network.flow(world.path)
    world.after(100)
    assert world.client.losses == 1
