"""Finds registered subjects that have a newer release in their package registry: `groupproof list subjects --outdated`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.registered_clients import registered
from groupproof.clients.registry.toolchains.newest_releases import newest_release
from groupproof.harness.subjects.brokers.apache.broker_releases import releases

__all__ = ["Registered", "outdated", "packages"]

_BROKER = ("java", "org.apache.kafka:kafka_2.13")

Newest = Callable[..., str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A subject that is a registry's package, with its newest registered release."""

    name: str
    side: str
    language: str
    package: str
    release: str


def packages() -> list[Registered]:
    """Return the subjects whose registries may have newer releases."""
    clients = [
        Registered(name=client.name, side="client", language=client.language, package=client.package, release=_newest(client.releases))
        for client in registered()
        if client.package is not None and client.releases
    ]
    language, package = _BROKER
    return [*clients, Registered(name="apache-kafka", side="coordinator", language=language, package=package, release=_newest(releases().numbers))]


def outdated(names: Collection[str], newest: Newest | None = None) -> Iterator[dict[str, str]]:
    """Yield a row for each named subject with a newer release, and for each whose registry did not answer."""
    for subject in packages():
        if subject.name not in names:
            continue
        try:
            found = (newest or newest_release)(subject.language, subject.package, registered=subject.release)
        except ProvisionError as problem:
            found, state = None, f"not asked: {problem}"
        else:
            state = "not asked: no registry has it" if found is None else f"the registry has {found}"
        if found is None or _is_newer(found, subject.release):
            yield {"name": subject.name, "side": subject.side, "release": subject.release, "newest": found or "", "state": state}


def _newest(names: tuple[str, ...]) -> str:
    return max(names, key=Version)


def _is_newer(found: str, release: str) -> bool:
    try:
        return Version(found) > Version(release)
    except InvalidVersion:
        return found != release
