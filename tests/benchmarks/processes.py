"""Which process serves a port, and the processor time it has had: on a busy machine work done a processor second is the fairer measure."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["cpu_of_tree_s", "cpu_s", "listening_on"]

_LISTENS = "0A"
_SCHEDULED = 2  # the clock of a process by its number, as clock_getcpuclockid() makes it on Linux


def listening_on(port: int) -> int | None:
    """Return the process that listens on a local port; None where Linux does not tell."""
    inode = _inode_of(port)
    for link in Path("/proc").glob("[0-9]*/fd/*") if inode else ():
        try:
            if os.readlink(link) == f"socket:[{inode}]":
                return int(link.parts[2])
        except OSError:
            continue
    return None


def _inode_of(port: int) -> str | None:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not Path(table).is_file():
            continue
        for line in Path(table).read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == _LISTENS and int(columns[1].rpartition(":")[2], 16) == port:
                return columns[9]
    return None


def cpu_s(process: int) -> float:
    """Return the seconds of processor time, in and out of the kernel, that a process has had: to the nanosecond, and with the threads that have ended."""
    return time.clock_gettime(~process << 3 | _SCHEDULED)


def cpu_of_tree_s(root: int) -> float:
    """Return the processor time of a process and of all that came of it, those that have ended too."""
    found, left = 0, [root]
    parents = {process: parent for process in _processes() if (parent := _parent(process)) is not None}
    while left:
        process = left.pop()
        left += [key for key, parent in parents.items() if parent == process]
        try:
            found += sum(_columns(process)[11:15])
        except OSError:
            continue
    return found / os.sysconf("SC_CLK_TCK")


def _columns(process: int) -> list[int]:
    columns = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return [0, *map(int, columns[1:])]


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(process: int) -> int | None:
    try:
        return _columns(process)[1]
    except OSError:
        return None
