"""What each heartbeat carries, and when it is sent."""

from __future__ import annotations

import pytest
from tests.clients.member.consumer.epoch_bench import BEAT, COMMIT, FIND, INTERVAL_MS, TOPIC_ID, EpochBench, assignment

from groupproof.clients.member.epoch_policy import EpochPolicy
from groupproof.clients.member.policy import Policy
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.consumer_messages import TopicPartitions


@pytest.mark.requirement("CGC-04", "CGC-07", "CGC-08", "CGC-33")
def test_the_first_heartbeat_goes_to_the_coordinator_and_says_everything() -> None:
    b = EpochBench(rack="r1", remote_assignor="uniform")
    b.poll()
    assert [send.message.api for send in b.waiting] == [FIND]
    b.answer(FIND)

    first = b.beat
    assert (first.member_epoch, first.rebalance_timeout_ms, first.subscribed_topic_names, first.topic_partitions) == (0, 30_000, ("t",), ())
    assert (first.rack_id, first.server_assignor, first.subscribed_topic_regex) == ("r1", "uniform", None)
    assert first.member_id == b.member.member_id != ""
    assert b.take(BEAT).to is not None


@pytest.mark.requirement("CGC-11", "CGC-12", "CGC-16", "CGC-01")
def test_later_heartbeats_carry_what_changed_and_nothing_else() -> None:
    b = EpochBench()
    b.joined(0, 1)
    acknowledged = b.beats[-1]
    assert acknowledged.topic_partitions == (TopicPartitions(topic_id=TOPIC_ID, partitions=(0, 1)),)
    assert (acknowledged.rebalance_timeout_ms, acknowledged.subscribed_topic_names) == (-1, None)

    plain = b.next_beat()
    assert (plain.group_id, plain.member_id, plain.member_epoch) == ("g", b.member.member_id, 1)
    assert (plain.rebalance_timeout_ms, plain.subscribed_topic_names, plain.topic_partitions) == (-1, None, None)


@pytest.mark.requirement("CGC-24", "CGC-25", "CGC-26")
def test_the_interval_is_the_one_that_the_last_answer_asked_for() -> None:
    b = EpochBench()
    b.joined(0)
    started = b.now
    b.advance(INTERVAL_MS)
    b.beaten(heartbeat_interval_ms=250)
    b.advance(250)
    b.beaten(error=14)
    b.advance(100)  # the pause after 14, whose interval of 0 is none
    b.beaten(heartbeat_interval_ms=5_000)
    b.advance(10_000)
    assert [at - started for at in b.times(BEAT)[2:]] == [1_000, 1_250, 1_350, 6_350]


@pytest.mark.requirement("CGC-27", "CGI-17")
def test_no_heartbeat_is_sent_while_one_is_unanswered() -> None:
    b = EpochBench()
    b.joined(0)
    b.advance(INTERVAL_MS)
    before = b.count(BEAT)
    b.advance(20 * INTERVAL_MS)
    assert b.count(BEAT) == before


@pytest.mark.requirement("CGC-28")
def test_heartbeats_do_not_need_polls() -> None:
    b = EpochBench()
    b.joined(0)
    for _ in range(5):
        b.next_beat()
        b.beaten()
    assert b.member.generation == 1


@pytest.mark.requirement("CGC-18", "CGC-19")
@pytest.mark.parametrize("how", ["lost", "late", 15, 16])
def test_after_a_lost_answer_or_another_coordinator_everything_is_said_again(how: int | str) -> None:
    b = EpochBench(max_poll_interval_ms=300_000)
    b.joined(0)
    b.next_beat()
    if how == "lost":
        b.lose(BEAT)
    elif how == "late":
        b.advance(b.member.settings.request_timeout_ms)
    else:
        b.beaten(error=int(how))
    b.answer(FIND)
    b.advance(200)
    full = b.beat
    assert (full.member_epoch, full.rebalance_timeout_ms, full.subscribed_topic_names) == (1, 300_000, ("t",))
    assert full.topic_partitions == (TopicPartitions(topic_id=TOPIC_ID, partitions=(0,)),)
    assert b.course.count("lost") == b.course.count("revoked") == 0


@pytest.mark.requirement("CGC-29", "CGT-07")
def test_an_acknowledgement_does_not_wait_for_the_interval() -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(1, 0)
    b.poll_through()
    assert b.times(BEAT)[-1] == b.now
    assert b.beat.topic_partitions == (TopicPartitions(topic_id=TOPIC_ID, partitions=(0,)),)


@pytest.mark.requirement("CGC-30", "CGC-11", "CGC-15", "CGC-14")
def test_another_subscription_is_said_with_the_next_heartbeat() -> None:
    b = EpochBench()
    b.joined(0)
    b.do(b.member.resubscribe(("t", "u"), b.now))
    assert b.next_beat().subscribed_topic_names == ("t", "u")
    b.beaten()
    assert b.next_beat().subscribed_topic_names is None


