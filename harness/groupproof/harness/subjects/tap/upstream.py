"""What the tap asks the brokers before the first client comes: their addresses, API versions, existing groups and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.readiness import wait_until_up
from groupproof.harness.subjects.brokers.release_guess import matching_profile
from groupproof.harness.subjects.brokers.reported_settings import reported_settings
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, Connect, NoCommonVersion, asking
from groupproof.harness.subjects.tap.addresses import NamedBroker, named_in
from groupproof.harness.subjects.tap.topic_names import topics_in
from groupproof.protocol.rules.consumer.group_configs import BROKER_SETTINGS
from groupproof.protocol.vocabulary import Api, error_named

__all__ = ["SETTINGS", "UpstreamInfo", "meet_upstream", "topics_of"]

_UP_S: Final = 20.0

SETTINGS: Final = (
    "group.initial.rebalance.delay.ms", "group.min.session.timeout.ms", "group.max.session.timeout.ms", "group.max.size", "offset.metadata.max.bytes",
    "offsets.retention.minutes", "offsets.topic.num.partitions", *BROKER_SETTINGS,
)  # fmt: skip
"""The broker settings that a group's rules need."""

_DECISIVE: Final = SETTINGS[:3]
_WITH_IDS: Final = 10
_NEWEST: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamInfo:
    """The upstream at the start. `groups` are the existing ones, or None where they are unknown; `untold` then says why. The same holds for
    `settings`.

    Where the brokers differ, `settings` are None, and `settings_of_nodes` has those of each: a group has its coordinator's.

    `topics` have their ids and their numbers of partitions. None where the brokers have no topic ids.
    """

    profile: str
    brokers: tuple[NamedBroker, ...]
    groups: tuple[str, ...] | None
    settings: Mapping[str, str] | None
    untold: str = ""
    topics: Mapping[str, tuple[str, int]] | None = None
    settings_of_nodes: Mapping[int, Mapping[str, str]] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the body of its event in the trace."""
        groups = None if self.groups is None else list(self.groups)
        settings = None if self.settings is None else dict(self.settings)
        brokers = [[broker.node, *broker.address] for broker in self.brokers]
        topics = None if self.topics is None else {name: list(topic) for name, topic in self.topics.items()}
        fields = {"profile": self.profile, "brokers": brokers, "groups": groups, "settings": settings, "topics": topics}
        of_nodes = None if self.settings_of_nodes is None else {str(node): dict(values) for node, values in self.settings_of_nodes.items()}
        return {"name": "upstream", **fields, "untold": self.untold, **({} if of_nodes is None else {"settings_of_nodes": of_nodes})}


async def meet_upstream(
    connect: Connect, bootstrap: Sequence[Address], *, profile: str | None, within_s: float = _UP_S, uses_tls: bool = True
) -> UpstreamInfo:
    """Ask the brokers. Raise `BrokenEnvironment` where the first of `bootstrap` does not answer. `profile` is the release that the user names."""
    host, port = bootstrap[0]
    await wait_until_up(connect, bootstrap[:1], list, within_s=within_s, otherwise=f"no broker answers at {host}:{port}", uses_tls=uses_tls)
    try:
        async with asking(await connect(*bootstrap[0])) as asker:
            ranges = asker.ranges
            brokers = tuple(named_in(Api.METADATA, await asker.ask(Api.METADATA, {"topics": ()}, newest=8)))
            topics = await topics_of(asker)
    except (*GONE, NoCommonVersion) as error:
        raise BrokenEnvironment(f"{host}:{port} does not answer as a broker: {str(error) or type(error).__name__}") from error
    groups = await _groups(connect, brokers)
    of_brokers = [_settings(await reported_settings(connect, address)) for address in [broker.address for broker in brokers] or bootstrap[:1]]
    settings = _common(of_brokers)
    return UpstreamInfo(
        profile=profile or matching_profile(ranges),
        brokers=brokers,
        groups=None if isinstance(groups, str) else groups,
        settings=None if isinstance(settings, str) else settings,
        untold=next((item for item in (groups, settings) if isinstance(item, str)), ""),
        topics=topics,
        settings_of_nodes=_by_node(brokers, of_brokers) if isinstance(settings, str) else None,
    )


async def topics_of(asker: Asker) -> Mapping[str, tuple[str, int]] | None:
    """Return all topics with their ids. Return None where brokers have no topic ids."""
    if asker.ranges.get(Api.METADATA, (0, 0))[1] < _WITH_IDS:
        return None
    return topics_in(Api.METADATA, await asker.ask(Api.METADATA, {"topics": None, "allow_auto_topic_creation": False}, newest=_NEWEST))


def _settings(by_name: Mapping[str, str | None] | str) -> dict[str, str] | str:
    """Return the settings that a group's rules need, or why they are unknown. Defaults cannot replace them, because they decide when an answer is
    due."""
    if isinstance(by_name, str):
        return f"the broker does not report its settings: {by_name}"
    settings = {name: value for name in SETTINGS if (value := by_name.get(name)) is not None}
    missing = [name for name in _DECISIVE if name not in settings]
    return f"the broker does not report {', '.join(missing)}" if missing else settings


def _common(of_brokers: Sequence[dict[str, str] | str]) -> dict[str, str] | str:
    """Return the settings that all brokers have, or why there are none: a broker does not report them, or the brokers differ."""
    first, *others = of_brokers
    if isinstance(first, str):
        return first
    for settings in others:
        if isinstance(settings, str):
            return settings
        if unlike := sorted(name for name in {*first, *settings} if first.get(name) != settings.get(name)):
            return f"the brokers differ in {', '.join(unlike)}"
    return first


def _by_node(brokers: Sequence[NamedBroker], of_brokers: Sequence[dict[str, str] | str]) -> dict[int, dict[str, str]] | None:
    """Return the settings of each broker; None where one does not report them."""
    found = {broker.node: settings for broker, settings in zip(brokers, of_brokers, strict=False) if not isinstance(settings, str)}
    return found if found and len(found) == len(of_brokers) else None


async def _groups(connect: Connect, brokers: Sequence[NamedBroker]) -> tuple[str, ...] | str:
    """Return the groups of all brokers, or why one does not list them."""
    found: list[str] = []
    try:
        for broker in brokers:
            async with asking(await connect(*broker.address)) as asker:
                answer = await asker.ask(Api.LIST_GROUPS, {})
            if answer["error_code"]:
                return f"broker {broker.node} answers ListGroups with {error_named(answer['error_code'])}"
            found += [group["group_id"] for group in answer["groups"]]
    except (*GONE, NoCommonVersion) as error:
        return f"the brokers do not list their groups: {str(error) or type(error).__name__}"
    return tuple(found)
