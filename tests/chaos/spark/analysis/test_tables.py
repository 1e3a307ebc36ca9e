from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.chaos.spark.analysis.compared import kept, raw_of_sides
from tests.harness.judging.checkers.stories import keeping

from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.trace_columns import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]


def told_by(who: str, trace: Trace) -> Trace:
    return [replace(obs, who=who, run="r") for obs in trace]


def test_frames_are_those_of_the_best_witness_and_each_observation_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    from groupproof.chaos.spark.analysis.tables import Tables

    story = keeping().trace
    hello = Observation(seq=10_000, at_ns=0, run="r", who="kit", client="m1", kind="event", body={"name": "hello", "client": "own", "version": "2"})
    sides = [("members", told_by("member", story)), ("coordinator", [*told_by("coordinator", story), *told_by("coordinator", story[:3]), hello])]
    for side, trace in sides:
        write_parquet(tmp_path / f"{side}.parquet", trace)
    raw = raw_of_sides(spark, [(tmp_path / f"{side}.parquet", side, "load 1") for side, _ in sides])

    tables = Tables(raw, is_repeated=True, keep=kept)

    assert tables.raw.count() == 2 * len(story) + 4
    assert tables.rows.count() == 2 * len(story) + 1
    assert {row["side"] for row in tables.frames.select("side").distinct().collect()} == {"coordinator"}
    (entry,) = tables.subscriptions.collect()
    assert (entry["witness"], entry["own_witness"]) == (1, 1)
    assert {(row["client"], row["release"]) for row in tables.answers.collect()} == {("m0", "load 1"), ("m1", "own 2")}
    assert [row["generation"] for row in tables.formed.orderBy("seq").collect()] == [1, 2]
