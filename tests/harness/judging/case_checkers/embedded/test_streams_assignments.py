from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.streams_traces import OTHER, gives, leads, says
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.embedded.streams_assignments import (
    agrees_on_versions,
    answers_error,
    calls_back,
    deals_everything,
    deals_once,
    deals_standbys,
    keeps_standbys_apart,
)
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.wire.embedded.streams_protocol import INCOMPLETE_SOURCE_TOPICS

BOTH = {ID: says(), OTHER: says()}
FAR_MS = 20_000


def assigned_by_leader(members: Mapping[str, bytes], dealt: Mapping[str, tuple[int, ...] | bytes], *, version: int = 11, commonly: int = 11) -> Story:
    story = Story().mark("came")
    leads(story, members, dealt, version=version, commonly=commonly)
    story.at(FAR_MS).beat()
    return story


@pytest.mark.parametrize(
    ("versions", "version", "commonly", "expected"),
    [
        ({"version": 8, "latest": 8}, 8, 8, Verdict.OK),
        ({"version": 8, "latest": 11}, 8, 11, Verdict.OK),
        ({"version": 12, "latest": 12}, 11, 11, Verdict.OK),
        ({"version": 8, "latest": 8}, 11, 8, Verdict.FAILED),
        ({"version": 8, "latest": 11}, 8, 8, Verdict.FAILED),
        ({"version": 12, "latest": 12}, 12, 12, Verdict.FAILED),
    ],
)
def test_the_versions_are_the_lowest_used_and_the_lowest_known(versions: dict[str, int], version: int, commonly: int, expected: Verdict) -> None:
    story = assigned_by_leader({ID: says(), OTHER: says(**versions)}, {ID: (0,), OTHER: (1,)}, version=version, commonly=commonly)  # type: ignore[arg-type]  # fields by name

    assert verdict(agrees_on_versions("m0", after="came"), story) is expected


def test_versions_are_judged_beside_another_member_only() -> None:
    with pytest.raises(NotReached, match="with another member"):
        verdict(agrees_on_versions("m0", after="came"), assigned_by_leader({ID: says()}, {ID: (0,)}))


def test_a_task_at_two_members_is_failed_and_so_are_partitions_of_other_tasks() -> None:
    assert verdict(deals_once("m0"), assigned_by_leader(BOTH, {ID: (0,), OTHER: (1,)})) is Verdict.OK
    assert findings(deals_once("m0"), assigned_by_leader(BOTH, {ID: (0,), OTHER: (0, 1)}))[0].observed == "It gave a task to two members."
    assert verdict(deals_once("m0"), assigned_by_leader(BOTH, {ID: gives((0, 1), tasks=(1, 0)), OTHER: ()})) is Verdict.FAILED


def test_every_task_is_to_be_given_out() -> None:
    assert verdict(deals_everything("m0", 2, after="came"), assigned_by_leader(BOTH, {ID: (0,), OTHER: (1,)})) is Verdict.OK
    assert verdict(deals_everything("m0", 2, after="came"), assigned_by_leader(BOTH, {ID: (0,), OTHER: ()})) is Verdict.FAILED


@pytest.mark.parametrize(
    ("dealt", "expected"),
    [
        ({ID: (0,), OTHER: gives((), next_ms=0)}, Verdict.OK),
        ({ID: (0,), OTHER: gives(())}, Verdict.FAILED),
        ({ID: (0,), OTHER: (1,)}, Verdict.FAILED),
        ({ID: (0, 1), OTHER: ()}, Verdict.NON_STRICT),
    ],
)
def test_what_moves_is_withheld_and_its_next_owner_called(dealt: dict[str, tuple[int, ...] | bytes], expected: Verdict) -> None:
    story = assigned_by_leader({ID: says(owned=(0, 1)), OTHER: says()}, dealt)

    assert verdict(calls_back("m0", after="came"), story) is expected


def test_a_standby_is_at_another_member() -> None:
    judge = deals_standbys("m0", 1, after="came")

    assert verdict(judge, assigned_by_leader(BOTH, {ID: (0,), OTHER: gives((), standby=(0,))})) is Verdict.OK
    assert verdict(judge, assigned_by_leader(BOTH, {ID: gives((0,), standby=(0,)), OTHER: ()})) is Verdict.FAILED
    assert verdict(judge, assigned_by_leader(BOTH, {ID: (0,), OTHER: ()})) is Verdict.FAILED


@pytest.mark.parametrize(
    ("dealt", "expected"),
    [
        ({ID: gives(error=1), OTHER: gives(error=1)}, Verdict.OK),
        ({ID: gives(error=1)}, Verdict.FAILED),
        ({ID: gives(error=1), OTHER: (1,)}, Verdict.FAILED),
        ({ID: gives(error=3), OTHER: gives(error=3)}, Verdict.FAILED),
    ],
)
def test_an_error_is_for_all_members(dealt: dict[str, tuple[int, ...] | bytes], expected: Verdict) -> None:
    judge = answers_error("m0", INCOMPLETE_SOURCE_TOPICS, after="came", requirement="STREAMS-12")

    assert verdict(judge, assigned_by_leader(BOTH, dealt)) is expected


def test_a_member_that_led_nothing_is_not_judged() -> None:
    with pytest.raises(NotReached, match="led no generation"):
        verdict(deals_once("m0"), Story())


THREADS = {ID: says(process="1" * 32), "a0-1": says(process="2" * 32), "a1-1": says(process="2" * 32)}


@pytest.mark.requirement("STREAMS-22")
def test_a_standby_is_in_another_process_whichever_thread_runs_the_task() -> None:
    judge = keeps_standbys_apart("m0", after="came")
    apart = {ID: gives((0,), standby=(1,)), "a0-1": gives((1,), standby=(0,)), "a1-1": gives((2,))}
    beside = {**apart, "a1-1": gives((2,), standby=(1,))}

    assert verdict(judge, assigned_by_leader(THREADS, apart)) is Verdict.OK
    assert [(found.verdict, found.observed) for found in findings(judge, assigned_by_leader(THREADS, beside))] == [
        (Verdict.FAILED, "It gave a process a standby of a task that it runs.")
    ]


@pytest.mark.parametrize("members", [BOTH | {OTHER: says(process="2" * 32)}, THREADS])
def test_without_a_task_in_a_process_of_two_threads_nothing_is_shown(members: Mapping[str, bytes]) -> None:
    with pytest.raises(NotReached):
        findings(keeps_standbys_apart("m0", after="came"), assigned_by_leader(members, {ID: gives((0, 1)), "a0-1": gives((), standby=(0,))}))
