"""From a registered client to a command line: install the release into the cache, build its shim, say how to run it.

What is in the cache already costs milliseconds and no network. Errors are of two kinds: the environment's (`ProvisionError`: no Java,
no network) and wrong usage (`UnknownClient`, `WrongPairing`).
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import groupproof
from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.installers import NoSuchRelease, compile_java, copy_artifacts, install_wheels, java_release, java_tool
from groupproof.clients.registry.registered_clients import Argument, Registered, UnknownClient, WrongPairing, nearest_releases

__all__ = ["Launch", "ProvisionError", "level0_arguments", "provision"]

SHIMS = Path(str(files("groupproof.clients"))) / "shims"

# A member's JVM lives for seconds and is one of many: quick to start and small beats fast.
JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx512m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start a client's shim. `env` is added to the kit's own environment; `level` and `multi` are the contract's.

    One process carries up to `members_max` members. At level 0 `arguments` are what `level0_arguments` needs to complete the command line for one member.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    level: int = 1
    multi: bool = False
    members_max: int = 1
    arguments: tuple[Argument, ...] = ()


def provision(client: Registered, cache: Path, say: Say) -> Launch:
    """Install what `client` needs under `cache` unless it is there, and return how to start it.

    `say` gets a line before each thing that takes time. Raise `ProvisionError` (environment), `WrongPairing` (another Python or JDK is
    needed) or `UnknownClient` (the package registry has no such release).
    """
    if client.shim is None:
        return _reference(client)
    if client.language == "java":
        return _java(client, cache, say)
    return _python(client, cache, say)


def level0_arguments(arguments: Iterable[Argument], fields: Mapping[str, Any]) -> list[str]:
    """Return the arguments that carry the fields of `subscribe` to a level-0 program; fields that are None or False are left out."""
    made: list[str] = []
    for argument in arguments:
        value = fields.get(argument.field)
        if value is None or value is False:
            continue
        items = [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
        for item in items if argument.repeat else [",".join(items)]:
            made += [argument.option, argument.value.format(item)] if argument.value else [argument.option]
    return made


def _reference(client: Registered) -> Launch:
    roots = [str(Path(portion).parent) for portion in groupproof.__path__]
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([*roots, inherited] if inherited else roots)
    argv = (sys.executable, "-m", "groupproof.clients.shims.reference")
    return Launch(argv=argv, env={"PYTHONPATH": path}, level=client.level, multi=client.multi, members_max=client.members_max)


def _python(client: Registered, cache: Path, say: Say) -> Launch:
    environment, running = client.environment, platform.python_version()
    if not environment.pythons.contains(running, prereleases=True):
        raise WrongPairing(f"{client} needs Python {environment.pythons}, this is {running}: make the kit's environment with such a Python")
    requires = client.requires()
    tag = f"{sys.implementation.cache_tag}-{platform.system()}-{platform.machine()}".lower()

    def build(folder: Path) -> None:
        say(f"installing {' '.join(requires)}")
        with _release_must_exist(client):
            install_wheels(requires, folder)

    site = entry(cache, f"python/{client.package}-{client.release}-{tag}-{_digest(requires)}", build, say)
    # -S keeps the kit's own packages out: the client sees its release, the pins beside it, and nothing else.
    argv = (sys.executable, "-S", str(SHIMS / str(client.shim)))
    env = {"PYTHONPATH": str(site), "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1"}
    return Launch(argv=argv, env=env, level=client.level, multi=client.multi, members_max=client.members_max, arguments=client.arguments)


def _java(client: Registered, cache: Path, say: Say) -> Launch:
    environment, jdk = client.environment, java_release()
    if not environment.java.contains(jdk):
        raise WrongPairing(f"{client} and its shim need Java {environment.java}, this is {jdk}: put such a JDK on PATH, or name it in JAVA_HOME")
    artifacts, source = client.artifacts(), SHIMS / str(client.shim)

    def fetch(folder: Path) -> None:
        say(f"fetching {' '.join(artifacts)}")
        with _release_must_exist(client):
            copy_artifacts(artifacts, folder)

    jars = entry(cache, f"java/kafka-clients-{client.release}-{_digest(artifacts)}", fetch, say)

    def build(folder: Path) -> None:
        say(f"compiling the shim of {client}")
        compile_java(source, jars, folder)

    digest = _digest([jdk, source.read_text("utf-8"), *artifacts])
    classes = entry(cache, f"java/shim-{client.release}-{digest}", build, say)
    path = os.pathsep.join([str(classes), f"{jars}{os.sep}*"])
    argv = (java_tool("java"), *JVM_OPTIONS, "-cp", path, source.stem)
    return Launch(argv=argv, level=client.level, multi=client.multi, members_max=client.members_max)


@contextmanager
def _release_must_exist(client: Registered) -> Iterator[None]:
    try:
        yield
    except NoSuchRelease as missing:
        if client.is_listed:
            raise ProvisionError(f"{client} can't be had here: the package registry has no {missing} for this platform") from missing
        offered = f"; the registry's last are {', '.join(missing.offered[-3:])}" if missing.offered else ""
        near = ", ".join(nearest_releases(client))
        raise UnknownClient(f"{client.name} has no release {client.release}; the nearest known are {near}{offered}") from missing


def _digest(parts: Iterable[str]) -> str:
    """Return what tells two recipes apart in a folder's name."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]
