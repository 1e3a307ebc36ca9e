"""A poll of a member at rest: it commits, and the commit is answered, as by the long way; whatever else there is to do ends the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupproof.clients.member.resting_polls import RestingPolls
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import CommittedPartition, CommittedTopic, OffsetCommitResponse

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

AT = {("t", 0): 5}


def answered(error_code: int = 0) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=(CommittedTopic(name="t", partitions=(CommittedPartition(partition_index=0, error_code=error_code),)),))


def polling(bench: type[Bench], **settings: Any) -> tuple[Bench, RestingPolls]:
    """Return a member that has polled once, and whose next auto-commit is due, but no heartbeat."""
    b = bench(auto_commit=True, auto_commit_interval_ms=900, **settings)
    b.stable(0)
    b.positions = dict(AT)
    b.poll()
    b.answer_heartbeat()
    polls = b.member.resting_polls
    assert polls is not None
    return b, polls


def test_a_poll_at_rest_commits_as_a_poll_does(bench: type[Bench]) -> None:
    (short, polls), (long, _) = polling(bench), polling(bench)
    assert polls.is_at_rest(short.now)

    sent = polls.poll(short.now, AT)
    long.do(long.member.poll(long.now, AT))

    assert sent == long.take(Api.OFFSET_COMMIT)
    assert polls.next_poll_ms() is None
    assert short.member.next_poll_ms() is None
    assert short.member.next_deadline_ms() == long.member.next_deadline_ms()
    assert sent is not None
    assert polls.committed(sent.request_id, answered(), short.now + 5)
    assert polls.next_poll_ms() == short.member.next_poll_ms() == short.now + 900
    assert polls.poll(short.now + 5, AT) is None, "the interval has begun anew"


def test_an_answer_that_names_an_error_or_is_anothers_goes_the_long_way(bench: type[Bench]) -> None:
    b, polls = polling(bench)
    assert polls.is_at_rest(b.now)
    sent = polls.poll(b.now, AT)
    assert sent is not None

    assert not polls.committed(sent.request_id, answered(14), b.now + 5)
    assert not polls.committed(sent.request_id + 1, answered(), b.now + 5)
    assert not polls.committed(sent.request_id, answered(), b.now + 1_000), "the next heartbeat is due"
    b.do(b.member.tick(b.now + 5))
    assert not polls.committed(sent.request_id, answered(), b.now + 5), "something has come in"


def test_an_answer_when_the_poll_interval_or_the_session_is_over_goes_the_long_way(bench: type[Bench]) -> None:
    for settings in ({"max_poll_interval_ms": 1_200}, {"session_timeout_ms": 1_500}):
        b, polls = polling(bench, **settings)
        resting = b.member.resting
        assert resting is not None
        assert polls.is_at_rest(b.now)
        sent = polls.poll(b.now, AT)
        assert sent is not None
        resting.beat(b.now + 1_000)

        assert not polls.committed(sent.request_id, answered(), b.now + 1_500)
        assert polls.committed(sent.request_id, answered(), b.now + 1_100), "neither is over"


def test_a_commit_in_flight_lets_no_heartbeat_go_the_short_way(bench: type[Bench]) -> None:
    b, polls = polling(bench)
    resting = b.member.resting
    assert resting is not None
    assert polls.is_at_rest(b.now)
    polls.poll(b.now, AT)

    assert resting.until_ms(b.now + 1_000) == 0


def test_who_has_a_reason_to_join_again_or_closes_does_not_rest(bench: type[Bench]) -> None:
    for ends in ("resubscribe", "close", "fetch", "session"):
        b, polls = polling(bench)
        later_ms = b.now
        if ends == "resubscribe":
            b.do(b.member.resubscribe(("t", "u"), b.now))
        elif ends == "close":
            b.do(b.member.close(b.now))
        elif ends == "fetch":
            b.do(b.member.fetch_offsets("f", frozenset(AT), b.now))
        else:
            later_ms += 10**6

        assert not polls.is_at_rest(later_ms), ends
