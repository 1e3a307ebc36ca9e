"""Members of the design with a coordinator: the reference consumer, at any coordinator that can be reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import trio

from groupproof.clients.consumer.connection import Exchange
from groupproof.clients.consumer.consumer import Consumer, now_ms
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.outputs import Callback, CallbackKind, CommitResult, Fail
from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.relatives.zookeeper_comparison.side import GROUP, TOPIC, Common, ConnectOf
from groupproof.protocol.vocabulary import Api

__all__ = ["CoordinatorSide"]

_COUNTED: Final = frozenset({
    Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.HEARTBEAT,
})  # fmt: skip
_POLL_MS: Final = 500


class CoordinatorSide:
    """Heartbeats are counted where they brought news: a rebalance, or that the member is none any more."""

    design: str = "coordinator"

    def __init__(self, common: Common, nursery: trio.Nursery, ledger: ReadLedger, *, connect_of: ConnectOf, seed: int = 0) -> None:
        self.ledger = ledger
        self._asked: Counter[str] = Counter()
        self.heard = self.failures = self.rebalances = 0
        self.refused = 0
        self._common, self._nursery, self._connect_of, self._seed = common, nursery, connect_of, seed
        self._consumers: dict[str, Consumer] = {}
        self._scopes: dict[str, trio.CancelScope] = {}
        self._begun = trio.Event()
        self._settings = MemberSettings(
            group=GROUP, topics=(TOPIC,), session_timeout_ms=common.session_ms, heartbeat_interval_ms=min(3_000, common.session_ms // 3),
            auto_commit_interval_ms=common.commits_ms, auto_offset_reset="earliest", fetch_max_wait_ms=common.wait_ms, max_poll_records=1 if common.pace_ms else 500,
        )  # fmt: skip

    @property
    def asked(self) -> Counter[str]:
        return self._asked

    @property
    def members(self) -> Sequence[str]:
        return list(self._consumers)

    async def begin(self, name: str) -> None:
        await self._nursery.start(self._live, name)

    async def leave(self, name: str) -> None:
        consumer = self._consumers.pop(name)
        await consumer.close()
        self._scopes.pop(name).cancel()
        self.ledger.lets_go(name, now_ms())

    async def kill(self, name: str) -> None:
        self._begun = trio.Event()
        del self._consumers[name]
        self._scopes.pop(name).cancel()
        self.ledger.lets_go(name, now_ms())
        await self._begun.wait()

    def is_settled(self) -> bool:
        members = [consumer.member for consumer in self._consumers.values()]
        owned = [member.owned for member in members]
        is_parted = sum(map(len, owned)) == len(frozenset().union(*owned)) == self._common.partitions
        return is_parted and all(member.is_settled and member.calling is None for member in members)

    def commit(self) -> None:
        """Let every member commit what it has consumed."""
        for consumer in self._consumers.values():
            consumer.commit_async()

    async def _live(self, name: str, *, task_status: trio.TaskStatus[None]) -> None:
        connect, bootstrap = self._connect_of(name)
        consumer = Consumer(
            self._settings, connect, bootstrap, client_id=name, listener=partial(self._called, name), report=self._on_report, seed=self._seed,
            observer=partial(self._on_exchange, name),
        )  # fmt: skip
        with trio.CancelScope() as scope:
            self._scopes[name] = scope
            async with trio.open_nursery() as nursery:
                await nursery.start(consumer.run)
                self._consumers[name] = consumer
                task_status.started()
                await self._consume(name, consumer)

    async def _consume(self, name: str, consumer: Consumer) -> None:
        """Be the application: take a record, and let the pace pass; one record of each partition, where there are several."""
        while name in self._consumers:
            for delivery in await consumer.poll(_POLL_MS):
                for offset in range(delivery.first, delivery.last + 1):
                    self.ledger.read(name, delivery.partition, offset, now_ms())
            await trio.sleep(self._common.pace_ms / 1000 / max(1, len(consumer.member.owned)))

    async def _called(self, name: str, callback: Callback) -> None:
        if callback.kind is CallbackKind.ASSIGNED:
            self.ledger.holds(name, callback.partitions, now_ms())
        else:
            self.ledger.lets_go(name, now_ms(), callback.partitions)

    def _on_report(self, _: CommitResult | Fail) -> None:
        """Nothing to note: what is committed is read off the wire."""

    def _on_exchange(self, name: str, exchange: Exchange) -> None:
        api, answer = exchange.api, exchange.answer
        if answer is None:
            if api in _COUNTED and api is not Api.HEARTBEAT:
                self._asked[api.title] += 1
            if api is Api.JOIN_GROUP:
                self._begun.set()
        elif api is Api.HEARTBEAT and answer["error_code"]:
            self._asked[api.title] += 1
        elif api is Api.SYNC_GROUP and not answer["error_code"]:
            self.rebalances += 1
        elif api is Api.OFFSET_COMMIT:
            self._committed(name, exchange.request, answer)

    def _committed(self, name: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        errors = {
            (topic["name"], partition["partition_index"]): partition["error_code"] for topic in answer["topics"] for partition in topic["partitions"]
        }
        asked = {
            (topic["name"], partition["partition_index"]): partition["committed_offset"]
            for topic in request["topics"]
            for partition in topic["partitions"]
        }
        self.refused += sum(error != 0 for error in errors.values())
        self.ledger.accepted(name, {key: offset for key, offset in asked.items() if errors.get(key) == 0}, now_ms())
