"""What the member does with each answer: errors, losses, epochs."""

from __future__ import annotations

import pytest
from tests.clients.member.consumer.epoch_bench import BEAT, COMMIT, FETCH, FIND, EpochBench, parts

from groupproof.clients.member.consumer.epoch_core import EpochState
from groupproof.clients.member.epoch_policy import EpochPolicy
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind, CloseResult

FATAL = (30, 35, 42, 69, 81, 82, 111, 112, 113, 128, 9_999)


@pytest.mark.requirement("CGT-18", "CGT-19", "CGT-21", "CGC-06")
@pytest.mark.parametrize("code", [110, 25])
def test_a_fenced_member_loses_everything_and_joins_with_the_same_id(code: int) -> None:
    b = EpochBench()
    b.joined(0, 1)
    member_id = b.member.member_id
    b.next_beat()
    b.beaten(error=code)
    (lost,) = b.poll_through()
    assert (lost.kind, lost.partitions) == (CallbackKind.LOST, parts(0, 1))
    assert (b.beat.member_id, b.beat.member_epoch, b.beat.subscribed_topic_names, b.beat.topic_partitions) == (member_id, 0, ("t",), ())
    assert b.times(BEAT)[-1] == b.now
    assert b.failures == []


@pytest.mark.requirement("CGT-18")
@pytest.mark.parametrize(("policy", "readable"), [(EpochPolicy(), frozenset()), (EpochPolicy(keeps_what_was_lost=True), parts(0, 1))])
def test_a_member_that_was_fenced_reads_nothing_even_before_its_application_is_told(
    policy: EpochPolicy, readable: frozenset[tuple[str, int]]
) -> None:
    b = EpochBench(Policy(epochs=policy))
    b.joined(0, 1)
    assert b.member.readable == parts(0, 1)
    b.next_beat()
    b.beaten(error=110)
    assert b.member.owned == parts(0, 1)
    assert b.member.readable == readable


@pytest.mark.requirement("CGT-19", "CGT-18")
@pytest.mark.parametrize("code", [110, 25])
def test_a_join_that_is_refused_as_unknown_is_tried_again(code: int) -> None:
    b = EpochBench()
    b.joining()
    asked = b.now
    b.beaten(error=code)
    b.advance(500)
    assert (b.times(BEAT), b.beat.member_epoch) == ([asked, asked + b.member.settings.retry_backoff_ms], 0)


@pytest.mark.requirement("CGT-25", "CGT-26", "CGT-27", "CGT-29", "CGT-30", "CGT-31", "CGT-32", "CGV-13")
@pytest.mark.parametrize("code", FATAL)
def test_a_fatal_error_is_reported_and_ends_everything(code: int) -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.beaten(error=code)
    before = b.count(BEAT)
    callbacks = b.poll_through()
    assert [(callback.kind, callback.partitions) for callback in callbacks] == [(CallbackKind.LOST, parts(0))]
    assert [failure.fatal for failure in b.failures] == [True]
    b.advance(20_000, polling=True)
    b.do(b.member.close(b.now))
    assert (b.count(BEAT), b.member.state) == (before, EpochState.FATAL)


@pytest.mark.requirement("CGT-25", "CGT-27")
@pytest.mark.parametrize("code", FATAL)
def test_a_fatal_answer_to_a_join_is_reported_and_not_tried_again(code: int) -> None:
    b = EpochBench(instance_id="i0")
    b.joining()
    b.beaten(error=code)
    b.poll_through()
    b.advance(20_000, polling=True)
    assert ([failure.fatal for failure in b.failures], b.count(BEAT)) == ([True], 1)


@pytest.mark.requirement("CGT-22", "CGT-24")
@pytest.mark.parametrize("code", [15, 16, None])
def test_another_coordinator_costs_no_partition(code: int | None) -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    if code is None:
        b.lose(BEAT)
    else:
        b.beaten(error=code)
    before = b.count(BEAT)
    b.advance(5_000, polling=True)
    assert b.count(BEAT) == before, "without a coordinator nobody hears it"
    b.answer(FIND)
    b.advance(200)
    assert (b.count(BEAT), b.beat.member_epoch, b.member.owned) == (before + 1, 1, parts(0))


