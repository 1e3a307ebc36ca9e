"""Makes the coordinator under test from the user's name for it: a registered name with an optional release, or an address."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import trio

from groupproof.clients.registry.install_cache import Say, default_cache
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.script_bindings import GROUP_PREFIX, topic_named
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.apache.broker_releases import releases
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.brokers.cluster_map import mapped
from groupproof.harness.subjects.brokers.kfake import KFAKES_RELEASE, Kfake, pinned
from groupproof.harness.subjects.brokers.known_settings import BY_HAND, differing, settings_by_hand
from groupproof.harness.subjects.brokers.librdkafka_brokers import LibrdkafkaMock
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.harness.subjects.brokers.wrong_settings import refutations
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.client_properties import Security, parse_properties, security_of
from groupproof.harness.subjects.processes.images import wants_containers
from groupproof.protocol.rules.profiles import NEWEST

__all__ = ["ALIASES", "NAMES", "SubjectRequest", "addressed", "meet", "subject_named"]

ALIASES: Final[Mapping[str, str]] = {"kafka": "apache-kafka", "reference": "groupproof", "mock": "librdkafka-mock"}

# The release that its ApiVersions match: JoinGroup up to v6, OffsetFetch up to v6.
_MOCK_PROFILE: Final = "kafka-2.4"
_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:,@\[\]]+):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRequest:
    """The user's options beside the name; `provider` is "docker" or "maven", or None for the available one."""

    spec: str
    release: str
    profile: str | None
    provider: str | None
    logs: Path | None
    cache: Path
    say: Say
    by_hand: Mapping[str, int | str] = field(default_factory=dict)


def subject_named(
    spec: str,
    *,
    properties: Path | None = None,
    profile: str | None = None,
    provider: str | None = None,
    logs: Path | None = None,
    cache: Path | None = None,
    say: Say = lambda _: None,
    by_hand: Iterable[str] = (),
) -> BrokerSubject:
    """Return the coordinator called `spec`; raise `WrongUsage` with the nearest right names.

    `logs` is the folder for the brokers' logs; without it one is made under the cache. `say` gets a line before each slow action. `by_hand` are the
    settings, as NAME=VALUE, of brokers that the kit does not start. The reference has them even if a case asks for others.
    """
    settings = settings_by_hand(by_hand, profile or NEWEST)
    if (bootstrap := _addresses(spec)) is not None:
        security = security_of(_read(properties)) if properties is not None else Security()
        return AddressedBrokers(bootstrap=bootstrap, security=security, say=say, spec=spec, asked_profile=profile, by_hand=settings)
    name, _, release = spec.partition("@")
    name = ALIASES.get(name, name)
    make = NAMES.get(name)
    if make is None:
        raise WrongUsage(_unknown(spec, name))
    if properties is not None:
        raise WrongUsage(f"--properties is for a broker that already runs; {name} is started by the kit")
    if settings and make is not _reference:
        raise WrongUsage(f"{BY_HAND} is for a broker that already runs; the kit starts {name}, with the settings that its cases need")
    cache = cache or default_cache()
    return make(SubjectRequest(spec=spec, release=release, profile=profile, provider=provider, logs=logs, cache=cache, say=say, by_hand=settings))


def addressed(upstream: str, properties: Path | None) -> tuple[list[Address], Security]:
    """Return the brokers at `HOST:PORT,…` and how to reach them; raise `WrongUsage` for an invalid address."""
    addresses = _addresses(upstream)
    if addresses is None:
        raise WrongUsage(f"{upstream!r} is no address; write HOST:PORT, several with commas between")
    return addresses, security_of(_read(properties)) if properties is not None else Security()


def meet(subject: BrokerSubject, say: Say, prefix: str = GROUP_PREFIX) -> None:
    """Ask running brokers for their versions, which decide the profile where the user names none, and check the user's settings against their
    answers. The groups for that begin with `prefix`.

    Must be called outside trio. Raise `BrokenEnvironment` where no broker answers, `WrongUsage` for a setting that they do not have.
    """
    if not isinstance(subject, AddressedBrokers):
        return
    if subject.asked_profile is None:
        trio.run(subject.learn)
        if subject.guess is not None:
            say(subject.guess.sentence)
    else:
        trio.run(subject.reach)
    if subject.by_hand:
        refuted = trio.run(_refuted, subject, prefix)
        if refuted:
            lines = (f"{BY_HAND} {name}={subject.by_hand[name]} is not what {subject.spec} has: {why}" for name, why in refuted.items())
            raise WrongUsage("; ".join(lines))


async def _refuted(subject: AddressedBrokers, prefix: str) -> dict[str, str]:
    """Return the user's settings that a broker's configs or answers refute, each with its behaviour, and with the broker if others have the setting."""
    topic = topic_named(1, prefix)
    by_node: dict[int, dict[str, str]] = {}
    async with subject.cluster(settings={}, brokers=1, topics={topic: 1}) as running, mapped(running) as where:
        for node in where.nodes:
            refuted = differing(subject.by_hand, (await where.settings_of(node)).settings)
            claimed = {name: value for name, value in subject.by_hand.items() if name not in refuted and isinstance(value, int)}
            group = f"{prefix}set-{random.SystemRandom().getrandbits(32):08x}"
            by_node[node.node_id] = {**refuted, **await refutations(where, node.node_id, group, topic, claimed)}
    return _joined(by_node)


def _joined(by_node: Mapping[int, Mapping[str, str]]) -> dict[str, str]:
    """Return the refuted settings of all brokers, with the first broker's behaviour."""
    found: dict[str, str] = {}
    for node_id, refuted in sorted(by_node.items()):
        for name, why in refuted.items():
            is_of_all = all(name in others for others in by_node.values())
            found.setdefault(name, why if is_of_all else f"at broker {node_id}, {why}")
    return found


def _addresses(spec: str) -> list[Address] | None:
    """Return the addresses of `HOST:PORT,…`, None for other text; raise `WrongUsage` for an invalid port."""
    found = [_ADDRESS.fullmatch(part.strip()) for part in spec.split(",")]
    addresses = [(match["host"].strip("[]"), int(match["port"])) for match in found if match is not None]
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


def _apache_kafka(wanted: SubjectRequest) -> BrokerSubject:
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


def _reference(wanted: SubjectRequest) -> BrokerSubject:
    if wanted.release:
        raise WrongUsage(f"groupproof is this project's own coordinator and has no releases to choose from: say --profile, not @{wanted.release}")
    return ReferenceBrokers(profile=wanted.profile or NEWEST, spec=wanted.spec, own=wanted.by_hand)


def _kfake(wanted: SubjectRequest) -> BrokerSubject:
    if wanted.release:
        raise WrongUsage(f"kfake is built in one version, {pinned()}: use kfake without a version")
    return Kfake(cache=wanted.cache, say=wanted.say, profile=wanted.profile or KFAKES_RELEASE, spec=wanted.spec, logs=wanted.logs)


def _librdkafka_mock(wanted: SubjectRequest) -> BrokerSubject:
    profile = wanted.profile or _MOCK_PROFILE
    return LibrdkafkaMock.of(wanted.release, cache=wanted.cache, say=wanted.say, profile=profile, spec=wanted.spec, logs=wanted.logs)


NAMES: Final[Mapping[str, Callable[[SubjectRequest], BrokerSubject]]] = {
    "apache-kafka": _apache_kafka,
    "groupproof": _reference,
    "kfake": _kfake,
    "librdkafka-mock": _librdkafka_mock,
}
"""The registered coordinators, and the functions that make them."""
