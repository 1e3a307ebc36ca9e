"""Examines the parts of the environment, and says how to get the missing ones.

It installs and changes nothing. A part is needed for some purpose; a missing one is an error only where certifying cannot work at all.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.registered_clients import RegisteredClient, registered
from groupproof.clients.registry.toolchains.by_language import TOOLCHAINS, toolchain_of
from groupproof.clients.registry.toolchains.programs import Tool
from groupproof.clients.registry.toolchains.toolchain import releases_in_cache
from groupproof.harness.running.extras import EXTRAS, absent, cure
from groupproof.harness.subjects.brokers.apache.broker_releases import releases
from groupproof.harness.subjects.brokers.apache.maven_kafka import is_fetched
from groupproof.harness.subjects.brokers.apache.zookeeper import zookeeper_at_hand, zookeeper_release
from groupproof.harness.subjects.brokers.kfake import GO_HINT, pinned
from groupproof.harness.subjects.java_for_spark import JAVA_MAX, JAVA_MIN, find_java
from groupproof.harness.subjects.processes.images import left
from groupproof.harness.subjects.spark_connector import connector, fetched_connector

__all__ = ["Part", "examine"]

_ANSWER_S = 15
_PYTHON_MIN = (3, 11)
_TOXIPROXY_IMAGES = ("ghcr.io/shopify/toxiproxy:2.12.0", "groupproof/toxiproxy:2.12.0")
_EXTRAS = {
    "fuzz": "drawing plans and histories (groupproof fuzz, groupproof diff --steps)",
    "chaos": "a Toxiproxy between members and brokers (groupproof chaos run --client, groupproof compare), and images",
    "pytest": "cases and fixtures in pytest",
}
_SPARK_REMEDY = f"{cure('spark')}; and a Java from {JAVA_MIN} to {JAVA_MAX} on PATH or in JAVA_HOME"
_ZOOKEEPER_REMEDY = f"{cure('zookeeper')}; and a Java with Maven, or with Debian's package zookeeper"
_TOXIPROXY_REMEDY = (
    f"{GO_HINT}; or put toxiproxy-server of the Toxiproxy project on PATH; or start a Docker engine that can pull {_TOXIPROXY_IMAGES[0]}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part: `found` describes it (None: missing), `needed_for` its purpose, `remedy` how to get it. `is_vital`: all else needs it."""

    name: str
    found: str | None
    needed_for: str
    remedy: str
    is_vital: bool = False


def examine() -> Iterator[Part]:
    """Yield each part as it is examined. Programs are asked for their versions, which may take a few seconds."""
    yield from _vital()
    yield from _clients()
    yield _program("docker", ("docker", "version", "--format", "{{.Server.Version}}"), needed_for="Apache Kafka by its official image, and containers",
                   remedy="install Docker and start its daemon (Debian: docker.io)")  # fmt: skip
    yield Part(name="leftovers", found=_leftovers(), needed_for="nothing: containers of runs that were killed", remedy="")
    yield from (Part(name=extra, found=_extra(extra), needed_for=needed_for, remedy=cure(extra)) for extra, needed_for in _EXTRAS.items())
    yield Part(name="toxiproxy", found=_toxiproxy(), needed_for="impaired ways on the wire (groupproof chaos)", remedy=_TOXIPROXY_REMEDY)
    yield Part(name="zookeeper", found=_zookeeper(), needed_for="consumers on ZooKeeper (groupproof compare)", remedy=_ZOOKEEPER_REMEDY)
    yield Part(name="spark", found=_spark(), needed_for="groupproof load and judging by Spark", remedy=_SPARK_REMEDY)
    yield Part(
        name="spark-kafka",
        found=_spark_kafka(),
        needed_for="Spark's own Kafka source: groupproof chaos spark",
        remedy="install Maven (Debian: maven)",
    )


def _vital() -> Iterator[Part]:
    running = platform.python_version()
    yield Part(
        name="python",
        found=f"{running}, {sys.executable}" if sys.version_info >= _PYTHON_MIN else None,
        needed_for="groupproof itself",
        remedy=f"run it by Python {'.'.join(map(str, _PYTHON_MIN))} or newer; this is {running}",
        is_vital=True,
    )
    cpus = os.cpu_count() or 1
    yield Part(name="processors", found=str(cpus), needed_for="running cases side by side", remedy="")
    yield Part(
        name="loopback",
        found=_loopback(),
        needed_for="the reference coordinator, which listens on 127.0.0.1",
        remedy="bring the loopback interface up, or allow listening on it",
        is_vital=True,
    )
    cache = default_cache()
    yield Part(
        name="cache",
        found=_writable(cache),
        needed_for="installing clients",
        remedy=f"make {cache} writable, or set GROUPPROOF_CACHE to a folder that is",
        is_vital=True,
    )


