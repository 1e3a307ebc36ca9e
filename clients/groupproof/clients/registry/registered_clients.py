"""The registered clients, their releases and their needs, as data in `registered/*.toml`.

`provision.py` installs them; this module installs nothing. An unregistered client needs no entry: any program that speaks the shim
contract can be certified by its command line.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from groupproof.protocol import kit_release

__all__ = [
    "EXPECTATIONS",
    "Argument", "Environment", "RegisteredClient", "UnknownClient", "WrongPairing", "check_profile", "names", "nearest_releases", "newest_fitting", "registered", "resolve",
]  # fmt: skip

_HERE = Path(__file__).parent

EXPECTATIONS: Final = _HERE / "expectations"
"""The files of known failures, one for each client. Some of these clients are not registered."""
INSTALLED = "installed"
"""A default release that stands for the release of this project."""


class UnknownClient(Exception):
    """Wrong usage (exit 3): there is no such client or release. The message suggests the nearest names."""


class WrongPairing(Exception):
    """Wrong usage (exit 3): the client and its release exist, but do not work with this Python or this broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An option of a level-0 program. The `field` of `subscribe` provides its value."""

    field: str
    option: str
    value: str = "{}"
    repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The needs of some releases of a client. The first entry whose `releases` match applies.

    `pins` are the packages to install, in the toolchain's notation (pip requirements, Maven coordinates, Go modules, npm packages). Each has
    one version, with `{release}` for the release. `runtime` limits the interpreter, JDK or compiler, `brokers` the broker releases.
    `build_tags` select files of a Go shim. `stands_for` is the module that the shim imports, if the release was published under another
    name. If `native`, parts in C are built here, with the variables of `build_env` (`NAME=value`). `sources` names the Python packages
    without wheels. With `dependencies`, a Java release brings its own dependencies in their published versions. With `alone`, each member
    gets its own process, even if the shim can host several: an error of such a release ends its process, and with it the members of other cases.
    """

    releases: SpecifierSet
    pins: tuple[str, ...] = ()
    runtime: SpecifierSet = field(default_factory=SpecifierSet)
    brokers: SpecifierSet = field(default_factory=SpecifierSet)
    build_tags: tuple[str, ...] = ()
    stands_for: str = ""
    build_env: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    native: bool = False
    dependencies: bool = False
    alone: bool = False

    def build_variables(self) -> dict[str, str]:
        """Return `build_env` as a mapping."""
        return dict(pair.split("=", 1) for pair in self.build_env)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredClient:
    """A client in one release. `shim` is its program, relative to the folder `shims` (None: the project's own member).

    `members_max` is how many members one process can run before they disturb each other's timing, measured at a heartbeat interval
    of 300 ms on one core; 1 if a process has one member. `error_line` is for a level-0 program, whose events cannot report an error after
    which it continues. It is the regular expression of such a line on stderr, with the groups `error` and `message`. `kind` is the capability
    that selects its cases: those of its own protocol (`connect`), or a consumer's if it is empty. If the client `waits` more than it
    computes, another client can run beside it.
    """

    name: str
    title: str
    language: str
    release: str
    default_release: str
    environments: tuple[Environment, ...]
    releases: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    package: str | None = None
    shim: str | None = None
    kind: str = ""
    level: int = 1
    multi: bool = False
    waits: bool = False
    members_max: int = 1
    arguments: tuple[Argument, ...] = ()
    error_line: str = ""
    homepage: str = ""

    def __str__(self) -> str:
        return f"{self.name}@{self.release}"

    @property
    def environment(self) -> Environment:
        """The needs of this release. Raise `WrongPairing` if it is older than every release that the kit can run."""
        for environment in self.environments:
            if environment.releases.contains(self.release, prereleases=True):
                return environment
        oldest = min(self.releases, key=Version)
        raise WrongPairing(f"{self} cannot be run by this kit; its releases from {oldest} on can")

    @property
    def hosts_several(self) -> bool:
        """Return whether a process of this release hosts several members."""
        return self.multi and not self.environment.alone

    @property
    def is_listed(self) -> bool:
        """Return whether this kit lists the release. A newer release may exist without being listed."""
        return self.release in self.releases

    @property
    def expectations(self) -> Path:
        """The expectations file for this client. Every registered client has one."""
        return EXPECTATIONS / f"{self.name}.toml"

    def pins(self) -> tuple[str, ...]:
        """Return the packages to install for this release."""
        return tuple(pin.format(release=self.release) for pin in self.environment.pins)


