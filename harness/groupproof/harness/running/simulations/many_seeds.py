"""Simulates many seeds in several processes; a run does not depend on its process."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from groupproof.harness.running.simulations.parquet_runs import observed
from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Outcome, Simulation

__all__ = ["outcomes"]

_CHUNK = 4
_THRESHOLD = 50_000


def outcomes(simulation: Simulation, seeds: Iterable[int], *, jobs: int, folder: Path | None = None) -> Iterator[Outcome]:
    """Yield the outcome of each seed, in their order, without its transitions. One job runs in this process.

    With `folder`, each run's observations are written there. Raise the errors of `observed`.
    """
    seeded, light = [replace(simulation, seed=seed) for seed in seeds], partial(_light, folder=folder)
    if jobs == 1:
        yield from map(light, seeded)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=jobs, mp_context=context, initializer=_begin) as pool:
        try:
            yield from pool.map(light, seeded, chunksize=_CHUNK if folder is None else 1)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _light(simulation: Simulation, folder: Path | None) -> Outcome:
    return replace(run(simulation) if folder is None else observed(simulation, folder), transitions=())


def _begin() -> None:
    """Exclude permanent objects from garbage collections."""
    gc.freeze()
    gc.set_threshold(_THRESHOLD)
