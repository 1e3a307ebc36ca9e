"""Python: pip or uv installs wheels into a folder. The shim is a script and needs no build."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.registered_clients import RegisteredClient
from groupproof.clients.registry.toolchains.programs import NoSuchRelease, Tool, last_words, run
from groupproof.clients.registry.toolchains.toolchain import SHIMS, StartCommand, digest, refuse_other_runtimes

__all__ = ["PythonWheels", "install_wheels"]

# The first process of a release stores its bytecode in the cache. A run starts a dozen, and kafka-python's 1.5 MB take a second to compile.
_ENV: Final = {"PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": ""}


class PythonWheels:
    """The toolchain for Python. A release is a folder of wheels for this interpreter and platform."""

    def __init__(self) -> None:
        self.tools: tuple[Tool, ...] = (
            Tool(
                name="installer",
                program="pip",
                needed_for="Python clients",
                remedy=f"install uv, or pip into this environment: {sys.executable} -m ensurepip",
                version=(),
                find=_installer,
            ),
        )

    def stem(self, client: RegisteredClient) -> str:
        return f"python/{client.package}"

    def install(self, client: RegisteredClient, cache: Path, say: Say) -> Path:
        refuse_other_runtimes(client, running=platform.python_version(), title="Python", cure="make the kit's environment with such a Python")
        pins = client.pins()
        tag = f"{sys.implementation.cache_tag}-{platform.system()}-{platform.machine()}".lower()

        def install(folder: Path) -> None:
            say(f"installing {' '.join(pins)}")
            install_wheels(pins, folder, sources=client.environment.sources)

        return entry(cache, f"{self.stem(client)}-{client.release}-{tag}-{digest(pins)}", install, say)

    def build(self, client: RegisteredClient, installed: Path, cache: Path, say: Say) -> Path:
        return SHIMS

    def start(self, client: RegisteredClient, installed: Path, built: Path) -> StartCommand:
        # -S hides the kit's own packages: the client can import only its release and the pins beside it.
        argv = (sys.executable, "-S", str(built / str(client.shim)))
        return StartCommand(argv=argv, env={"PYTHONPATH": str(installed), **_ENV})


def install_wheels(requires: Sequence[str], folder: Path, *, sources: Sequence[str] = ()) -> None:
    """Install pinned requirements into `folder` without their dependencies. Those named in `sources` have no wheels and are built.

    Raise `NoSuchRelease` or `ProvisionError`.
    """
    built = [part for name in sources for part in ("--no-binary", name)]
    done = run([*_pip(), "--target", str(folder), "--no-deps", "--only-binary", ":all:", *built, *requires], env={"PIP_USER": "0"})
    if done.returncode == 0:
        return
    missing = re.search(r"No matching distribution found for (\S+)|no version of (\S+)", done.stderr)
    offered = re.search(r"\(from versions: ([^)]*)\)", done.stderr)
    listed = [] if offered is None or offered[1] == "none" else offered[1].split(", ")
    if missing is not None and (listed or missing[2]):
        raise NoSuchRelease(missing[1] or missing[2], listed)
    raise ProvisionError(f"{' '.join(requires)} could not be installed: {last_words(done.stderr)}; is the package index reachable?")


def _installer() -> str | None:
    """Return the installer's command: pip of this environment, otherwise uv."""
    return f"{sys.executable} -m pip" if importlib.util.find_spec("pip") is not None else _uv()


def _uv() -> str | None:
    beside = str(Path(sys.executable).parent)
    return shutil.which("uv", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-input", "--no-compile"]
    uv = _uv()
    if uv is None:
        raise ProvisionError(f"neither pip nor uv is there to install a client: {sys.executable} -m ensurepip brings pip")
    return [uv, "--quiet", "pip", "install", "--python", sys.executable]
