from __future__ import annotations

from pathlib import Path

import pytest
import trio
from tests.clients.relatives.zookeeper.in_memory import reference_cluster, wait_for_a_second
from tests.clients.relatives.zookeeper.real_world import NEEDS_JAVA, real_zookeeper

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.relatives.zookeeper_comparison.churn_run import churned
from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.relatives.zookeeper_comparison.side import TOPIC, Common, until_stable
from groupproof.harness.relatives.zookeeper_comparison.zookeeper_members import ZooKeeperSide, registered_brokers

PARTITIONS = 4


@pytest.mark.java
@pytest.mark.network
@pytest.mark.slow
@NEEDS_JAVA
@pytest.mark.requirement("ZK-70", "ZK-73")
def test_each_churn_of_real_members_costs_every_member_a_rebalance(tmp_path: Path) -> None:
    session_ms = 5_000  # so long that none ends since the machine was busy

    async def live() -> None:
        common = Common(partitions=PARTITIONS, session_ms=session_ms, pace_ms=0, wait_ms=200, backoff_ms=300)
        async with real_zookeeper(tmp_path) as server, reference_cluster(PARTITIONS, brokers=1) as (cluster, network):
            hosts = f"{server.address[0]}:{server.address[1]}/side"
            addresses = {cluster.nodes[0]: network.addresses[0]}
            async with registered_brokers(hosts, addresses, PARTITIONS), trio.open_nursery() as nursery:
                ledger = ReadLedger((TOPIC, number) for number in range(PARTITIONS))
                side = ZooKeeperSide(common, nursery, ledger, hosts_of=lambda _: hosts, connect_of=lambda _: (network.connect, network.addresses))
                rows = [row async for row in churned(side, 3, PARTITIONS, 1, within_s=60)]
                assert [(row.churn, row.failures) for row in rows] == [("join", 0), ("leave", 0), ("crash", 0)]
                assert all(row.rebalances >= row.members - (row.churn == "crash") for row in rows)
                assert all(row.events >= 2 for row in rows)
                assert rows[2].stable_ms is not None
                assert rows[2].stable_ms >= 0.6 * session_ms  # a session after its last ping, of which there is one every third of a session

                assert await until_stable(side, 60, 0.2) is not None
                side.commit()
                await wait_for_a_second()
                assert ledger.figures(0, 10**12).two_owners_ms == 0
                for name in list(side.members):
                    await side.leave(name)
                assert not any(ledger.holders((TOPIC, number)) for number in range(PARTITIONS))
                nursery.cancel_scope.cancel()

    trio.run(live)


def test_a_zookeeper_that_is_not_there_is_a_fault_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupproof.harness.relatives.zookeeper_comparison.zookeeper_members._UP_S", 0.2)

    async def live() -> None:
        with pytest.raises(BrokenEnvironment, match=r"ZooKeeper at 127\.0\.0\.1:1 did not answer within 0\.2 s"):
            async with registered_brokers("127.0.0.1:1/x", {0: ("h", 1)}, 1):
                pass

    trio.run(live)
