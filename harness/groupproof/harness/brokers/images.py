"""Whether a container engine runs here, and has an image or can pull it."""

from __future__ import annotations

import shutil
import subprocess
from typing import Final

from groupproof.clients.store import Say

__all__ = ["has_image"]

_ENGINE_S: Final = 15
_PULL_S: Final = 300


def has_image(name: str, say: Say, *, pulls: bool) -> bool:
    """Tell whether the image is here, pulled where `pulls` allows it; False where there is no engine, or no way to the image."""
    if shutil.which("docker") is None or not _succeeds("docker", "version", "--format", "{{.Server.Version}}", within_s=_ENGINE_S):
        return False
    if _succeeds("docker", "image", "inspect", name, within_s=_ENGINE_S):
        return True
    if not pulls:
        return False
    say(f"pulling {name}")
    if _succeeds("docker", "pull", "--quiet", name, within_s=_PULL_S):
        return True
    say(f"{name} can't be pulled here")
    return False


def _succeeds(*argv: str, within_s: float) -> bool:
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=within_s, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
