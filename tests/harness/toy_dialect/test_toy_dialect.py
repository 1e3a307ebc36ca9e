"""A dialect of three states, in a folder of its own and with one registration, goes all the way: table, group, wire, case, oracle, checker, explain."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.toy_dialect.lease_cases import LEASE_CASE, one_holder_at_a_time
from tests.harness.toy_dialect.lease_dialect import LEASE, LEASE_BROKER, LeaseGuard, LeaseKind, LeaseRequest
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS, LeaseGroup
from tests.power.coordinators import judgements, played

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply
from groupproof.coordinator.machine.function_registry import registered
from groupproof.coordinator.machine.variant import Variant, bent
from groupproof.coordinator.planted.rule_mutants import mutants
from groupproof.harness.commands.work.table_cells import cell_lines
from groupproof.harness.judging.oracle import read
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.rules import known_profiles, profile
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.dialect import missing_cells
from groupproof.protocol.rules.table_snapshots import printed
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import GroupRequest, GroupResponse, JoinGroupRequest, JoinProtocol


@pytest.fixture(autouse=True)
def lease() -> Iterator[None]:
    """Register the toy: the one thing that is done outside its folder."""
    with registered(LEASE_FUNCTIONS):
        yield


def _trace(variant: Variant | None = None) -> Trace:
    return played(variant, [LEASE_CASE], profile=LEASE_BROKER)[LEASE_CASE.id].trace


def test_its_table_is_total_and_so_is_the_classic_one_beside_it() -> None:
    release = profile(LEASE_BROKER)

    assert list(release.tables) == ["lease", "classic"]
    assert missing_cells(release.tables["lease"], (CLASSIC,)) == []
    assert missing_cells(release.tables["classic"], (LEASE,)) == []


def test_its_rules_are_told_apart_from_the_classic_ones() -> None:
    names = [name for name, _ in profile(LEASE_BROKER).named_rules()]

    assert len(names) == len(set(names))
    assert {"Retention/lease.Dead/nothing-stored", "Retention/Dead/dead"} <= set(names)


def test_each_of_its_rules_has_its_mutants_which_change_its_table_alone() -> None:
    release = profile(LEASE_BROKER)
    made = {mutant.name: mutant for mutant in mutants(release)}

    assert bent(release, made["gone/ConsumerGroupHeartbeat/lease.Held/fenced"]).tables["classic"] is release.tables["classic"]
    changed = bent(release, made["code/Heartbeat/Stable/alive"])
    assert changed.tables["lease"] is release.tables["lease"]
    with pytest.raises(ValueError, match=r"changes the table of classic, which datalink does not speak"):
        bent(profile("datalink"), made["code/Heartbeat/Stable/alive"])


def test_the_releases_of_kafka_are_as_they_were() -> None:
    with_it = {name: printed(name) for name in known_profiles() if name != LEASE_BROKER}

    assert not any("lease" in text for text in with_it.values())
    assert "# the dialect lease" in printed(LEASE_BROKER)


def test_its_case_is_upheld_by_the_reference_over_the_wire() -> None:
    judgement = judgements(None, [LEASE_CASE], profile=LEASE_BROKER)[LEASE_CASE.id]

    assert LEASE_CASE.id == "lease/lease/one-holder"
    assert judgement.verdict is Verdict.OK, judgement.findings
    assert {finding.verdict for finding in judgement.findings} == {Verdict.OK}


def test_its_trace_tells_epochs_and_the_oracle_draws_its_states() -> None:
    trace = _trace()

    assert [obs.member_epoch for obs in trace if obs.kind == "response" and obs.member_epoch is not None] == [1, 1, 2, -1, 3]
    moves = read(trace, profile=LEASE_BROKER, settings=LEASE_CASE.plan.settings).transitions  # type: ignore[union-attr]  # it is a script
    assert [move.state_after for move in moves] == ["Free", "Held", "Free", "Held", "Free", "Held"]
    assert [move.rule for move in moves if move.state_before == "Held"] == [
        "SessionEnd/lease.Held/session-ends",
        "ConsumerGroupHeartbeat/lease.Held/given-back",
    ]


def test_a_planted_bug_of_its_table_is_found_by_the_checker_and_by_the_oracle() -> None:
    bug = Variant(name="lends-twice", says="Who asks is given the lease, whoever holds it.", guards={LeaseGuard.HELD_BY_ANOTHER: lambda event: False})

    found = list(one_holder_at_a_time(Evidence(_trace(bug))))
    assert [finding.verdict for finding in found] == [Verdict.FAILED]
    judgement = judgements(bug, [LEASE_CASE], profile=LEASE_BROKER)[LEASE_CASE.id]
    assert judgement.verdict is Verdict.FAILED


def test_a_group_of_it_asserts_its_invariant() -> None:
    group = LeaseGroup(group_id="g")
    group.check()
    group.holder = "a"

    with pytest.raises(AssertionError, match="'a' holds a lease that is Free"):
        group.check()


def test_explain_prints_its_cell() -> None:
    lines = cell_lines(f"{LeaseKind.LEASE.value}/Held", LEASE_BROKER)

    assert lines is not None
    assert "  1. held-by-another: another member holds the lease" in lines
    assert any("110 FENCED_MEMBER_EPOCH" in line for line in lines)


def test_a_request_of_one_dialect_to_a_group_of_the_other_is_refused() -> None:
    join = JoinGroupRequest(group_id="g", session_timeout_ms=10_000, protocol_type="consumer", protocols=(JoinProtocol(name="range", metadata=b""),))
    lease: Any = LeaseRequest(group_id="g", member_id="a")

    assert [_error(message) for message in _answers(lease, join)] == [ErrorCode.NONE, ErrorCode.INCONSISTENT_GROUP_PROTOCOL]
    assert [_error(message) for message in _answers(join, lease)] == [ErrorCode.INCONSISTENT_GROUP_PROTOCOL]


def _answers(*requests: GroupRequest) -> list[GroupResponse]:
    """Return what is answered at once to requests that come one behind the other."""
    machine = Coordinator(profile=LEASE_BROKER, random=random.Random(1))
    outputs = (machine.handle(request, Arrival(number, 3, "c", "h"), 0) for number, request in enumerate(requests))
    return [output.message for item in outputs for output in item if isinstance(output, Reply)]


def _error(message: Any) -> int:
    return int(message.error_code)
