"""The toolchain of each language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.clients.registry.registered_clients import RegisteredClient
from groupproof.clients.registry.toolchains.cargo_crates import CC, MAKE, CargoCrates
from groupproof.clients.registry.toolchains.go_modules import GoModules
from groupproof.clients.registry.toolchains.java_archives import JavaArchives
from groupproof.clients.registry.toolchains.librdkafka_libraries import LibrdkafkaLibraries
from groupproof.clients.registry.toolchains.node_packages import NodePackages
from groupproof.clients.registry.toolchains.programs import Tool
from groupproof.clients.registry.toolchains.python_wheels import PythonWheels
from groupproof.clients.registry.toolchains.toolchain import Toolchain

__all__ = ["NATIVE_TOOLS", "TOOLCHAINS", "toolchain_of", "tools_of"]

TOOLCHAINS: Final[Mapping[str, Toolchain]] = {
    "python": PythonWheels(),
    "java": JavaArchives(),
    "go": GoModules(),
    "javascript": NodePackages(),
    "rust": CargoCrates(),
    "c": LibrdkafkaLibraries(),
}

NATIVE_TOOLS: Final[Mapping[str, tuple[Tool, ...]]] = {"go": (CC,), "javascript": (CC, MAKE)}
"""The tools that a client needs beside its toolchain if its C parts are compiled here."""


def toolchain_of(language: str) -> Toolchain:
    """Return the toolchain for a registered client's language."""
    return TOOLCHAINS[language]


def tools_of(client: RegisteredClient) -> tuple[Tool, ...]:
    """Return the programs needed to install a client and build its shim. The reference needs none."""
    if client.shim is None:
        return ()
    native = NATIVE_TOOLS.get(client.language, ()) if client.environment.native else ()
    return (*toolchain_of(client.language).tools, *native)
