"""The plans of the consumer dialect under the terms of legal clients and shims: what a case is about happens, however late a line or a retry is."""

from __future__ import annotations

import pytest
from tests.harness.running.virtual import judged, played, rhythm

from groupproof.clients.member.epoch_policy import EpochPolicy
from groupproof.clients.member.policy import Policy
from groupproof.clients.planted.member_variant import Variant
from groupproof.clients.planted.member_variants import VARIANTS
from groupproof.harness.cases.consumer import CONSUMER_CASES
from groupproof.harness.model.case import plan_of
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.plan import Await, Command, Mark, Matches
from groupproof.harness.model.verdicts import Verdict

BY_ID = {case.id: case for case in CONSUMER_CASES}
SLOW_LINES = ("lines-600ms-late", "lines-2s-late")
SLOW_RETRY = "backs-off-10s"


@pytest.mark.parametrize("variant", SLOW_LINES)
@pytest.mark.parametrize(
    "case",
    [
        "heartbeat/consumer/fenced-member-epoch",
        "leave/consumer/close",
        "rebalance/consumer/hand-over",
        "rebalance/consumer/subscribes-to-more",
        "rebalance/consumer/three-members",
    ],
)
def test_a_shim_that_is_slow_at_writing_breaks_nothing(case: str, variant: str) -> None:
    judgement = judged(BY_ID[case], variant=variant, rhythm=rhythm(variant))[1]

    assert judgement.verdict is Verdict.OK, judgement.reason


@pytest.mark.parametrize(
    "case",
    [
        "commit/consumer/not-coordinator",
        "heartbeat/consumer/coordinator-load-in-progress",
        "heartbeat/consumer/coordinator-load-in-progress-at-acknowledgement",
        "heartbeat/consumer/topic-authorization-failed-once",
        "move/consumer/at-commit",
    ],
)
def test_a_client_that_backs_off_for_long_has_the_time_for_its_next_try(case: str) -> None:
    judgement = judged(BY_ID[case], variant=SLOW_RETRY, rhythm=rhythm(SLOW_RETRY))[1]

    assert judgement.verdict is Verdict.OK, judgement.reason


@pytest.mark.parametrize("variant", [None, "epoch-a-second-at-least", *SLOW_LINES])
def test_a_member_is_fenced_after_its_application_began_to_hand_over(variant: str | None) -> None:
    play = played(BY_ID["rebalance/consumer/fenced-while-handing-over"], variant=variant)
    ev = Evidence(play.trace)
    callback = ev.events("partitions_revoked", "m0", "newcomer")[0]

    assert ev.at("error") > callback.seq
    if variant not in SLOW_LINES:
        assert ev.at("error") < ev.events("callback_done", "m0", callback.seq)[0].seq


@pytest.mark.parametrize("case", ["poll/consumer/stopped", "poll/consumer/stopped-leaves", "poll/consumer/stopped-static"])
def test_the_clock_starts_when_polling_has_stopped(case: str) -> None:
    """The `pause` command waits for its answer (contract, amendment 2)."""
    steps = plan_of(BY_ID[case]).steps
    pause = next(index for index, step in enumerate(steps) if isinstance(step, Command) and step.command == "pause" and step.wait)

    assert steps.index(Mark(name="stopped")) > pause


@pytest.mark.parametrize(("late_ms", "expected"), [(1_550, Verdict.OK), (4_000, Verdict.FAILED)])
@pytest.mark.parametrize("case", ["poll/consumer/stopped", "poll/consumer/stopped-static"])
def test_a_client_may_check_by_its_own_timer_whether_it_is_polled(
    case: str, late_ms: int, expected: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the same 1.5 s as in the classic cases."""
    variant = Variant(name="late-timer", says="Finds late that nobody polls.", policy=Policy(epochs=EpochPolicy(poll_tick_ms=late_ms)))
    monkeypatch.setitem(VARIANTS, variant.name, variant)

    assert judged(BY_ID[case], variant=variant.name)[1].verdict is expected


def test_records_are_awaited_by_partition_and_not_by_the_number_of_events() -> None:
    waits = {
        case.id: step.until.count
        for case in CONSUMER_CASES
        for step in plan_of(case).steps
        if isinstance(step, Await) and isinstance(step.until, Matches) and step.until.event == "records_consumed"
    }

    assert waits
    assert {case: count for case, count in waits.items() if count > 1} == {}
