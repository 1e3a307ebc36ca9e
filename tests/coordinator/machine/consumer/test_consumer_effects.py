from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import last

NEWEST = "kafka-4.4"
OLDEST = "kafka-4.0"


def test_partitions_pass_by_revocation_acknowledgement_and_the_next_heartbeat() -> None:
    course = ("A join", "wait 1100", "B join", "A beat")

    assert last(OLDEST, *course).assignment == {"t": (0, 1)}
    assert last(OLDEST, *course, "B beat").assignment is None
    assert last(OLDEST, *course, "A beat owned=own").epoch == 1
    assert last(OLDEST, *course, "A beat owned=own", "B beat").assignment == {"t": (2, 3)}


def test_a_member_that_does_not_revoke_within_its_rebalance_timeout_is_removed_though_it_beats() -> None:
    course = ("A join timeout=1500", "wait 1100", "B join", "A beat", "wait 700", "A beat", "wait 700", "A beat")

    assert last(NEWEST, *course).code == 0
    assert last(NEWEST, *course, "wait 200", "A beat").code == 25


def test_a_session_that_runs_out_frees_what_the_member_had() -> None:
    short = "config consumer.session.timeout.ms=1500 consumer.heartbeat.interval.ms=500"

    observed = last(NEWEST, short, "A join", "wait 700", "B join", "wait 900", "B beat")

    assert observed.assignment == {"t": (0, 1, 2, 3)}


def test_a_target_waits_for_the_assignment_interval_since_4_3() -> None:
    course = ("A join", "B join", "describe")

    assert (last("kafka-4.2", *course).state, last("kafka-4.3", *course).state) == ("Reconciling", "Assigning")
    assert last("kafka-4.3", "A join", "B join", "wait 1100", "A beat", "describe").state == "Reconciling"


def test_a_changed_topic_bumps_the_group_epoch_once() -> None:
    grown = ("A join names=later", "wait 1100", "epoch", "topic later=2", "A beat", "wait 1100", "A beat owned=own", "bumps")

    assert last(NEWEST, *grown).bumps == 1


@pytest.mark.parametrize("release", ["kafka-4.1", "kafka-4.2", NEWEST])
def test_a_resolution_counts_a_topic_that_was_dropped_with_an_expression_before_it(release: str) -> None:
    """The hash of the group's topics is another one, though the expression itself matches none. Fuzzing of 4.2.2 found it."""
    course = ("A join names=t regex=u", "wait 1100", "A beat", "wait 1100", "A beat regex=u-none owned=own", "A beat owned=own")

    before, after = last(release, *course), last(release, *course, "wait 1100", "A beat owned=own", "A beat owned=own")

    assert (before.code, after.code) == (0, 0)
    assert before.epoch is not None
    assert after.epoch == before.epoch + 1


def test_a_group_that_moves_keeps_its_members_and_its_order_to_revoke() -> None:
    course = ("A join", "wait 1100", "B join", "A beat", "restart")

    assert last(NEWEST, *course, "A beat owned=t[0,1,2,3] full").assignment == {"t": (0, 1)}
    assert last(NEWEST, *course, "wait 46000", "describe").state == "Empty"


def test_a_classic_join_takes_the_place_of_an_empty_consumer_group() -> None:
    observed = last(NEWEST, "A join", "A leave", "- joingroup", "describe")

    assert observed.code == 69


def test_an_empty_group_without_offsets_is_forgotten_by_the_cleanup() -> None:
    assert last(NEWEST, "A join", "A leave", "wait 700000", "describe").code == 69
    assert last(NEWEST, "A join", "A commit t-0", "A leave", "wait 700000", "describe").code == 0


def test_a_classic_leave_removes_whoever_is_named() -> None:
    assert last(NEWEST, "A join", "A leavegroup", "describe").state == "Empty"