def names() -> tuple[str, ...]:
    """Return the registered names, sorted, without aliases."""
    return tuple(sorted(_clients()))


def registered() -> tuple[RegisteredClient, ...]:
    """Return every registered client in its default release, sorted by name."""
    return tuple(_clients()[name] for name in names())


def resolve(subject: str) -> RegisteredClient:
    """Return the client for `NAME` or `NAME@RELEASE`. Raise `UnknownClient`.

    An unlisted release is accepted if it is a valid version number: `provision` asks the package registry for it.
    """
    name, at, release = subject.partition("@")
    client = _named(name)
    if not at:
        return client
    if client.default_release == INSTALLED:
        raise UnknownClient(f"{client.name} is this project's own member and has no releases to choose from: use {client.name!r} alone")
    return _in_release(client, release)


def check_profile(client: RegisteredClient, profile: str) -> None:
    """Raise `WrongPairing` if this release cannot speak to a broker of `profile` (`kafka-4.1`). Other kinds of profile are not checked."""
    kind, _, broker = profile.partition("-")
    brokers = client.environment.brokers
    if kind == "kafka" and broker and not brokers.contains(broker):
        raise WrongPairing(f"{client} speaks to brokers {brokers}, not to profile {profile}")


def newest_fitting(client: RegisteredClient, profiles: Iterable[str]) -> str | None:
    """Return the newest Kafka profile of `profiles` that this release can speak to, or None."""
    releases = [name.removeprefix("kafka-") for name in profiles if name.startswith("kafka-")]
    fitting = [release for release in releases if client.environment.brokers.contains(release)]
    return f"kafka-{max(fitting, key=Version)}" if fitting else None


def _named(name: str) -> RegisteredClient:
    clients = _clients()
    by_alias = {alias: client for client in clients.values() for alias in client.aliases}
    found = clients.get(name) or by_alias.get(name)
    if found is not None:
        return found
    near = difflib.get_close_matches(name.lower(), [*clients, *by_alias], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(sorted(clients))}"
    raise UnknownClient(f"no registered client is called {name!r}; {hint} A program of your own goes behind two hyphens: -- PROGRAM ARG…")


def _in_release(client: RegisteredClient, release: str) -> RegisteredClient:
    try:
        Version(release)
    except InvalidVersion:
        near = difflib.get_close_matches(release, client.releases, n=3, cutoff=0.3) or client.releases[-3:]
        raise UnknownClient(f"{release!r} is not a release number; of {client.name} there are {', '.join(near)}") from None
    return replace(client, release=release)


def nearest_releases(client: RegisteredClient) -> tuple[str, ...]:
    """Return up to four listed releases next to a missing one: the last two before it and the first two after it."""
    ordered = sorted(client.releases, key=Version)
    older = [release for release in ordered if Version(release) < Version(client.release)]
    newer = [release for release in ordered if Version(release) > Version(client.release)]
    return tuple(older[-2:] + newer[:2])


@cache
def _clients() -> Mapping[str, RegisteredClient]:
    return {path.stem: _load(path) for path in sorted((_HERE / "registered").glob("*.toml"))}


def _load(path: Path) -> RegisteredClient:
    data = _table(path)
    environments = tuple(_environment(item) for item in data.pop("environment", ()))
    arguments = tuple(Argument(**argument) for argument in data.pop("arguments", ()))
    default = data.pop("default")
    rest: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    return RegisteredClient(
        name=path.stem,
        release=kit_release.release() if default == INSTALLED else default,
        default_release=default,
        environments=environments or (Environment(releases=SpecifierSet()),),
        arguments=arguments,
        **rest,
    )


def _table(path: Path) -> dict[str, Any]:
    data = tomllib.loads(path.read_text("utf-8"))
    base = data.pop("based_on", None)
    return data if base is None else {**_table(path.with_name(f"{base}.toml")), **data}


def _environment(data: Mapping[str, Any]) -> Environment:
    specifiers: dict[str, Any] = {key: SpecifierSet(data.get(key, "")) for key in ("releases", "runtime", "brokers")}
    lists: dict[str, Any] = {key: tuple(data.get(key, ())) for key in ("pins", "build_tags", "build_env", "sources")}
    rest: dict[str, Any] = {key: data[key] for key in ("stands_for", "native", "dependencies", "alone") if key in data}
    return Environment(**specifiers, **lists, **rest)
