"""The folder for a report, a matrix or a trace: each file is written whole or not at all, and never over files of others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.report_paths import CASES

__all__ = ["MARK", "check_folder", "check_output", "write_text"]

MARK: Final = "README.txt"
"""The file that marks a folder of cases as one that a report has written."""


def check_output(output: Path) -> None:
    """Create the folder. Raise `BrokenEnvironment` when a report cannot be written there. Called before a run, so that the run is not wasted."""
    with check_folder(output), tempfile.NamedTemporaryFile(dir=output, prefix=".groupproof-"):
        _check_cases(output)


def write_text(path: Path, text: str) -> None:
    """Write a file through a temporary one beside it, so that nobody ever reads half of it."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="surrogateescape", newline="", dir=path.parent, prefix=".groupproof-", delete=False
    ) as file:
        try:
            file.write(text)
            file.flush()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(file.name)
            raise


@contextmanager
def check_folder(output: Path) -> Iterator[None]:
    """Create the folder for the body, and turn errors of the file system into `BrokenEnvironment`, one line for a person."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename and str(error.filename) != str(output) else ""
        raise BrokenEnvironment(f"can't write the report to {output}{where}: {error.strerror or error}; choose another --output") from error


def _check_cases(output: Path) -> None:
    """Refuse a folder `cases` that no report has written, because it would be replaced."""
    cases = output / CASES
    if cases.exists() and not (cases / MARK).is_file():
        raise BrokenEnvironment(f"{cases} was not written by groupproof, and a report would replace it; choose another --output")
