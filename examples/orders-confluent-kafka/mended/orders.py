"""Counts orders with confluent-kafka; what was counted is committed every thousand, and when partitions are taken away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, TopicPartition


class Orders:
    """The application: `counted` is called with each order."""

    def __init__(self, bootstrap: str, counted: Callable[[Any], None], **settings: Any) -> None:
        self.consumer = Consumer({
            "bootstrap.servers": bootstrap, "client.id": "orders", "group.id": "orders", "enable.auto.commit": False, "auto.offset.reset": "earliest",
            **settings,
        })  # fmt: skip
        self.consumer.subscribe(["orders"], on_revoke=self.on_revoke, on_lost=self.on_lost)
        self.counted = counted
        self.done: dict[tuple[str, int], int] = {}
        self.stopping = threading.Event()

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                order = self.consumer.poll(0.1)
                if order is not None and order.error() is None:
                    self.counted(order)
                    self.done[order.topic(), order.partition()] = order.offset() + 1
                if sum(self.done.values()) >= 1000:
                    self.commit()
        finally:
            self.consumer.close()

    @contextmanager
    def running(self) -> Iterator[Future[None]]:
        """Run in a thread for as long as the context lasts."""
        with ThreadPoolExecutor(1) as pool:
            try:
                yield pool.submit(self.run)
            finally:
                self.stopping.set()

    def commit(self) -> None:
        offsets = [TopicPartition(topic, partition, offset) for (topic, partition), offset in self.done.items()]
        self.done.clear()
        if offsets:
            self.consumer.commit(offsets=offsets, asynchronous=False)

    def on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.commit()

    def on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.done.clear()
