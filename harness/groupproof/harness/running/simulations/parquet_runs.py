"""Writes simulated runs as a trace of any length: each seed is a run of its own, and a Parquet file that is written during the simulation.

A trace that does not fit in a host's memory is made and judged piece by piece. A piece in place is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Outcome, Simulation
from groupproof.protocol.trace import Recorder
from groupproof.protocol.trace_columns import parquet_writer

__all__ = ["observed", "piece_of"]


def piece_of(folder: Path, seed: int) -> Path:
    """Return the file of a seed's run, in a folder as Spark names partitions."""
    return folder / f"run=simulation-{seed}" / "piece.parquet"


def observed(simulation: Simulation, folder: Path) -> Outcome:
    """Run a simulation and write its observations; memory holds one batch of rows. Raise `MissingArrow` and `OSError`."""
    piece = piece_of(folder, simulation.seed)
    piece.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        add = stack.enter_context(parquet_writer(piece))

        def make(clock: Callable[[], int]) -> Recorder:
            recorder = Recorder(clock, keeps=False, run=f"simulation-{simulation.seed}", seed=simulation.seed, clock="virtual")
            recorder.listen(add)
            return recorder

        return run(simulation, recorder=make)
