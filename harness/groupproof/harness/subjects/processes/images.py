"""Checks for a container engine and its images, and runs and removes the kit's containers."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import Say
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.processes.broker_process import guarded

__all__ = ["LABEL", "PLACE", "PROVIDER", "contained", "has_engine", "has_image", "left", "owned", "place", "sweep", "wants_containers"]

PROVIDER: Final = "GROUPPROOF_PROVIDER"
"""The variable that selects containers ("docker") or local processes ("local"). Unset: whichever is available."""

LABEL: Final = "groupproof.pid"
"""The label of each container of a run. Its value is the pid of the run's process."""

PLACE: Final = "groupproof.place"
"""The label that says where that pid is valid: kits in different containers may share an engine."""

_ENGINE_S: Final = 15
_PULL_S: Final = 300
_REMOVED_S: Final = 60


def wants_containers() -> bool | None:
    """Return the user's choice, or None. Raise `WrongUsage` for another word."""
    chosen = os.environ.get(PROVIDER, "")
    if chosen not in ("", "docker", "local"):
        raise WrongUsage(f"{PROVIDER}={chosen}: say docker, or local, or leave it unset to use what is available")
    return None if chosen == "" else chosen == "docker"


def has_engine() -> bool:
    """Return whether a container engine answers, and a docker program exists to call it."""
    return shutil.which("docker") is not None and _succeeds("docker", "version", "--format", "{{.Server.Version}}", within_s=_ENGINE_S)


def has_image(name: str, say: Say, *, pulls: bool) -> bool:
    """Return whether the image is present, pulled if `pulls` allows it. Return False without an engine, or where the pull fails."""
    if not has_engine():
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


def contained(name: str, image: Sequence[str], *, options: Sequence[str] = (), remove: Sequence[Path] = ()) -> tuple[str, ...]:
    """Return the guarded command that runs a container called `name` on the host's network. `image` is followed by its program's arguments.

    The container is removed only when the guard ends, so that it can be killed and restarted with its data. Then the paths in `remove` are deleted.
    """
    labels = ("--label", f"{LABEL}={os.getpid()}", "--label", f"{PLACE}={place()}")
    run = ("docker", "run", "--name", name, *labels, "--network", "host", *options, *image)
    orders = {"pause": ("docker", "pause", name), "resume": ("docker", "unpause", name), "kill": ("docker", "kill", name)}
    after = [("docker", "rm", "--force", "--volumes", name)]
    return guarded(run, remove=remove, after=after, again=("docker", "start", "--attach", name), orders=orders)


def place() -> str:
    """Return the host name, with the namespace of its processes if there is one."""
    try:
        return f"{platform.node()}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def owned() -> dict[str, int]:
    """Return the containers of runs at this place, by name, each with the pid of its run."""
    filters = ("--filter", f"label={LABEL}", "--filter", f"label={PLACE}={place()}")
    argv = ("docker", "ps", "--all", *filters, "--format", f'{{{{.Label "{LABEL}"}}}} {{{{.Names}}}}')
    rows = (line.split(maxsplit=1) for line in _output_of(*argv, within_s=_ENGINE_S).splitlines())
    return {name: int(pid) for pid, name in rows}


def left() -> list[str]:
    """Return the containers of runs that are over: their kit, guard and reaper were all killed."""
    return [name for name, pid in owned().items() if not _runs(pid)]


def sweep(say: Say) -> None:
    """Remove the containers of runs that are over, and report each. Those of active runs stay."""
    for name in left():
        if _succeeds("docker", "rm", "--force", "--volumes", name, within_s=_REMOVED_S):
            say(f"removed {name}, a container that a killed run had left")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _output_of(*argv: str, within_s: float) -> str:
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=within_s, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _succeeds(*argv: str, within_s: float) -> bool:
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=within_s, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
