"""A Toxiproxy server for the run: the official image where an engine has it, a program on PATH, or one that Go builds into the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupproof.chaos.wire.toxiproxy import Toxiproxy
from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.ports import LOOPBACK, reserve_port
from groupproof.harness.subjects.processes.broker_process import BrokerProcess, Command, guarded
from groupproof.harness.subjects.processes.folders import folders
from groupproof.harness.subjects.processes.images import contained, has_image, sweep, wants_containers

__all__ = ["IMAGE", "OWN_IMAGE", "RELEASE", "Program", "build_toxiproxy", "provision_toxiproxy", "running_toxiproxy", "toxiproxy_at_hand"]

RELEASE: Final = "2.12.0"
IMAGE: Final = f"ghcr.io/shopify/toxiproxy:{RELEASE}"
OWN_IMAGE: Final = f"groupproof/toxiproxy:{RELEASE}"
"""The image that `make images` builds where the official one is not available."""
_MODULE: Final = f"github.com/Shopify/toxiproxy/v2/cmd/server@v{RELEASE}"
_KEY: Final = f"go/toxiproxy-{RELEASE}"
_BUILD_S: Final = 600
_HINT: Final = "install Go (https://go.dev/dl), put toxiproxy-server on PATH, or start a Docker engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The command line of the server, and its provider."""

    argv: tuple[str, ...]
    provided_by: str
    container: str | None = None

    def command(self, port: int, seed: int, log: Path) -> Command:
        """Return the command that serves the API on `port`; `seed` decides toxicity and jitter. The server ends with its standard input."""
        flags = ("-host", LOOPBACK, "-port", str(port), "-seed", str(seed), "-proxy-metrics")
        if self.container is None:
            return Command(title="toxiproxy", argv=guarded((*self.argv, *flags)), log=log)
        name = f"{self.container}-{port}"
        return Command(title="toxiproxy", argv=contained(name, [*self.argv, *flags]), log=log)


def provision_toxiproxy(cache: Path, say: Say, *, pulls: bool = True) -> Program:
    """Return the first that is there: the official image, `toxiproxy-server` on PATH, an earlier build; otherwise pull the image, or build.

    Where the user wants containers, use only the image, or one built locally. Raise `BrokenEnvironment`.
    """
    chosen = wants_containers()
    images = {None: (IMAGE,), True: (IMAGE, OWN_IMAGE), False: ()}[chosen]
    for image in images:
        if has_image(image, say, pulls=False):
            return _contained(image, say)
    if not chosen and (at_hand := _at_hand(cache)) is not None:
        return at_hand
    if images and pulls and has_image(IMAGE, say, pulls=True):
        return _contained(IMAGE, say)
    if chosen:
        raise BrokenEnvironment("there is no image of Toxiproxy here: start a container engine that can pull it, or build one with `make images`")
    return _built(build_toxiproxy(cache, say))


def _contained(image: str, say: Say) -> Program:
    sweep(say)
    return Program(argv=(image,), provided_by=f"docker ({image})", container="groupproof-toxiproxy")


def _built(server: Path) -> Program:
    return Program(argv=(str(server),), provided_by=f"go (toxiproxy {RELEASE})")


def toxiproxy_at_hand(cache: Path) -> Program | None:
    """Return a Toxiproxy that needs no pulling or building: the program, or an image where the engine has one or containers are wanted; else None."""
    at_hand = None if wants_containers() else _at_hand(cache)
    images = () if wants_containers() is False else (IMAGE, OWN_IMAGE)
    image = next((image for image in images if at_hand is None and has_image(image, lambda _: None, pulls=False)), None)
    return _contained(image, lambda _: None) if image is not None else at_hand


def _at_hand(cache: Path) -> Program | None:
    on_path = shutil.which("toxiproxy-server")
    if on_path is not None:
        return Program(argv=(on_path,), provided_by=f"PATH ({on_path})")
    server = cache / _KEY / "server"
    return _built(server) if server.is_file() else None


def build_toxiproxy(cache: Path, say: Say) -> Path:
    """Return the server that Go builds, from the cache if possible; raise `BrokenEnvironment`."""
    try:
        return entry(cache, _KEY, lambda folder: _build(folder, say), say) / "server"
    except ProvisionError as error:
        raise BrokenEnvironment(str(error)) from error


@asynccontextmanager
async def running_toxiproxy(program: Program, *, cache: Path, logs: Path | None = None, seed: int = 0) -> AsyncIterator[Toxiproxy]:
    """Run the server while the context lasts; raise `BrokenEnvironment` where it does not come up."""
    port = reserve_port()
    with folders("toxiproxy", cache=cache, logs=logs) as own:
        process = await BrokerProcess.start(program.command(port, seed, own.logs / "toxiproxy.log"))
        try:
            server = Toxiproxy(LOOPBACK, port)
            try:
                await server.version(lambda: process.status is not None)
            except BrokenEnvironment as error:
                raise BrokenEnvironment(process.death() or f"{error} (log: {process.log})") from error
            yield server
        finally:
            await process.kill()


def _build(folder: Path, say: Say) -> None:
    go = shutil.which("go")
    if go is None:
        raise ProvisionError(f"no Toxiproxy is here, and no go on PATH to build it with: {_HINT}")
    say(f"building toxiproxy {RELEASE}")
    env = {**os.environ, "CGO_ENABLED": "0", "GOBIN": str(folder)}
    try:
        done = subprocess.run(
            [go, "install", _MODULE], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_BUILD_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ProvisionError(f"go install of toxiproxy took longer than {_BUILD_S} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.strip().splitlines() if not line.startswith("go: downloading")][-3:]
        raise ProvisionError(f"toxiproxy could not be built: {' | '.join(lines)[:400]}; is the Go module proxy reachable? ({_HINT})")
