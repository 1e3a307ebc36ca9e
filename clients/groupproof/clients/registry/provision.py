"""Turns a registered client into a command line: installs the release into the cache, builds its shim, and returns how to run it.

A cached client takes milliseconds and no network. There are two kinds of errors: the environment's (`ProvisionError`: no Java,
no network) and wrong usage (`UnknownClient`, `WrongPairing`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import groupproof
from groupproof.clients.registry.install_cache import ProvisionError, Say
from groupproof.clients.registry.registered_clients import Argument, RegisteredClient, UnknownClient, nearest_releases
from groupproof.clients.registry.toolchains.by_language import toolchain_of
from groupproof.clients.registry.toolchains.programs import NoSuchRelease

__all__ = ["Launch", "ProvisionError", "level0_arguments", "provision"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start a client's shim. `env` is added to the kit's own environment. `level` and `multi` are the contract's.

    One process runs up to `members_max` members. At level 0, `level0_arguments` uses `arguments` to complete the command line of one member.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    level: int = 1
    multi: bool = False
    members_max: int = 1
    arguments: tuple[Argument, ...] = ()


def provision(client: RegisteredClient, cache: Path, say: Say) -> Launch:
    """Install what `client` needs under `cache`, unless it is there. Return how to start it.

    `say` gets a line before each slow step. Raise `ProvisionError` (environment), `WrongPairing` (another Python or JDK is
    needed) or `UnknownClient` (the package registry has no such release).
    """
    if client.shim is None:
        return _reference(client)
    toolchain = toolchain_of(client.language)
    with _release_must_exist(client):
        installed = toolchain.install(client, cache, say)
    start = toolchain.start(client, installed, toolchain.build(client, installed, cache, say))
    several = client.hosts_several
    members_max = client.members_max if several else 1
    return Launch(argv=start.argv, env=start.env, level=client.level, multi=several, members_max=members_max, arguments=client.arguments)


def level0_arguments(arguments: Iterable[Argument], fields: Mapping[str, Any]) -> list[str]:
    """Return the arguments that pass the fields of `subscribe` to a level-0 program. Fields that are None or False are left out."""
    made: list[str] = []
    for argument in arguments:
        value = fields.get(argument.field)
        if value is None or value is False:
            continue
        items = [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
        for item in items if argument.repeat else [",".join(items)]:
            made += [argument.option, argument.value.format(item)] if argument.value else [argument.option]
    return made


def _reference(client: RegisteredClient) -> Launch:
    roots = [str(Path(portion).parent) for portion in groupproof.__path__]
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([*roots, inherited] if inherited else roots)
    argv = (sys.executable, "-m", "groupproof.clients.shims.reference")
    return Launch(argv=argv, env={"PYTHONPATH": path}, level=client.level, multi=client.multi, members_max=client.members_max)


@contextmanager
def _release_must_exist(client: RegisteredClient) -> Iterator[None]:
    try:
        yield
    except NoSuchRelease as missing:
        if client.is_listed:
            raise ProvisionError(f"{client} is not available here: the package registry has no {missing} for this platform") from missing
        offered = f"; the registry's last are {', '.join(missing.offered[-3:])}" if missing.offered else ""
        near = ", ".join(nearest_releases(client))
        raise UnknownClient(f"{client.name} has no release {client.release}; the nearest known are {near}{offered}") from missing
