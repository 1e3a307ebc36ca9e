"""Runs one scenario of Spark's Kafka source with a session, and returns its result."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from groupproof.chaos.spark.streaming.streaming_cluster import opened
from groupproof.chaos.spark.streaming.streaming_query import LOG_LEVEL, RunningQuery
from groupproof.chaos.spark.streaming.streaming_run import Pace, StreamingResult, StreamingRun
from groupproof.chaos.spark.streaming.streaming_scenarios import Scenario
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.signals import mind_signals
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import warm
from groupproof.protocol.wire.message_conversion import GROUP_APIS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["played"]

_WARMED = GROUP_APIS | {Api.API_VERSIONS, Api.METADATA, Api.FETCH, Api.LIST_OFFSETS, Api.PRODUCE, Api.FIND_COORDINATOR}


def played(
    spark: SparkSession, scenario: Scenario, brokers: BrokerSubject | None, *, folder: Path, profile: str, seed: int, topic: str, partitions: int,
    rate: int, words: Sequence[str] = (), pace: Pace | None = None,
) -> StreamingResult:  # fmt: skip
    """Run a scenario; `folder` is emptied first and then holds its reads. Raise `BrokenEnvironment`, and `KeyboardInterrupt` at Ctrl-C."""
    _emptied(folder)
    results: list[StreamingResult] = []

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(mind_signals, nursery.cancel_scope.cancel)
            async with opened(brokers, profile=profile, seed=seed, topic=topic, partitions=partitions, rate=rate) as cluster:
                run = StreamingRun(
                    scenario=scenario, cluster=cluster, start=partial(RunningQuery, spark), folder=folder, words=words, pace=pace or Pace()
                )
                results.append(await run.play())
            nursery.cancel_scope.cancel()

    warm(_WARMED)
    spark.sparkContext.setLogLevel(LOG_LEVEL)
    try:
        trio.run(main)
    except ExceptionGroup as error:
        raise trouble_in(error) from error
    finally:
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    if not results:
        raise KeyboardInterrupt
    return results[0]


def _emptied(folder: Path) -> None:
    """Create the folder again if it is one of these; raise `WrongUsage` where it holds anything else."""
    own = {"reads", "checkpoints", "trace.ndjson"}
    try:
        if folder.is_dir() and (others := {path.name for path in folder.iterdir()} - own):
            raise WrongUsage(f"{folder} holds something else ({', '.join(sorted(others))}); choose another --output")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    except OSError as error:
        raise BrokenEnvironment(f"can't write {folder}: {error.strerror or error}; choose another --output") from error
