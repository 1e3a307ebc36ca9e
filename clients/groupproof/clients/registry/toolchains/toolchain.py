"""The interface of a toolchain: the programs that it needs, and the three steps from a release to a command line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final, Protocol

from packaging.specifiers import SpecifierSet

from groupproof.clients.registry.install_cache import Say
from groupproof.clients.registry.registered_clients import RegisteredClient, WrongPairing
from groupproof.clients.registry.toolchains.programs import Tool

__all__ = ["SHIMS", "StartCommand", "Toolchain", "digest", "refuse_other_runtimes", "releases_in_cache"]

SHIMS: Final = Path(str(files("groupproof.clients"))) / "shims"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartCommand:
    """How to start a program. `env` is added to the kit's own environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


class Toolchain(Protocol):
    """The toolchain of one language. A cached release needs no network and no program that only installs."""

    tools: tuple[Tool, ...]

    def stem(self, client: RegisteredClient) -> str:
        """Return the start of the client's folder names in the cache, before the release: `go/franz-go`."""

    def install(self, client: RegisteredClient, cache: Path, say: Say) -> Path:
        """Return the folder of the release with its needs. Install them into the cache unless they are there.

        Raise `ProvisionError`, `WrongPairing` (another runtime is needed) or `NoSuchRelease`.
        """

    def build(self, client: RegisteredClient, installed: Path, cache: Path, say: Say) -> Path:
        """Return the folder of the shim. Build it against `installed` unless it is in the cache. Raise `ProvisionError`."""

    def start(self, client: RegisteredClient, installed: Path, built: Path) -> StartCommand:
        """Return how to start the shim. Raise `ProvisionError`."""


def refuse_other_runtimes(client: RegisteredClient, *, running: str, title: str, cure: str) -> None:
    """Raise `WrongPairing` if this release does not run on the available interpreter, JDK or compiler."""
    runtime: SpecifierSet = client.environment.runtime
    if not runtime.contains(running, prereleases=True):
        raise WrongPairing(f"{client} needs {title} {runtime}, this is {running}: {cure}")


def releases_in_cache(stem: str, cache: Path) -> list[str]:
    """Return the releases that are installed under `stem`, sorted by name."""
    folder, _, name = stem.rpartition("/")
    rests = (path.name.removeprefix(f"{name}-") for path in (cache / folder).glob(f"{name}-*"))
    return sorted({rest.split("-")[0] for rest in rests if rest[:1].isdigit()})


def digest(parts: Iterable[str]) -> str:
    """Return a short hash of a recipe for a folder's name."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]
