"""The libraries for authors of shims: for each language a folder that its package manager installs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from groupproof.clients.registry.toolchains.toolchain import SHIMS

__all__ = ["LIBRARIES"]

LIBRARIES: Final[Mapping[str, Path]] = {
    "c": SHIMS / "c" / "groupproof",
    "go": SHIMS / "go" / "groupproof",
    "node": SHIMS / "node" / "groupproof",
    "java": SHIMS / "java" / "groupproof",
    "python": SHIMS / "python",
    "rust": SHIMS / "rust" / "groupproof",
}
