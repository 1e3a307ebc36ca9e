"""Every client case as data, and against the member that must pass them all."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from judged import DATA, row_of
from judged_requirements import judged_in, unjudged
from tests.harness.cases.waits import silent_ms
from tests.harness.running.virtual import judged
from tests.power.shares import is_in_turn

from groupproof.clients.planted.member_variant import way
from groupproof.clients.planted.member_variants import VARIANTS
from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers.findings import TimedJudge
from groupproof.harness.judging.checkers.claim import tolerated_ms
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.model.plan import Arm, Await, Command, Mark, Matches, Stable, Start, Step, plan_from_json, plan_to_json
from groupproof.harness.model.plan_builders import freeze, passing, thaw
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.plans.member_control import DEFAULTS
from groupproof.harness.running.plans.retry_rhythm import MEASURING
from groupproof.protocol.faults import Hold, Selector
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import ErrorCode

AREAS = {
    "find", "join", "sync", "heartbeat", "poll", "commit", "fetch", "leave", "static", "cooperative", "rebalance", "assignor", "move", "link",
}  # fmt: skip
CAPABILITIES = {
    "classic", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "seek", "regex", "on-revoked", "resubscribe",
}  # fmt: skip
CASES_MIN = 110
SECONDS_MAX = 12.0
SEEDS_SHARE = 4
"""One case in so many is run by another seed with each commit, all of them in `make soak`."""
ROWS = json.loads(DATA.read_text())["client"]
"""What is written down of each case; a new one has its row by `make docs` (`tests/ci/test_judged.py`)."""


def test_there_are_enough_cases_and_no_two_of_one_name_or_title() -> None:
    assert len(CASES) >= CASES_MIN
    assert [id for id, count in Counter(case.id for case in CASES).items() if count > 1] == []
    assert [title for title, count in Counter(case.title for case in CASES).items() if count > 1] == []


def test_a_cases_id_is_area_dialect_and_name_and_its_title_a_sentence() -> None:
    assert [case.id for case in CASES if not re.fullmatch(rf"({'|'.join(AREAS)})/classic/[a-z0-9]+(-[a-z0-9]+)*", case.id)] == []
    assert [case.title for case in CASES if not re.fullmatch(r"[A-Z].*[a-z0-9]\.", case.title)] == []


def test_a_case_names_requirements_that_exist_and_one_of_its_level() -> None:
    assert [case.id for case in CASES if case.level not in {by_id(requirement).level for requirement in case.requirements}] == []


def test_a_plan_waits_as_long_as_its_judges_ask() -> None:
    waits = {
        (case.id, repr(judge)): (silent_ms(plan_of(case), judge.after, from_arming=judge.from_arming), tolerated_ms(judge.within_ms))
        for case in CASES
        for judge in case.judges
        if isinstance(judge, TimedJudge)
    }

    assert waits
    assert {judge: wait for judge, wait in waits.items() if wait[0] < wait[1]} == {}


def test_a_case_needs_only_what_a_shim_can_claim() -> None:
    assert {case.id: case.needs - CAPABILITIES for case in CASES if not case.needs <= CAPABILITIES} == {}
    assert [case.id for case in CASES if not case.judges] == []


def test_a_plan_survives_a_schedule_file() -> None:
    assert [case.id for case in CASES if plan_from_json(json.loads(json.dumps(plan_to_json(plan_of(case))))) != case.plan] == []


def test_a_plan_refers_to_marks_and_faults_that_come_before() -> None:
    assert {case.id: unknown for case in CASES if (unknown := list(_unknown(case)))} == {}


def _unknown(case: Case) -> Iterator[str]:
    """Yield what a step waits to come after, and no step before it has."""
    unknown: set[str] = set()
    for step in plan_of(case).steps:
        if isinstance(step, Mark):
            unknown.add(step.name)
        elif isinstance(step, Arm):
            unknown.add(step.fault.name)
        elif isinstance(step, Await) and step.until.after is not None and step.until.after not in unknown:
            yield step.until.after


def test_a_rejoin_counts_from_before_the_newcomer_that_a_member_may_learn_of_by_a_heartbeat() -> None:
    (overtaken,) = (case for case in CASES if case.id == "sync/classic/overtaken")
    steps = plan_of(overtaken).steps

    assert steps.index(Mark(name="newcomer")) < steps.index(Start(member="a0"))
    assert {judge.after for judge in overtaken.judges if isinstance(judge, TimedJudge)} == {"newcomer"}


def test_no_plan_reports_a_rebalance_by_one_heartbeat_that_the_next_takes_back() -> None:
    arms = [(case.id, step.fault) for case in (*CASES, *MEASURING) for step in plan_of(case).steps if isinstance(step, Arm)]
    faults = [(id, fault) for id, fault in arms if fault.selector.api == "Heartbeat" and getattr(fault.action, "error_code", 0) == 27]

    assert faults
    assert [id for id, fault in faults if fault.selector.count is not None or fault.selector.direction != "response"] == []


def test_no_plan_marks_an_instant_behind_a_join_and_waits_from_it_for_what_a_single_member_may_have_by_then() -> None:
    # The coordinator answers the JoinGroup and SyncGroup of a single member at once, maybe before the plan's task runs again.
    marks = {
        case.id: later.until.after
        for case in CASES
        for step, mark, *rest in (plan_of(case).steps[index:] for index in range(len(plan_of(case).steps) - 2))
        if isinstance(step, Await) and isinstance(step.until, Matches) and step.until.api == "JoinGroup" and isinstance(mark, Mark)
        for later in rest
        if isinstance(later, Await) and isinstance(later.until, Stable) and later.until.after == mark.name
    }

    assert marks == {}


def test_a_lookup_error_that_no_retry_cures_lasts_until_a_client_that_tries_for_15_s_reports_it() -> None:
    # sarama 1.61.1 tells its application after six rounds of lookups, 2 s apart, each of up to four tries.
    for case in (case for case in CASES if case.id in ("find/classic/group-authorization-failed", "find/classic/invalid-group-id")):
        (arm,) = (step for step in plan_of(case).steps if isinstance(step, Arm))

        assert arm.fault.selector.count is None
        assert silent_ms(plan_of(case), "error") >= 15_000


@pytest.mark.parametrize(("variant", "expected"), [
    (None, {"It asked again.", "It did.", "It does."}),
    ("takes-any-offsets", {"It did.", "It asks for whatever offsets there are."}),
    ("falls-silent-on-fetch-errors", {"It never asked for its offsets again, read nothing, and told nobody.", "No further OffsetFetch came."}),
])  # fmt: skip
def test_only_a_client_that_asks_for_stable_offsets_is_judged_by_its_reaction_to_unstable_ones(variant: str | None, expected: set[str]) -> None:
    (case,) = (case for case in CASES if case.id == "fetch/classic/unstable-offset-commit")
    judgement = judged(case, variant=variant)[1]

    assert judgement.verdict is (Verdict.FAILED if variant == "falls-silent-on-fetch-errors" else Verdict.OK)
    assert expected <= {finding.observed for finding in judgement.findings if finding.requirement == "CLIENT-79"}


@pytest.mark.parametrize("id", [
    "rebalance/classic/more-members-than-partitions", "commit/classic/on-revoked", "sync/classic/overtaken", "join/classic/protocol-of-the-group",
])  # fmt: skip
def test_a_case_ends_at_once_where_a_client_keeps_the_other_members_out_by_its_assignors(id: str) -> None:
    (case,) = (case for case in CASES if case.id == id)
    play, judgement = judged(case, variant="own-assignor")

    assert judgement.verdict is Verdict.UNIMPLEMENTED
    assert judgement.reason.startswith("the shim of m0 does not set assignors")
    (ended,) = (obs for obs in play.trace if obs.body.get("name") == "timeout")
    assert ended.body["waiting"].startswith("members that can be in one group: the shim of m0")
    assert ended.at_ms - next(obs.at_ms for obs in play.trace if obs.error == 23) < 100


def test_a_client_that_meets_nobody_with_other_assignors_is_judged() -> None:
    (case,) = (case for case in CASES if case.id == "fetch/classic/committed")

    assert judged(case, variant="own-assignor")[1].verdict is Verdict.OK


@pytest.mark.parametrize("code", ["unknown-member-id", "illegal-generation"])
def test_a_late_refusal_is_judged_for_a_member_that_gets_no_callback_for_kept_partitions(code: str) -> None:
    case = next(case for case in CASES if case.id == f"rebalance/classic/stale-commit-{code}")

    assert judged(case, variant="own-cooperative-assignor")[1].verdict is Verdict.OK


@pytest.mark.parametrize("code", ["unknown-member-id", "illegal-generation"])
def test_a_member_that_drops_its_id_has_time_for_the_session_of_its_former_one_and_a_pause(code: str) -> None:
    case = next(case for case in CASES if case.id == f"rebalance/classic/stale-commit-{code}")
    (session_ms,) = (member.settings["session_timeout_ms"] for member in plan_of(case).members)
    holds_ms = sum(step.fault.action.ms or 0 for step in plan_of(case).steps if isinstance(step, Arm) and isinstance(step.fault.action, Hold))

    assert max(judge.within_ms for judge in case.judges if isinstance(judge, TimedJudge)) >= session_ms + holds_ms + 1_500


@pytest.mark.parametrize("id", [
    "cooperative/classic/commit-refused-while-joining", "rebalance/classic/stale-commit-unknown-member-id", "rebalance/classic/stale-commit-illegal-generation",
])  # fmt: skip
def test_a_commit_that_a_shim_sends_when_the_member_has_joined_is_not_refused_as_one_of_the_old_generation(id: str) -> None:
    (case,) = (case for case in CASES if case.id == id)
    plan = plan_of(case)
    at = plan.steps.index(Mark(name="commit"))
    play, judgement = judged(replace(case, plan=replace(plan, steps=(*plan.steps[:at], passing(2_400), *plan.steps[at:]))))

    assert [obs.error for obs in play.trace if obs.kind == "response" and obs.api == "OffsetCommit" and obs.client == "m0"] == [0]
    assert judgement.verdict is Verdict.OK


@pytest.mark.parametrize("name", ["stopped-leaves", "stopped-frees-partitions", "stopped-static"])
def test_a_poll_deadline_runs_from_the_answer_to_pause_however_late_that_is(name: str) -> None:
    (case,) = (case for case in CASES if case.id == f"poll/classic/{name}")
    plan = plan_of(case)
    at = next(index for index, step in enumerate(plan.steps) if isinstance(step, Command) and step.command == "pause")
    busy: tuple[Step, ...] = (freeze("m0"), passing(2_600), thaw("m0"))
    _, judgement = judged(replace(case, plan=replace(plan, steps=(*plan.steps[:at], *busy, *plan.steps[at:]))))

    assert (judgement.verdict, judgement.reason) == (Verdict.OK, "")


def test_the_partitions_of_a_member_that_falls_silent_at_the_last_moment_are_awaited_for_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = way("falls-silent-late", "Checks its poll deadline late, and falls silent.", "", poll_end_leaves=False, poll_deadline_factor=1.45)
    monkeypatch.setitem(VARIANTS, silent.name, silent)
    (case,) = (case for case in CASES if case.id == "poll/classic/stopped-frees-partitions")
    _, judgement = judged(case, variant=silent.name)

    assert [finding.verdict for finding in judgement.findings] == [Verdict.NON_STRICT, Verdict.OK], judgement.reason
    assert [finding.observed for finding in judgement.findings if finding.verdict is Verdict.NON_STRICT] == ["It fell silent without a LeaveGroup."]


def test_no_held_fetch_costs_a_client_with_one_connection_to_each_broker_its_session() -> None:
    (case,) = (case for case in CASES if case.id == "rebalance/classic/reads-nothing-while-joining")
    play, judgement = judged(case, variant="shares-one-connection")

    assert [obs for obs in play.trace if obs.kind == "response" and obs.error == ErrorCode.UNKNOWN_MEMBER_ID] == []
    assert judgement.verdict is Verdict.OK


@pytest.mark.parametrize(("id", "after"), [("heartbeat/classic/steady", "stable"), ("poll/classic/long-but-in-time", "busy")])
def test_a_client_that_is_2_s_late_with_a_heartbeat_is_in_time_for_its_session(id: str, after: str) -> None:
    # Gaps of more than a second were met with sarama, whose Heartbeats wait behind its Fetches on one connection.
    (case,) = (case for case in CASES if case.id == id)
    plan = plan_of(case)
    at = plan.steps.index(Mark(name=after)) + 1
    _, judgement = judged(replace(case, plan=replace(plan, steps=(*plan.steps[:at], freeze("m0"), passing(2_000), thaw("m0"), *plan.steps[at:]))))

    assert (judgement.verdict, judgement.reason) == (Verdict.OK, "")


@pytest.mark.parametrize("id", [case.id for case in CASES if case.id.startswith("fetch/classic/")])
def test_a_client_has_15_s_from_subscribe_to_its_first_record(id: str) -> None:
    (steps,) = (plan_of(case).steps for case in CASES if case.id == id)
    begun = next(index for index, step in enumerate(steps) if isinstance(step, Start) and step.member == "m0")
    waits = [step.within_ms for step in steps[begun:] if isinstance(step, Await)]

    assert sum(waits) >= 15_000


def test_no_fault_stands_behind_one_that_takes_the_same_frames() -> None:
    # Each counts every frame that its selector matches, also one that another strikes, and would never act.
    for case in CASES:
        armed: list[Selector] = []
        for step in plan_of(case).steps:
            if isinstance(step, Arm):
                assert step.fault.selector not in armed, f"{case.id}: {step.fault.name}"
                armed.append(step.fault.selector)
            elif isinstance(step, Await):
                armed = []


def test_a_members_poll_deadline_is_no_shorter_than_its_session() -> None:
    settings = [
        (case.id, {"max_poll_interval_ms": 30_000, "session_timeout_ms": 6_000, **member.settings})
        for case in CASES
        for member in plan_of(case).members
    ]

    assert [id for id, own in settings if own["max_poll_interval_ms"] < own["session_timeout_ms"]] == [], "librdkafka refuses that"


def test_a_members_poll_is_shorter_than_its_session() -> None:
    settings = [(case.id, {**DEFAULTS, **member.settings}) for case in CASES for member in plan_of(case).members]

    assert [id for id, own in settings if own["poll_timeout_ms"] >= own["session_timeout_ms"]] == [], (
        "kafkajs sends no Heartbeat while it waits for records"
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_reference_member_passes_in_little_time(case: Case) -> None:
    play, judgement = judged(case, seed=1)

    assert (judgement.verdict, list(_wrong(judgement.findings)), judgement.reason) == (Verdict.OK, [], "")
    assert judgement.goodbye is not Goodbye.UNCLEAN, judgement.goodbye_reason
    assert play.duration_s <= SECONDS_MAX
    requirements = judged_in(case, play.trace)
    assert unjudged(case, requirements) == [], "the case lists requirements that it does not judge"
    row = row_of(case, requirements)
    assert ROWS.get(case.id, row) == row, "run: make docs"
    assert all(by_id(finding.requirement) for finding in judgement.findings)
    if is_in_turn(case.id, SEEDS_SHARE):  # here, where it has been run by the first seed
        assert _spoken(judged(case, seed=2)[1]) == _spoken(judgement), "another seed changes what is found"


@pytest.mark.soak
@pytest.mark.parametrize("case", [case for case in CASES if not is_in_turn(case.id, SEEDS_SHARE)], ids=lambda case: case.id)
def test_another_seed_changes_nothing_of_what_is_found(case: Case) -> None:
    found, again = (judged(case, seed=seed)[1] for seed in (1, 2))

    assert _spoken(found) == _spoken(again)


def _spoken(judgement: Judgement) -> list[tuple[str, str]]:
    return [(finding.expected, finding.observed) for finding in judgement.findings]


def _wrong(findings: object) -> Iterator[str]:
    assert isinstance(findings, tuple)
    return (f"{finding.expected} {finding.observed} {finding.detail}" for finding in findings if finding.verdict is not Verdict.OK)
