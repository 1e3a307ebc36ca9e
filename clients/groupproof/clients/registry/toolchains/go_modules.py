"""Go: the module proxy provides modules, whose checksums are kept. A shim is one program built with them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.registered_clients import RegisteredClient
from groupproof.clients.registry.toolchains.cargo_crates import CC
from groupproof.clients.registry.toolchains.programs import NoSuchRelease, Tool, run
from groupproof.clients.registry.toolchains.toolchain import SHIMS, StartCommand, digest

__all__ = ["GO", "GoModules"]

GO: Final = Tool(
    name="go",
    program="go",
    needed_for="Go clients, kfake and Toxiproxy",
    remedy="install Go 1.26 or newer (https://go.dev/dl)",
    version=("version",),
)
_LIBRARY: Final = "groupproof"
"""The module that all Go shims use, in a folder of the same name. They import its package `shim`."""
_PINS: Final = ("go.mod", "go.sum")
_ABSENT: Final = re.compile(r"unknown revision|404 Not Found|invalid version|no matching versions")
# The cache may be inside a user's repository. The commit of that repository is not the shim's.
_BUILD: Final = ("-trimpath", "-buildvcs=false")
_ENV: Final = {"CGO_ENABLED": "0", "GOWORK": "off"}


class GoModules:
    """The toolchain for Go. A release is a go.mod that requires only it, as its first user would write it, with all checksums.

    Minimal version selection leaves no choice: the versions are those that the release itself requires. Go checks their checksums against
    its public database when it resolves them, and later against the go.sum in the cache.
    """

    def __init__(self) -> None:
        self.tools: tuple[Tool, ...] = (GO,)

    def stem(self, client: RegisteredClient) -> str:
        return f"go/{client.name}"

    def install(self, client: RegisteredClient, cache: Path, say: Say) -> Path:
        pins, tags = client.pins(), client.environment.build_tags
        recipe = digest([*pins, *tags, *_imports(client), _language()])

        def resolve(folder: Path) -> None:
            say(f"resolving {' '.join(pins)}")
            _resolve(client, folder)

        return entry(cache, f"{self.stem(client)}-{client.release}-{recipe}", resolve, say)

    def build(self, client: RegisteredClient, installed: Path, cache: Path, say: Say) -> Path:
        sources = [source.read_text("utf-8") for source in _sources(client)]
        pins = [(installed / name).read_text("utf-8") for name in _PINS]

        def build(folder: Path) -> None:
            say(f"building the shim of {client}")
            _copy_sources(client, folder)
            for name in _PINS:
                shutil.copy(installed / name, folder)
            _go(client, ["build", "-mod=readonly", *_BUILD, "-o", "program"], folder)

        return entry(cache, f"go/shim-{client.name}-{client.release}-{digest([*sources, *pins])}", build, say)

    def start(self, client: RegisteredClient, installed: Path, built: Path) -> StartCommand:
        return StartCommand(argv=(str(built / "program"),))


def _resolve(client: RegisteredClient, folder: Path) -> None:
    """Write the go.mod and go.sum of the shim's imports into `folder`."""
    (folder / "go.mod").write_text(f"module groupproof/shims\n\ngo {_language()}\n\n{_required(client)}", "utf-8")
    _copy_sources(client, folder)
    _go(client, ["list", "-mod=mod", "-deps"], folder)
    for name in (_LIBRARY, _package(client)):
        shutil.rmtree(folder / name)


def _required(client: RegisteredClient) -> str:
    """Return the lines of go.mod for the release. A release with another name replaces the module that the shim imports."""
    first, *others = (" ".join(pin.split("@")) for pin in client.pins())
    imported = client.environment.stands_for
    named = [f"require {imported} v0.0.0", f"replace {imported} => {first}"] if imported else [f"require {first}"]
    library = [f"require {_library_path()} v0.0.0", f"replace {_library_path()} => ./{_LIBRARY}"]
    return "".join(f"{line}\n" for line in (*named, *(f"require {pin}" for pin in others), *library))


def _library_path() -> str:
    """Return the path of the library's module."""
    first = (SHIMS / "go" / _LIBRARY / "go.mod").read_text("utf-8").partition("\n")[0]
    return first.removeprefix("module ")


def _go(client: RegisteredClient, arguments: Sequence[str], folder: Path) -> None:
    """Run a Go subcommand on the client's package. Raise `NoSuchRelease` or `ProvisionError`."""
    tags = client.environment.build_tags
    argv = [GO.required(), *arguments, *([f"-tags={','.join(tags)}"] if tags else []), f"./{_package(client)}"]
    done = run(argv, env={**_ENV, **_with_c(client)}, cwd=folder)
    if done.returncode == 0:
        return
    if _ABSENT.search(done.stderr):
        raise NoSuchRelease(client.pins()[0])
    lines = [line for line in done.stderr.strip().splitlines() if not line.startswith(("go: downloading", "#"))]
    raise ProvisionError(f"the shim of {client} could not be built: {' | '.join(lines[-3:])[:400]}; is the Go module proxy reachable? ({GO.remedy})")


def _with_c(client: RegisteredClient) -> dict[str, str]:
    """Return the variables that Go needs to build a client's C parts, or nothing if it has none."""
    if not client.environment.native:
        return {}
    return {"CGO_ENABLED": "1", "CC": CC.required(), **client.environment.build_variables()}


def _language() -> str:
    """Return the Go version of the shims' sources."""
    found = re.search(r"^go (\S+)$", (SHIMS / "go" / "go.mod").read_text("utf-8"), re.M)
    assert found is not None
    return found[1]


def _package(client: RegisteredClient) -> str:
    return Path(str(client.shim)).name


def _sources(client: RegisteredClient) -> list[Path]:
    """Return the source files of the shim."""
    go = SHIMS / "go"
    files = [path for folder in (go / _LIBRARY / "shim", go / _package(client)) for path in sorted(folder.glob("*.go"))]
    return [go / _LIBRARY / "go.mod", *(path for path in files if not path.name.endswith("_test.go"))]


def _copy_sources(client: RegisteredClient, folder: Path) -> None:
    for source in _sources(client):
        target = folder / source.relative_to(SHIMS / "go")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _imports(client: RegisteredClient) -> list[str]:
    """Return the packages that the shim imports from other modules. The required checksums depend on them."""
    found = {name for source in _sources(client) for name in re.findall(r'^\s*(?:\w+ )?"([\w-]+\.[\w.-]+/[^"]+)"$', source.read_text("utf-8"), re.M)}
    return sorted(found)
