"""The cases for workers of Kafka Connect and for Kafka Streams: that each is well-formed, and that the reference passes it in little time, whatever the seed."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from judged import row_of
from judged_requirements import judged_in
from tests.harness.running.virtual import judged
from tests.power.shares import is_in_turn, parts

from groupproof.harness.cases.catalogue import cases_like, cases_of
from groupproof.harness.cases.client import CASES as CONSUMERS
from groupproof.harness.cases.embedded import EMBEDDED_CASES
from groupproof.harness.judging.unsupported import lack_of
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.model.plan import Arm, plan_from_json, plan_to_json
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.protocol.rules.coverage import judged as judged_requirements
from groupproof.protocol.rules.requirements import by_id

CASES = [case for cases in EMBEDDED_CASES.values() for case in cases]
KIND_MIN = 20
SECONDS_MAX = 40
SEEDS_SHARE = 4
"""One case in so many is run by another seed with each commit, all of them in `make soak` (decision 42)."""


def test_there_are_enough_cases_each_with_a_name_and_a_title_of_its_own() -> None:
    assert min(len(cases) for cases in EMBEDDED_CASES.values()) >= KIND_MIN
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []
    assert [title for title, count in Counter(case.title for case in CASES).items() if count > 1] == []
    assert [case.id for case in CASES if not re.fullmatch(r"(connect|streams)/classic/[a-z0-9]+(-[a-z0-9]+)*", case.id)] == []
    assert [case.title for case in CASES if not re.fullmatch(r"[A-Z].*[a-z0-9]\.", case.title)] == []


def test_a_case_has_the_level_of_a_requirement_of_its_own_and_a_plan_that_a_file_can_hold() -> None:
    assert [case.id for case in CASES if case.level not in {by_id(requirement).level for requirement in case.requirements}] == []
    assert [case.id for case in CASES if plan_from_json(json.loads(json.dumps(plan_to_json(plan_of(case)), default=_text))) is None] == []


def _text(value: bytes) -> str:
    return value.hex()


def test_a_worker_or_a_thread_has_its_own_cases_and_a_consumer_those_of_consumers() -> None:
    for kind, cases in EMBEDDED_CASES.items():
        assert cases_of("client", (kind, "multi")) == cases
        assert cases_like("client", [cases[0].id]) == cases
    assert cases_of("client", ("classic", "connect")) == CONSUMERS
    assert cases_of("client") == CONSUMERS
    assert cases_like("client", [CONSUMERS[0].id]) == CONSUMERS


def test_no_plan_reports_a_rebalance_by_one_heartbeat_that_the_next_takes_back() -> None:
    arms = [(case.id, step.fault) for case in CASES for step in plan_of(case).steps if isinstance(step, Arm)]
    faults = [(id, fault) for id, fault in arms if fault.selector.api == "Heartbeat" and getattr(fault.action, "error_code", 0) == 27]

    assert faults
    assert [id for id, fault in faults if fault.selector.count is not None or fault.selector.direction != "response"] == []


@pytest.mark.parametrize(("variant", "id"), [
    ("goes-by-the-newest-heartbeat", "connect/classic/heartbeat-rebalance-in-progress"),
    ("goes-by-the-newest-heartbeat", "connect/classic/names-what-it-runs"),
    ("goes-by-the-newest-heartbeat", "streams/classic/names-its-standbys"),
    ("own-session-and-intervals", "streams/classic/waits-for-the-next-rebalance"),
])  # fmt: skip
def test_a_member_that_learns_of_changes_in_its_own_time_passes(variant: str, id: str) -> None:
    case = next(case for case in CASES if case.id == id)

    assert judged(case, variant=variant)[1].verdict is Verdict.OK


def test_a_client_that_is_no_worker_cannot_run_a_workers_case() -> None:
    assert lack_of(CASES[0], ["classic", "commit"], "kafka-4.1") == "Its shim declares no connect."


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_reference_passes_in_little_time(case: Case) -> None:
    play, judgement = judged(case, seed=1, draws_names=True)

    assert (judgement.verdict, judgement.reason) == (Verdict.OK, "")
    assert judgement.goodbye is not Goodbye.UNCLEAN, judgement.goodbye_reason
    assert play.duration_s <= SECONDS_MAX
    row = row_of(case, judged_in(case, play.trace))
    assert set(case.requirements) <= {*row["judged"]}, "the case lists requirements that it does not judge"
    assert all(case.id in judged_requirements()["client"][requirement] for requirement in row["judged"]), "run: make docs"


@pytest.mark.parametrize("case", parts([(case,) for case in CASES], lambda row: is_in_turn(row[0].id, SEEDS_SHARE)), ids=lambda case: case.id)
def test_another_seed_and_the_names_that_a_case_is_written_with_change_nothing(case: Case) -> None:
    written, again = judged(case, seed=2)

    assert again.verdict is Verdict.OK
    assert set(case.requirements) <= judged_in(case, written.trace)
