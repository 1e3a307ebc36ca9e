"""Members of a group as processes whose lives somebody leads: they start, poll, stall, crash, restart, and commit as Java's consumers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import trio

from groupproof.clients.consumer.connection import Connect
from groupproof.clients.consumer.consumer import Consumer, ConsumerError
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member import Member
from groupproof.clients.outputs import Callback, CommitResult, Fail
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["COMMIT_MS", "POLL_INTERVAL_MS", "SESSION_MS", "Process"]

SESSION_MS: Final = 20_000
POLL_INTERVAL_MS: Final = 40_000
COMMIT_MS: Final = 4_000
_SETTINGS: Final[dict[str, Any]] = {
    "session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 3_000, "max_poll_interval_ms": POLL_INTERVAL_MS, "auto_commit_interval_ms": COMMIT_MS,
    "auto_offset_reset": "earliest", "fetch_max_wait_ms": 10_000, "metadata_max_age_ms": 5_000,
}  # fmt: skip
_POLL_MS: Final = 1_000
_GOODBYE_S: Final = 10.0


class Process:
    """One member under a client id, with a member id of its own for each of its lives."""

    def __init__(
        self, group: str, client: str, topics: tuple[str, ...], bootstrap: Sequence[Address], *, connect: Connect, seed: int = 0, **settings: Any
    ) -> None:
        self.group, self.client, self.topics = group, client, topics
        self._scope, self._gone = trio.CancelScope(), trio.Event()
        self._polls = trio.Event()
        self._polls.set()
        self._is_closing: bool | None = None
        self.failed: str | None = None
        wanted = MemberSettings(group=group, topics=topics, **{**_SETTINGS, **settings})
        self.consumer = Consumer(wanted, connect, bootstrap, client_id=client, listener=_listen, report=_ignore, seed=seed)

    @property
    def generation(self) -> int:
        """The generation or the member epoch that it is in, -1 where it is in none."""
        return self.consumer.member._core.generation  # what the member knows of itself is shown by no one else

    @property
    def owned(self) -> frozenset[TopicPartition]:
        return self.consumer.member.owned

    @property
    def is_leader(self) -> bool:
        member = self.consumer.member
        return isinstance(member, Member) and bool(member.assigned_counts)

    async def run(self) -> None:
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    await nursery.start(self.consumer.run)
                    await self._live()
                    nursery.cancel_scope.cancel()
        finally:
            self._gone.set()

    async def _live(self) -> None:
        while self._is_closing is None:
            await self._polls.wait()
            try:
                await self.consumer.poll(_POLL_MS)
            except ConsumerError as error:
                self.failed = str(error)
                return
        with trio.move_on_after(_GOODBYE_S):
            await self.consumer.close(leave=self._is_closing)

    async def close(self, *, leave: bool = True) -> None:
        """Close in order; a static member that does not leave says so to its coordinator, or nothing, as its protocol has it."""
        self._is_closing = leave
        self._polls.set()
        self.consumer.interrupt()
        await self._gone.wait()

    async def crash(self) -> None:
        """End as a process that is killed: its connections close, and nothing is sent."""
        self._scope.cancel()
        await self._gone.wait()

    def stall(self) -> None:
        """Be stuck in processing: heartbeats go on, polls do not."""
        self._polls = trio.Event()
        self.consumer.interrupt()

    def go_on(self) -> None:
        self._polls.set()

    def resubscribe(self, topics: tuple[str, ...]) -> None:
        self.topics = topics
        self.consumer.resubscribe(topics)

    def enforce_rebalance(self) -> None:
        """Join again for no other reason than that somebody asked for it, as `KafkaConsumer.enforceRebalance` does (KIP-568)."""
        self.consumer.member._core.request_rejoin("enforced by the application")
        self.consumer.interrupt()


async def _listen(_callback: Callback) -> None:
    await trio.lowlevel.checkpoint()


def _ignore(_ended: CommitResult | Fail) -> None:
    """Commits that fail in a rebalance are made again by the next one."""
