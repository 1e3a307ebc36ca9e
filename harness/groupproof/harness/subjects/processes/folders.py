"""The folders of a run's brokers: data that is deleted with the run, and logs that stay."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.shims.process_reaper import process_reaper

__all__ = ["LOGS_MAX", "Folders", "folders"]

LOGS_MAX = 50
"""The number of runs whose logs are kept if no folder was named for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """`data` is deleted at the end of the run; `logs` stays."""

    data: Path
    logs: Path


@contextmanager
def folders(name: str, *, cache: Path, logs: Path | None) -> Iterator[Folders]:
    """Create the folders of one run, the logs in `logs` or under the cache. Raise `BrokenEnvironment` where that fails."""
    try:
        kept = logs or _own_logs(name, cache / "logs")
        kept.mkdir(parents=True, exist_ok=True)
        data = Path(tempfile.mkdtemp(prefix=f"groupproof-{name}-"))
    except OSError as error:
        raise BrokenEnvironment(
            f"no folder can be made for the brokers: {error}; set GROUPPROOF_CACHE and TMPDIR to folders that can be written"
        ) from error
    process_reaper.keep("folder", data)
    try:
        yield Folders(data=data, logs=kept)
    finally:
        shutil.rmtree(data, ignore_errors=True)
        process_reaper.let_go("folder", data)


def _own_logs(name: str, parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    older = sorted((path for path in parent.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for item in older[: max(0, len(older) - LOGS_MAX + 1)]:
        shutil.rmtree(item, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{name}-{os.getpid()}-", dir=parent))
