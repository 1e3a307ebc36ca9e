"""The local container engine, which builds images. The only importer of docker.

The docker program runs brokers, Toxiproxy and clients in containers, under a guard of the kit's own (`subjects/processes/guard.py`). The guard
pauses, kills, restarts and removes them, even when the kit was killed. If the guard was killed too, the next run with containers removes the remains
(`sweep` of `subjects/processes/images.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.errors import APIError, BuildError, DockerException

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.processes.images import has_engine

__all__ = ["Engine", "engine"]

_CALL_S = 60
_BUILD_S = 600
_HINT = "install Docker and start its daemon (Debian: apt-get install docker.io, then dockerd --bridge=none --iptables=false)"


class Engine:
    """A container engine that answers; `version` is the engine's."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._client = client
        self.version: str = client.version()["Version"]

    def has(self, image: str) -> bool:
        try:
            self._client.images.get(image)
        except docker.errors.ImageNotFound:
            return False
        return True

    def build(self, image: str, context: Path) -> None:
        """Build the Dockerfile of a folder; raise `BrokenEnvironment` with the last lines of the engine's output."""
        try:
            self._client.images.build(path=str(context), tag=image, rm=True, forcerm=True, timeout=_BUILD_S)
        except BuildError as error:
            lines = [line["stream"].strip() for line in error.build_log if line.get("stream", "").strip()][-2:]
            raise BrokenEnvironment(f"{image} can't be built: {error.msg}; {' | '.join(lines)}") from error
        except (APIError, OSError) as error:
            raise BrokenEnvironment(f"{image} can't be built: {error}") from error


@contextmanager
def engine() -> Iterator[Engine]:
    """Connect to the engine; raise `BrokenEnvironment` where none answers."""
    if not has_engine():
        raise BrokenEnvironment(f"no container engine answers: {_HINT}")
    try:
        client = docker.from_env(timeout=_CALL_S)
    except DockerException as error:
        raise BrokenEnvironment(f"the container engine does not work: {error}; {_HINT}") from error
    try:
        yield Engine(client)
    except (DockerException, OSError) as error:
        raise BrokenEnvironment(f"the container engine does not work: {error}; {_HINT}") from error
    finally:
        client.close()
