"""Counts orders with kafka-python; what was counted is committed every thousand, and when partitions are taken away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.structs import OffsetAndMetadata, TopicPartition


class Orders(ConsumerRebalanceListener):
    """The application: `counted` is called with each order."""

    def __init__(self, bootstrap: str, counted: Callable[[Any], None], **settings: Any) -> None:
        self.consumer = KafkaConsumer(
            bootstrap_servers=bootstrap, client_id="orders", group_id="orders", enable_auto_commit=False, auto_offset_reset="earliest", **settings
        )  # fmt: skip
        self.consumer.subscribe(["orders"], listener=self)
        self.consumer.partitions_for_topic("orders")  # known before the group is joined, or it has to be joined again at once
        self.counted = counted
        self.done: dict[TopicPartition, int] = {}
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            for partition, orders in self.consumer.poll(timeout_ms=100).items():
                for order in orders:
                    self.counted(order)
                    self.done[partition] = order.offset + 1
            if sum(self.done.values()) >= 1000:
                self.commit()
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
        offsets = {partition: OffsetAndMetadata(offset, "", -1) for partition, offset in self.done.items()}
        self.done.clear()
        if offsets:
            self.consumer.commit(offsets)

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.commit()  # the bug: since kafka-python 3 a listener that is no coroutine may not wait for an answer

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        print("counting", sorted(assigned))
