from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.app_polls import (
    application_holds,
    hears_nothing_fatal,
    reads_nothing_while_joining,
    where_the_handler_is_slow,
)
from groupproof.harness.model.evidence import NotOffered, NotReached
from groupproof.harness.model.verdicts import Proof, Verdict


def marked(story: Story, name: str = "since") -> Story:
    story.see("event", who="kit", body={"name": "mark", "mark": name})
    return story


def test_only_a_fatal_error_ends_the_application() -> None:
    fatal, story = marked(Story()), marked(Story())
    fatal.tell("error", error="REBALANCE_IN_PROGRESS", message="", fatal=True)
    story.tell("error", error="REBALANCE_IN_PROGRESS", message="", fatal=False)
    judge = hears_nothing_fatal("m0", after="since", requirement="CLIENT-76")

    (found,) = findings(judge, fatal)
    assert (found.verdict, found.proof, found.detail) == (Verdict.FAILED, Proof.LIVENESS, "REBALANCE_IN_PROGRESS")
    assert verdict(judge, story) is Verdict.OK


def test_an_end_may_be_of_another_gravity_and_one_before_the_instant_is_not_of_it() -> None:
    before = Story()
    before.tell("error", error="REBALANCE_IN_PROGRESS", message="", fatal=True)
    after = marked(Story())
    after.tell("error", error="REBALANCE_IN_PROGRESS", message="", fatal=True)
    judge = hears_nothing_fatal("m0", after="since", requirement="CLIENT-75", severity=Verdict.NON_STRICT)

    assert [verdict(judge, story) for story in (marked(before), after)] == [Verdict.OK, Verdict.NON_STRICT]


def holding(*entries: int, offsets: tuple[int, ...], until_ms: float = 8_000) -> Story:
    story = marked(Story()).member(gets=[("t", number) for number in offsets])
    story.partitions("assigned", *(("t", number) for number in entries))
    story.at(until_ms).beat()
    return story


HOLDS = application_holds("m0", 2, after="since", requirement="ASSIGN-11")


def test_an_application_holds_what_its_callback_got_and_the_client_was_assigned() -> None:
    assert verdict(HOLDS, holding(0, 1, offsets=(0, 1))) is Verdict.OK


def test_partitions_that_were_only_assigned_or_only_reported_have_no_owner() -> None:
    for story in (holding(0, offsets=(0, 1)), holding(0, 1, offsets=(0,))):
        (found,) = findings(HOLDS, story)
        assert (found.verdict, found.proof) == (Verdict.FAILED, Proof.LIVENESS)


def test_an_application_that_may_still_get_its_report_is_not_judged() -> None:
    with pytest.raises(NotReached, match="before its time was over"):
        findings(HOLDS, holding(0, offsets=(0, 1), until_ms=3_000))


def joining(*, protocol: str = "range") -> Story:
    story = Story()
    story.join(protocol=protocol)
    story.sync(gets=[("t", 0)])
    marked(story)
    story.at(1_000).join(member=ID, generation=2, protocol=protocol)
    return story


READS = reads_nothing_while_joining("m0", after="since")


def test_records_long_after_the_join_and_before_the_assignment_come_too_early() -> None:
    story = joining()
    story.at(1_800).consume(("t", 0, 0, 9))
    story.at(2_000).sync(generation=2, gets=[("t", 0)])

    (found,) = findings(READS, story)
    assert (found.verdict, found.proof) == (Verdict.FAILED, Proof.LIVENESS)


def test_records_reported_a_little_late_or_after_the_assignment_are_right() -> None:
    story = joining()
    story.at(1_300).consume(("t", 0, 0, 9))
    story.at(2_000).sync(generation=2, gets=[("t", 0)])
    story.at(2_100).consume(("t", 0, 10, 19))

    assert verdict(READS, story) is Verdict.OK


def test_a_cooperative_member_reads_on() -> None:
    with pytest.raises(NotReached, match="no eager group"):
        findings(READS, joining(protocol="cooperative-sticky"))


SLOW = where_the_handler_is_slow("m0", 4_000, hears_nothing_fatal("m0", after="since", requirement="CLIENT-40"))


def delivering(*at_ms: float) -> Story:
    story = marked(Story())
    for item in at_ms:
        story.at(item).consume(("t", 0, 0, 9))
    return story


def test_a_shim_whose_handler_is_quick_offers_nothing_to_judge() -> None:
    with pytest.raises(NotOffered, match="is not slow"):
        findings(SLOW, delivering(100, 300))


def test_a_handler_that_is_slow_or_delivers_once_is_judged() -> None:
    assert [verdict(SLOW, story) for story in (delivering(100), delivering(100, 4_100))] == [Verdict.OK] * 2
