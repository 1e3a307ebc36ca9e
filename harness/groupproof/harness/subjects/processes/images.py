"""Whether a container engine runs here, and has an image or can pull it; and how the containers of the kit are run and removed."""

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
"""The variable by which a user chooses between containers ("docker") and processes of this machine ("local"); unset, whichever is at hand."""

LABEL: Final = "groupproof.pid"
"""The label of each container that a run makes; its value is the number of the run's process."""

PLACE: Final = "groupproof.place"
"""The label that says where that number means something: kits in containers of their own may share an engine."""

_ENGINE_S: Final = 15
_PULL_S: Final = 300
_REMOVED_S: Final = 60


def wants_containers() -> bool | None:
    """Return what the user chose, None where they did not; raise `WrongUsage` for another word."""
    chosen = os.environ.get(PROVIDER, "")
    if chosen not in ("", "docker", "local"):
        raise WrongUsage(f"{PROVIDER}={chosen}: say docker, or local, or leave it unset for whichever is at hand")
    return None if chosen == "" else chosen == "docker"


def has_engine() -> bool:
    """Tell whether a container engine answers, and a docker program to ask it."""
    return shutil.which("docker") is not None and _succeeds("docker", "version", "--format", "{{.Server.Version}}", within_s=_ENGINE_S)


def has_image(name: str, say: Say, *, pulls: bool) -> bool:
    """Tell whether the image is here, pulled where `pulls` allows it; False where there is no engine, or no way to the image."""
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
    """Return the guarded command that runs a container called `name` on the host's network; `image` is followed by its program's arguments.

    The container goes when the guard ends, and not before, so that it can be killed and started again with what it wrote. Then `remove` is deleted.
    """
    labels = ("--label", f"{LABEL}={os.getpid()}", "--label", f"{PLACE}={place()}")
    run = ("docker", "run", "--name", name, *labels, "--network", "host", *options, *image)
    orders = {"pause": ("docker", "pause", name), "resume": ("docker", "unpause", name), "kill": ("docker", "kill", name)}
    after = [("docker", "rm", "--force", "--volumes", name)]
    return guarded(run, remove=remove, after=after, again=("docker", "start", "--attach", name), orders=orders)


def place() -> str:
    """Return the host with the namespace of its processes, where there are such."""
    try:
        return f"{platform.node()}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def owned() -> dict[str, int]:
    """Return the containers that runs of this place have made, by name, each with the number of the process that it belongs to."""
    filters = ("--filter", f"label={LABEL}", "--filter", f"label={PLACE}={place()}")
    argv = ("docker", "ps", "--all", *filters, "--format", f'{{{{.Label "{LABEL}"}}}} {{{{.Names}}}}')
    rows = (line.split(maxsplit=1) for line in _output_of(*argv, within_s=_ENGINE_S).splitlines())
    return {name: int(pid) for pid, name in rows}


def left() -> list[str]:
    """Return the containers of runs that are over: whose kit, guard and warden were all killed."""
    return [name for name, pid in owned().items() if not _runs(pid)]


def sweep(say: Say) -> None:
    """Remove the containers of runs that are over, and tell of each; those of runs that go on stay."""
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
