from __future__ import annotations

import pytest

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.faust_worker import FaustWorker
from groupproof.clients.member.group_leader import Leading
from groupproof.clients.member.member_core import Core
from groupproof.clients.member.partition_handover import HandOver
from groupproof.clients.member.policy import REFERENCE
from groupproof.protocol.wire.embedded.faust_metadata import (
    ASSIGNOR,
    FaustError,
    FaustMetadata,
    decode_faust_assignment,
    decode_faust_subscription,
    encode_faust_assignment,
    encode_faust_subscription,
)
from groupproof.protocol.wire.messages import JoinGroupResponse, JoinMember
from groupproof.protocol.wire.subscription import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)


def made() -> FaustWorker:
    core = Core(MemberSettings(group="g", topics=("t",), assignors=(ASSIGNOR,)), REFERENCE, lambda: 0.5)
    core.member_id, core.protocol, core.cluster = "m", ASSIGNOR, Cluster(partitions={"t": 3})
    return FaustWorker(core, HandOver(core), Leading(core))


def subscribed(worker: FaustWorker) -> FaustMetadata:
    (protocol,) = worker.protocols()
    assert protocol.name == ASSIGNOR
    return decode_faust_subscription(decode_subscription(protocol.metadata).user_data or b"")


def another(name: str, *owned: int) -> JoinMember:
    metadata = FaustMetadata(url=f"http://{name}:6066", actives=frozenset(("t", number) for number in owned))
    blob = encode_subscription(Subscription(topics=("t",), user_data=encode_faust_subscription(metadata), version=0))
    return JoinMember(member_id=name, group_instance_id=None, metadata=blob)


def joined(*members: JoinMember, leader: str = "m") -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=0, generation_id=1, protocol_type="consumer", protocol_name=ASSIGNOR, leader=leader, skip_assignment=False, member_id="m",
        members=members,
    )  # fmt: skip


def test_a_worker_says_what_it_was_assigned_last() -> None:
    worker = made()
    assert subscribed(worker).actives == frozenset()

    metadata = FaustMetadata(url="http://m:6066", actives=frozenset({("t", 1)}))
    worker.accept(encode_assignment(Assignment(partitions=(("t", 1),), user_data=encode_faust_assignment(metadata), version=4)), 0)

    assert worker.assigned == subscribed(worker).actives == frozenset({("t", 1)})
    assert (worker.due(10**9), worker.next_ms()) == (False, None)


def test_a_leader_gives_each_member_its_own_url_and_where_everything_is() -> None:
    worker = made()
    worker.joined(joined(another("m", 0, 1, 2), another("n")))
    dealt = {name: decode_assignment(blob) for name, blob in worker.assignments(0)}
    metadata = {name: decode_faust_assignment(assignment.user_data or b"") for name, assignment in dealt.items()}

    assert {name: len(assignment.partitions) for name, assignment in dealt.items()} == {"m": 2, "n": 1}
    # Faust's on_assignment asserts both: the partitions are those of the user data, and the URL is its own.
    assert {name: frozenset(assignment.partitions) for name, assignment in dealt.items()} == {name: data.actives for name, data in metadata.items()}
    assert {name: data.url for name, data in metadata.items()} == {"m": "http://m:6066", "n": "http://n:6066"}
    assert metadata["n"].owners == {"http://m:6066": metadata["m"].actives, "http://n:6066": metadata["n"].actives}
    assert metadata["n"].topic_groups == {"t": 0}
    assert {assignment.version for assignment in dealt.values()} == {4}


def test_a_follower_assigns_nothing() -> None:
    worker = made()
    worker.joined(joined(leader="n"))

    assert worker.assignments(0) == []


def test_an_assignment_without_bytes_is_an_empty_one() -> None:
    worker = made()

    assert worker.accept(b"", 0) is None
    assert worker.assigned == frozenset()


def test_user_data_of_another_assignor_is_refused() -> None:
    worker = made()

    with pytest.raises(FaustError):
        worker.accept(encode_assignment(Assignment(partitions=(("t", 1),))), 0)
    with pytest.raises(FaustError):
        worker.joined(joined(JoinMember(member_id="m", group_instance_id=None, metadata=encode_subscription(Subscription(topics=("t",))))))
