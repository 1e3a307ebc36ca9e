"""An application of the trio pair: what happens to it, as its trace tells."""

from __future__ import annotations

from groupproof.harness.running.simulations.real_pair import in_virtual_time
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.settings import Simulation
from groupproof.protocol.trace import Trace

SHORT = Simulation(seed=1, members=2, brokers=2, duration_ms=25_000, session_timeout_ms=6_000, max_poll_interval_ms=10_000, faults=())


def _befallen(kind: str, for_ms: int, **how: int) -> Trace:
    return in_virtual_time(SHORT, Schedule(faults=(ScheduledFault(at_ms=9_000, kind=kind, who=("m1",), for_ms=for_ms, how=how),)))


def _asked(trace: Trace, api: str) -> list[str | None]:
    return [obs.client for obs in trace if obs.kind == "request" and obs.api == api]


def _lives(trace: Trace) -> list[str]:
    return [obs.body.get("command") or obs.body["name"] for obs in trace if obs.who == "kit" and obs.client == "m1"]


def test_a_crash_sends_no_leave_and_the_program_comes_back() -> None:
    trace = _befallen("crash", 3_000)

    assert _asked(trace, "LeaveGroup") == []
    assert _lives(trace)[:3] == ["subscribe", "exit", "subscribe"]


def test_a_member_that_leaves_reports_it_and_comes_back() -> None:
    trace = _befallen("leave", 3_000)

    assert _asked(trace, "LeaveGroup") == ["m1"]
    assert _lives(trace)[:3] == ["subscribe", "exit", "subscribe"]


def test_a_member_that_does_not_poll_for_too_long_leaves_the_group() -> None:
    assert _asked(_befallen("stall", 12_000), "LeaveGroup") == ["m1"]
    assert _asked(_befallen("stall", 5_000), "LeaveGroup") == []


def test_a_changed_subscription_is_joined_with() -> None:
    trace = _befallen("resubscribe", 8_000)

    partitions = {partition for obs in trace if obs.client == "m1" for partition in obs.partitions}
    assert {topic for topic, _ in partitions} == {"t", "u"}


def test_a_slow_callback_keeps_the_group_waiting() -> None:
    trace = in_virtual_time(SHORT, Schedule(faults=(
        ScheduledFault(at_ms=100, kind="callbacks", who=("m1",), for_ms=20_000, how={"callback_ms": 2_000}),
        ScheduledFault(at_ms=9_000, kind="leave", who=("m0",), for_ms=1_000),
    )))  # fmt: skip

    revoked = next(obs for obs in trace if obs.client == "m1" and obs.body.get("name") == "partitions_revoked")
    joins = [obs for obs in trace if obs.client == "m1" and obs.api == "JoinGroup" and obs.kind == "request" and obs.seq > revoked.seq]
    assert joins[0].at_ms - revoked.at_ms >= 2_000
