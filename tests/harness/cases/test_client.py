"""Every client case as data, and against the member that must pass them all."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.harness.cases.waits import silent_ms
from tests.harness.running.virtual import judged

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers.findings import Timed
from groupproof.harness.judging.checkers.claim import tolerated_ms
from groupproof.harness.judging.judged_requirements import unjudged_in
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.model.plan import Arm, Await, Mark, plan_from_json, plan_to_json
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.plans.member_control import DEFAULTS
from groupproof.protocol.rules.requirements import by_id

AREAS = {
    "find", "join", "sync", "heartbeat", "poll", "commit", "fetch", "leave", "static", "cooperative", "rebalance", "assignor", "move", "link",
}  # fmt: skip
CAPABILITIES = {
    "classic", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "seek", "regex", "on-revoked", "resubscribe",
}  # fmt: skip
CASES_MIN = 110
SECONDS_MAX = 12.0

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


def test_there_are_enough_cases_and_no_two_of_one_name_or_title() -> None:
    assert len(CASES) >= CASES_MIN
    assert [id for id, count in Counter(case.id for case in CASES).items() if count > 1] == []
    assert [title for title, count in Counter(case.title for case in CASES).items() if count > 1] == []


@every_case
def test_a_cases_id_is_area_dialect_and_name(case: Case) -> None:
    area, dialect, name = case.id.split("/")

    assert area in AREAS
    assert dialect == "classic"
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)


@every_case
def test_a_cases_title_is_a_sentence(case: Case) -> None:
    assert re.fullmatch(r"[A-Z].*[a-z0-9]\.", case.title)


@every_case
def test_a_case_names_requirements_that_exist_and_one_of_its_level(case: Case) -> None:
    assert case.level in {by_id(requirement).level for requirement in case.requirements}


@every_case
def test_a_plan_waits_as_long_as_its_judges_ask(case: Case) -> None:
    timed = [judge for judge in case.judges if isinstance(judge, Timed)]
    waits = {judge: silent_ms(plan_of(case), judge.after, from_arming=judge.from_arming) for judge in timed}

    assert {repr(judge): wait for judge, wait in waits.items() if wait < tolerated_ms(judge.within_ms)} == {}


@every_case
def test_a_case_needs_only_what_a_shim_can_claim(case: Case) -> None:
    assert case.needs <= CAPABILITIES
    assert case.judges


@every_case
def test_a_plan_survives_a_schedule_file(case: Case) -> None:
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan_of(case))))) == case.plan


@every_case
def test_a_plan_refers_to_marks_and_faults_that_come_before(case: Case) -> None:
    known: set[str] = set()
    for step in plan_of(case).steps:
        if isinstance(step, Mark):
            known.add(step.name)
        elif isinstance(step, Arm):
            known.add(step.fault.name)
        elif isinstance(step, Await) and step.until.after is not None:
            assert step.until.after in known


@every_case
def test_a_members_poll_deadline_is_no_shorter_than_its_session(case: Case) -> None:
    for member in plan_of(case).members:
        assert member.settings.get("max_poll_interval_ms", 30_000) >= member.settings.get("session_timeout_ms", 6_000), "librdkafka refuses that"


@every_case
def test_a_members_poll_is_shorter_than_its_session(case: Case) -> None:
    for member in plan_of(case).members:
        fields = {**DEFAULTS, **member.settings}
        assert fields["poll_timeout_ms"] < fields["session_timeout_ms"], "kafkajs sends no Heartbeat while it waits for records"


@every_case
def test_the_reference_member_passes_in_little_time(case: Case) -> None:
    play, judgement = judged(case)

    assert (judgement.verdict, list(_wrong(judgement.findings)), judgement.reason) == (Verdict.OK, [], "")
    assert judgement.goodbye is not Goodbye.UNCLEAN, judgement.goodbye_reason
    assert play.duration_s <= SECONDS_MAX


@every_case
def test_a_case_lists_no_requirement_that_it_does_not_judge(case: Case) -> None:
    assert unjudged_in(case, judged(case)[0].trace) == []


@every_case
def test_findings_name_requirements_of_the_catalogue_in_words_that_repeat(case: Case) -> None:
    _, first = judged(case, seed=1)
    _, second = judged(case, seed=2)

    assert all(by_id(finding.requirement) for finding in first.findings)
    assert [(finding.expected, finding.observed) for finding in first.findings] == [
        (finding.expected, finding.observed) for finding in second.findings
    ]


def _wrong(findings: object) -> Iterator[str]:
    assert isinstance(findings, tuple)
    return (f"{finding.expected} {finding.observed} {finding.detail}" for finding in findings if finding.verdict is not Verdict.OK)
