"""The trace of a run: in the one format, complete, and no different from a run without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests.harness.simulation.made import JOIN, Client
from tests.harness.simulation.runs import calm, short

from groupproof.harness.model.evidence import Evidence
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.run import Run, run
from groupproof.harness.simulation.settings import Outcome, Simulation
from groupproof.harness.simulation.simulated_network import Connection, Path
from groupproof.harness.simulation.trace_writer import Observer
from groupproof.protocol.rules import profile
from groupproof.protocol.schemas import validate
from groupproof.protocol.trace import Recorder, Trace
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import HeartbeatRequest


def observed(simulation: Simulation, plan: Schedule | None = None) -> tuple[Outcome, Trace]:
    made: list[Recorder] = []

    def make(clock: Callable[[], int]) -> Recorder:
        made.append(Recorder(clock, run="simulation", clock="virtual"))
        return made[0]

    return run(simulation, plan=plan, recorder=make), made[0].trace


def test_to_be_observed_changes_nothing() -> None:
    assert observed(short(3))[0] == run(short(3))


def test_every_request_is_in_the_trace_with_its_row_and_its_answer() -> None:
    outcome, trace = observed(calm())
    evidence = Evidence(trace)
    requests = [obs for obs in trace if obs.kind == "request"]

    assert Counter(obs.api for obs in requests) == outcome.requests
    assert all(evidence.answer(obs) is not None and evidence.processing(obs) is not None for obs in requests)
    assert evidence.responses(Api.SYNC_GROUP, "m0")[0].partitions == (("t", 0), ("t", 1))


@pytest.mark.parametrize("is_open", [True, False])
def test_of_a_connection_that_was_closed_before_anything_came_of_it_the_end_is_reported_too(is_open: bool) -> None:
    recorder = Recorder(lambda: 0, run="simulation", clock="virtual")
    observer = Observer(recorder, {}, timers=profile().timers)
    owner = next(iter(Run(calm()).targets.processes.values()))
    connection = Connection(owner, 0, "group", Path(), is_open=is_open)
    observer.opened(connection)
    for number in (1, 2):
        observer.arrived(connection, number, HeartbeatRequest(group_id="g", generation_id=1, member_id="m0-1"))

    pairs = [(obs.kind, obs.connection, obs.body.get("by")) for obs in recorder.trace]
    assert pairs == [("request", 1, None), *([] if is_open else [("event", 1, "client")]), ("request", 1, None)]


def test_transitions_timers_faults_and_callbacks_are_in_the_trace() -> None:
    crash = ScheduledFault(at_ms=9_000, kind="crash", who=("m1",), for_ms=9_000)
    outcome, trace = observed(calm(), Schedule(faults=(crash,)))

    assert [(obs.state_before or "", obs.state_after) for obs in trace if obs.kind == "transition"] == [
        transition[2:4] for transition in outcome.transitions
    ]
    assert [(obs.detail, obs.client, obs.at_ms) for obs in trace if obs.kind == "fault"] == [
        ("delivered", "m1", 9_000),
        ("healed", "m1", 18_000),
    ]
    assert any(obs.kind == "timer" and obs.rule == "SessionEnd/Stable/session-ends" and obs.member for obs in trace)
    assert {"partitions_assigned", "partitions_revoked", "command", "exit"} <= {obs.body.get("name") for obs in trace if obs.kind == "event"}


def test_a_frame_that_arrives_late_is_of_the_program_that_opened_its_connection() -> None:
    recorder = Recorder(lambda: 0)
    observer = Observer(recorder, {}, timers=profile().timers)
    first, second = (Connection(Client("m0"), 0, "group", Path()) for _ in range(2))
    observer.process("m0", "starts")
    observer.opened(first)
    observer.process("m0", "ends")
    observer.process("m0", "starts")
    observer.opened(second)
    for connection in (first, second):
        observer.arrived(connection, 1, JOIN)

    assert [obs.client for obs in recorder.trace if obs.kind == "request"] == ["m0", "m0.2"]


def test_the_trace_is_as_its_schema_says_and_in_order() -> None:
    _, trace = observed(short(5, duration_ms=15_000))

    assert [obs.seq for obs in trace] == list(range(len(trace)))
    for observation in trace[:: max(1, len(trace) // 40)]:
        validate("trace", observation.to_json())
