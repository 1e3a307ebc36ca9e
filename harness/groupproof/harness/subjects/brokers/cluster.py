"""The interfaces of a coordinator under test: a subject that starts a cluster, and a cluster that can be reached.

With any provider a cluster is its addresses, a way to connect, and its limits. Nothing of it remains when its context ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol, runtime_checkable

import trio

from groupproof.harness.subjects.cluster_control import Machines
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.faults import Move

__all__ = [
    "NOTHING_KNOWN", "Address", "BrokerSubject", "CannotStop", "Electing", "FixedProgram", "KnownSetting", "MovableCluster", "RunningCluster",
    "SeparatelyConfigured", "SettingsReport", "TopicSensitive", "has_fixed_settings", "moves_by_election", "topics_change_all_groups",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownSetting:
    """The value of one setting, and the source of it."""

    value: int | str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsReport:
    """The known settings of one broker, and the requested ones that it lacks, each with the reason."""

    settings: Mapping[str, KnownSetting]
    unmet: Mapping[str, str]


NOTHING_KNOWN: Final[Mapping[str, KnownSetting]] = MappingProxyType({})
"""For a cluster that the kit starts with the requested settings."""


class CannotStop(Exception):
    """The kit may not stop this broker, or the node does not exist; `str()` says which. A case that needs it cannot be judged here."""


class RunningCluster(Machines, Protocol):
    """A cluster that answers group requests while its context lasts. Its broker hosts can be broken if they are the kit's."""

    @property
    def addresses(self) -> list[Address]:
        """The bootstrap addresses."""
        ...

    @property
    def provided_by(self) -> str:
        """The provider, for the report: `maven`, `docker (apache/kafka:4.1.0)`, `address`, `in process`, …"""
        ...

    @property
    def unmet(self) -> Mapping[str, str]:
        """The requested settings that do not hold here, each with the reason; at the first broker where brokers may differ."""
        ...

    @property
    def known_settings(self) -> Mapping[str, KnownSetting]:
        """The settings that its first broker has in any case, each with its source. Empty for a cluster that the kit starts with the requested settings."""
        ...

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        """Open a connection on which the next frame is the caller's: TLS and SASL are done. Raise `OSError` or `BrokenEnvironment`."""
        ...

    async def stop(self, node_id: int) -> None:
        """Kill one broker; raise `CannotStop`."""
        ...

    def used(self, groups: Iterable[str]) -> None:
        """Record the groups that were created, so that they are deleted at the end on a cluster that is not the kit's."""
        ...

    def deaths(self) -> list[str]:
        """Return one line for each broker that ended unexpectedly, with its last log lines."""
        ...

    def logs(self) -> list[Path]:
        """Return the brokers' log files; they outlive the cluster."""
        ...


@runtime_checkable
class MovableCluster(Protocol):
    """A cluster in this process, whose coordinators move when the test says so."""

    def move_group(self, group: str, move: Move) -> None:
        """Move one group's coordinator; raise `BrokenEnvironment` where it cannot move."""
        ...

    def grow(self, topic: str, partitions: int) -> None:
        """Let a topic grow to `partitions`; raise `ValueError` where it has more."""
        ...

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; raise `ValueError` where it does not exist."""
        ...


@runtime_checkable
class Electing(Protocol):
    """A subject, or its cluster, that can move single coordinators by an election."""

    @property
    def elects(self) -> bool:
        """Whether it can: then every broker stays up, and other groups stay where they are."""
        ...


def moves_by_election(subject: object) -> bool:
    """Return whether a subject or its cluster moves a group without stopping a broker."""
    return isinstance(subject, Electing) and subject.elects


@runtime_checkable
class TopicSensitive(Protocol):
    """A subject in which a topic that is created or grows may change all groups, subscribed to it or not."""

    @property
    def topics_change_all_groups(self) -> bool:
        """Whether it may: then a case that creates topics would change the groups of the cases beside it."""
        ...


def topics_change_all_groups(subject: object) -> bool:
    """Return whether a case of this subject that creates topics needs its own cluster."""
    return isinstance(subject, TopicSensitive) and subject.topics_change_all_groups


@runtime_checkable
class FixedProgram(Protocol):
    """A cluster of a program that has some of Kafka's settings and can have no other."""

    @property
    def has_fixed_settings(self) -> bool:
        """Whether it is one: a case that needs another setting needs a feature that the program lacks."""
        ...


def has_fixed_settings(cluster: object) -> bool:
    """Return whether nobody could set the unmet settings of a cluster."""
    return isinstance(cluster, FixedProgram) and cluster.has_fixed_settings


@runtime_checkable
class SeparatelyConfigured(Protocol):
    """A cluster whose brokers may have different settings, because the kit did not start them."""

    async def settings_at(self, address: Address) -> SettingsReport:
        """Return the settings of the broker at `address`, beside what the cluster says of all of them."""
        ...


class BrokerSubject(Protocol):
    """A coordinator to be certified. `spec` is the user's name for it, `profile` the default release to judge it by."""

    @property
    def name(self) -> str: ...

    @property
    def release(self) -> str | None: ...

    @property
    def spec(self) -> str: ...

    @property
    def profile(self) -> str: ...

    @property
    def version(self) -> str | None: ...

    @property
    def is_virtual(self) -> bool:
        """Whether it lives in this process, so that time can be virtual."""
        ...

    def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AbstractAsyncContextManager[RunningCluster]:
        """Start brokers with Kafka's own `settings` by their dotted names, and topics with their numbers of partitions.

        Raise `BrokenEnvironment` where they do not start, with their last log lines.
        """
        ...
