"""Programs that only say what a test has them say, and the folders of a broker."""

from __future__ import annotations

from pathlib import Path

from groupproof.harness.subjects.processes.folders import Folders

__all__ = ["folders_in", "program"]


def program(folder: Path, name: str, script: str) -> None:
    """Put a shell script there as a program."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def folders_in(tmp_path: Path) -> Folders:
    made = Folders(data=tmp_path / "data", logs=tmp_path / "logs")
    made.data.mkdir()
    return made
