from __future__ import annotations

import math
import os
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.kafka_cluster import RunningKafka
from groupproof.harness.subjects.brokers.apache.layout import CONTROLLER_ID, KafkaNode, Layout
from groupproof.harness.subjects.brokers.cluster import CannotStop
from groupproof.harness.subjects.brokers.slow_disk import WRITE_MS, control_of, prepared
from groupproof.harness.subjects.networks.ports import reserve_port
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.harness.subjects.processes.broker_process import Command, guarded
from groupproof.harness.subjects.processes.folders import Folders
from groupproof.protocol.vocabulary import Api

BROKER = Path(__file__).with_name("fake_kafka.py")


@dataclass
class _Fake:
    """Starts a program that answers what a broker must to be up; the port is its argument."""

    argument: str = "up"
    provided_by: str = "fake"

    def zookeeper(self, port: int, folders: Folders) -> Command:
        return Command(title="ZooKeeper", argv=guarded([sys.executable, "-c", "import time; time.sleep(600)"]), log=folders.logs / "zookeeper.log")

    def node(self, layout: Layout, node: KafkaNode, folders: Folders) -> Command:
        ports = ",".join(str(broker.port) for broker in layout.brokers)
        argv = [sys.executable, str(BROKER), str(node.port), ports, self.argument]
        log, env = folders.logs / f"{node.node_id}.log", {"PYTHONPATH": os.pathsep.join(sys.path)}
        return Command(title=node.title, argv=guarded(argv, remove=[node.data]), log=log, env=env)


def _nodes(tmp_path: Path, *, brokers: int, zookeeper: bool = False) -> Layout:
    nodes = [KafkaNode(node_id=node, data=tmp_path / "data" / str(node), port=reserve_port()) for node in range(brokers)]
    fixed = {"offsets.topic.num.partitions": "3"}
    controller = () if zookeeper else (KafkaNode(node_id=CONTROLLER_ID, data=tmp_path / "data" / "c", controller_port=1),)
    return Layout(nodes=(*controller, *nodes), zookeeper_port=1 if zookeeper else 0, fixed=fixed, asked={})


def _folders(tmp_path: Path) -> Folders:
    (tmp_path / "data").mkdir(exist_ok=True)
    return Folders(data=tmp_path / "data", logs=tmp_path / "logs")


@pytest.mark.slow
def test_brokers_come_up_and_one_can_be_killed_until_the_last(tmp_path: Path) -> None:
    async def main() -> None:
        running = RunningKafka(_Fake(), _nodes(tmp_path, brokers=2, zookeeper=True), _folders(tmp_path))
        try:
            await running.start()
            assert len(running.addresses) == 2
            await running.stop(0)
            assert len(running.addresses) == 1
            assert running.deaths() == []
            for node, why in ((0, "no broker 0 is running"), (1, "the last one"), (9, "no broker 9 is running")):
                with pytest.raises(CannotStop, match=why):
                    await running.stop(node)
            assert [log.name for log in running.logs()] == ["zookeeper.log", "0.log", "1.log"]
        finally:
            await running.end()
        with pytest.raises(OSError, match="connect"):
            await running.connect(*running.addresses[0])

    trio.run(main)


@pytest.mark.slow
def test_a_broker_that_ends_while_it_starts_is_reported_with_its_last_words(tmp_path: Path) -> None:
    async def main() -> None:
        running = RunningKafka(_Fake("down"), _nodes(tmp_path, brokers=1), _folders(tmp_path))
        try:
            await running.start()
        finally:
            await running.end()

    with pytest.raises(BrokenEnvironment, match=r"did not come up: .*ended with status 1; its last words: ERROR the disk is full \(log: "):
        trio.run(main)


async def _answers(running: RunningKafka, port: int, *, within_s: float = math.inf) -> bool:
    with trio.move_on_after(within_s):
        async with asking(await running.connect("127.0.0.1", port)) as asker:
            return len((await asker.ask(Api.METADATA, {"topics": ()}, newest=8))["brokers"]) == 2
    return False


@pytest.mark.slow
def test_a_broker_can_be_paused_and_killed_and_comes_back_with_its_data_at_its_port(tmp_path: Path) -> None:
    async def main() -> None:
        layout = _nodes(tmp_path, brokers=2)
        port = layout.brokers[1].port
        data = layout.brokers[1].data
        data.mkdir(parents=True)
        running = RunningKafka(_Fake(), layout, _folders(tmp_path))
        try:
            await running.start()
            await running.break_broker(1, "pause")
            assert not await _answers(running, port, within_s=0.3)
            await running.mend_broker(1)
            assert await _answers(running, port)
            await running.break_broker(1, "kill")
            with pytest.raises(OSError, match="connect"):
                await running.connect("127.0.0.1", port)
            assert (data.is_dir(), running.deaths()) == (True, [])
            for node, how, why in (
                (1, "pause", r"broker 1 is broken already \(kill\); heal it first"),
                (0, "drown", "broker 0 can't be broken by 'drown'; the ways are pause, kill, slow-disk"),
                (0, "slow-disk", "the disk of broker 0 can't be slowed: it was not started for that, or fake can't be"),
                (CONTROLLER_ID, "kill", "no broker 100 is running here"),
            ):
                with pytest.raises(BrokenEnvironment, match=why):
                    await running.break_broker(node, how)
            await running.mend_broker(1)
            assert await _answers(running, port)
            await running.mend_broker(1)
            control = control_of(running._folders, 1)
            prepared(Path("any"), control, data)
            await running.break_broker(1, "slow-disk")
            assert control.read_bytes() == struct.pack("i", WRITE_MS)
            await running.mend_broker(1)
            assert control.read_bytes() == struct.pack("i", 0)
            control.unlink()
            await running.break_broker(1, "pause")
        finally:
            await running.end()
            await running.mend_broker(1)
        assert not data.exists()

    trio.run(main)


@pytest.mark.parametrize(("zookeeper", "brokers", "lease_s"), [(False, 1, 0.0), (False, 2, 0.0), (True, 2, 4.0), (True, 1, 19.0)])
def test_a_killed_broker_is_started_again_when_zookeeper_has_given_it_up(tmp_path: Path, zookeeper: bool, brokers: int, lease_s: float) -> None:
    assert _nodes(tmp_path, brokers=brokers, zookeeper=zookeeper).lease_s == lease_s
