"""The shim of pykafka: its balanced consumer with Kafka's group protocol of 0.9 (`managed=True`), which supports one topic.

Its session timeout is always 30 s and its client id `pykafka`. It has no static members, no pattern and no asynchronous
commit. `start()` joins before it returns, so it runs with the first poll. Its only rebalance callback comes after the rebalance.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupproof_shim import ERROR_NAMES, Partition, PollingMember, Problem, Ranges, Subscribe, Unimplemented, cannot_run_here, serve, upper_snake

try:
    import pykafka
    from pykafka.common import OffsetType
    from pykafka.membershipprotocol import ConsumerGroupProtocolMetadata, RangeProtocol, RoundRobinProtocol
except ImportError as missing:
    cannot_run_here(f"pykafka cannot be imported here: {missing}")

ASSIGNORS = {"range": RangeProtocol, "roundrobin": RoundRobinProtocol}
RESETS = {"earliest": OffsetType.EARLIEST, "latest": OffsetType.LATEST}
SETTINGS = {
    "heartbeat_interval_ms": "heartbeat_interval_ms",
    "auto_commit": "auto_commit_enable",
    "auto_commit_interval_ms": "auto_commit_interval_ms",
}
RECORDS_MAX = 500
VERSIONS_ARE_ASKED_SINCE = "0.10.0"  # a lower `broker_version` selects pykafka's own lists of API versions


def main() -> None:
    serve("pykafka", pykafka.__version__, ["classic", "commit", "auto-commit", "pause"], PykafkaMember)


class PykafkaMember(PollingMember):
    consumer: Any = None
    topic: str
    has_begun = False
    _read: dict[Partition, tuple[int, int, int]]

    def open(self, subscribe: Subscribe) -> None:
        if subscribe.dialect != "classic":
            raise Unimplemented("pykafka has the classic group protocol only")
        self.resubscribe(subscribe.topics)
        self._read = {}
        self._client = {
            "hosts": subscribe.take("bootstrap"),
            "broker_version": subscribe.take("broker_release") or VERSIONS_ARE_ASKED_SINCE,
        }
        timeout = subscribe.take("request_timeout_ms")
        if timeout is not None:
            self._client |= {"socket_timeout_ms": timeout, "offsets_channel_socket_timeout_ms": timeout}
        self._settings = self._settings_of(subscribe)

    def _settings_of(self, subscribe: Subscribe) -> dict[str, Any]:
        reset = subscribe.take("auto_offset_reset", "latest")
        if reset not in RESETS:
            subscribe.ignore("auto_offset_reset")  # pykafka always resets
        return {
            "consumer_group": subscribe.take("group"),
            "membership_protocol": _protocol(subscribe),
            "auto_offset_reset": RESETS.get(reset, OffsetType.EARLIEST),
            "consumer_timeout_ms": int(self.poll_timeout_s * 1000),
            "fetch_wait_max_ms": int(self.poll_timeout_s * 1000),
            "post_rebalance_callback": self._rebalanced,
            **subscribe.config(SETTINGS),
            **subscribe.take("properties", {}),
        }

    def _begin(self) -> None:
        """Connect and join, like an application that creates the consumer and then consumes."""
        self.has_begun = True
        client = pykafka.KafkaClient(**self._client)
        self.consumer = client.topics[self.topic].get_balanced_consumer(managed=True, auto_start=False, **self._settings)
        self.consumer.start()

    def _rebalanced(self, _consumer: Any, before: Mapping[int, Any], after: Mapping[int, Any]) -> None:
        """Report a rebalance, in the heartbeat thread. First report the records that the application had read before it."""
        read, self._read = self._read, {}
        if read:
            self.emit_records(read)
        if before:
            self.emit_partitions("partitions_revoked", self._named(before))
            self.emit("callback_done")
        self.emit_partitions("partitions_assigned", self._named(after))
        self.emit("callback_done")

    def _named(self, ids: Iterable[int]) -> list[Partition]:
        return [(self.topic, id_) for id_ in ids]

    def poll(self) -> Ranges:
        if not self.has_begun:
            self._begin()
        for number in range(RECORDS_MAX):
            message = self.consumer.consume(block=number == 0)
            if message is None:
                break
            read, key = self._read, (self.topic, message.partition_id)
            least, _, count = read.get(key, (message.offset, 0, 0))
            read[key] = (least, message.offset, count + 1)
        read, self._read = self._read, {}
        return read

    def resubscribe(self, topics: Sequence[str]) -> None:
        if self.consumer is not None:
            raise Unimplemented("a consumer of pykafka has one topic, for good")
        if len(topics) != 1:
            raise Unimplemented("a consumer of pykafka has one topic")
        (self.topic,) = topics

    def unsubscribe(self) -> None:
        raise Unimplemented("pykafka ends a membership by stop() alone")

    def check_leave(self, *, leave: bool) -> None:
        if not leave:
            raise Unimplemented("pykafka always leaves")

    def close(self, *, leave: bool | None) -> None:
        if self.consumer is not None:
            self.consumer.stop()

    def commit_sync(self, offsets: Mapping[Partition, int] | None) -> None:
        positions = self.consumed() if offsets is None else offsets
        partitions = self.consumer.topic.partitions
        self.consumer.commit_offsets(partition_offsets=[(partitions[partition], offset) for (_, partition), offset in positions.items()])

    def commit_async(self, offsets: Mapping[Partition, int] | None) -> None:
        raise Unimplemented("pykafka waits for each commit")

    def assignment(self) -> Iterable[Partition]:
        return self._named(self.consumer.partitions or ()) if self.consumer is not None else ()

    def consumed(self) -> dict[Partition, int]:
        held = (self.consumer.held_offsets if self.consumer is not None else None) or {}
        return {(self.topic, partition): offset + 1 for partition, offset in held.items() if offset >= 0}

    def position(self, partition: Partition) -> int | None:
        return self.consumed().get(partition)

    def committed(self, partition: Partition) -> int | None:
        raise Unimplemented("pykafka asks for committed offsets only to go on from them")

    def problem(self, error: Exception) -> Problem:
        name = ERROR_NAMES.get(getattr(error, "ERROR_CODE", None) or 0)
        return name or upper_snake(type(error).__name__), str(error), True


def _protocol(subscribe: Subscribe) -> Any:
    asked = subscribe.take("assignors", ["range"])
    missing = [name for name in asked if name not in ASSIGNORS]
    if missing:
        raise Unimplemented(f"pykafka has no assignor {', '.join(missing)}")
    if len(asked) > 1:
        subscribe.ignore("assignors")  # a consumer has one
    # Each consumer writes its topic into the metadata, which the library shares in the process. Two topics would overwrite each other.
    return ASSIGNORS[asked[0]]._replace(metadata=ConsumerGroupProtocolMetadata())


if __name__ == "__main__":
    threading.current_thread().name = "shim"
    main()
