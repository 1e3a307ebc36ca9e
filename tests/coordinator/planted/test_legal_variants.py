"""The legal variants deviate, and break nothing."""

from __future__ import annotations

import random

import pytest
from tests.power.coordinators import judgements, played

from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.members import Member
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.legal_variants import LEGAL
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.case import script_of
from groupproof.harness.model.script import DeleteTopic, GrowTopic
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.wire.messages import JoinProtocol

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


@pytest.mark.requirement("INV-04", "DJOIN-09")
@pytest.mark.parametrize(
    ("variant", "first", "second", "empty"),
    [("generations-by-two", 2, 4, 6), ("generations-from-0", 0, 1, 2), ("generations-of-members", 1, 2, 2)],
)
def test_generations_are_counted_otherwise_and_grow(variant: str, first: int, second: int, empty: int) -> None:
    choices, group, numbers = BY_NAME[variant].choices(random.Random(1)), Group(group_id="g"), []
    for ids in (["m"], ["m"], []):
        for member_id in group.member_ids():
            group.members.remove(member_id)
        for member_id in ids:
            group.members.add(Member(
                member_id=member_id, group_instance_id=None, client_id="c", client_host="/h", session_timeout_ms=1, rebalance_timeout_ms=1,
                protocol_type="consumer", protocols=(JoinProtocol(name="range", metadata=b""),),
            ))  # fmt: skip
        group.next_generation(choices.generation(group))
        numbers.append(group.generation)

    assert numbers == [first, second, empty]


@pytest.mark.requirement("INV-04")
@pytest.mark.parametrize("variant", ["generations-by-two", "generations-from-0", "generations-of-members"])
def test_other_generations_are_reported_and_failed_by_no_case(variant: str) -> None:
    chosen = ("join/classic/generation-rises-by-one", "phase/classic/nobody-joins", "delay/classic/is-preparing-meanwhile", "move/classic/stable")
    cases = [case for case in CASES if case.id in chosen]

    verdicts = judgements(variant, cases)

    assert {judgement.verdict for judgement in verdicts.values()} <= {Verdict.OK, Verdict.INFORMATIONAL}
    assert {finding.requirement for finding in verdicts["phase/classic/nobody-joins"].findings if finding.verdict is Verdict.INFORMATIONAL} == {
        "INV-04"
    }
