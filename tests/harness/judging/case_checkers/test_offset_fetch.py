from __future__ import annotations

import pytest
from tests.traces import Story, findings, verdict

from groupproof.harness.judging.case_checkers.offset_fetch import goes_on_reading, if_stable, unless_asked_twice, unless_ended
from groupproof.harness.judging.case_checkers.reactions import retries
from groupproof.harness.model.evidence import NotOffered, NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api

JUDGE = goes_on_reading("m0", after="error")


def refused(until_ms: float = 8_000) -> Story:
    """Tell of a fetch of offsets that is refused, and of heartbeats that go on."""
    story = Story().member(gets=[("t", 0)])
    story.exchange(Api.OFFSET_FETCH, error=25)
    story.see("event", who="kit", body={"name": "mark", "mark": "error"})
    for at_ms in range(500, int(until_ms), 500):
        story.at(at_ms).beat()
    return story


def test_a_client_that_heartbeats_on_and_never_reads_again_is_as_good_as_gone() -> None:
    (found,) = findings(JUDGE, refused())

    assert (found.verdict, found.proof) == (Verdict.FAILED, Proof.LIVENESS)
    assert found.observed == "It never asked for its offsets again, read nothing, and told nobody."


def test_asking_again_reading_on_and_telling_the_application_are_as_good() -> None:
    asks, reads, fetches, tells = refused(), refused(), refused(), refused()
    asks.exchange(Api.OFFSET_FETCH)
    reads.consume(("t", 0, 10, 19))
    fetches.request(Api.FETCH, offsets=(("t", 0, 10),))
    tells.tell("error", error="UNKNOWN_MEMBER_ID", message="", fatal=True)

    assert [verdict(JUDGE, story) for story in (asks, reads, fetches, tells)] == [Verdict.OK] * 4


def test_a_run_that_ends_before_a_backoff_is_over_proves_nothing() -> None:
    with pytest.raises(NotReached, match="before its time was over"):
        findings(JUDGE, refused(until_ms=3_000))


def asked_twice(*, at_once: bool = True, error: int = 0, partition: int = 0) -> Story:
    """Tell of a fetch of offsets that a fault refuses while another one, of `partition`, is on its way, or was answered before."""
    story = Story().member(gets=[("t", 0)])
    first = story.request(Api.OFFSET_FETCH, partitions=(("t", 0),))
    second = story.request(Api.OFFSET_FETCH, partitions=(("t", partition),))
    if not at_once:
        story.answer(second)
    story.fault("error", "armed")
    story.see("fault", fault="error", detail="triggered", body={"stage": "triggered"}, connection=first.connection, correlation=first.correlation)
    story.answer(first, error=14)
    story.fault("error", "delivered")
    if at_once:
        story.answer(second, error=error)
    return story.end(9_000)


def test_a_client_that_asked_twice_at_once_and_got_the_other_answer_need_not_ask_again() -> None:
    judge = unless_asked_twice(retries("m0", Api.OFFSET_FETCH, after="error", requirement="CLIENT-79"), "m0", requirement="CLIENT-79")

    assert verdict(judge, asked_twice()) is Verdict.OK
    for other in (asked_twice(at_once=False), asked_twice(error=14), asked_twice(partition=1)):
        assert verdict(judge, other) is Verdict.FAILED


@pytest.mark.parametrize(("fatal", "expected"), [(True, Verdict.NON_STRICT), (False, Verdict.FAILED)])
def test_a_client_that_tells_its_application_that_it_ends_costs_the_others_a_session(fatal: bool, expected: Verdict) -> None:
    story = refused()
    story.tell("error", error="COORDINATOR_LOAD_IN_PROGRESS", message="", fatal=fatal)
    again = retries("m0", Api.OFFSET_FETCH, after="error", requirement="CLIENT-79")

    assert verdict(unless_ended(again, "m0", requirement="CLIENT-79"), story) is expected


def test_a_program_without_an_event_for_errors_is_not_blamed_for_a_missing_report() -> None:
    mute, asks = refused(), refused()
    for story in (mute, asks):
        story.kit("hello", "m0", capabilities=["classic"], level=0, unreported=["error"])
    asks.exchange(Api.OFFSET_FETCH)

    with pytest.raises(NotOffered, match="the program of m0 has no event for an error"):
        findings(JUDGE, mute)
    assert verdict(JUDGE, asks) is Verdict.OK


@pytest.mark.parametrize(
    ("body", "expected"), [({}, Verdict.OK), ({"require_stable": False}, Verdict.OK), ({"require_stable": True}, Verdict.FAILED)]
)
def test_an_answer_for_those_who_ask_for_stable_offsets_is_asked_of_no_other(body: dict[str, bool], expected: Verdict) -> None:
    story = Story().member(gets=[("t", 0)])
    first = story.request(Api.OFFSET_FETCH, partitions=(("t", 0),), body=body)
    story.fault("error", "armed")
    story.see("fault", fault="error", detail="triggered", body={"stage": "triggered"}, connection=first.connection, correlation=first.correlation)
    story.answer(first, error=88)
    story.fault("error", "delivered")

    judge = if_stable(retries("m0", Api.OFFSET_FETCH, after="error", requirement="CLIENT-79"), "m0", requirement="CLIENT-79")
    assert verdict(judge, story.end(20_000)) is expected


def test_where_nothing_was_refused_nobody_is_spared() -> None:
    with pytest.raises(NotReached):
        verdict(if_stable(retries("m0", Api.OFFSET_FETCH, after="error", requirement="CLIENT-79"), "m0", requirement="CLIENT-79"), Story().end())
