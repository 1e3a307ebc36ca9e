from __future__ import annotations

import pytest
from tests.streams_traces import gives, joins, leads, says
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.embedded.streams_member import (
    asks_for_the_end,
    comes_back_at_once,
    commits_what_goes,
    describes_itself,
    differs_each_time,
    ends,
    is_one_process,
    joins_in_version,
    names_its_tasks,
    rejoins_uncommitted,
    stays_a_member,
    stays_when_closed,
    waits,
)
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api

FAR_MS = 20_000


def joined(*blobs: bytes) -> Story:
    story = Story()
    for blob in blobs:
        joins(story, blob)
    return story


@pytest.mark.parametrize(
    ("blobs", "expected"),
    [
        ([says()], Verdict.OK),
        ([says(), says(version=8)], Verdict.OK),
        ([says(version=8)], Verdict.FAILED),
        ([says(version=11, latest=9)], Verdict.FAILED),
        ([b"?"], Verdict.FAILED),
    ],
)
def test_the_first_subscription_is_of_the_newest_version(blobs: list[bytes], expected: Verdict) -> None:
    assert verdict(describes_itself("m0"), joined(*blobs)) is expected


def test_a_member_that_offers_another_assignor_is_failed() -> None:
    story = Story()
    story.request(Api.JOIN_GROUP, body={"protocols": [{"name": "range", "metadata": b""}, {"name": "stream", "metadata": says()}]})

    assert verdict(describes_itself("m0"), story) is Verdict.FAILED


def test_a_member_is_one_process_and_differs_each_time() -> None:
    right, same, moved = joined(says(unique=1), says(unique=2)), joined(says(unique=1), says(unique=1)), joined(says(), says(process="1" * 32))

    assert (verdict(is_one_process("m0"), right), verdict(differs_each_time("m0"), right)) == (Verdict.OK, Verdict.OK)
    assert verdict(differs_each_time("m0"), same) is Verdict.FAILED
    assert verdict(is_one_process("m0"), moved) is Verdict.NON_STRICT


@pytest.mark.parametrize(
    ("blob", "expected"),
    [
        (says(running=(0,), restoring=(1, 2)), Verdict.OK),
        (says(running=(0,), restoring=(2,)), Verdict.OK),  # 1 may not be restored yet
        (says(restoring=(1, 2)), Verdict.FAILED),
        (says(running=(0,)), Verdict.FAILED),
        (says(running=(0, 2)), Verdict.FAILED),
        (says(running=(0, 3), restoring=(2,)), Verdict.FAILED),
    ],
)
def test_a_member_names_the_tasks_that_run_and_its_standbys_and_no_others(blob: bytes, expected: Verdict) -> None:
    story = Story()
    leads(story, {ID: says()}, {ID: gives((0, 1), standby=(2,))})
    story.exchange(Api.OFFSET_COMMIT, member=ID, generation=1, offsets=(("t", 0, 20),))
    story.mark("again").at(1_000)
    joins(story, blob)

    assert verdict(names_its_tasks("m0", after="again", has_standbys=True), story) is expected


@pytest.mark.parametrize(
    ("blob", "expected"), [(says(running=(0,), restoring=(1, 3)), Verdict.OK), (says(running=(0, 3), restoring=(1,)), Verdict.FAILED)]
)
def test_what_a_member_had_before_it_may_have_on_its_disk_and_does_not_run(blob: bytes, expected: Verdict) -> None:
    story = Story()
    leads(story, {ID: says()}, {ID: (0, 1, 3)})
    leads(story, {ID: says()}, {ID: (0, 1)})
    story.exchange(Api.OFFSET_COMMIT, member=ID, generation=1, offsets=(("t", 0, 20),))
    story.mark("again").at(1_000)
    joins(story, blob)

    assert verdict(names_its_tasks("m0", after="again"), story) is expected


def test_tasks_are_not_judged_where_none_ran() -> None:
    story = Story()
    leads(story, {ID: says()}, {ID: (0,)})
    story.mark("again")
    joins(story, says())

    with pytest.raises(NotReached, match="committed for none"):
        verdict(names_its_tasks("m0", after="again"), story)


@pytest.mark.parametrize(
    ("blob", "expected"),
    [(says(version=8), Verdict.OK), (says(), Verdict.FAILED), (says(version=8, latest=8), Verdict.FAILED), (None, Verdict.FAILED)],
)
def test_a_member_joins_again_in_the_version_that_all_know(blob: bytes | None, expected: Verdict) -> None:
    story = joined(says()).mark("older")
    if blob is not None:
        joins(story, blob)
    story.at(FAR_MS).beat()

    assert verdict(joins_in_version("m0", 8, after="older", requirement="STREAMS-06"), story) is expected


