"""The oracle expects what Kafka does with the settings that a broker has: the reference with any of them is blamed by no case (`--set`).

What a setting keeps a case from is INCONCLUSIVE with the reason. Every case is run under a share of the settings each time; `make soak` runs all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.power.coordinators import played
from tests.power.shares import is_drawn

from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.case import script_of
from groupproof.harness.model.verdicts import Verdict

ADVERSE = (Verdict.FAILED, Verdict.NON_STRICT, Verdict.BROKEN)
STEPS_MAX = 2_000
SHARE = 18
DELAY, MIN_SESSION, MAX_SESSION = "group.initial.rebalance.delay.ms", "group.min.session.timeout.ms", "group.max.session.timeout.ms"
SETTINGS: Mapping[str, Mapping[str, int | str]] = {
    "alone": {"group.max.size": 1},
    "pairs": {"group.max.size": 2},
    "three": {"group.max.size": 3},
    "as shipped": {DELAY: 3_000, MIN_SESSION: 6_000, MAX_SESSION: 1_800_000, "offsets.retention.minutes": 10_080},
    "slow to begin": {DELAY: 10_000},
    "at once": {DELAY: 0, MIN_SESSION: 1},
    "long sessions": {MIN_SESSION: 6_001},
    "short sessions": {MAX_SESSION: 5_000},
    "narrow sessions": {MIN_SESSION: 3_000, MAX_SESSION: 7_000},
    "no metadata": {"offset.metadata.max.bytes": 0},
    "little metadata": {"offset.metadata.max.bytes": 10},
    "much metadata": {"offset.metadata.max.bytes": 100_000},
    "forgetful": {"offsets.retention.minutes": 0, "offsets.retention.check.interval.ms": 10_000, "group.max.size": 5},
    "tidy": {"offsets.retention.check.interval.ms": 500},
    "few partitions": {"offsets.topic.num.partitions": 3},
    "trusting": {"transaction.partition.verification.enable": 0},
    "brisk consumers": {
        **{f"group.consumer.{bound}.timeout.ms": 10_000 for bound in ("min.session", "session")},
        **{f"group.consumer.{bound}.interval.ms": 3_000 for bound in ("min.heartbeat", "heartbeat")},
    },
    "patient consumers": {
        "group.consumer.session.timeout.ms": 60_000,
        "group.consumer.max.session.timeout.ms": 90_000,
        "group.consumer.heartbeat.interval.ms": 15_000,
    },
    "any settings of groups": {
        "group.consumer.min.session.timeout.ms": 2,
        "group.consumer.min.heartbeat.interval.ms": 1,
        "group.consumer.max.heartbeat.interval.ms": 60_000,
    },
    "pairs of consumers": {"group.consumer.max.size": 2},
    "ranges alone": {"group.consumer.assignors": "org.apache.kafka.coordinator.group.assignor.RangeAssignor"},
    "ranges first": {"group.consumer.assignors": "range, uniform"},
    "no conversion": {"group.consumer.migration.policy": "DISABLED"},
    "upgrades alone": {"group.consumer.migration.policy": "upgrade"},
    "classic alone": {"group.coordinator.rebalance.protocols": "classic"},
    "topics seen soon": {"group.consumer.regex.refresh.interval.ms": 10_000},
}
BY_RELEASE = (
    ("kafka-2.4", "three"),
    ("kafka-2.2", "pairs"),
    ("kafka-1.1", "as shipped"),
    ("kafka-3.3", "little metadata"),
    ("kafka-3.7", "long sessions"),
)


def _blamed(profile: str, name: str, *, of: str) -> dict[str, list[str]]:
    """Return what the cases of a share say against the reference with these settings."""
    cases = [case for case in CASES if len(script_of(case).steps) <= STEPS_MAX and (not of or is_drawn(f"{of} {name} {case.id}", SHARE))]
    plays = played(None, cases, profile=profile, own=SETTINGS[name])
    judged = {case.id: judge_script_run(case, plays[case.id].trace) for case in cases}
    assert all(judgement.reason for judgement in judged.values() if judgement.verdict is Verdict.INCONCLUSIVE)
    return {id: [finding.observed for finding in judgement.findings] for id, judgement in judged.items() if judgement.verdict in ADVERSE}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_no_setting_of_its_own_has_a_right_broker_blamed(name: str) -> None:
    assert _blamed("kafka-4.1", name, of="gate") == {}


@pytest.mark.soak
@pytest.mark.parametrize(("profile", "name"), [*(("kafka-4.1", name) for name in SETTINGS), *BY_RELEASE])
def test_no_setting_of_its_own_has_a_right_broker_of_any_release_blamed_by_any_case(profile: str, name: str) -> None:
    assert _blamed(profile, name, of="") == {}


def test_a_group_that_is_full_sooner_is_expected_to_be_full() -> None:
    case = next(case for case in CASES if case.id == "delay/classic/newcomers-cost-one-rebalance")
    judgement = judge_script_run(case, played(None, [case], own=SETTINGS["three"])[case.id].trace)

    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reason == (
        "The broker has group.max.size=3, by which the case took another course: "
        "id d was answered 81 GROUP_MAX_SIZE_REACHED where it reckons with 79 MEMBER_ID_REQUIRED."
    )
    assert {finding.verdict for finding in judgement.findings} <= {Verdict.OK, Verdict.INFORMATIONAL}


def test_what_a_broker_has_and_who_says_so_stands_in_the_trace() -> None:
    case = next(case for case in CASES if case.id == "heartbeat/classic/no-group")
    trace = played(None, [case], own={"group.max.size": 3})[case.id].trace
    (ground,) = (obs.body for obs in trace if obs.body.get("name") == "ground")

    assert ground["settings"]["group.max.size"] == 3
    assert ground["sources"] == {"group.max.size": "--set"}


@pytest.mark.parametrize("brokers", [2, 3])
def test_groups_that_another_broker_coordinates_are_none_of_this_ones_business(brokers: int) -> None:
    """A request about several groups, or one without a name, goes to one broker, which answers 16 for those of another (FIND-08)."""
    ids = ("commit/classic/empty-group-id", "delete/classic/several", "join/classic/empty-group-id", "find/classic/several")
    cases = [replace(case, plan=replace(script_of(case), brokers=brokers)) for case in CASES if case.id in ids]
    plays = played(None, cases)

    assert len(cases) == len(ids)
    assert {case.id for case in cases if judge_script_run(case, plays[case.id].trace).verdict in ADVERSE} == set()
