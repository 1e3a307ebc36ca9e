from __future__ import annotations

import pytest
import trio
from tests.clients.relatives.zookeeper.in_memory import in_virtual_time, reference_cluster

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.relatives.zookeeper_comparison.churn_run import churned
from groupproof.harness.relatives.zookeeper_comparison.comparison import Row
from groupproof.harness.relatives.zookeeper_comparison.coordinator_members import CoordinatorSide
from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.relatives.zookeeper_comparison.side import TOPIC, Common
from groupproof.harness.running.error_search import trouble_in

PARTITIONS = 8


async def _rows(within_s: float = 600) -> list[Row]:
    common = Common(partitions=PARTITIONS, session_ms=6_000)
    async with reference_cluster(PARTITIONS, brokers=1) as (_, network), trio.open_nursery() as nursery:
        side = CoordinatorSide(
            common, nursery, ReadLedger((TOPIC, number) for number in range(PARTITIONS)), connect_of=lambda _: (network.connect, network.addresses)
        )
        rows = [row async for row in churned(side, 4, PARTITIONS, 1, within_s=within_s)]
        nursery.cancel_scope.cancel()
    return rows


def test_each_churn_gets_a_row_with_what_it_cost() -> None:
    found: list[Row] = []

    async def live() -> None:
        found.extend(await _rows())

    in_virtual_time(live)
    join, leave, crash = found
    assert [row.churn for row in found] == ["join", "leave", "crash"]
    assert {row.members for row in found} == {4}
    assert join.requests["JoinGroup"] >= 5
    assert join.requests["Heartbeat"] >= 4  # those which told of the rebalance
    assert leave.requests["LeaveGroup"] == 1
    assert crash.stable_ms is not None
    assert crash.stable_ms > 4_000  # the session timeout, less the heartbeat that was sent last
    assert not any(row.failures for row in found)


def test_a_group_that_does_not_form_is_a_fault_of_the_environment() -> None:
    async def live() -> None:
        await _rows(within_s=0.001)

    with pytest.raises(ExceptionGroup) as caught:
        in_virtual_time(live)
    error = trouble_in(caught.value)
    assert isinstance(error, BrokenEnvironment)
    assert str(error) == "a group of 4 by the coordinator's design did not form within 0.001 s"