def _clients() -> Iterator[Part]:
    for tool in dict.fromkeys(tool for toolchain in TOOLCHAINS.values() for tool in toolchain.tools):
        yield Part(name=tool.name, found=_tool(tool), needed_for=tool.needed_for, remedy=tool.remedy)
    there = [f"{client.name} {', '.join(releases)}" for client in registered() if (releases := _cached(client))]
    yield Part(name="clients", found="; ".join(there) or "none installed yet", needed_for="certify client", remedy="")
    yield Part(name="brokers", found=", ".join(_brokers()) or "none installed yet", needed_for="certify coordinator", remedy="")


def _tool(tool: Tool) -> str | None:
    """Return the version output of a toolchain's program, and its path."""
    path = tool.path()
    return path if path is None or not tool.version else _answer((path, *tool.version))


def _program(name: str, argv: tuple[str, ...], *, needed_for: str, remedy: str) -> Part:
    return Part(name=name, found=_answer(argv), needed_for=needed_for, remedy=remedy)


def _leftovers() -> str:
    containers = left()
    return f"{', '.join(containers)}; the next run with containers removes them" if containers else "none"


def _toxiproxy() -> str | None:
    """Return the Toxiproxy that a run would use: the image, the program on PATH, a cached build, or one that Go can build."""
    image = next(
        (
            toxiproxy_image
            for toxiproxy_image in _TOXIPROXY_IMAGES
            if _answer(("docker", "image", "inspect", "--format", "{{.Id}}", toxiproxy_image)) is not None
        ),
        None,
    )
    if image is not None:
        return f"image {image}"
    built = next(iter(sorted(default_cache().glob("go/toxiproxy-*/server"))), None)
    if (on_path := _answer(("toxiproxy-server", "--version"))) is not None or built is None:
        return on_path or ("built by Go when it is first needed" if shutil.which("go") is not None else None)
    return f"built by Go, {built}"


def _extra(name: str) -> str | None:
    """Return the extra's packages; None where one is missing."""
    return None if absent(name) else ", ".join(EXTRAS[name])


def _zookeeper() -> str | None:
    """Return the ZooKeeper that a run would use, with its client; None where either is missing."""
    if absent("zookeeper"):
        return None
    client = f"kazoo {metadata.version('kazoo')}"
    can_fetch = all(shutil.which(name) for name in ("java", "mvn"))
    server = zookeeper_at_hand(default_cache()) or (f"{zookeeper_release()}, fetched by Maven when it is first needed" if can_fetch else None)
    return f"{server}; {client}" if server is not None else None


def _spark() -> str | None:
    """Return PySpark's release with the Java that it would use; None where either is missing."""
    java = find_java()
    return None if java is None or absent("spark") else f"PySpark {metadata.version('pyspark')} on Java {java.release}, {java.home}"


def _spark_kafka() -> str | None:
    """Return the folder of the connector's jars, or that Maven can fetch them; None where neither is possible."""
    folder = fetched_connector(default_cache())
    if folder is not None:
        return f"{connector()}, {folder}"
    return f"{connector()}, fetched by Maven when they are first needed" if shutil.which("mvn") is not None else None


def _answer(argv: tuple[str, ...], run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run) -> str | None:
    """Return the first line of the program's output and its path, or None when it is missing or does not work."""
    path = shutil.which(argv[0])
    if path is None:
        return None
    try:
        done = run(argv, capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return f"{lines[0]}, {path}" if done.returncode == 0 and lines else None


def _loopback() -> str | None:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=1).close()
    except OSError:
        return None
    return "127.0.0.1"


def _writable(folder: Path) -> str | None:
    """Return the path of `folder`, which may not exist yet, if it is writable; otherwise None."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return str(folder)
    except OSError:
        return None


def _brokers() -> list[str]:
    """Return the installed coordinators."""
    cache = default_cache()
    kafka = [f"apache-kafka@{release}" for release in releases().numbers if is_fetched(release, cache)]
    return kafka + (["kfake"] if any(cache.glob(f"go/kfake-{pinned()}-*")) else [])


def _cached(client: RegisteredClient) -> list[str]:
    """Return the installed releases of a client."""
    return [] if client.shim is None else releases_in_cache(toolchain_of(client.language).stem(client), default_cache())
