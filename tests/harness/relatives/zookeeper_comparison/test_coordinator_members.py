from __future__ import annotations

import trio
from tests.clients.relatives.zookeeper.in_memory import in_virtual_time, reference_cluster, wait_for_a_second

from groupproof.harness.relatives.zookeeper_comparison.coordinator_members import CoordinatorSide
from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.relatives.zookeeper_comparison.side import TOPIC, Common, until_stable

A, B = (TOPIC, 0), (TOPIC, 1)


def test_the_ledger_has_who_holds_reads_and_commits_a_partition() -> None:
    async def live() -> None:
        common = Common(partitions=2, session_ms=6_000, pace_ms=0)
        async with reference_cluster(2, brokers=1) as (_, network), trio.open_nursery() as nursery:
            ledger = ReadLedger((A, B))
            side = CoordinatorSide(common, nursery, ledger, connect_of=lambda _: (network.connect, network.addresses))
            await side.begin("a")
            assert await until_stable(side, 60, 1) is not None
            assert ledger.holders(A) == ledger.holders(B) == {"a"}

            await side.begin("b")
            assert await until_stable(side, 60, 1) is not None
            assert sorted([*ledger.holders(A), *ledger.holders(B)]) == ["a", "b"]
            side.commit()
            await wait_for_a_second()
            # a had committed both before it gave one of them back, and nobody went back behind that.
            figures = ledger.figures(0, 10**12)
            assert (figures.offsets_back, figures.two_owners_ms, side.refused) == (0, 0, 0)
            assert figures.read_twice == 0
            assert side.asked["OffsetCommit"] >= 1
            assert side.rebalances >= 3

            await side.leave("a")
            assert await until_stable(side, 60, 1) is not None
            assert side.members == ["b"]
            assert side.asked["LeaveGroup"] == 1
            nursery.cancel_scope.cancel()

    in_virtual_time(live)
