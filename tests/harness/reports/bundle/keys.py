"""SSH keys for a test."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["key"]


def key(folder: Path, name: str, *, passphrase: str = "") -> Path:
    """Return a private key, made anew; its public key lies beside it."""
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", str(path)], check=True)
    return path