@pytest.mark.requirement("CGC-13")
def test_a_regular_expression_is_said_as_it_is_with_no_names() -> None:
    b = EpochBench(topics=(), topic_regex="t.*")
    b.joining()
    assert (b.beat.subscribed_topic_names, b.beat.subscribed_topic_regex) == ((), "t.*")


@pytest.mark.requirement("CGC-02", "CGC-03")
@pytest.mark.parametrize(("choice", "between"), [("always", "i0"), ("join-and-leave", None)])
def test_a_static_member_says_its_instance_id_when_it_joins_and_leaves(choice: str, between: str | None) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(instance_id=choice)), instance_id="i0")  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0)
    b.next_beat()
    b.do(b.member.close(b.now))
    b.called()
    assert [beat.instance_id for beat in b.beats] == ["i0", between, between, "i0"]


@pytest.mark.requirement("CGC-17")
def test_an_assignment_that_came_back_to_the_same_set_is_acknowledged_again() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.beaten(2, 0, 1)
    b.next_beat()  # the application has not polled yet
    b.beaten(3, 0)
    b.poll_through()
    assert b.beat.topic_partitions == (TopicPartitions(topic_id=TOPIC_ID, partitions=(0,)),)


@pytest.mark.requirement("CGI-18")
def test_the_epoch_of_a_heartbeat_is_that_of_the_last_answer() -> None:
    b = EpochBench()
    b.joined(0)
    for epoch in (1, 4, 9):
        b.next_beat()
        b.beaten(epoch)
        assert b.next_beat().member_epoch == epoch
        b.beaten()


def test_the_broker_gives_the_member_id_to_who_speaks_version_0() -> None:
    b = EpochBench(Policy(versions={Api.CONSUMER_GROUP_HEARTBEAT: 0}))
    b.joining()
    assert b.beat.member_id == ""
    b.answer(BEAT, member_id="given", member_epoch=1, assignment=assignment())
    b.poll_through()
    assert b.beat.member_id == b.member.member_id == "given"
    assert not b.waits(COMMIT)


def _pauses(b: EpochBench, *codes: int) -> list[int]:
    """Refuse the heartbeat in flight with these errors, one after the other; return how long it was from each to the next heartbeat."""
    pauses = []
    for code in codes:
        refused = b.now
        b.beaten(error=code)
        b.advance(1_500)
        b.now = b.times(BEAT)[-1]  # its answer is there at once
        pauses.append(b.now - refused)
    return pauses


@pytest.mark.requirement("CGT-23", "CGC-20", "CGT-28")
def test_the_pause_doubles_with_each_refusal_in_a_row_and_starts_again_after_a_success() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()

    assert _pauses(b, 14, 29, 14, 14, 29, 14) == [100, 200, 400, 800, 1_000, 1_000]
    b.beaten()
    b.next_beat()
    assert _pauses(b, 14) == [100]


@pytest.mark.requirement("CGT-24", "CGC-19")
def test_a_lost_heartbeat_waits_for_its_pause_though_the_coordinator_is_found_and_one_that_came_to_another_broker_does_not() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()

    lost = b.now
    b.lose(BEAT)
    b.answer(FIND)
    assert b.times(BEAT)[-1] == lost
    b.advance(200)
    assert b.times(BEAT)[-1] == lost + 100
    b.beaten(error=16)
    b.advance(1_000)
    b.answer(FIND)
    assert b.times(BEAT)[-1] == b.now


@pytest.mark.requirement("CGC-24", "CGC-27")
def test_an_answer_that_repeats_the_last_one_leaves_the_next_heartbeat_to_its_time() -> None:
    b = EpochBench()
    b.joined(0)
    for _ in range(3):
        sent = b.next_beat()
        b.advance(10)
        before = b.count(BEAT)
        b.beaten()
        assert (b.count(BEAT), b.beat) == (before, sent)

    b.advance(5 * INTERVAL_MS)
    before = b.count(BEAT)
    b.beaten()
    assert b.count(BEAT) == before + 1, "one that is overdue is sent at once"


@pytest.mark.parametrize(("choice", "rack"), [("join", None), ("always", "r1"), ("never", None)])
def test_a_full_heartbeat_of_a_member_repeats_its_rack_only_where_the_client_chooses_so(choice: str, rack: str | None) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(rack=choice)), rack="r1")  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0)
    b.next_beat()
    b.lose(BEAT)
    b.poll_through()
    b.answer(FIND)
    b.advance(1_000)

    assert (b.beat.rebalance_timeout_ms, b.beat.member_epoch, b.beat.rack_id) == (30_000, 1, rack)


@pytest.mark.parametrize(("choice", "fields"), [("none", (None, None)), ("empty", ((), ()))])
def test_a_leave_names_no_topics_and_no_partitions_or_empty_lists_of_them(choice: str, fields: object) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(leave_fields=choice)))  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0)
    b.do(b.member.close(b.now))
    b.called()

    assert (b.beat.member_epoch, (b.beat.subscribed_topic_names, b.beat.topic_partitions)) == (-1, fields)
