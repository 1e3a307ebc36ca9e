"""From what a user writes to a coordinator under test: a registered name with an optional release, or an address."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

from groupproof.clients.store import Say, default_cache
from groupproof.harness.brokers.address import AddressedBrokers
from groupproof.harness.brokers.apache_kafka import ApacheKafka
from groupproof.harness.brokers.cluster import BrokerSubject
from groupproof.harness.brokers.images import wants_containers
from groupproof.harness.brokers.kfake import Kfake, pinned
from groupproof.harness.brokers.librdkafka_mock import LibrdkafkaMock
from groupproof.harness.brokers.properties import Security, parse_properties, security_of
from groupproof.harness.brokers.reference import ReferenceBrokers
from groupproof.harness.brokers.releases import releases
from groupproof.harness.network import Address
from groupproof.harness.troubles import WrongUsage
from groupproof.protocol.spec.profiles import NEWEST

__all__ = ["ALIASES", "NAMES", "Wanted", "addressed", "meet", "subject_named"]

ALIASES: Final[Mapping[str, str]] = {"kafka": "apache-kafka", "reference": "groupproof", "mock": "librdkafka-mock"}

# What its ApiVersions match: JoinGroup up to v6, OffsetFetch up to v6.
_MOCK_PROFILE: Final = "kafka-2.4"
_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:,@\[\]]+):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the user said beside the name; `provider` is "docker" or "maven", or None for whichever is there."""

    spec: str
    release: str
    profile: str | None
    provider: str | None
    logs: Path | None
    cache: Path
    say: Say


def subject_named(
    spec: str,
    *,
    properties: Path | None = None,
    profile: str | None = None,
    provider: str | None = None,
    logs: Path | None = None,
    cache: Path | None = None,
    say: Say = lambda _: None,
) -> BrokerSubject:
    """Return the coordinator called `spec`; raise `WrongUsage` with the nearest right names.

    `logs` is the folder for the brokers' logs, else one under the cache is made; `say` gets a line before each thing that takes time.
    """
    if (bootstrap := _addresses(spec)) is not None:
        security = security_of(_read(properties)) if properties is not None else Security()
        return AddressedBrokers(bootstrap=bootstrap, security=security, say=say, spec=spec, asked_profile=profile)
    name, _, release = spec.partition("@")
    name = ALIASES.get(name, name)
    make = NAMES.get(name)
    if make is None:
        raise WrongUsage(_unknown(spec, name))
    if properties is not None:
        raise WrongUsage(f"--properties tells how to reach a broker that is there; {name} is started by the kit")
    return make(Wanted(spec=spec, release=release, profile=profile, provider=provider, logs=logs, cache=cache or default_cache(), say=say))


def addressed(upstream: str, properties: Path | None) -> tuple[list[Address], Security]:
    """Return the brokers at `HOST:PORT,…` and how to reach them; raise `WrongUsage` for what is no address."""
    addresses = _addresses(upstream)
    if addresses is None:
        raise WrongUsage(f"{upstream!r} is no address; write HOST:PORT, several with commas between")
    return addresses, security_of(_read(properties)) if properties is not None else Security()


def meet(subject: BrokerSubject, say: Say) -> None:
    """Ask brokers that are there already for their versions, from which their profile follows where the user names none.

    Must be called outside trio. Raise `BrokenEnvironment` where nobody answers.
    """
    if isinstance(subject, AddressedBrokers) and subject.asked_profile is None:
        trio.run(subject.learn)
        say(f"profile {subject.profile}, the newest that the ApiVersions of {subject.spec} match")


def _addresses(spec: str) -> list[Address] | None:
    """Return the addresses of `HOST:PORT,…`, None for what is none; raise `WrongUsage` for a port that can't be."""
    found = [_ADDRESS.fullmatch(each.strip()) for each in spec.split(",")]
    addresses = [(each["host"].strip("[]"), int(each["port"])) for each in found if each is not None]
    if len(addresses) != len(found):
        return None
    for host, port in addresses:
        if not 0 < port < 65536:
            raise WrongUsage(f"{host}:{port}: a port is a number from 1 to 65535")
    return addresses


def _read(file: Path) -> dict[str, str]:
    try:
        return parse_properties(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"--properties {file} can't be read: {error}") from error


def _unknown(spec: str, name: str) -> str:
    near = difflib.get_close_matches(name.lower(), [*NAMES, *ALIASES], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(sorted(NAMES))}."
    return f"no registered coordinator is called {spec!r}; {hint} A broker that is there already: HOST:PORT"


def _apache_kafka(wanted: Wanted) -> BrokerSubject:
    release, is_new = releases().with_new(wanted.release or releases().default)
    releases().needs_of(release)
    chosen = {None: None, True: "docker", False: "maven"}[wants_containers()]
    return ApacheKafka(
        release=release,
        is_new=is_new,
        spec=wanted.spec,
        cache=wanted.cache,
        say=wanted.say,
        asked_profile=wanted.profile,
        provider=wanted.provider or chosen,
        logs=wanted.logs,
    )


def _reference(wanted: Wanted) -> BrokerSubject:
    if wanted.release:
        raise WrongUsage(f"groupproof is this project's own coordinator and has no releases to choose from: say --profile, not @{wanted.release}")
    return ReferenceBrokers(profile=wanted.profile or NEWEST, spec=wanted.spec)


def _kfake(wanted: Wanted) -> BrokerSubject:
    if wanted.release:
        raise WrongUsage(f"kfake is built in one version, {pinned()}: say kfake alone")
    return Kfake(cache=wanted.cache, say=wanted.say, profile=wanted.profile or NEWEST, spec=wanted.spec, logs=wanted.logs)


def _librdkafka_mock(wanted: Wanted) -> BrokerSubject:
    profile = wanted.profile or _MOCK_PROFILE
    return LibrdkafkaMock.of(wanted.release, cache=wanted.cache, say=wanted.say, profile=profile, spec=wanted.spec, logs=wanted.logs)


NAMES: Final[Mapping[str, Callable[[Wanted], BrokerSubject]]] = {
    "apache-kafka": _apache_kafka,
    "groupproof": _reference,
    "kfake": _kfake,
    "librdkafka-mock": _librdkafka_mock,
}
"""The registered coordinators, and what makes each."""
