"""What else a machine did while something was measured: the processors that others kept busy, and the same work timed before and after."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.benchmarks.measurements import Machine, Noise

__all__ = ["NoiseWatch", "Used", "machine_here", "others_of", "spread_of", "work_ms"]

_ROUNDS: Final = 10
_STEPS: Final = 200_000
_STAT: Final = Path("/proc/stat")
_IDLE: Final = slice(3, 5)  # idle and waiting for disks


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds since some beginning: of the clock, of all processors, and of this process with the children that have ended."""

    clock_s: float
    busy_s: float | None
    own_s: float


class NoiseWatch:
    """Made before a part runs, and asked after it."""

    def __init__(self) -> None:
        self._works = work_ms()
        self._begin = _used()

    def noise(self) -> Noise:
        others = others_of(self._begin, _used())
        works = [*self._works, *work_ms()]
        return Noise(others=others, work_ms=round(statistics.median(works), 2), work_spread=round(spread_of(works), 3))


def others_of(begin: Used, end: Used) -> float | None:
    """Return how many processors others kept busy, on average; None where the system does not tell.

    What a part starts and does not wait for, such as a container, counts as others.
    """
    if begin.busy_s is None or end.busy_s is None:
        return None
    busy_s = end.busy_s - begin.busy_s - (end.own_s - begin.own_s)
    return round(max(0.0, busy_s) / (end.clock_s - begin.clock_s), 2)


def spread_of(values: list[float]) -> float:
    """Return how far values lie apart, as a share of their median, without the highest and the lowest tenth."""
    cut = len(values) // 10
    middle = sorted(values)[cut : len(values) - cut]
    return (middle[-1] - middle[0]) / statistics.median(middle)


def work_ms() -> list[float]:
    """Return the milliseconds of processor time of the same work, again and again: on a quiet machine they are alike."""
    return [_work_ms() for _ in range(_ROUNDS)]


def _work_ms() -> float:
    began = time.process_time()
    sum(number * number % 7 for number in range(_STEPS))
    return (time.process_time() - began) * 1e3


def machine_here() -> Machine:
    """Return this machine as far as figures depend on it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), os.uname().machine)
    python = platform.python_version()
    return Machine(processor=model, processors=os.cpu_count() or 1, python=python)


def _used() -> Used:
    return Used(clock_s=time.perf_counter(), busy_s=_busy_s(), own_s=sum(map(_cpu_s, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))))


def _cpu_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _busy_s() -> float | None:
    """Return the seconds that all processors together have been busy."""
    if not _STAT.is_file():
        return None
    ticks = [int(field) for field in _STAT.read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - sum(ticks[_IDLE])) / os.sysconf("SC_CLK_TCK")
