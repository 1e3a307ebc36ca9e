from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import Player, last

from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

NEWEST = "kafka-4.4"


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("A join regex=( names=null",), 128),
        (("A join", "A beat regex=t.*"), 0),
        (("A join regex=t.*", "A beat regex=("), 128),
        (("A join instance=i", "B join instance=i"), 111),
        (("A join instance=i", "A away instance=i", "B join instance=i"), 0),
        (("A join", "B join", "C join", "D join"), 81),
        (("A join", "B join", "C join", "A beat"), 0),
        (("A join", "A beat epoch=-1!"), 0),
        (("A join", "A beat epoch=-2!"), 42),
        (("A join instance=i", "A beat instance=j"), 25),
        (("A join", "X away instance=i"), 25),
    ],
)
def test_the_sender_is_checked_in_kafkas_order(lines: tuple[str, ...], code: int) -> None:
    assert last(NEWEST, *lines).code == code


def test_a_dynamic_member_may_return_at_epoch_0_since_4_2() -> None:
    lines = ("A join", "wait 1100", "B join", "A beat", "A beat owned=own", "A join")

    assert (last("kafka-4.1", *lines).code, last("kafka-4.2", *lines).code) == (110, 0)


def test_a_full_group_lets_a_new_id_take_a_place_since_4_4() -> None:
    lines = ("S join instance=i", "A join", "B join", "S away instance=i", "T join instance=i")

    assert (last("kafka-4.3", *lines).code, last("kafka-4.4", *lines).code) == (81, 0)


def test_a_regex_with_a_perl_group_name_is_accepted_by_newer_releases_only() -> None:
    assert [last(profile, "A join regex=(?<n>t) names=null").code for profile in ("kafka-4.0", "kafka-4.1", NEWEST)] == [128, 0, 0]


@pytest.mark.parametrize(("version", "epoch", "code"), [(0, 0, 0), (0, 1, 42), (0, -1, 42), (1, 0, 42)])
def test_a_member_names_itself_but_where_the_coordinator_names_it(version: int, epoch: int, code: int) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="", member_epoch=epoch, rebalance_timeout_ms=60_000, subscribed_topic_names=("t",), topic_partitions=(),
    )  # fmt: skip

    assert Player(NEWEST)._ask(request, version).error_code == code


@pytest.mark.requirement("CGM-10")
@pytest.mark.parametrize(("owned", "code"), [("own", 0), ("u[0]", 110), ("null", 110)])
def test_a_member_whose_answer_was_lost_continues_if_it_owns_no_more_than_its_assignment(owned: str, code: int) -> None:
    moved = ("A join", "wait 1100", "A beat owned=own", "B join", "wait 1100", "A beat owned=own", "A beat owned=own")

    assert last(NEWEST, *moved, f"A beat epoch=-1 owned={owned}").code == code