def test_a_member_comes_back_when_it_is_called_and_waits_when_it_is_not() -> None:
    back, away = joined(says()).mark("called"), joined(says()).mark("called")
    joins(back, says(unique=1))
    away.at(FAR_MS).beat()

    assert (verdict(comes_back_at_once("m0", after="called"), back), verdict(waits("m0", after="called"), back)) == (Verdict.OK, Verdict.NON_STRICT)
    assert (verdict(comes_back_at_once("m0", after="called"), away), verdict(waits("m0", after="called"), away)) == (Verdict.FAILED, Verdict.OK)


def test_a_member_that_ends_reports_it_to_its_application_and_sends_nothing_more() -> None:
    ended, again, beats, silent = (joined(says()).mark("failed") for _ in range(4))
    for story in (ended, beats):
        story.tell("error", error="X", message="x", fatal=True)
    joins(again, says(unique=1))
    beats.at(5_000).beat()
    for story in (ended, again, silent):
        story.at(FAR_MS).kit("end")
    judge = ends("m0", after="failed", requirement="STREAMS-13")

    assert verdict(judge, ended) is Verdict.OK
    assert findings(judge, again)[0].observed == "It joined again."
    assert findings(judge, beats)[0].observed == "It told its application, and goes on as a member."
    assert findings(judge, silent)[0].observed == "Its application was never told."


def test_a_member_that_continues_sends_heartbeats_and_reports_no_error() -> None:
    going, with_error, gone = (joined(says()).mark("probing") for _ in range(3))
    going.at(300).beat()
    with_error.tell("error", error="X", message="x", fatal=True)
    gone.at(FAR_MS).kit("end")
    judge = stays_a_member("m0", after="probing", requirement="STREAMS-16")

    assert [verdict(judge, story) for story in (going, with_error, gone)] == [Verdict.OK, Verdict.NON_STRICT, Verdict.FAILED]


def test_a_member_that_is_closed_stays_in_its_group() -> None:
    stays, leaves = joined(says()).mark("close"), joined(says()).mark("close")
    leaves.exchange(Api.LEAVE_GROUP, member=ID)
    for story in (stays, leaves):
        story.tell("shutdown_complete")

    assert verdict(stays_when_closed("m0", after="close"), stays) is Verdict.OK
    assert verdict(stays_when_closed("m0", after="close"), leaves) is Verdict.NON_STRICT


@pytest.mark.parametrize(("offset", "expected"), [(25, Verdict.OK), (20, Verdict.FAILED)])
def test_what_goes_is_committed_as_far_as_it_was_read(offset: int, expected: Verdict) -> None:
    story = joined(says())
    story.tell("records_consumed", count=5, partitions=[{"topic": "t", "partition": 2, "minOffset": 20, "maxOffset": 24, "count": 5}])
    story.mark("taken").exchange(Api.OFFSET_COMMIT, member=ID, generation=1, offsets=(("t", 2, offset),))
    joins(story, says(unique=1))

    assert verdict(commits_what_goes("m0", ("t", 2), after="taken"), story) is expected


def test_a_refused_commit_is_not_repeated_before_the_member_joins_again() -> None:
    right, repeats = joined(says()).mark("refused"), joined(says()).mark("refused")
    repeats.exchange(Api.OFFSET_COMMIT, member=ID, generation=1, offsets=(("t", 0, 1),))
    for story in (right, repeats):
        joins(story, says(unique=1))

    assert verdict(rejoins_uncommitted("m0", after="refused"), right) is Verdict.OK
    assert verdict(rejoins_uncommitted("m0", after="refused"), repeats) is Verdict.FAILED


@pytest.mark.requirement("STREAMS-21")
@pytest.mark.parametrize(
    ("client", "error", "expected"),
    [("m0", 4, Verdict.OK), ("m0-thread-2", 4, Verdict.OK), ("m0", 0, Verdict.NON_STRICT), ("m1", 4, Verdict.NON_STRICT)],
)
def test_an_application_that_is_to_end_everywhere_has_one_of_its_threads_say_so(client: str, error: int, expected: Verdict) -> None:
    story = joined(says()).mark("failure")
    body = {"protocol_type": "consumer", "protocols": [{"name": "stream", "metadata": says(error=error)}]}
    story.request(Api.JOIN_GROUP, client, body=body)
    story.at(FAR_MS).kit("end")

    assert verdict(asks_for_the_end("m0", after="failure"), story) is expected
