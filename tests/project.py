"""Where the project is, for tests that read its own files: they need not count the folders above them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["ROOT"]

ROOT: Final = Path(__file__).parents[1]
