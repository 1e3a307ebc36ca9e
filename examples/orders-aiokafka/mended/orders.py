"""Counts orders with aiokafka; what was counted is committed every thousand, and when partitions are taken away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition


class Orders(ConsumerRebalanceListener):
    """The application: `counted` is called with each order."""

    def __init__(self, bootstrap: str, counted: Callable[[Any], None], **settings: Any) -> None:
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, client_id="orders", group_id="orders", enable_auto_commit=False, auto_offset_reset="earliest", **settings
        )  # fmt: skip
        self.consumer.subscribe(["orders"], listener=self)
        self.counted = counted
        self.done: dict[TopicPartition, int] = {}

    async def run(self) -> None:
        await self.consumer.start()
        try:
            while True:
                for partition, orders in (await self.consumer.getmany(timeout_ms=100)).items():
                    for order in orders:
                        self.counted(order)
                        self.done[partition] = order.offset + 1
                if sum(self.done.values()) >= 1000:
                    await self.commit()
        finally:
            await self.consumer.stop()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run in a task for as long as the context lasts."""
        task = asyncio.create_task(self.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def commit(self) -> None:
        done, self.done = self.done, {}
        if done:
            await self.consumer.commit(done)

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        await self.commit()

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        print("counting", sorted(assigned))
