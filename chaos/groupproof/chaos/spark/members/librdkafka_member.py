"""A member of librdkafka: it joins, heartbeats and fetches in threads of its own; polling serves its callbacks."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from groupproof.chaos.spark.members.load_order import MemberOrder
from groupproof.chaos.spark.members.member_api import MemberEvent
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["SETTINGS", "LibrdkafkaMember", "config_of"]

_SETTINGS: Final = {
    "session_timeout_ms": "session.timeout.ms", "heartbeat_interval_ms": "heartbeat.interval.ms", "max_poll_interval_ms": "max.poll.interval.ms",
    "auto_offset_reset": "auto.offset.reset", "metadata_max_age_ms": "topic.metadata.refresh.interval.ms",
    "fetch_max_wait_ms": "fetch.wait.max.ms", "retry_backoff_ms": "retry.backoff.ms", "retry_backoff_max_ms": "retry.backoff.max.ms",
    "request_timeout_ms": "socket.timeout.ms", "connections_max_idle_ms": "connections.max.idle.ms", "rack": "client.rack",
    "remote_assignor": "group.remote.assignor",
}  # fmt: skip
SETTINGS: Final = frozenset({*_SETTINGS, "assignors"})
"""The settings of `MemberSettings` that librdkafka has."""
_OF_THE_COORDINATOR: Final = frozenset({"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"})


def config_of(member: MemberOrder, bootstrap: Iterable[tuple[str, int]], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return librdkafka's own settings; it accepts no poll interval below the session timeout."""
    config: dict[str, Any] = {
        "bootstrap.servers": ",".join(f"{host}:{port}" for host, port in bootstrap), "group.id": member.group, "client.id": member.client,
        "enable.auto.commit": False, "auto.offset.reset": "earliest", "partition.assignment.strategy": "range",
    }  # fmt: skip
    config |= {_SETTINGS[name]: value for name, value in settings.items() if name in _SETTINGS}
    if "assignors" in settings:
        config["partition.assignment.strategy"] = ",".join(settings["assignors"])
    if settings.get("by_epochs"):
        # KIP-848: what the coordinator decides librdkafka refuses as a setting.
        config = {name: value for name, value in config.items() if name not in _OF_THE_COORDINATOR} | {"group.protocol": "consumer"}
    config["max.poll.interval.ms"] = max(config.get("max.poll.interval.ms", 300_000), config.get("session.timeout.ms", 45_000))
    return config


class LibrdkafkaMember:
    """One consumer; a `ThirdPartyConsumer`."""

    def __init__(
        self, member: MemberOrder, topics: Sequence[str], bootstrap: Iterable[tuple[str, int]], settings: Mapping[str, Any], tell: MemberEvent
    ) -> None:
        self._tell = tell
        # Its release is in a folder of its own, which is only known when a task begins.
        self._library: Any = importlib.import_module("confluent_kafka")
        self._consumer: Any = self._library.Consumer(config_of(member, bootstrap, settings), logger=_Silent())
        self._consumer.subscribe(
            list(topics), on_assign=self._callback("assigned"), on_revoke=self._callback("revoked"), on_lost=self._callback("lost")
        )

    def poll(self, timeout_s: float) -> None:
        message = self._consumer.poll(timeout_s)
        if message is not None and (error := message.error()) is not None and error.fatal():
            raise self._library.KafkaException(error)

    def commit(self) -> str | None:
        try:
            committed = self._consumer.commit(asynchronous=False)
        except self._library.KafkaException as error:
            entry = error.args[0]
            return None if entry.code() == self._library.KafkaError._NO_OFFSET else str(entry.name())
        failed = next((item.error for item in committed if item.error is not None), None)
        return None if failed is None else str(failed.name())

    def leave(self) -> None:
        self._consumer.close()

    def die(self) -> None:
        """Drop the consumer: confluent-kafka then destroys it without closing it, so that no LeaveGroup is sent."""
        self._consumer = None

    def _callback(self, name: str) -> Any:
        def called(consumer: Any, partitions: Iterable[Any]) -> None:
            found: list[TopicPartition] = [(partition.topic, partition.partition) for partition in partitions]
            self._tell(f"partitions_{name}", found, consumer.memberid() or None)

        return called


class _Silent:
    """Discards librdkafka's log, which has a line for each lost connection of a thousand: the trace has what matters."""

    def log(self, *_: Any) -> None:
        return
