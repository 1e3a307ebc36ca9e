"""The benchmark's own parts, untimed: what it sends is what a member sends, and a wrong answer is never counted."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from tests.benchmarks.coordinators import Measured, aims, echoing, measure, measure_echo, report_of, served
from tests.benchmarks.epoch_load import EpochGroup
from tests.benchmarks.load import Address, Group, Unfit, beat, echoed
from tests.benchmarks.processes import cpu_s, listening_on

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import frame, write_request

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmark waits by epoll")


@contextmanager
def answering(data: bytes) -> Iterator[Address]:
    """Serve one connection that answers whatever comes with `data`."""

    def serve() -> None:
        peer, _ = server.accept()
        with peer:
            while peer.recv(65536) and data:
                peer.sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()
        thread.join()


def expel(address: Address, group: Group) -> str:
    """Remove the last member of a group, and return its id."""
    lost = group.members[-1].member_id
    leave = {"group_id": group.name, "members": ({"member_id": lost, "group_instance_id": None},)}
    with socket.create_connection(address, timeout=10) as administrator:
        administrator.sendall(frame(write_request(Api.LEAVE_GROUP, 3, 1, "administrator", leave)))
        administrator.recv(1024)
    return lost


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with served("consumer", 4) as bound:
        yield bound


@pytest.mark.slow
def test_a_group_forms_rebalances_and_beats_at_the_kit_s_own_coordinator(address: Address) -> None:
    own = Measured("groupproof", address)
    measure(own, 3, seconds=0.1, numbers=count())
    with Group(address, "again", 3) as group:
        group.form()
        generation = group.members[0].generation
        group.rebalance()
        assert {member.generation for member in group.members} == {generation + 1}
        assert sum(member.is_leader for member in group.members) == 1

    assert own.faults == {}
    assert {"form 3", "rebalance 3", "beats 3"} <= own.values.keys()


@pytest.mark.slow
def test_a_consumer_group_forms_and_beats_at_the_kit_s_own_coordinator(address: Address) -> None:
    own = Measured("groupproof", address)
    measure(own, 2, seconds=0.1, numbers=count(), dialect="consumer", partitions=4)
    with EpochGroup(address, "epochs", 2, partitions=4) as group:
        assert not group.is_stable()
        group.form()
        owned = [[topic["partitions"] for topic in member.owned] for member in group.members]
        assert sorted(owned) == [[(0, 1)], [(2, 3)]], "whoever comes first"

    assert own.faults == {}
    assert {"form 2", "beats 2"} <= own.values.keys()


@pytest.mark.slow
def test_a_member_that_lost_its_session_joins_as_a_new_one(address: Address) -> None:
    with Group(address, "expelled", 3) as group:
        group.form()
        lost = expel(address, group)
        group.rebalance()

        assert group.members[-1].member_id not in ("", lost)
        assert len({member.generation for member in group.members}) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("times", "is_measured"), [(1, True), (2, False)])
def test_a_group_that_lost_a_member_joins_again_once_and_is_measured_then(
    address: Address, times: int, monkeypatch: pytest.MonkeyPatch, *, is_measured: bool
) -> None:
    expelled: list[str] = []
    answers = Group.answers

    def after_expulsion(group: Group) -> list[bytes]:
        if len(expelled) < times:
            expelled.append(expel(address, group))
        return answers(group)

    monkeypatch.setattr(Group, "answers", after_expulsion)
    own = Measured("groupproof", address)
    measure(own, 3, seconds=0.1, numbers=count(100 * times))

    assert len(expelled) == times
    assert ("beats 3" in own.values, own.faults == {}) == (is_measured, is_measured)


@pytest.mark.slow
def test_the_generator_and_trio_have_ceilings_of_their_own() -> None:
    for how in ((), ("polled",)):
        with echoing(*how) as address:
            assert (measure_echo(address, sizes=(1, 2), seconds=0.05).median("beats 2") or 0) > 0


def test_answers_that_come_in_pieces_are_counted_whole() -> None:
    with answering(echoed(0) + echoed(0)[:5]) as address, pytest.raises(Unfit, match="is due"):
        beat(address, [b"x"], [echoed(0)], seconds=5)


@pytest.mark.parametrize(("data", "message"), [(b"\0\0\0\1x", "was answered 0000000178"), (b"", "a closed connection")])
def test_another_answer_than_the_right_one_is_no_heartbeat(data: bytes, message: str) -> None:
    with answering(data) as address, pytest.raises(Unfit, match=message):
        beat(address, [b"x"], [echoed(0)], seconds=5)


def test_ratios_are_of_medians_of_one_run_and_say_whether_an_aim_is_reached() -> None:
    own, kfake, kafka = (Measured(name, ("127.0.0.1", 1)) for name in ("groupproof", "kfake", "apache-kafka@4.1.0"))
    for measurement, rates, seconds in ((own, (9.0, 1.0, 10.0), 0.5), (kfake, (10.0, 10.0, 10.0), 0.1), (kafka, (1.0,), 0.4)):
        measurement.values = {"beats 10": list(rates), "rebalance 10": [seconds]}

    assert [(ratio, is_met) for _, ratio, is_met in aims([own, kfake, kafka], (10,))] == [(0.9, False), (1.25, False)]
    epochs = Measured("apache-kafka@4.4.0", ("127.0.0.1", 1))
    epochs.values = {"beats 10": [8.0], "form 10": [0.5]}
    own.values["form 10"] = [1.0]
    assert [(ratio, is_met) for _, ratio, is_met in aims([own, epochs], (10,), "consumer")] == [(9 / 8, True), (2.0, False)]
    assert report_of([own, kfake, kafka], [own], (10,))["coordinators"]["kfake"]["median"] == {"beats 10": 10.0, "rebalance 10": 0.1}


def test_the_process_behind_a_port_is_found_with_what_it_cost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        process = listening_on(server.getsockname()[1])

    assert process is not None
    assert cpu_s(process) > 0
    assert listening_on(1) is None
