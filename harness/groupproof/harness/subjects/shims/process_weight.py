"""The weight of a shim's process: its processor time until the hello, and the number of cases that can so run in parallel.

A Go process takes a hundredth of a second to start, one of Node or Java a whole second. As many of the latter as of the former would only wait for
each other.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["jobs_for", "processor_s"]

_CASE_S: Final = 4.0
"""The minimum time (s) of a case, mostly waiting."""

_STARTS: Final = 2.0
"""How many processes a case starts on average."""

_SHARE: Final = 0.5
"""The share of the processors that starting processes may use."""

_UNKNOWN: Final = 8
"""How many cases may run at once for each processor where the system does not report processor time."""

_USER, _SYSTEM, _GROUP = 11, 12, 2  # fields of /proc/PID/stat behind the name (proc(5))


def processor_s(group: int, proc: Path = Path("/proc")) -> float | None:
    """Return the processor time (s) that a process group has used so far. Return None where the system does not report it."""
    ticks = [_ticks(fields) for fields in map(_stat, proc.glob("[0-9]*/stat")) if fields and int(fields[_GROUP]) == group]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


def _stat(file: Path) -> list[str]:
    try:
        return file.read_text().rpartition(")")[2].split()
    except OSError:
        return []  # it has ended in the meantime


def _ticks(fields: list[str]) -> int:
    return int(fields[_USER]) + int(fields[_SYSTEM])


def jobs_for(start_s: float | None, processors: int) -> int:
    """Return how many cases may run at once if each process takes `start_s` of processor time to start. Never fewer than processors."""
    if start_s is None:
        return _UNKNOWN * processors
    return max(processors, int(processors * _SHARE * _CASE_S / (_STARTS * max(start_s, 0.001))))
