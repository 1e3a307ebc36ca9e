"""The names of a certificate's files, their order, and the limits of their sizes. Pure."""

from __future__ import annotations

from typing import Final

__all__ = ["EXPECTATIONS", "FILES_MAX", "FILE_BYTES_MAX", "MANIFEST", "REPORT", "SIGNATURE", "TOTAL_BYTES_MAX", "rank"]

MANIFEST: Final = "manifest.json"
SIGNATURE: Final = "manifest.json.sig"
REPORT: Final = "report.json"
EXPECTATIONS: Final = "expectations"

FILES_MAX: Final = 20_000
FILE_BYTES_MAX: Final = 64 * 1024 * 1024
TOTAL_BYTES_MAX: Final = 2 * 1024 * 1024 * 1024
"""A run of all client cases is 20 MB in 200 files, one of a broker 30 MB in 600. The kit never packs anything far beyond that."""

_FIRST: Final = (MANIFEST, SIGNATURE, REPORT)


def rank(name: str) -> tuple[int, str]:
    """Return the sort key of a file. Files that say how to read the others come first."""
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)
