from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from tests.harness.judging.checkers.fleets import planted_fleet

from groupproof.chaos.spark.checkers.group_watch import Alert, WatchedGroups, buckets_of
from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.running.trace_check import check_files
from groupproof.protocol.trace import Observation, Trace, write_trace

SECOND_NS = 1_000_000_000


def verdicts(results: Sequence[CaseResult]) -> set[tuple[str, str, str]]:
    return {(result.case.id, result.ruling.verdict.value, result.ruling.observed) for result in results}


def checked(trace: Trace, folder: Path) -> set[tuple[str, str, str]]:
    """Return what `trace check` says of the trace."""
    file = folder / "trace.ndjson"
    file.write_text("".join(f"{line}\n" for line in write_trace(trace)))
    return verdicts(check_files([file], every_case, UNIVERSAL).results)


def watched(batches: Sequence[Trace], *, delay_ns: int = SECOND_NS, buckets: int = 3) -> tuple[list[Alert], list[WatchedGroups]]:
    """Deal batches to buckets whose state is kept as bytes between any two, and let them rest at the end."""
    kept = [pickle.dumps(WatchedGroups(delay_ns=delay_ns, bucket=number)) for number in range(buckets)]
    alerts: list[Alert] = []
    for batch in batches:
        for number in range(buckets):
            state: WatchedGroups = pickle.loads(kept[number])
            alerts += state.take(obs for obs in batch if number in buckets_of(obs, buckets))
            kept[number] = pickle.dumps(state)
    states = [pickle.loads(data) for data in kept]
    return alerts + [alert for state in states for alert in state.rest()], states


def results(states: Sequence[WatchedGroups]) -> set[tuple[str, str, str]]:
    return verdicts([result for state in states for group in state.results() for result in results_of(group)])


def in_batches(trace: Trace, rows: int) -> list[Trace]:
    return [trace[at : at + rows] for at in range(0, len(trace), rows)]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 37, 1000])
def test_whatever_the_batches_the_verdicts_are_those_of_the_whole_trace(rows: int, tmp_path: Path) -> None:
    trace = planted_fleet()

    alerts, states = watched(in_batches(trace, rows))

    assert results(states) == checked(trace, tmp_path)
    assert sum(state.rows for state in states) == len(trace)
    assert {alert.requirement for alert in alerts} >= {"INV-01", "INV-04", "JOIN-13", "ASSIGN-09", "COMMIT-06", "HB-11"}
    assert {alert.group for alert in alerts if alert.is_proof} & {"kept", "kept too", ""} == set()


def test_what_is_out_of_order_by_less_than_the_delay_changes_nothing(tmp_path: Path) -> None:
    trace = planted_fleet()
    random = Random(7)
    mixed = sorted(trace, key=lambda obs: obs.at_ns + random.randrange(SECOND_NS // 2))

    _, states = watched(in_batches(mixed, 25))

    assert results(states) == checked(trace, tmp_path)
    assert sum(state.late for state in states) == 0


def test_an_alert_comes_as_soon_as_the_watermark_has_passed_its_proof() -> None:
    trace = planted_fleet()
    proof = next(alert for alert in watched([trace])[0] if alert.requirement == "ASSIGN-09")

    before = watched([[obs for obs in trace if obs.at_ns < proof.at_ns + SECOND_NS]])[1]
    state = WatchedGroups(delay_ns=SECOND_NS)
    early = state.take(obs for obs in trace if obs.at_ns < proof.at_ns + SECOND_NS)
    then = state.take(obs for obs in trace if obs.at_ns >= proof.at_ns + SECOND_NS)

    assert proof.group == "ASSIGN-09"
    assert "ASSIGN-09" not in {alert.requirement for alert in early}
    assert "ASSIGN-09" in {alert.requirement for alert in then}
    assert all(item.waiting == 0 for item in before)


def test_what_comes_after_its_turn_is_counted_and_not_judged(tmp_path: Path) -> None:
    trace = planted_fleet()
    straggler = next(obs for obs in trace if obs.group == "kept" and obs.api == "Heartbeat")

    _, states = watched([[obs for obs in trace if obs is not straggler], [straggler]])

    assert sum(state.late for state in states) == 1
    assert sum(state.rows for state in states) == len(trace) - 1
    assert results(states) <= checked([obs for obs in trace if obs is not straggler], tmp_path)


def test_what_a_group_came_to_can_be_asked_before_it_ends() -> None:
    state = WatchedGroups(delay_ns=0)
    trace = [obs for obs in planted_fleet() if obs.group == "kept"]
    state.take(trace[:10])

    first, again = state.results(), state.results()

    assert first == again
    assert first[0].observations == 10
    state.take(trace[10:])
    state.rest()
    assert state.results()[0].observations == len(trace)


def test_a_group_is_in_one_bucket_and_what_befell_a_link_in_each() -> None:
    group = Observation(seq=0, at_ns=0, kind="request", run="r", group="g")
    link = Observation(seq=1, at_ns=0, kind="event", who="link", run="r", connection=1, body={"name": "closed"})
    none = Observation(seq=2, at_ns=0, kind="request", run="r", api="Metadata")

    assert len(buckets_of(group, 8)) == 1
    assert list(buckets_of(link, 8)) == list(range(8))
    assert len(buckets_of(none, 8)) == 0
