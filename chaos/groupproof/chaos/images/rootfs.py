"""Collects the files that local programs need in an image built from scratch: themselves, and the libraries that the loader finds for them."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from groupproof.harness.model.errors import BrokenEnvironment

__all__ = ["RootFs", "libraries_of"]

_LDD_S: Final = 60
_FOUND: Final = re.compile(r"(?:=> )?(/\S+) \(0x")
_USER: Final = "root:x:0:0:root:/:/bin/sh\ngroupproof:x:1000:1000:groupproof:/tmp:/bin/sh\n"


def libraries_of(files: Iterable[Path]) -> list[Path]:
    """Return the libraries that the loader needs for `files`, with the paths where it finds them. Files that are no program need none.

    Raise `BrokenEnvironment` where there is no ldd.
    """
    try:
        done = subprocess.run(["ldd", *map(str, files)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LDD_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrokenEnvironment(f"the libraries of a program can't be found: {error}; images are built on a Linux with ldd") from error
    return sorted({Path(found[1]) for line in done.stdout.splitlines() if (found := _FOUND.search(line)) is not None})


class RootFs:
    """A tar of files at their places in an image, with a user (1000) and a /tmp for it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._places: dict[str, Path] = {}
        self._texts: dict[str, str] = {"etc/passwd": _USER, "etc/group": "root:x:0:\ngroupproof:x:1000:\n"}

    def add(self, source: Path, place: str | None = None, *, wanted: Callable[[Path], bool] = lambda _: True) -> None:
        """Add a file, or the `wanted` files of a folder, at `place`, by default the same path; links become their targets."""
        place = (place or str(source)).strip("/")
        if not source.is_dir():
            self._places[place] = source
            return
        for folder, names, files in os.walk(source, followlinks=True):
            names[:] = [name for name in names if wanted(Path(folder, name))]
            for path in (Path(folder, name) for name in files):
                if wanted(path):
                    self._places[f"{place}/{path.relative_to(source)}"] = path

    def add_libraries(self) -> None:
        """Add the libraries that the added programs and libraries need."""
        programs = [place for place in self._places.values() if place.suffix == ".so" or ".so." in place.name or os.access(place, os.X_OK)]
        for library in libraries_of(programs):
            self.add(library)

    def write(self) -> None:
        with tarfile.open(self._file, "w") as tar:
            folder = tarfile.TarInfo("tmp")
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(folder)
            for place, text in self._texts.items():
                self._add_text(tar, place, text)
            for place, source in sorted(self._places.items()):
                tar.add(source.resolve(), arcname=place, recursive=False, filter=_of_root)

    @staticmethod
    def _add_text(tar: tarfile.TarFile, place: str, text: str) -> None:
        entry = tarfile.TarInfo(place)
        entry.size, entry.mode = len(text.encode()), 0o644
        tar.addfile(entry, io.BytesIO(text.encode()))


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode |= 0o444 | (0o111 if entry.mode & 0o100 else 0)
    return entry
