from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import last

from groupproof.coordinator.machine.consumer.classic_guards import CLASSIC_GUARDS
from groupproof.coordinator.machine.consumer.consumer_guards import CONSUMER_GUARDS

JOINED = ("A join", "wait 1100", "K joingroup id=self", "K sync")


def test_each_guard_of_classic_members_is_one_of_the_dialect() -> None:
    assert CLASSIC_GUARDS.keys() <= CONSUMER_GUARDS.keys()


@pytest.mark.parametrize(
    ("request_line", "code"),
    [
        ("K sync type=connect", 23),
        ("K sync protocol=roundrobin", 23),
        ("K sync epoch=-1", 22),
        ("A sync", 25),
        ("K heartbeat instance=i9", 25),
        ("L joingroup id=self protocols=roundrobin,range", 0),
        ("L joingroup id=self protocols=roundrobin", 23),
        ("L joingroup id=self type=connect", 23),
    ],
)
def test_what_a_classic_member_gets_wrong_is_named(request_line: str, code: int) -> None:
    assert last("kafka-4.4", *JOINED, request_line).code == code


@pytest.mark.parametrize(("profile", "code"), [("kafka-4.2", 27), ("kafka-4.3", 0)])
def test_a_newer_group_epoch_without_a_newer_target_sends_a_member_back_up_to_4_2(profile: str, code: int) -> None:
    waits = ("A join", "K joingroup id=self", "K sync", "B join", "B leave")

    assert last(profile, *waits, "K heartbeat").code == code


def test_a_group_stays_of_the_consumer_protocol_while_more_than_its_returning_member_speak_it() -> None:
    waits = ("S join instance=i", "A join", "wait 1100")

    assert last("kafka-4.4", "S join instance=i", "wait 1100", "K joingroup instance=i", "describe").code == 69
    assert last("kafka-4.4", *waits, "K joingroup instance=i", "describe").code == 0


@pytest.mark.requirement("CGG-51")
@pytest.mark.parametrize(
    ("profile", "join", "code"), [("kafka-4.1", "K join", 110), ("kafka-4.1", "K join instance=i", 0), ("kafka-4.2", "K join", 0)]
)
def test_a_classic_member_that_heartbeats_under_its_own_id_was_fenced_up_to_4_1(profile: str, join: str, code: int) -> None:
    assert last(profile, "K classic-live assign=t[0,1,2,3]", join).code == code


@pytest.mark.requirement("CGG-08")
@pytest.mark.parametrize(("profile", "code"), [("kafka-4.3", 81), ("kafka-4.4", 0)])
def test_a_full_classic_group_has_no_place_for_another_and_since_4_4_one_for_a_known_instance(profile: str, code: int) -> None:
    full = tuple(f"{name} joingroup version=5 instance=i{name} timeout=60000 session=60000" for name in "KLM")

    assert [last(profile, *full, f"A join{instance}").code for instance in ("", " instance=i9", " instance=iK")] == [81, 81, code]
