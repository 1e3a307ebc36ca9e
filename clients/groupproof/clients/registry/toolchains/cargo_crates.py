"""Rust: cargo fetches crates by a lock file. A shim is one program built with them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.registered_clients import RegisteredClient
from groupproof.clients.registry.toolchains.programs import NoSuchRelease, Tool, run
from groupproof.clients.registry.toolchains.toolchain import SHIMS, StartCommand, digest

__all__ = ["CARGO", "CC", "MAKE", "CargoCrates", "crate_sources"]

CARGO: Final = Tool(
    name="cargo",
    program="cargo",
    needed_for="Rust clients, and librdkafka's sources",
    remedy="install Rust 1.95 or newer with cargo (https://rustup.rs)",
)
CC: Final = Tool(
    name="cc",
    program="cc",
    needed_for="librdkafka, by itself, in rust-rdkafka, confluent-kafka-go and node-rdkafka",
    remedy="install a C compiler (Debian: apt-get install gcc)",
)
MAKE: Final = Tool(
    name="make",
    program="make",
    needed_for="building librdkafka",
    remedy="install make (Debian: apt-get install make)",
)
_LIBRARY: Final = "groupproof"
"""The crate that all Rust shims use."""
_LOCK: Final = "Cargo.lock"
_ABSENT: Final = re.compile(r"failed to select a version|no matching package|is yanked")
_QUIET_LINE: Final = re.compile(r"^\s*(Updating|Downloading|Downloaded|Compiling|Locking|Adding|Blocking|warning:|note:|$)")


class CargoCrates:
    """The toolchain for Rust. A release is a lock file: the repository's for listed releases, otherwise one that cargo makes once and keeps.

    Cargo checks each crate against its checksum in the lock file. A client's crates are compiled in a cache folder that outlives
    changes of the shim, because a C library in a client can take minutes to build.
    """

    def __init__(self) -> None:
        self.tools: tuple[Tool, ...] = (CARGO, CC, MAKE)

    def stem(self, client: RegisteredClient) -> str:
        return f"rust/{client.name}"

    def install(self, client: RegisteredClient, cache: Path, say: Say) -> Path:
        pins = client.pins()
        manifests = [_pinned(path, pins) for path in _manifests(client)]

        def fetch(folder: Path) -> None:
            say(f"fetching {' '.join(pins)}")
            _copy_sources(client, folder)
            kept = _kept_lock(client)
            if kept.is_file():
                shutil.copy(kept, folder / _LOCK)
            _cargo(client, ["fetch", *(["--locked"] if kept.is_file() else [])], folder)
            (folder / "Cargo.toml").unlink()
            for name in (_LIBRARY, _package(client)):
                shutil.rmtree(folder / name)

        recipe = digest([*pins, *manifests, _kept_text(client)])
        return entry(cache, f"{self.stem(client)}-{client.release}-{recipe}", fetch, say)

    def build(self, client: RegisteredClient, installed: Path, cache: Path, say: Say) -> Path:
        lock, sources = installed / _LOCK, _sources(client)
        recipe = digest([lock.read_text("utf-8"), *(source.read_text("utf-8") for source in sources)])

        def build(folder: Path) -> None:
            say(f"building {client} with its shim: minutes, where it brings a C library")
            work = folder / "work"
            work.mkdir()
            _copy_sources(client, work)
            shutil.copy(lock, work)
            target = cache / f"rust/compiled-{client.name}-{client.release}"
            program = f"{_package(client)}-shim"
            _cargo(client, ["build", "--locked", "--release", "--target-dir", str(target), "--package", program], work)
            shutil.copy(target / "release" / program, folder / "program")
            shutil.rmtree(work)

        return entry(cache, f"rust/shim-{client.name}-{client.release}-{recipe}", build, say)

    def start(self, client: RegisteredClient, installed: Path, built: Path) -> StartCommand:
        return StartCommand(argv=(str(built / "program"),))


def crate_sources(pin: str, folder: Path) -> Path:
    """Fetch the sources of `name@release` and return their folder. `folder` receives a package that depends on them."""
    name, _, release = pin.partition("@")
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "lib.rs").touch()
    dependency = f'{name} = {{ version = "={release}", default-features = false }}'
    (folder / "Cargo.toml").write_text(f'[package]\nname = "sources"\nversion = "0.0.0"\n\n[dependencies]\n{dependency}\n', "utf-8")
    done = run([CARGO.required(), "metadata", "--format-version", "1"], cwd=folder)
    if done.returncode != 0:
        _refuse(done.stderr, pin)
    packages = json.loads(done.stdout)["packages"]
    return Path(next(package["manifest_path"] for package in packages if package["name"] == name)).parent


def _cargo(client: RegisteredClient, arguments: Sequence[str], folder: Path) -> None:
    done = run([CARGO.required(), *arguments], cwd=folder)
    if done.returncode != 0:
        _refuse(done.stderr, client.pins()[0])


def _refuse(printed: str, pin: str) -> None:
    """Raise `NoSuchRelease` or `ProvisionError`, according to cargo's message."""
    if _ABSENT.search(printed):
        raise NoSuchRelease(pin)
    lines = [line.strip() for line in printed.splitlines() if not _QUIET_LINE.match(line)]
    raise ProvisionError(f"{pin} could not be built: {' | '.join(lines[:3])[:400]}; is the crate registry reachable? ({CARGO.remedy})")


def _package(client: RegisteredClient) -> str:
    return Path(str(client.shim)).name


def _kept_lock(client: RegisteredClient) -> Path:
    return SHIMS / "rust" / "locks" / f"{client.name}-{client.release}.lock"


def _kept_text(client: RegisteredClient) -> str:
    kept = _kept_lock(client)
    return kept.read_text("utf-8") if kept.is_file() else ""


def _manifests(client: RegisteredClient) -> list[Path]:
    return [SHIMS / "rust" / name / "Cargo.toml" for name in (_LIBRARY, _package(client))]


def _sources(client: RegisteredClient) -> list[Path]:
    """Return the source files of the shim."""
    code = [path for name in (_LIBRARY, _package(client)) for path in sorted((SHIMS / "rust" / name / "src").glob("*.rs"))]
    return [*_manifests(client), *code]


def _copy_sources(client: RegisteredClient, folder: Path) -> None:
    """Write a workspace of the shim and its library that requires exactly this release."""
    members = ", ".join(f'"{name}"' for name in (_LIBRARY, _package(client)))
    profile = "[profile.release]\nopt-level = 1\ndebug = false\n"
    (folder / "Cargo.toml").write_text(f'[workspace]\nresolver = "2"\nmembers = [{members}]\n\n{profile}', "utf-8")
    for source in _sources(client):
        target = folder / source.relative_to(SHIMS / "rust")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_pinned(source, client.pins()) if source.name == "Cargo.toml" else source.read_text("utf-8"), "utf-8")


def _pinned(manifest: Path, pins: Sequence[str]) -> str:
    """Return the text of a manifest that requires each pinned crate in its exact release."""
    text = manifest.read_text("utf-8")
    for name, release in (pin.split("@") for pin in pins):
        text = re.sub(rf'^({re.escape(name)} = (?:\{{ version = )?)"=[^"]+"', rf'\g<1>"={release}"', text, flags=re.M)
    return text