@pytest.mark.requirement("CGT-23", "CGC-20")
def test_a_coordinator_that_loads_is_asked_again_after_a_pause() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.beaten(error=14)
    asked = b.times(BEAT)[-1]
    b.advance(200)
    assert b.times(BEAT)[-1] == asked + b.member.settings.retry_backoff_ms
    assert (b.count(FIND), b.member.owned, b.failures) == (1, parts(0), [])


@pytest.mark.requirement("CGT-28")
def test_a_topic_that_it_may_not_read_is_reported_and_it_stays_a_member() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.beaten(error=29)
    b.advance(200, polling=True)
    assert [(failure.error, failure.fatal) for failure in b.failures] == [("TOPIC_AUTHORIZATION_FAILED", False)]
    assert (b.beat.member_epoch, b.beat.subscribed_topic_names, b.member.owned) == (1, ("t",), parts(0))


@pytest.mark.requirement("CGV-16", "CGV-17", "CGV-19", "CGV-20")
def test_without_polls_it_leaves_and_the_next_poll_loses_and_joins() -> None:
    b = EpochBench(max_poll_interval_ms=3_500)
    b.joined(0)
    for _ in range(3):
        b.next_beat()
        b.beaten()
    b.advance(1_000)
    assert (b.beat.member_epoch, b.member.state) == (-1, EpochState.STALE)
    member_id, before = b.member.member_id, b.count(BEAT)
    b.advance(20_000)
    assert b.count(BEAT) == before
    (lost,) = b.poll_through()
    assert (lost.kind, lost.partitions) == (CallbackKind.LOST, parts(0))
    assert (b.beat.member_epoch, b.beat.member_id) == (0, member_id)


@pytest.mark.requirement("CGV-18")
def test_a_member_like_librdkafka_falls_silent_without_polls_and_leaves_with_the_next_one() -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(poll_end="next-poll")), max_poll_interval_ms=3_500)
    b.joined(0)
    for _ in range(3):
        b.next_beat()
        b.beaten()
    before = b.count(BEAT)
    b.advance(20_000)
    assert (b.count(BEAT), b.member.generation) == (before, 1), "it says nothing, and its session alone frees its partitions"

    (lost,) = b.poll_through()
    assert (lost.kind, lost.partitions) == (CallbackKind.LOST, parts(0))
    assert [beat.member_epoch for beat in b.beats[before:]] == [-1, 0]


@pytest.mark.requirement("CGT-33")
def test_an_answer_that_comes_after_the_leave_is_ignored() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.do(b.member.unsubscribe(b.now))
    b.called()
    b.beaten(7, 1, 2)  # the answer to the heartbeat before
    assert (b.member.generation, b.member.owned, b.beat.member_epoch) == (-1, frozenset(), -1)
    assert not b.callbacks


def test_metadata_is_wanted_of_what_is_subscribed_and_assigned() -> None:
    b = EpochBench(topics=(), topic_regex="t.*")
    b.joined(0)
    assert b.member.metadata_topics == {"t"}
    assert (b.member.is_settled, b.member.calling, b.member.coordinator is not None, b.count(COMMIT)) == (True, None, True, 0)


def test_what_a_fatal_error_takes_is_lost_before_the_next_poll() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.beaten(error=30)

    assert [callback.kind for callback in b.callbacks] == [CallbackKind.LOST]


@pytest.mark.parametrize(("choice", "callbacks"), [("poll", []), ("background", [CallbackKind.ASSIGNED])])
def test_an_assignment_is_processed_in_the_poll_or_at_once(choice: str, callbacks: list[CallbackKind]) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(reconciles_from=choice)))  # type: ignore[arg-type]  # a parameter of the test
    b.joining()
    b.beaten(1, 0)

    assert [callback.kind for callback in b.callbacks] == callbacks


