from __future__ import annotations

import pytest
from tests.traces import Story, findings, verdict

from groupproof.harness.judging.case_checkers.offset_fetch import goes_on_reading
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api

JUDGE = goes_on_reading("m0", after="error")


def refused(until_ms: float = 8_000) -> Story:
    """Tell of a fetch of offsets that is refused, and of heartbeats that go on."""
    story = Story().member(gets=[("t", 0)])
    story.said(Api.OFFSET_FETCH, error=25)
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
    asks.said(Api.OFFSET_FETCH)
    reads.consume(("t", 0, 10, 19))
    fetches.request(Api.FETCH, offsets=(("t", 0, 10),))
    tells.tell("error", error="UNKNOWN_MEMBER_ID", message="", fatal=True)

    assert [verdict(JUDGE, story) for story in (asks, reads, fetches, tells)] == [Verdict.OK] * 4


def test_a_run_that_ends_before_a_backoff_is_over_proves_nothing() -> None:
    with pytest.raises(NotReached, match="before its time was over"):
        findings(JUDGE, refused(until_ms=3_000))
