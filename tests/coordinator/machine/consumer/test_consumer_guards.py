from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import last

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
def test_who_asks_is_looked_at_in_kafkas_order(lines: tuple[str, ...], code: int) -> None:
    assert last(NEWEST, *lines).code == code


def test_a_dynamic_member_may_return_at_epoch_0_since_4_2() -> None:
    lines = ("A join", "wait 1100", "B join", "A beat", "A beat owned=own", "A join")

    assert (last("kafka-4.1", *lines).code, last("kafka-4.2", *lines).code) == (110, 0)


def test_a_full_group_lets_a_new_id_take_a_place_since_4_4() -> None:
    lines = ("S join instance=i", "A join", "B join", "S away instance=i", "T join instance=i")

    assert (last("kafka-4.3", *lines).code, last("kafka-4.4", *lines).code) == (81, 0)
