"""Any running broker as the subject: reached at its address, and left as it was found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from groupproof.clients.registry.install_cache import Say
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import NOTHING_KNOWN, CannotStop, KnownSetting, RunningCluster, SettingsReport
from groupproof.harness.subjects.brokers.known_settings import BY_HAND, differing, known_by_itself
from groupproof.harness.subjects.brokers.readiness import create_topics, delete_groups, delete_topics, wait_until_coordinating, wait_until_up
from groupproof.harness.subjects.brokers.release_guess import Guess, guessed
from groupproof.harness.subjects.brokers.reported_settings import reported_settings, unmet_among
from groupproof.harness.subjects.cluster_control import NoMachines
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.client_properties import Security
from groupproof.harness.subjects.networks.request_connection import GONE, Connect, NoCommonVersion, versions_of
from groupproof.harness.subjects.networks.secure_connection import Connector
from groupproof.protocol.rules.profiles import NEWEST

__all__ = ["AddressedBrokers"]

_UP_S: Final = 20.0
_REMOVAL_S: Final = 30.0
_GROUPS: Final = 1


@dataclass(slots=True, kw_only=True)
class AddressedBrokers:
    """Brokers at `bootstrap`. Their profile is the one with the most similar ApiVersions, once `learn` has asked for them.

    `by_hand` are their settings by the user's report, `evident` those that each node showed when a run first asked it (`evident_settings`).
    """

    bootstrap: Sequence[Address]
    security: Security
    say: Say
    spec: str
    asked_profile: str | None = None
    by_hand: Mapping[str, int | str] = field(default_factory=dict)
    name: str = "address"
    release: str | None = None
    version: str | None = None
    is_virtual: bool = False
    guess: Guess | None = field(default=None, init=False)
    evident: dict[int, Mapping[str, KnownSetting]] = field(default_factory=dict, init=False)
    _uses: int = field(default=0, init=False)
    _made: list[str] = field(default_factory=list, init=False)

    @property
    def profile(self) -> str:
        return self.asked_profile or (self.guess.profile if self.guess is not None else NEWEST)

    async def learn(self) -> None:
        """Ask the brokers for their versions, which decide the profile; raise `BrokenEnvironment` where none answers."""
        connect = Connector.of(self.security).connect
        await self.reach()
        self.guess = guessed(await versions_of(await connect(*self.bootstrap[0])))

    async def reach(self) -> None:
        """Wait until a broker answers; raise `BrokenEnvironment`, which says what the port answers instead."""
        await self._until_up(Connector.of(self.security).connect)

    async def _until_up(self, connect: Connect) -> None:
        host, port = self.bootstrap[0]
        otherwise = f"no broker answers at {host}:{port}"
        await wait_until_up(connect, self.bootstrap[:1], list, within_s=_UP_S, otherwise=otherwise, uses_tls=self.security.uses_tls)

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        """Create the missing topics; at the end delete the groups that were `used`, and the created topics once no other cluster is open here.

        Cases with other settings use the same topics at the same time.

        Raise `BrokenEnvironment` where no broker answers, or a topic can neither be found nor created. `brokers` has no effect: the existing ones
        are used.
        """
        connector = Connector.of(self.security)
        await self._until_up(connector.connect)
        await wait_until_coordinating(connector.connect, self.bootstrap[0], _GROUPS, list, within_s=_UP_S)
        running = _Running(connector, list(self.bootstrap), partial(self._settings_at, connector, settings))
        self._uses += 1
        try:
            self._made += await create_topics(connector.connect, self.bootstrap[0], topics, replicas=1)
            first = await running.settings_at(self.bootstrap[0])
            running.known_settings, running.unmet = first.settings, first.unmet
            yield running
        finally:
            self._uses -= 1
            unused = [] if self._uses else self._made
            self._made = self._made if self._uses else []
            await self._remove(connector, unused, running.groups)

    async def _settings_at(self, connector: Connector, asked: Mapping[str, Any], address: Address) -> SettingsReport:
        by_name = await reported_settings(connector.connect, address)
        settings = {**{name: KnownSetting(value, BY_HAND) for name, value in self.by_hand.items()}, **known_by_itself(by_name)}
        unreported = {name: value for name, value in asked.items() if name not in settings}
        return SettingsReport(settings=settings, unmet={**self._unmet(unreported, by_name), **differing(asked, settings)})

    def _unmet(self, unreported: Mapping[str, Any], settings: Mapping[str, str | None] | str) -> dict[str, str]:
        """Return the settings that do not hold, each with the reason. Of those that the broker does not list, its user may know the value."""
        listed = {} if isinstance(settings, str) else settings
        hint = f"; give {'them' if isinstance(settings, str) else 'its value'} with {BY_HAND} NAME=VALUE"
        return {name: f"{why}{hint if listed.get(name) is None else ''}" for name, why in unmet_among(unreported, settings).items()}

    async def _remove(self, connector: Connector, topics: Sequence[str], groups: Iterable[str]) -> None:
        """Delete the created topics and groups, as far as the broker allows, and report the rest."""
        left = ["what could not be removed in time"]
        with trio.move_on_after(_REMOVAL_S, shield=True):
            try:
                left = await delete_groups(connector.connect, self.bootstrap[0], groups)
                left += await delete_topics(connector.connect, self.bootstrap[0], topics)
            except (*GONE, NoCommonVersion, BrokenEnvironment) as error:
                left = [*(f"topic {topic}" for topic in topics), f"the broker does not remove them: {error}"] if topics else []
        for name in left:
            self.say(f"left behind on {self.spec}: {name}")


class _Running(NoMachines):
    provided_by = "address"

    def __init__(self, connector: Connector, addresses: list[Address], settings_at: Callable[[Address], Awaitable[SettingsReport]]) -> None:
        self.addresses = addresses
        self.unmet: Mapping[str, str] = {}
        self.known_settings: Mapping[str, KnownSetting] = NOTHING_KNOWN
        self.groups: dict[str, None] = {}
        self._connector = connector
        self._settings_at = settings_at

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await self._connector.connect(host, port)

    async def settings_at(self, address: Address) -> SettingsReport:
        """Return the settings of one broker: they may differ from those of the others."""
        return await self._settings_at(address)

    async def stop(self, node_id: int) -> None:
        """Raise `CannotStop`, always."""
        raise CannotStop(f"broker {node_id} was not started by the kit, so the kit cannot stop it")

    def used(self, groups: Iterable[str]) -> None:
        self.groups.update(dict.fromkeys(groups))

    def deaths(self) -> list[str]:
        return []

    def logs(self) -> list[Path]:
        return []
