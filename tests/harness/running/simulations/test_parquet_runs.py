"""Simulated runs as a trace in pieces: the same observations as in memory, each piece whole, none made twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.simulation.runs import short

from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.running.simulations.many_seeds import outcomes
from groupproof.harness.running.simulations.parquet_runs import observed, piece_of
from groupproof.harness.running.trace_check import check_files
from groupproof.harness.simulation.run import run
from groupproof.protocol.trace import Recorder, write_trace
from groupproof.protocol.trace_columns import parquet_files, read_parquet


def test_a_piece_holds_what_a_recorder_in_memory_sees(tmp_path: Path) -> None:
    asked = short(duration_ms=10_000)
    recorders: list[Recorder] = []

    def make(now: Callable[[], int]) -> Recorder:
        recorders.append(Recorder(now, run=f"simulation-{asked.seed}", seed=asked.seed, clock="virtual"))
        return recorders[0]

    outcome = observed(asked, tmp_path)
    run(asked, recorder=make)

    assert list(write_trace(read_parquet(piece_of(tmp_path, asked.seed)))) == list(write_trace(recorders[0].trace))
    assert outcome.trace_hash == run(asked).trace_hash, "who looks on changes nothing"


def test_each_seed_is_a_run_of_one_trace(tmp_path: Path) -> None:
    made = list(outcomes(short(duration_ms=10_000), range(3, 6), jobs=1, folder=tmp_path))

    results = check_files([tmp_path], every_case, UNIVERSAL).results

    assert {obs.run for obs in read_parquet(tmp_path)} == {f"simulation-{outcome.simulation.seed}" for outcome in made}
    assert [result.ruling.verdict.value for result in results if result.case.id == "laws/classic/g"] == ["OK"] * 3


def test_a_run_that_fails_leaves_no_piece(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no profile"):
        observed(replace(short(duration_ms=10_000), profile="kafka-0.0"), tmp_path)

    assert parquet_files(tmp_path) == []