@pytest.mark.requirement("CGV-15")
@pytest.mark.parametrize(("choice", "beats"), [("with-interval", 0), ("at-once", 1)])
def test_another_subscription_goes_with_the_next_heartbeat_or_at_once(choice: str, beats: int) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(resubscribes=choice)))  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0)
    before = b.count(BEAT)
    b.do(b.member.resubscribe(("u",), b.now))

    assert b.count(BEAT) - before == beats


def test_a_lookup_that_was_refused_is_due_again_after_a_pause() -> None:
    b = EpochBench()
    b.poll()
    b.answer(FIND, 15)
    due_ms = b.member.next_deadline_ms()
    assert due_ms is not None
    assert b.now < due_ms <= b.now + 1_000

    b.advance(due_ms - b.now)
    assert b.times(FIND) == [0, due_ms]


@pytest.mark.parametrize(
    ("choice", "callbacks", "owned"),
    [("when-told", [], None), ("calls-back-first", [CallbackKind.REVOKED], None), ("given-up-first", [CallbackKind.REVOKED], ())],
)
def test_what_is_subscribed_to_no_more_is_given_up_when_the_client_chooses(choice: str, callbacks: list[CallbackKind], owned: object) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(unsubscribed=choice, calls_with_nothing=False)))  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0)
    b.do(b.member.resubscribe(("u",), b.now))
    called = b.poll_through() + [b.called() for _ in b.callbacks[:]]
    if not b.waits(BEAT):
        b.next_beat()

    assert ([callback.kind for callback in called], b.beat.topic_partitions, b.beat.subscribed_topic_names) == (callbacks, owned, ("u",))


@pytest.mark.parametrize(("choice", "epochs"), [("fails", []), ("joins-anew", [0]), ("leaves", [-1])])
def test_a_refused_commit_costs_the_membership_of_who_takes_it_for_more(choice: str, epochs: list[int]) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(refused_commit=choice)))  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0)
    before = len(b.beats)
    b.do(b.member.commit("token", {("t", 0): 1}, b.now, is_sync=True))
    b.answer(COMMIT, 25)
    b.poll_through()

    assert [beat.member_epoch for beat in b.beats[before:]] == epochs


@pytest.mark.parametrize(("choice", "code"), [("joins-anew", 0), ("joins-anew", 113), ("leaves", 0), ("leaves", 22)])
def test_a_commit_costs_no_membership_where_the_answer_does_not_say_that_it_is_over(choice: str, code: int) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(refused_commit=choice)))  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0)
    before = len(b.beats)
    b.do(b.member.commit("token", {("t", 0): 1}, b.now, is_sync=True))
    b.answer(COMMIT, code)
    b.poll_through()

    assert (b.beats[before:], b.member.generation) == ([], 1)


@pytest.mark.parametrize("choice", ["joins-anew", "leaves"])
def test_a_refused_fetch_of_offsets_costs_no_membership(choice: str) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(refused_commit=choice)))  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0)
    before = len(b.beats)
    b.do(b.member.fetch_offsets("f", parts(0), b.now))
    b.answer(FETCH, 25)
    b.poll_through()

    assert (b.beats[before:], b.member.generation) == ([], 1)


def test_a_member_that_leaves_after_a_refused_commit_is_not_closed() -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(refused_commit="leaves")))
    b.joined(0)
    b.do(b.member.commit("token", {("t", 0): 1}, b.now, is_sync=True))
    b.answer(COMMIT, 25)
    b.poll_through()
    b.beaten(-1)

    assert [ended.closed for ended in b.of(CloseResult)] == [False]


def test_nothing_is_given_up_where_all_that_is_owned_is_still_subscribed() -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(unsubscribed="calls-back-first")))
    b.joined(0)
    b.do(b.member.resubscribe(("t", "u"), b.now))

    assert b.callbacks == []
