"""The folder that a report, a matrix or a trace is written to: each file whole or not at all, and never over what is not a report's."""

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
"""The file by which the folder of a report's cases is known as one that a report has written."""


def check_output(output: Path) -> None:
    """Make the folder, and raise `BrokenEnvironment` when a report can't be written there: before a run rather than after it."""
    with check_folder(output), tempfile.NamedTemporaryFile(dir=output, prefix=".groupproof-"):
        _check_cases(output)


def write_text(path: Path, text: str) -> None:
    """Write a file by way of a temporary one beside it, so that nobody ever sees half of it."""
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
    """Make the folder for the body, and turn what the file system has to say meanwhile into `BrokenEnvironment`, one line for a person."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename and str(error.filename) != str(output) else ""
        raise BrokenEnvironment(f"can't write the report to {output}{where}: {error.strerror or error}; choose another --output") from error


def _check_cases(output: Path) -> None:
    """Refuse a folder `cases` that no report has written: it would be replaced."""
    cases = output / CASES
    if cases.exists() and not (cases / MARK).is_file():
        raise BrokenEnvironment(f"{cases} was not written by groupproof, and a report would replace it; choose another --output")
