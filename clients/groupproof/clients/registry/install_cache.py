"""The cache of installed clients, with one folder for each entry.

An entry is built once, completely or not at all, even if several processes request it at the same time.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

__all__ = ["ProvisionError", "Say", "default_cache", "entry"]

Say = Callable[[str], None]
"""Prints one line of progress."""


class ProvisionError(Exception):
    """The environment lacks something (exit 4). The message says what, and how to get it."""


def default_cache() -> Path:
    """Return the folder of installed clients: `$GROUPPROOF_CACHE`, otherwise the user's cache folder on this platform."""
    named = os.environ.get("GROUPPROOF_CACHE")
    return Path(named).absolute() if named else platformdirs.user_cache_path("groupproof")


def entry(cache: Path, key: str, build: Callable[[Path], None], say: Say) -> Path:
    """Return the folder `cache/key`. If it is missing, `build` fills a temporary folder, which is then renamed.

    A failed build leaves nothing behind. If another process builds the same entry, wait for it. Raise `ProvisionError` if the
    cache cannot be written.
    """
    folder = cache / key
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder, say):
            if not folder.is_dir():
                _build(folder, build)
    except OSError as error:
        raise ProvisionError(f"the cache {cache} cannot be used: {error}; set GROUPPROOF_CACHE to a folder that can be written") from error
    return folder


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        build(temporary)
        temporary.chmod(0o755)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def _locked(folder: Path, say: Say) -> Iterator[None]:
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that is installing {folder.name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
