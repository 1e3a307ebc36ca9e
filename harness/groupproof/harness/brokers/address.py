"""Any broker that is there already as the subject: reached at its address, left as it was found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import trio

from groupproof.clients.store import Say
from groupproof.harness.brokers.cluster import CannotStop, RunningCluster
from groupproof.harness.brokers.properties import Security
from groupproof.harness.brokers.question import GONE, NotSpoken, Ranges, versions_of
from groupproof.harness.brokers.readiness import Connect, create_topics, delete_groups, delete_topics, wait_until_coordinating, wait_until_up
from groupproof.harness.brokers.security import Connector
from groupproof.harness.brokers.told import unmet_by
from groupproof.harness.driven import NoMachines
from groupproof.harness.network import Address
from groupproof.harness.troubles import BrokenEnvironment
from groupproof.protocol.spec.profiles import NEWEST, api_versions, default_profiles
from groupproof.protocol.vocabulary import Api

__all__ = ["AddressedBrokers", "matching_profile"]

_UP_S: Final = 20.0
_REMOVAL_S: Final = 30.0
_GROUPS: Final = 1
# What tells releases apart for a group's members; brokers that aren't Kafka leave out, or lag behind in, most others.
_TELLING: Final = (
    Api.FETCH, Api.METADATA, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.SYNC_GROUP,
    Api.LIST_GROUPS,
)  # fmt: skip


def matching_profile(told: Ranges) -> str:
    """Return the newest profile whose release advertises nothing newer than `told` of the APIs that members need; the oldest where none does."""
    newest_first = [name for name in reversed(default_profiles()) if name.startswith("kafka-")]
    for name in newest_first:
        own = api_versions(name)
        if all(own[api][1] <= told[api][1] for api in _TELLING if api in told):
            return name
    return newest_first[-1]


@dataclass(slots=True, kw_only=True)
class AddressedBrokers:
    """Brokers at `bootstrap`. Their profile is the newest that their ApiVersions match, once `learn` has asked them."""

    bootstrap: Sequence[Address]
    security: Security
    say: Say
    spec: str
    asked_profile: str | None = None
    name: str = "address"
    release: str | None = None
    version: str | None = None
    is_virtual: bool = False
    _matched: str | None = field(default=None, init=False)

    @property
    def profile(self) -> str:
        return self.asked_profile or self._matched or NEWEST

    async def learn(self) -> None:
        """Ask the brokers for their versions, from which follows the profile; raise `BrokenEnvironment` where none answers."""
        connect = Connector.of(self.security).connect
        await self._until_up(connect)
        self._matched = matching_profile(await versions_of(await connect(*self.bootstrap[0])))

    async def _until_up(self, connect: Connect) -> None:
        host, port = self.bootstrap[0]
        await wait_until_up(connect, self.bootstrap[:1], list, within_s=_UP_S, otherwise=f"no broker answers at {host}:{port}")

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        """Create the topics that are missing; at the end delete them again, and the groups that were `used`.

        Raises `BrokenEnvironment` where nobody answers, or topics can neither be found nor created. `brokers` are those that are there.
        """
        connector = Connector.of(self.security)
        await self._until_up(connector.connect)
        await wait_until_coordinating(connector.connect, self.bootstrap[0], _GROUPS, list, within_s=_UP_S)
        running = _Running(connector, list(self.bootstrap))
        made: list[str] = []
        try:
            made += await create_topics(connector.connect, self.bootstrap[0], topics, replicas=1)
            running.unmet = await unmet_by(connector.connect, self.bootstrap[0], settings)
            yield running
        finally:
            await self._remove(connector, made, running.groups)

    async def _remove(self, connector: Connector, topics: Sequence[str], groups: Iterable[str]) -> None:
        """Delete what was made, as far as the broker allows, and say what is left."""
        left = ["what could not be removed in time"]
        with trio.move_on_after(_REMOVAL_S, shield=True):
            try:
                left = await delete_groups(connector.connect, self.bootstrap[0], groups)
                left += await delete_topics(connector.connect, self.bootstrap[0], topics)
            except (*GONE, NotSpoken, BrokenEnvironment) as error:
                left = [*(f"topic {topic}" for topic in topics), f"the broker does not remove them: {error}"] if topics else []
        for each in left:
            self.say(f"left behind on {self.spec}: {each}")


class _Running(NoMachines):
    provided_by = "address"

    def __init__(self, connector: Connector, addresses: list[Address]) -> None:
        self.addresses = addresses
        self.unmet: Mapping[str, str] = {}
        self.groups: dict[str, None] = {}
        self._connector = connector

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await self._connector.connect(host, port)

    async def stop(self, node_id: int) -> None:
        """Raise `CannotStop`, always."""
        raise CannotStop(f"broker {node_id} is not the kit's to stop: it was there already")

    def used(self, groups: Iterable[str]) -> None:
        self.groups.update(dict.fromkeys(groups))

    def deaths(self) -> list[str]:
        return []

    def logs(self) -> list[Path]:
        return []
