"""A third party's client against a third party's broker, with the tap between them: kafka-python and Apache Kafka."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import Launch, provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.judging.observed.both_sides import judge_sides
from groupproof.harness.model.plan import Member
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.plans.member_control import subscription_of
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.tap.fault_syntax import faults_of
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.harness.subjects.tap.upstream import meet_upstream
from groupproof.protocol.trace import Recorder, Trace

pytestmark = [
    pytest.mark.java, pytest.mark.network, pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which run Apache Kafka"),
]  # fmt: skip

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}


class Shim:
    """One member in a process of its own, spoken to by the shim contract."""

    def __init__(self, name: str, process: trio.Process) -> None:
        self.name = name
        self._process = process
        self._text = ""
        self._commands = 0

    async def say(self, command: str, **fields: Any) -> None:
        self._commands += 1
        assert self._process.stdin is not None
        line = json.dumps({"id": self._commands, "command": command, "member": self.name, **fields})
        await self._process.stdin.send_all(line.encode() + b"\n")

    async def close(self) -> None:
        await self.say("close")
        await self.until("shutdown_complete")

    async def until(self, name: str) -> None:
        """Wait for an event called `name` that names partitions, where its kind does."""
        while True:
            event = json.loads(await self._line())
            if event.get("name") == name and event.get("partitions", True):
                return

    async def _line(self) -> str:
        assert self._process.stdout is not None
        while "\n" not in self._text:
            data = await self._process.stdout.receive_some()
            assert data, f"{self.name} ended"
            self._text += data.decode()
        line, _, self._text = self._text.partition("\n")
        return line if line.startswith("{") else await self._line()


async def _shim(nursery: trio.Nursery, launch: Launch, name: str, bootstrap: str, group: str) -> Shim:
    environment = {**os.environ, **launch.env}
    run = partial(trio.run_process, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    process: trio.Process = await nursery.start(partial(run, launch.argv, env=environment, cwd=launch.cwd))
    shim = Shim(name, process)
    await shim.say("subscribe", **{**subscription_of(Member(name=name), bootstrap), "group": group})
    await shim.until("partitions_assigned")
    return shim


async def _pair(launch: Launch, bootstrap: str, group: str) -> None:
    """Let two members share a group and go, one after the other."""
    async with trio.open_nursery() as nursery:
        first = await _shim(nursery, launch, "m0", bootstrap, group)
        second = await _shim(nursery, launch, "m1", bootstrap, group)
        await first.until("partitions_assigned")
        await second.close()
        # Who closes in the middle of the rebalance that the other's leave began may go without a LeaveGroup of its own.
        await first.until("partitions_assigned")
        await first.close()
        nursery.cancel_scope.cancel()


def _played(logs: Path, launch: Launch) -> Trace:
    recorder = Recorder(lambda: round(trio.current_time() * 1e9))
    interception = Interception(recorder)

    async def main() -> None:
        subject = ApacheKafka(release="4.1.0", cache=default_cache(), say=print, provider="maven", logs=logs)
        async with subject.cluster(settings=SETTINGS, brokers=1, topics={"t": 4}) as cluster, trio.open_nursery() as nursery:
            hub = Hub(recorder=recorder, connect=cluster.connect, doors=TcpDoors(nursery=nursery), interception=interception)
            upstream = await meet_upstream(hub.connect, cluster.addresses, profile=None)
            recorder.record("event", who="kit", body=upstream.to_json())
            host, port = (await hub.route_to(upstream.brokers[0].address, upstream.brokers[0].node)).local
            with trio.fail_after(120):
                await _pair(launch, f"{host}:{port}", "alone")
                interception.arm(faults_of(["Heartbeat,client=m0,group=struck,answer=27"])[0])
                await _pair(launch, f"{host}:{port}", "struck")
            nursery.cancel_scope.cancel()

    trio.run(main)
    return recorder.trace


def test_kafka_python_and_apache_kafka_keep_to_the_protocol_and_a_fault_is_reacted_to(tmp_path: Path) -> None:
    trace = _played(tmp_path, provision(resolve("kafka-python"), default_cache(), print))

    results, unjudged = judge_sides(trace)
    by_id = {result.case.id: result for result in results}
    assert {name: result.ruling.verdict for name, result in by_id.items()} == dict.fromkeys(
        ("observed/classic/alone", "observed/classic/struck", "answered/classic/alone"), Verdict.OK
    )
    assert by_id["observed/classic/alone"].ruling.goodbye is Goodbye.CLEAN
    assert [(item.group, item.why) for item in unjudged] == [("struck", "fault-1 came between")]
    delivered = next(obs.seq for obs in trace if obs.kind == "fault" and obs.detail == "delivered")
    assert any(obs.api == "JoinGroup" and obs.kind == "request" and obs.client == "m0" for obs in trace[delivered:])
