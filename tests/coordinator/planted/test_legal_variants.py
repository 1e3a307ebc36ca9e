"""The legal variants deviate, and break nothing."""

from __future__ import annotations

import random

import pytest
from tests.power.coordinators import played

from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.legal_variants import LEGAL
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.case import script_of
from groupproof.harness.model.script import DeleteTopic, GrowTopic
from groupproof.harness.model.verdicts import Verdict

BY_NAME = {variant.name: variant for variant in LEGAL}
ARRIVAL = Arrival(token=1, api_version=9, client_id="c", client_host="/127.0.0.1")


def test_there_are_more_than_ten_and_each_deviates() -> None:
    assert len(LEGAL) > 10
    assert [variant.name for variant in LEGAL if variant.breaks or variant.says == REFERENCE.says] == []


def test_another_member_leads() -> None:
    candidates = ["a", "b", "c"]

    assert REFERENCE.choices(random.Random(1)).leader("g", candidates) == "a"
    assert BY_NAME["last-leads"].choices(random.Random(1)).leader("g", candidates) == "c"
    assert BY_NAME["middle-leads"].choices(random.Random(1)).leader("g", candidates) == "b"


def test_regular_expressions_are_matched_before_the_answer() -> None:
    assert not REFERENCE.choices(random.Random(1)).resolves_at_once(ARRIVAL)
    assert BY_NAME["regexes-at-once"].choices(random.Random(1)).resolves_at_once(ARRIVAL)


def test_member_ids_have_other_forms_and_still_differ() -> None:
    for name in ("bare-member-ids", "long-member-ids"):
        choices = BY_NAME[name].choices(random.Random(1))
        ids = [choices.member_id("client", ARRIVAL) for _ in range(3)]
        assert len(set(ids)) == 3
        assert not any(name.startswith("client") for name in ids)


@pytest.mark.requirement("CGD-22")
def test_a_coordinator_that_refuses_filters_by_names_that_do_not_exist_is_failed_by_no_case() -> None:
    cases = [case for case in CASES if case.id.startswith("list/")]

    plays = played("filters-refused", cases)

    verdicts = {case.id: judge_script_run(case, plays[case.id].trace).verdict for case in cases}
    refused = {"list/classic/states-unknown", "list/classic/types-unknown", "list/consumer/by-unknown-type", "list/consumer/by-unknown-state"}
    assert {id for id, verdict in verdicts.items() if verdict is Verdict.INFORMATIONAL} == refused
    assert {verdict for id, verdict in verdicts.items() if id not in refused} == {Verdict.OK}


@pytest.mark.requirement("CGX-16")
def test_a_coordinator_that_knows_topics_late_is_failed_by_no_case() -> None:
    cases = [case for case in CASES if any(isinstance(step, GrowTopic | DeleteTopic) for step in script_of(case).steps)]

    plays = played("topics-late", cases)

    verdicts = {case.id: judge_script_run(case, plays[case.id].trace).verdict for case in cases}
    assert set(verdicts.values()) <= {Verdict.OK, Verdict.NON_STRICT}
    assert [verdicts[f"topics/consumer/{name}"] for name in ("created", "grown", "deleted")] == [Verdict.NON_STRICT] * 3


@pytest.mark.requirement("CGS-07")
def test_a_coordinator_that_takes_a_static_member_back_under_its_own_id_is_failed_by_no_case() -> None:
    cases = [case for case in CASES if "/holder-joins-again" in case.id]

    plays = played("own-instance-returns", cases)

    answers = [obs for play in plays.values() for obs in play.trace if obs.kind == "response" and obs.api == "ConsumerGroupHeartbeat"]
    assert {obs.error for obs in answers} == {0}, "each join is accepted"
    assert [judge_script_run(case, plays[case.id].trace).verdict for case in cases] == [Verdict.INFORMATIONAL] * 4
