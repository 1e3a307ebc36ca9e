"""The toolchains by the language of a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.clients.registry.toolchains.go_modules import GoModules
from groupproof.clients.registry.toolchains.java_archives import JavaArchives
from groupproof.clients.registry.toolchains.node_packages import NodePackages
from groupproof.clients.registry.toolchains.python_wheels import PythonWheels
from groupproof.clients.registry.toolchains.toolchain import Toolchain

__all__ = ["TOOLCHAINS", "toolchain_of"]

TOOLCHAINS: Final[Mapping[str, Toolchain]] = {
    "python": PythonWheels(),
    "java": JavaArchives(),
    "go": GoModules(),
    "javascript": NodePackages(),
}


def toolchain_of(language: str) -> Toolchain:
    """Return the toolchain of a registered client's language."""
    return TOOLCHAINS[language]
