"""The readings of DataLink's design where its text and its code disagree: each selectable by name."""

from __future__ import annotations

import pytest
from tests.coordinator.managers import Manager

from groupproof.coordinator.planted.variants import READINGS, UnknownVariant, variant_named, variants
from groupproof.protocol.rules.datalink.datalink_dialect import ManagerKind
from groupproof.protocol.vocabulary import ErrorCode, GroupState

PREPARING, AWAITING, STABLE = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE


def _read(name: str) -> Manager:
    return Manager(variant=variant_named(name))


def test_every_reading_is_found_by_its_name_and_is_no_variant_of_kafka_s() -> None:
    assert [variant_named(reading.name) for reading in READINGS] == list(READINGS)
    assert not {reading.name for reading in READINGS} & variants().keys()
    with pytest.raises(UnknownVariant, match="datalink-no-vote"):
        variant_named("datalink-no-votes")


def _leaders(manager: Manager) -> set[int]:
    """Return the places of the leaders of twelve generations among the members, in the order of their joining."""
    ids = manager.settled(3)
    found = set()
    for number in range(12):
        for id in ids:
            manager.join(id, metadata=f"{number}".encode())
        found.add(manager.members().index(manager.view().leader or ""))
    return found


@pytest.mark.reading("DISC-15")
@pytest.mark.requirement("MGR-08")
def test_by_the_code_the_first_leads_and_by_the_text_anyone() -> None:
    assert _leaders(Manager()) == {0}
    assert len(_leaders(_read("datalink-any-leader"))) > 1


@pytest.mark.reading("DISC-16")
@pytest.mark.parametrize(("name", "state"), [("datalink-resend-rebalances", PREPARING), ("datalink-no-vote", AWAITING)])
def test_an_unchanged_join_again_begins_a_rebalance_by_the_text_alone(name: str, state: GroupState) -> None:
    manager = _read(name)
    _, follower = manager.formed(2)

    manager.join(follower, metadata=b"")

    assert manager.state() is state


@pytest.mark.reading("DISC-17")
def test_a_leave_waits_for_the_session_by_the_text() -> None:
    manager = _read("datalink-leave-waits")
    leader, follower = manager.settled(2)

    assert manager.leave(follower, version=0).error is ErrorCode.NONE
    manager.take(manager.coordinator.operate(ManagerKind.FORCED, "g", 0))
    assert manager.state() is STABLE
    for _ in range(4):
        manager.heartbeat(leader, 2, version=0)
        manager.after(2_500)

    assert (manager.state(), manager.members()) == (PREPARING, [leader])


@pytest.mark.reading("DISC-18")
def test_there_is_a_vote_by_the_code_and_none_by_the_text() -> None:
    by_code, by_text = Manager(), _read("datalink-no-vote")
    for manager in (by_code, by_text):
        manager.settled(1)

    assert by_code.join(protocols=("other",)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    parked = by_text.join(protocols=("other",))
    by_text.join(by_text.members()[0])

    assert (parked.error, parked.answer.protocol_name) == (ErrorCode.NONE, "default")


@pytest.mark.reading("DISC-18")
def test_with_the_one_protocol_that_workers_offer_the_vote_decides_nothing() -> None:
    names = []
    for manager in (Manager(), _read("datalink-no-vote")):
        manager.settled(3)
        names.append(manager.view().protocol_name)

    assert names == ["default", "default"]


def test_all_of_them_at_once_still_make_a_group() -> None:
    manager = _read("datalink-as-written")
    manager.settled(3)

    assert manager.state() is STABLE
