"""The pages of the site that are made while it is built: the public matrix and the history of each client, from `docs/matrix/matrix.json` (a hook of MkDocs)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from groupproof.harness.reports.matrix_file import MATRIX_JSON
from groupproof.harness.reports.pages.history import HISTORY, courses_of, history_page
from groupproof.harness.reports.pages.matrix import MATRIX, matrix_page, read_columns

__all__ = ["on_files", "pages"]


def pages(source: Path) -> Mapping[str, str]:
    """Return `matrix.html` (the newest release of each subject) and `history.html` (all releases), from the matrix file `source`."""
    return {
        MATRIX: matrix_page(read_columns([source], source.parent, newest=True)),
        HISTORY: history_page(courses_of(read_columns([source], source.parent))),
    }


def on_files(files: Files, *, config: Any) -> Files:
    """Add them to the files that MkDocs builds, beside the matrix file."""
    for name, text in pages(Path(config["docs_dir"]) / "matrix" / MATRIX_JSON).items():
        files.append(File.generated(config, f"matrix/{name}", content=text))
    return files
