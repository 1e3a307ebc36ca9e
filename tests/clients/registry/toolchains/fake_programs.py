"""Programs that stand for the real ones, as scripts of the shell."""

from __future__ import annotations

from pathlib import Path

__all__ = ["fake_program"]


def fake_program(path: Path, script: str) -> Path:
    """Write a program whose body is `script`, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
