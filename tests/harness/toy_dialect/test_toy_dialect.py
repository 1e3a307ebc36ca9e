"""A dialect of three states, in a folder of its own and with one registration, goes all the way: table, group, wire, case, oracle, checker, explain."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.harness.toy_dialect.lease_cases import LEASE_CASE, one_holder_at_a_time
from tests.harness.toy_dialect.lease_dialect import LEASE, LEASE_BROKER, LeaseGuard, LeaseKind, LeaseRequest, LeaseState
from tests.harness.toy_dialect.lease_functions import SESSION_MS, LeaseGroup
from tests.power.coordinators import judgements, played

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply, partition_of
from groupproof.coordinator.machine.variant import Variant, profile_with
from groupproof.coordinator.planted.rule_mutants import mutants
from groupproof.harness.commands.work.table_cells import cell_lines
from groupproof.harness.judging.checkers.checker_registry import CHECKERS
from groupproof.harness.judging.checkers.tracking.reader_registry import READERS
from groupproof.harness.judging.oracle import read
from groupproof.harness.judging.oracle.machine_step import answers_by_rule
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.fuzzing.histories.history_registry import HISTORIES
from groupproof.harness.simulation.simulation_registry import SIMULATIONS
from groupproof.protocol.documents.render import documents
from groupproof.protocol.rules import dialect_registry, known_profiles, profile
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.coverage import cited
from groupproof.protocol.rules.dialect import missing_cells
from groupproof.protocol.rules.profiles import NEWEST
from groupproof.protocol.rules.table_snapshots import printed
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import GroupRequest, GroupResponse, JoinGroupRequest, JoinProtocol


def _trace(variant: Variant | None = None) -> Trace:
    return played(variant, [LEASE_CASE], profile=LEASE_BROKER)[LEASE_CASE.id].trace


def test_its_table_is_total_and_so_is_the_classic_one_beside_it() -> None:
    release = profile(LEASE_BROKER)

    assert list(release.tables) == ["lease", "classic"]
    assert missing_cells(release.tables["lease"], (CLASSIC,)) == []
    assert missing_cells(release.tables["classic"], (LEASE,)) == []


def test_its_rules_are_distinguished_from_the_classic_ones() -> None:
    names = [name for name, _ in profile(LEASE_BROKER).named_rules()]

    assert len(names) == len(set(names))
    assert {"Retention/lease.Dead/nothing-stored", "Retention/Dead/dead"} <= set(names)


def test_each_of_its_rules_has_its_mutants_which_change_its_table_alone() -> None:
    release = profile(LEASE_BROKER)
    made = {mutant.name: mutant for mutant in mutants(release)}

    assert profile_with(release, made["gone/ShareGroupHeartbeat/lease.Held/fenced"]).tables["classic"] is release.tables["classic"]
    changed = profile_with(release, made["code/Heartbeat/Stable/alive"])
    assert changed.tables["lease"] is release.tables["lease"]
    with pytest.raises(ValueError, match=r"changes the table of classic, which datalink does not speak"):
        profile_with(profile("datalink"), made["code/Heartbeat/Stable/alive"])


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
        "ShareGroupHeartbeat/lease.Held/given-back",
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


def test_its_table_is_a_page_of_the_documents() -> None:
    pages = documents()

    assert "| Held | Free | ShareGroupHeartbeat/given-back, SessionEnd/session-ends |" in pages["lease-group.md"]
    assert "| Held | A member holds the lease. |" in pages["lease-group.md"]
    assert "[lease-group.md](lease-group.md)" in pages["README.md"]
    assert LeaseKind.LEASE.value not in pages["classic-group.md"]


def test_everything_that_it_brings_is_of_its_folder() -> None:
    parts = [registry.of(LEASE) for registry in (READERS, CHECKERS, SIMULATIONS, HISTORIES)]

    assert None not in parts
    assert {type(part).__name__ for part in parts} == {"FrameReader", "DialectCheckers", "DialectSimulation", "DialectHistories"}


def test_what_is_stored_of_a_lease_outlives_its_coordinator() -> None:
    before, after = (Coordinator(profile=LEASE_BROKER, random=random.Random(1)) for _ in range(2))
    partition = partition_of("g", before.settings.offsets_topic_num_partitions)
    asked: Any = LeaseRequest(group_id="g", member_id="a")
    before.handle(asked, Arrival(1, 0, "c", "h"), 0)
    stored = before.stored(partition)
    before.unload(partition, 10)

    after.load(partition, stored, 20)
    view = after.view("g")
    assert view is not None
    assert (view.state, view.generation, view.leader) == (LeaseState.HELD, 1, "a")
    assert after.next_deadline_ms() == 20 + SESSION_MS


def test_what_is_counted_of_it_is_forgotten_when_it_goes() -> None:
    cites = cited()
    answers = answers_by_rule(NEWEST)
    dialect_registry._changed()

    assert cited() is not cites, "coverage.md counted the rules of a dialect that was gone"
    assert answers_by_rule(NEWEST) is not answers
    assert any("lease" in rule for rules in cited().values() for rule in rules)
