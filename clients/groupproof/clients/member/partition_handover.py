"""Handing partitions over: what a member revokes before it joins, lists in its subscription, and accepts after it synced.

Eager: everything is revoked before JoinGroup (CLIENT-62). Cooperative (KIP-429): only removed partitions are revoked, after SyncGroup. The member
then joins again, so that the leader can assign the revoked partitions to their next owner.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final, Literal

from groupproof.clients.member.member_core import Core
from groupproof.clients.outputs import CallbackKind
from groupproof.protocol.vocabulary import COOPERATIVE, COOPERATIVE_STICKY, TopicPartition
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

__all__ = ["HandOver"]

_ENCODED_MAX: Final = 4_096
"""The size of the cache of encoded subscriptions. Members often send the same subscription again."""


class HandOver:
    """Decides which callbacks a rebalance needs. The core runs them and stores the owned partitions."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._was_lost = False
        self._owned_before: frozenset[TopicPartition] = frozenset()

    @property
    def _is_cooperative(self) -> bool:
        """Return whether this member revokes cooperatively. One eager assignor in the list makes it eager (ConsumerCoordinator, KIP-429)."""
        core, listed = self._core, [name in COOPERATIVE for name in self._core.settings.assignors]
        where = core.policy.cooperative_where
        if where == "agreed":
            return core.protocol in COOPERATIVE
        return any(listed) if where == "any-listed" else all(listed)

    def subscription(self, assignor: str, user_data: bytes | None = None) -> bytes:
        """Return the metadata of one protocol in JoinGroup: topics, owned partitions, their generation, and the rack."""
        core = self._core
        topics = tuple(reversed(core.topics)) if core.policy.topics_reversed else core.topics
        if user_data is None:
            user_data = struct.pack(">i", core.generation) if assignor == COOPERATIVE_STICKY else core.policy.subscription_user_data
        policy = core.policy
        owned = core.owned if policy.owned_in_subscription else frozenset()
        words = topics if policy.topics_listed == "all" else topics[:1], owned, core.generation, core.settings.rack, user_data
        return _encoded(*words, policy.subscription_version, "owned partitions" if policy.ends_subscription_early else "") + policy.subscription_tail

    def lose(self) -> bool:
        """Run the lost callback for partitions of a generation that dropped the member. Return whether a callback runs."""
        core = self._core
        if not core.is_lost:
            return False
        core.is_lost = False
        self._was_lost = True
        if not core.owned:
            return False
        core.call(CallbackKind.LOST, core.owned)
        return True

    def before_join(self) -> None:
        """Revoke before JoinGroup: eager members everything, cooperative members what is no longer subscribed."""
        core = self._core
        self._owned_before = core.owned
        if self._was_lost:
            self._was_lost = False
        elif self._is_cooperative:
            unwanted = frozenset(partition for partition in core.owned if partition[0] not in core.topics)
            if unwanted:
                core.call(CallbackKind.REVOKED, unwanted)
        elif core.generation >= 0 and core.policy.revokes in ("before-join", "twice"):
            core.call(CallbackKind.REVOKED, core.owned)
            if core.policy.revokes == "twice":
                core.call(CallbackKind.REVOKED, core.owned)
        elif core.policy.revokes == "never":
            core.owned = frozenset()

    def after_sync(self, assigned: frozenset[TopicPartition]) -> None:
        """Apply the new assignment: first revoke the removed partitions, then assign the added ones."""
        core = self._core
        self._was_lost = False
        went = core.owned - assigned
        if self._is_cooperative:
            went = {"what-went": went, "everything": core.owned, "nothing": frozenset()}[core.policy.cooperative_revokes]
        came = assigned - (core.owned - went)
        if core.policy.cooperative_where == "muddled" and core.protocol in COOPERATIVE:
            came -= self._owned_before
        if went and (self._is_cooperative or core.policy.revokes == "after-join"):
            core.call(CallbackKind.REVOKED, went)
            if self._is_cooperative and core.policy.cooperative_rejoins:
                core.request_rejoin("partitions were revoked")
        if core.policy.calls_assigned:
            core.call(CallbackKind.ASSIGNED, came)
        else:
            core.owned |= came


@lru_cache(maxsize=_ENCODED_MAX)
def _encoded(
    topics: tuple[str, ...],
    owned: frozenset[TopicPartition],
    generation: int,
    rack: str | None,
    user_data: bytes | None,
    version: int,
    ends_before: Literal["", "owned partitions"],
) -> bytes:
    return encode_subscription(
        Subscription(
            topics=topics, owned=tuple(sorted(owned)), generation=generation, rack=rack, user_data=user_data, version=version,
            ends_before=ends_before,
        )
    )  # fmt: skip
