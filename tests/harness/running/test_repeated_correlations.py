"""A client that sends correlation id 0 with every request gets the verdicts that it gets with ids of its own, however its trace is read."""

from __future__ import annotations

import pytest
from tests.harness.judging.test_own_correlations import all_zero
from tests.harness.running.test_block_reader import by_blocks, by_rows, lines, live, of_one_group, wholes
from tests.harness.running.virtual import played

from groupproof.harness.cases.client import CASES
from groupproof.harness.cases.consumer import CONSUMER_CASES
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.meters.all_meters import meters_of
from groupproof.protocol.trace import Trace

BY_ID = {case.id: case for case in (*CASES, *CONSUMER_CASES)}
SOME = (
    "link/classic/silent-commit", "link/classic/late-rejoin", "link/classic/reset-in-a-rebalance", "cooperative/classic/last-eager-member-goes",
    "move/classic/commit-outside-the-group", "migration/consumer/upgrade",
)  # fmt: skip


def of_one_connection(id: str) -> Trace:
    """Return the trace of a right client whose Fetch, or parked JoinGroup, is open while its connection carries other requests."""
    return live(played(BY_ID[id], variant="shares-one-connection").trace)


def are_open_together(trace: Trace) -> bool:
    """Return whether two requests of one connection wait for their answers at the same time, so that one id names both."""
    waiting: dict[int | None, set[int | None]] = {}
    for obs in trace:
        if obs.kind == "request":
            waiting.setdefault(obs.connection, set()).add(obs.correlation)
            if len(waiting[obs.connection]) > 1:
                return True
        elif obs.kind == "response":
            waiting.get(obs.connection, set()).discard(obs.correlation)
    return False


@pytest.mark.parametrize("id", SOME)
def test_nobody_is_blamed_for_an_id_that_a_client_repeats(id: str) -> None:
    trace = of_one_connection(id)
    expected = by_rows(trace)

    assert are_open_together(trace)
    assert [result for result in expected if result.members or result.invariants] == []
    assert by_rows(all_zero(trace)) == by_blocks(all_zero(trace), 50) == by_blocks(all_zero(trace), 2_000, lines) == expected


@pytest.mark.parametrize("rows", [50, 2_000])
@pytest.mark.slow
def test_planted_violations_are_found_behind_one_id(rows: int) -> None:
    for name, trace in wholes():
        expected = by_rows(trace)

        assert by_rows(all_zero(trace)) == by_blocks(all_zero(trace), rows) == expected, name


@pytest.mark.parametrize("rows", [9, 1_000])
def test_a_group_whose_rows_come_apart_from_others_is_judged_the_same(rows: int) -> None:
    trace = of_one_connection("link/classic/late-rejoin")
    named = {obs.connection for obs in trace if obs.group is not None}
    own = [obs for obs in all_zero(trace) if obs.group is not None or obs.connection in named]

    result = of_one_group(own, rows)

    assert (result.members, result.invariants) == ((), ())


@pytest.mark.parametrize("id", ["link/classic/late-rejoin", "assignor/classic/three-members", "heartbeat/consumer/steady"])
def test_causes_of_rebalances_and_figures_are_the_same_behind_one_id(id: str) -> None:
    trace = [obs for obs in of_one_connection(id) if obs.kind != "transition"]

    assert rebalances_of(all_zero(trace)) == rebalances_of(trace)
    assert meters_of(all_zero(trace)).result() == meters_of(trace).result()
