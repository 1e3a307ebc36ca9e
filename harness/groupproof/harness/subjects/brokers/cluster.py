"""What a coordinator under test looks like to the rest of the kit: a subject that starts a cluster, and a cluster that can be reached.

Whoever provides it, a cluster is its addresses, a way to connect, and what it cannot do; and nothing of it is left when its context ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import trio

from groupproof.harness.subjects.brokers.known_settings import KnownSetting
from groupproof.harness.subjects.cluster_control import Machines
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.faults import Move

__all__ = [
    "Address", "BrokerSubject", "CannotStop", "Electing", "FixedProgram", "MovableCluster", "RunningCluster", "TopicSensitive", "has_fixed_settings",
    "moves_by_election", "topics_change_all_groups",
]  # fmt: skip


class CannotStop(Exception):
    """A broker that is not ours to stop, or a node that is not there; `str()` says which. What needs it cannot be judged here."""


class RunningCluster(Machines, Protocol):
    """A cluster that answers group requests, for as long as its context lasts; its machines can be broken where they are the kit's."""

    @property
    def addresses(self) -> list[Address]:
        """The brokers to begin with."""
        ...

    @property
    def provided_by(self) -> str:
        """Who runs it, for the report: `maven`, `docker (apache/kafka:4.1.0)`, `address`, `in process`, …"""
        ...

    @property
    def unmet(self) -> Mapping[str, str]:
        """The settings asked for that do not hold here, each with why."""
        ...

    @property
    def known_settings(self) -> Mapping[str, KnownSetting]:
        """The settings that it has whatever was asked for, each with who says so: empty for a cluster that the kit starts as it is asked to."""
        ...

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        """Open a connection on which the next frame is the caller's: TLS and SASL are done. Raise `OSError` or `BrokenEnvironment`."""
        ...

    async def stop(self, node_id: int) -> None:
        """Kill one broker; raise `CannotStop`."""
        ...

    def used(self, groups: Iterable[str]) -> None:
        """Tell which groups were made, so that those on somebody else's cluster are deleted at the end."""
        ...

    def deaths(self) -> list[str]:
        """Return one line for each broker that ended uncalled, with its last words."""
        ...

    def logs(self) -> list[Path]:
        """Return the files that the brokers log to; they outlive the cluster."""
        ...


@runtime_checkable
class MovableCluster(Protocol):
    """A cluster in this process, whose coordinators move as the test says."""

    def move_group(self, group: str, move: Move) -> None:
        """Move one group's coordinator; raise `BrokenEnvironment` where it can't go."""
        ...

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic so many partitions; raise `ValueError` where it has more."""
        ...

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; raise `ValueError` where it is not there."""
        ...


@runtime_checkable
class Electing(Protocol):
    """A subject, or a cluster of it, that may move single coordinators by an election."""

    @property
    def elects(self) -> bool:
        """Whether it does: then every broker stays up, and other groups stay where they are."""
        ...


def moves_by_election(subject: object) -> bool:
    """Tell whether a move of a group leaves every broker up, be it asked of a subject or of its cluster."""
    return isinstance(subject, Electing) and subject.elects


@runtime_checkable
class TopicSensitive(Protocol):
    """A subject whose groups may all be changed by a topic that comes or grows, whether they subscribe to it or not."""

    @property
    def topics_change_all_groups(self) -> bool:
        """Whether they are: then a case that makes topics would change the groups of the cases beside it."""
        ...


def topics_change_all_groups(subject: object) -> bool:
    """Tell whether a case of this subject that makes topics needs a cluster of its own."""
    return isinstance(subject, TopicSensitive) and subject.topics_change_all_groups


@runtime_checkable
class FixedProgram(Protocol):
    """A cluster of a program that has some of Kafka's settings, and no way to any other."""

    @property
    def has_fixed_settings(self) -> bool:
        """Whether it is one: a case that needs another setting asks for a feature that it does not have."""
        ...


def has_fixed_settings(cluster: object) -> bool:
    """Tell whether what is unmet of a cluster's settings nobody could set."""
    return isinstance(cluster, FixedProgram) and cluster.has_fixed_settings


class BrokerSubject(Protocol):
    """A coordinator to be certified. `spec` is how the user named it, `profile` the release whose behaviour is due by default."""

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
        """Start brokers with Kafka's own `settings` by their dotted names, and topics with so many partitions.

        Raises `BrokenEnvironment` where they do not come up, with their last words.
        """
        ...
