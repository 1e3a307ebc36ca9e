"""How far the stream lags behind: from a record's append on a real Apache Kafka to the fact about it that `groupproof history --follow` has written, on the processors of this machine.

    python -m tests.benchmarks.stream_lag RELEASE FOLDER [--seconds N] [--commits N]

Groups live on the cluster, one of them in a storm, while somebody commits at a steady rate. The lag of a rebalance is from the time of its record, which the broker gives it, to that at which
the file with its fact was complete. Beside it stands how late this process woke up meanwhile: the machine's own noise.

Aim: 5 seconds on two processors.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import trio
from tests.harness.judging.diagnosis.puppet import Line, pass_time
from tests.harness.subjects.offsets_topic.stormy_cluster import stormy_cluster

from groupproof.chaos.spark.offsets.record_fold import REBALANCE
from groupproof.chaos.spark.offsets.record_tables import FACTS
from groupproof.protocol.vocabulary import Api

__all__ = ["lag_text", "lags_of"]

_STARTS_S: Final = 60.0
"""What the query finds when it starts is no news: its first batches are left out."""

_PARTITIONS: Final = 4
_BEAT_S: Final = 0.1


def lags_of(facts: Path, *, since_ms: int = 0) -> list[float]:
    """Return the lag of each rebalance in s, by the first file that holds it; those of records before `since_ms` are left out."""
    first: dict[tuple[str, int], float] = {}
    for folder in sorted(facts.glob("batch=*"), key=lambda folder: int(folder.name.partition("=")[2])):
        for file in folder.glob("part-*.parquet"):  # while it is written it has another name
            written_ms = file.stat().st_mtime * 1_000
            for row in pq.ParquetFile(file).read().to_pylist():
                if row["kind"] == REBALANCE and row["at_ms"] >= since_ms:
                    first.setdefault((row["group"], row["number"]), (written_ms - row["at_ms"]) / 1_000)
    return list(first.values())


def lag_text(lags: Sequence[float], late: Sequence[float], records: int, seconds: float) -> str:
    """Return the figures as a line."""
    if len(lags) < 2:
        return f"{len(lags)} rebalances: too few"
    at_95 = statistics.quantiles(lags, n=20)[-1]
    noise = statistics.quantiles(late, n=20)[-1] * 1_000
    return (
        f"{len(lags)} rebalances among {records / seconds:,.0f} records a second: lag {statistics.median(lags):.1f} s in the middle, {at_95:.1f} s of 95 %, at most {max(lags):.1f} s; "
        f"this process woke up {noise:.0f} ms late of 95 %, {os.getloadavg()[0]:.1f} processes on {os.cpu_count()} processors"
    )


async def _commits(line: Line, a_second: float, counts: list[int]) -> None:
    """Commit as nobody's member, so many records a second."""
    entries = tuple(
        {"partition_index": index, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""} for index in range(_PARTITIONS)
    )
    for number in range(1 << 30):
        body = {"group_id": f"simple-{number % 50}", "generation_id": -1, "member_id": "", "topics": ({"name": "audit", "partitions": entries},)}
        await line.ask(Api.OFFSET_COMMIT, body, version=8)
        counts[0] += _PARTITIONS
        await pass_time(_PARTITIONS / a_second)


async def _beats(late: list[float]) -> None:
    while True:
        before = time.monotonic()
        await pass_time(_BEAT_S)
        late.append(time.monotonic() - before - _BEAT_S)


async def _run(release: str, folder: Path, seconds: float, a_second: float) -> str:
    counts, late = [0], list[float]()
    async with stormy_cluster(release, folder / "kafka") as cluster, trio.open_nursery() as nursery:
        line = await Line.to(cluster.addresses[0], "stream-lag")
        nursery.start_soon(_commits, line, a_second, counts)
        address = "{}:{}".format(*cluster.addresses[0])
        words = ["history", address, "--output", str(folder / "history"), "--follow", "--for", f"{_STARTS_S + seconds:.0f}s"]
        command = [str(Path(sys.executable).with_name("groupproof")), *words]
        nursery.start_soon(partial(trio.run_process, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False))
        await pass_time(_STARTS_S)
        counts[0], since_ms = 0, round(time.time() * 1_000)
        nursery.start_soon(_beats, late)
        await pass_time(seconds)
        records = counts[0]
        nursery.cancel_scope.cancel()
    return lag_text(lags_of(folder / "history" / FACTS, since_ms=since_ms), late, records, seconds)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--commits", type=float, default=500, help="so many records a second")
    asked = parser.parse_args()
    (asked.folder / "kafka").mkdir(parents=True, exist_ok=True)
    print(trio.run(_run, asked.release, asked.folder, asked.seconds, asked.commits))


if __name__ == "__main__":
    _main()
