"""What a shim's process weighs: the processor time that it took to its hello, and how many cases can so run side by side.

A process of Go takes a hundredth of a second to start, one of Node or Java a whole one: as many of them at once as of the former would only wait for
each other.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["jobs_for", "processor_s"]

_CASE_S: Final = 4.0
"""How long a case lasts at least, most of it waiting."""

_STARTS: Final = 2.0
"""How many processes a case starts, on the whole."""

_SHARE: Final = 0.5
"""How much of the machine starting processes may take."""

_USER, _SYSTEM, _GROUP = 11, 12, 2  # fields of /proc/PID/stat behind the name (proc(5))


def processor_s(group: int, proc: Path = Path("/proc")) -> float | None:
    """Return the processor time (s) that the processes of a process group have taken so far; None where the system does not tell."""
    ticks = [_ticks(fields) for fields in map(_stat, proc.glob("[0-9]*/stat")) if fields and int(fields[_GROUP]) == group]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


def _stat(file: Path) -> list[str]:
    try:
        return file.read_text().rpartition(")")[2].split()
    except OSError:
        return []  # it has ended meanwhile


def _ticks(fields: list[str]) -> int:
    return int(fields[_USER]) + int(fields[_SYSTEM])


def jobs_for(start_s: float, processors: int) -> int:
    """Return how many cases may run at once, where each process takes `start_s` of processor time to start; never less than processors."""
    return max(processors, int(processors * _SHARE * _CASE_S / (_STARTS * max(start_s, 0.001))))
