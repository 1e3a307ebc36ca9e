"""Every case of the consumer dialect as data: well-formed, and waiting as long as its judges ask."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from tests.harness.cases.waits import silent_ms
from tests.harness.running.virtual import judged

from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_like, cases_of
from groupproof.harness.cases.client import CASES as CLASSIC_CASES
from groupproof.harness.cases.consumer import CONSUMER_CASES
from groupproof.harness.judging.case_checkers.findings import TimedJudge
from groupproof.harness.judging.checkers.claim import tolerated_ms
from groupproof.harness.judging.unsupported import lack_of
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.model.plan import Arm, Command, plan_from_json, plan_to_json
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.faults import Drop
from groupproof.protocol.rules.requirements import by_id

AREAS = {"join", "heartbeat", "poll", "rebalance", "commit", "fetch", "leave", "migration", "move", "regex"}
CASES_MIN = 100


def test_there_are_enough_cases_each_with_a_name_and_a_title_of_its_own() -> None:
    assert len(CONSUMER_CASES) >= CASES_MIN
    assert [id for id, count in Counter(case.id for case in CONSUMER_CASES).items() if count > 1] == []
    assert [title for title, count in Counter(case.title for case in (*CLASSIC_CASES, *CONSUMER_CASES)).items() if count > 1] == []
    assert [case.id for case in CONSUMER_CASES if not re.fullmatch(rf"({'|'.join(AREAS)})/consumer/[a-z0-9]+(-[a-z0-9]+)*", case.id)] == []
    assert [case.title for case in CONSUMER_CASES if not re.fullmatch(r"[A-Z].*[a-z0-9]\.", case.title)] == []


def test_a_case_names_requirements_that_exist_and_one_of_its_level() -> None:
    assert [case.id for case in CONSUMER_CASES if case.level not in {by_id(requirement).level for requirement in case.requirements}] == []


def test_a_case_names_the_settings_of_which_only_a_shim_can_say_whether_its_client_has_them() -> None:
    needed = {case.id: case.settings_needed for case in CONSUMER_CASES}

    assert needed["fetch/consumer/not-coordinator-for-long"] == {"m0": {"group_protocol", "default_api_timeout_ms"}}


def test_a_plan_waits_as_long_as_its_judges_ask() -> None:
    waits = {
        (case.id, repr(judge)): (silent_ms(plan_of(case), judge.after, from_arming=judge.from_arming), tolerated_ms(judge.within_ms))
        for case in CONSUMER_CASES
        for judge in case.judges
        if isinstance(judge, TimedJudge)
    }

    assert waits
    assert {judge: wait for judge, wait in waits.items() if wait[0] < wait[1]} == {}


def test_no_case_lets_a_connection_answer_after_a_lost_answer() -> None:
    """A broker answers a connection in order. Java's client is never again told of the request whose answer lacks between two others, and falls silent."""
    faults = {case.id: [step.fault for step in plan_of(case).steps if isinstance(step, Arm)] for case in (*CLASSIC_CASES, *CONSUMER_CASES)}

    assert [id for id, armed in faults.items() for fault in armed if isinstance(fault.action, Drop) and fault.selector.direction == "response"] == []


LOST_ASSIGNMENTS = [case for case in CONSUMER_CASES if re.search("(lost|unanswered|late)-assignment$", case.id)]


@pytest.mark.parametrize("case", LOST_ASSIGNMENTS, ids=lambda case: case.id)
@pytest.mark.parametrize("variant", [None, "epoch-always-full"])
def test_the_answer_that_is_lost_is_the_one_with_the_new_partitions(case: Case, variant: str | None) -> None:
    """The very next heartbeat after the other's leave may get them, and a client may be told again at any time what it had before."""
    steps = plan_of(case).steps
    play, judgement = judged(case, variant=variant)
    (arming,) = (at for at, step in enumerate(steps) if isinstance(step, Arm))
    (acted,) = (obs for obs in play.trace if obs.kind == "fault" and obs.detail == "triggered")
    asked = next(obs for obs in play.trace if (obs.kind, obs.connection, obs.correlation) == ("request", acted.connection, acted.correlation))

    assert arming < next(at for at, step in enumerate(steps) if isinstance(step, Command) and step.command == "close")
    assert len(asked.partitions) == (0 if variant is None else 2)
    assert judgement.verdict is Verdict.OK


def test_a_plan_survives_a_schedule_file() -> None:
    wrong = [case.id for case in CONSUMER_CASES if plan_from_json(json.loads(json.dumps(plan_to_json(plan_of(case))))) != case.plan]

    assert wrong == []


def test_every_subject_speaks_the_dialect_and_the_cases_count() -> None:
    spoken = {case.id: {member.settings.get("group_protocol", "classic") for member in plan_of(case).members} for case in CONSUMER_CASES}

    assert {
        id: dialects for id, dialects in spoken.items() if dialects != ({"classic", "consumer"} if id.startswith("migration/") else {"consumer"})
    } == {}
    assert not any(case.preview for case in CONSUMER_CASES)


def test_a_client_has_the_cases_of_the_dialects_that_it_declares() -> None:
    assert cases_of("client", DIALECT_CAPABILITIES) == (*CLASSIC_CASES, *CONSUMER_CASES)
    assert cases_of("client", ("classic", "commit")) == CLASSIC_CASES
    assert cases_like("client", [CONSUMER_CASES[0].id]) == (*CLASSIC_CASES, *CONSUMER_CASES)


def test_without_the_dialect_a_case_is_unimplemented() -> None:
    case = CONSUMER_CASES[0]

    assert lack_of(case, ("classic",), "kafka-4.1") == "Its shim declares no consumer."
    assert lack_of(case, ("consumer",), "kafka-3.9") == "The brokers of kafka-3.9 do not speak the protocol consumer."
    assert lack_of(case, ("consumer",), "kafka-4.1") == ""
