"""Read-only, as the tap in front of a real cluster sees it: what `watch` and `history` ask of Apache Kafka, with and without `--admin` and `--follow`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import trio
from tests.harness.judging.diagnosis.puppet import pass_time
from tests.harness.subjects.offsets_topic.stormy_cluster import STORMY, stormy_cluster

from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.subjects.offsets_topic.group_listing import ADMIN_ASKED
from groupproof.harness.subjects.offsets_topic.live_topic import ASKED
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.harness.subjects.tap.upstream import meet_upstream
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api

pytestmark = [
    pytest.mark.java, pytest.mark.network, pytest.mark.soak,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which run Apache Kafka"),
]  # fmt: skip

SPARK_ASKED: Final = (*ASKED, Api.FIND_COORDINATOR, Api.OFFSET_FETCH)
"""Spark's source gives its consumer a group id, for which Java's consumer looks up committed offsets before it is told where to begin. It commits none."""

_DESCRIBED: Final = (*ASKED, Api.DESCRIBE_CONFIGS)
_COMMANDS: Final = {
    "watch --once": (ASKED, ("watch", "{}", "--once")),
    "watch --admin": ((*ASKED, *ADMIN_ASKED), ("watch", "{}", "--once", "--admin")),
    "history": (ASKED, ("history", "{}", "--output", "{folder}/history")),
    "history --admin": (_DESCRIBED, ("history", "{}", "--output", "{folder}/history", "--admin")),
    "history --follow": (ASKED, ("history", "{}", "--output", "{folder}/followed", "--follow", "--for", "5s")),
    "history --follow --admin": (_DESCRIBED, ("history", "{}", "--output", "{folder}/followed", "--follow", "--for", "5s", "--admin")),
    "history --source spark": (SPARK_ASKED, ("history", "{}", "--output", "{folder}/by-spark", "--source", "spark")),
}


async def _asked_by(command: tuple[str, ...], address: str, recorder: Recorder, folder: Path) -> tuple[set[str | None], str]:
    """Return the names of all requests that the command made through the tap, and what it printed."""
    begins = len(recorder.trace)
    words = [word.format(address, folder=folder) for word in command]
    ran = await trio.run_process(
        [str(Path(sys.executable).with_name("groupproof")), *words], capture_stdout=True, stderr=subprocess.STDOUT, check=False
    )
    text = ran.stdout.decode()
    assert ran.returncode == 0, text
    return {obs.api for obs in recorder.trace[begins:] if obs.kind == "request"}, text


def test_the_tap_sees_nothing_that_writes_or_joins(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    recorder = Recorder(lambda: round(trio.current_time() * 1e9))
    asked: dict[str, tuple[set[str | None], str]] = {}

    async def main() -> None:
        async with stormy_cluster("4.4.0", tmp_path / "kafka") as cluster, trio.open_nursery() as nursery:
            hub = Hub(recorder=recorder, connect=cluster.connect, doors=TcpDoors(nursery=nursery), interception=Interception(recorder))
            upstream = await meet_upstream(hub.connect, cluster.addresses, profile=None)
            host, port = (await hub.route_to(upstream.brokers[0].address, upstream.brokers[0].node)).local
            await pass_time(20)
            for name, (_, command) in _COMMANDS.items():
                asked[name] = await _asked_by(command, f"{host}:{port}", recorder, tmp_path)
            nursery.cancel_scope.cancel()

    trio.run(main)
    for name, (allowed, _) in _COMMANDS.items():
        apis, text = asked[name]
        # What Spark's consumer asks beyond what reads depends on what it finds; our own readers ask all that they may.
        due = ASKED if allowed is SPARK_ASKED else allowed
        assert {api.title for api in due} <= apis <= {api.title for api in allowed}, name
        assert STORMY in text or "3 groups" in text, text
