"""From what a user writes to a coordinator under test: a registered name with an optional release, or an address."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupproof.clients.store import Say, default_cache
from groupproof.harness.brokers.apache_kafka import ApacheKafka
from groupproof.harness.brokers.cluster import BrokerSubject
from groupproof.harness.brokers.reference import ReferenceBrokers
from groupproof.harness.brokers.releases import releases
from groupproof.harness.troubles import WrongUsage
from groupproof.protocol.spec.profiles import NEWEST

__all__ = ["ALIASES", "NAMES", "Wanted", "subject_named"]

ALIASES: Final[Mapping[str, str]] = {"kafka": "apache-kafka", "reference": "groupproof"}

_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:,@\[\]]+):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the user said beside the name; `provider` is "docker" or "maven", or None for whichever is there."""

    spec: str
    release: str
    profile: str | None
    properties: Path | None
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
    name, _, release = spec.partition("@")
    name = ALIASES.get(name, name)
    make = NAMES.get(name)
    if make is None:
        raise WrongUsage(_unknown(spec, name))
    if properties is not None:
        raise WrongUsage(f"--properties tells how to reach a broker that is there; {name} is started by the kit")
    return make(
        Wanted(spec=spec, release=release, profile=profile, properties=None, provider=provider, logs=logs, cache=cache or default_cache(), say=say)
    )


def _unknown(spec: str, name: str) -> str:
    near = difflib.get_close_matches(name.lower(), [*NAMES, *ALIASES], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(sorted(NAMES))}."
    return f"no registered coordinator is called {spec!r}; {hint} A broker that is there already: HOST:PORT"


def _apache_kafka(wanted: Wanted) -> BrokerSubject:
    release = wanted.release or releases().default
    releases().needs_of(release)
    return ApacheKafka(
        release=release,
        spec=wanted.spec,
        cache=wanted.cache,
        say=wanted.say,
        asked_profile=wanted.profile,
        provider=wanted.provider,
        logs=wanted.logs,
    )


def _reference(wanted: Wanted) -> BrokerSubject:
    if wanted.release:
        raise WrongUsage(f"groupproof is this project's own coordinator and has no releases to choose from: say --profile, not @{wanted.release}")
    return ReferenceBrokers(profile=wanted.profile or NEWEST, spec=wanted.spec)


NAMES: Final[Mapping[str, Callable[[Wanted], BrokerSubject]]] = {"apache-kafka": _apache_kafka, "groupproof": _reference}
"""The registered coordinators, and what makes each."""
