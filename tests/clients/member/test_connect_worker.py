from __future__ import annotations

import pytest

from groupproof.clients.member.connect_settings import WorkerSettings
from groupproof.clients.member.connect_worker import ConnectWorker
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member_core import Core
from groupproof.clients.member.policy import REFERENCE
from groupproof.protocol.wire.embedded.connect_protocol import (
    CONFIG_MISMATCH,
    ConnectAssignment,
    ConnectError,
    WorkerState,
    decode_connect_assignment,
    decode_worker_state,
    encode_connect_assignment,
)
from groupproof.protocol.wire.messages import JoinGroupResponse, JoinMember

JOBS = (("c", -1), ("c", 0))


def worker(protocol: str = "sessioned", agreed: str = "sessioned", config_end: int | None = None) -> ConnectWorker:
    settings = WorkerSettings(url="http://w/", protocol=protocol, config_end=config_end)
    core = Core(MemberSettings(group="g", topics=("c",), worker=settings), REFERENCE, lambda: 0.5)
    core.member_id, core.protocol = "w", agreed
    return ConnectWorker(core, settings)


def states(subject: ConnectWorker) -> dict[str, WorkerState]:
    return {protocol.name: decode_worker_state(protocol.metadata) for protocol in subject.protocols()}


def accept(subject: ConnectWorker, now_ms: int = 0, version: int = 2, **fields: object) -> str | None:
    made = ConnectAssignment(leader="l", leader_url="u", version=version, **{"offset": 1, **fields})  # type: ignore[arg-type]  # fields by name
    return subject.accept(encode_connect_assignment(made), now_ms)


@pytest.mark.requirement("CONNECT-01")
@pytest.mark.parametrize(
    ("protocol", "names"),
    [("sessioned", ["sessioned", "compatible", "default"]), ("compatible", ["compatible", "default"]), ("eager", ["default"])],
)
def test_a_worker_offers_what_its_protocol_admits(protocol: str, names: list[str]) -> None:
    assert list(states(worker(protocol))) == names


@pytest.mark.requirement("CONNECT-02")
def test_each_protocols_metadata_has_its_version_the_url_and_the_offset() -> None:
    metadata = states(worker())

    assert {name: state.version for name, state in metadata.items()} == {"sessioned": 2, "compatible": 1, "default": 0}
    assert {(state.url, state.offset) for state in metadata.values()} == {("http://w/", 1)}


@pytest.mark.requirement("CONNECT-03")
def test_the_metadata_names_what_is_run() -> None:
    subject = worker()
    assert accept(subject, assigned=JOBS) is None

    held = states(subject)["sessioned"].assignment
    assert held is not None
    assert held.assigned == JOBS


@pytest.mark.requirement("CONNECT-07")
def test_a_revocation_is_followed_up() -> None:
    subject = worker()
    accept(subject, assigned=JOBS)

    assert accept(subject, revoked=(("c", 0),)) == "connectors or tasks were revoked"
    held = states(subject)["compatible"].assignment
    assert held is not None
    assert held.assigned == (("c", -1),)


def test_an_eager_assignment_is_all_there_is() -> None:
    subject = worker(agreed="default")
    accept(subject, version=0, assigned=JOBS)
    accept(subject, version=0, assigned=(("c", 0),))

    held = states(subject)["compatible"].assignment
    assert held is not None
    assert held.assigned == (("c", 0),)


@pytest.mark.requirement("CONNECT-09")
def test_a_delay_is_waited_out_and_a_join_ends_it() -> None:
    subject = worker()
    accept(subject, now_ms=100, delay_ms=500)

    assert (subject.next_ms(), subject.due(599), subject.due(600)) == (600, False, True)
    subject.protocols()
    assert not subject.due(600)


@pytest.mark.requirement("CONNECT-12")
def test_an_error_is_a_reason_to_join_again() -> None:
    assert accept(worker(), error=CONFIG_MISMATCH) == "the leader answered with error 1"


@pytest.mark.requirement("CONNECT-13")
def test_a_worker_that_cannot_read_far_enough_is_cut_off() -> None:
    subject = worker(config_end=1)
    accept(subject, offset=5)

    assert subject.is_cut_off


@pytest.mark.requirement("CONNECT-14")
def test_a_worker_that_can_read_far_enough_reports_the_new_offset() -> None:
    subject = worker(config_end=5)
    accept(subject, offset=5)

    assert not subject.is_cut_off
    assert states(subject)["sessioned"].offset == 5


@pytest.mark.requirement("CONNECT-16")
def test_an_assignment_of_a_later_version_is_read_as_the_newest() -> None:
    subject = worker()
    accept(subject, version=3, assigned=JOBS)

    held = states(subject)["sessioned"].assignment
    assert held is not None
    assert (held.assigned, held.version) == (JOBS, 2)


def test_a_leader_deals_in_the_agreed_version_and_a_follower_not_at_all() -> None:
    subject = worker(agreed="compatible")
    members = (JoinMember(member_id="w", metadata=subject.protocols()[1].metadata),)
    joined = JoinGroupResponse(generation_id=1, protocol_type="connect", protocol_name="compatible", leader="w", member_id="w", members=members)
    subject.joined(joined)

    ((name, blob),) = subject.assignments(0)
    assert (name, decode_connect_assignment(blob).version, decode_connect_assignment(blob).assigned) == ("w", 1, JOBS)
    follower = worker()
    follower.joined(JoinGroupResponse(generation_id=1, leader="l", member_id="w"))
    assert follower.assignments(0) == []


def test_bytes_that_are_no_assignment_are_named() -> None:
    with pytest.raises(ConnectError):
        worker().accept(b"", 0)
