"""A slow disk for a broker: a preloaded library delays each write below its data folder by the number in a file.

The kernel's means (device mapper's delay, throttles of cgroups) need root, a module or a device of their own, and do not slow buffered writes, the
only ones that Kafka does. This needs a C compiler, and a broker that was started for it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.processes.folders import Folders

__all__ = ["WRITE_MS", "control_of", "prepared", "provision_library", "slow_down"]

WRITE_MS: Final = 250
"""The delay of each write on a slow disk, in milliseconds; a commit costs Kafka one write, and from 4.0 on two."""

_SOURCE: Final = Path(__file__).parent / "programs" / "slow_disk.c"
_BUILD_S: Final = 60
_HINT: Final = "install a C compiler (Debian: gcc, libc6-dev)"


def provision_library(cache: Path, say: Say) -> Path:
    """Return the library; compile it into the cache where it is missing. Raise `BrokenEnvironment` where that fails."""
    if sys.platform != "linux":
        raise BrokenEnvironment("a broker's disk can be slowed only on Linux")
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:10]
    try:
        return entry(cache, f"c/slow-disk-{digest}", lambda folder: _compile(folder, say), say) / "slow_disk.so"
    except ProvisionError as error:
        raise BrokenEnvironment(str(error)) from error


def _compile(folder: Path, say: Say) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise ProvisionError(f"no C compiler here, which slows a broker's disk: {_HINT}")
    say("compiling what slows a broker's disk")
    argv = [compiler, "-O2", "-shared", "-fPIC", "-o", str(folder / "slow_disk.so"), str(_SOURCE), "-ldl", "-lpthread"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    if done.returncode != 0:
        raise ProvisionError(f"what slows a broker's disk can't be compiled: {' '.join(done.stderr.split())[-300:]}; {_HINT}")


def prepared(library: Path, control: Path, data: str | os.PathLike[str]) -> Mapping[str, str]:
    """Return the environment variables for a broker with this data folder, so that the file `control` can slow its disk; the disk is fast at first."""
    control.write_bytes(struct.pack("i", 0))
    control.chmod(0o644)
    return {"LD_PRELOAD": str(library), "GROUPPROOF_SLOW_DISK": str(control), "GROUPPROOF_SLOW_FOLDER": f"{os.fspath(data)}{os.sep}"}


def control_of(folders: Folders, node: int) -> Path:
    """Return the file with the delay of a node's disk; it exists if the node was started for it."""
    return folders.data / f"disk-{node}"


def slow_down(control: Path, write_ms: int) -> None:
    """Delay each write by `write_ms`; 0 makes the disk fast again."""
    with control.open("r+b") as file:
        file.write(struct.pack("i", write_ms))
