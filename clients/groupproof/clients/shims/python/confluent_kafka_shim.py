"""The shim of librdkafka, through confluent-kafka-python 2.0.2 and later: one consumer and one thread for each member.

librdkafka joins, heartbeats and fetches in its own threads. Polling runs its callbacks and keeps `max.poll.interval.ms`. librdkafka requires
`max.poll.interval.ms` to be at least `session.timeout.ms`: a shorter one is listed as ignored.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupproof_shim import ERROR_NAMES, Partition, PollingMember, Problem, Ranges, Subscribe, Unimplemented, cannot_run_here, serve, upper_snake

try:
    import confluent_kafka
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
except ImportError as missing:
    cannot_run_here(f"confluent-kafka cannot be imported here: {missing}")

ASSIGNORS = ("range", "roundrobin", "cooperative-sticky")
CONSUMER_PROTOCOL_SINCE = 0x02040000  # librdkafka 2.4: KIP-848 as early access
PREVIEW_BEFORE = 0x020C0000  # librdkafka 2.12: no longer a preview
REFUSED_SINCE = (
    0x020A0000  # librdkafka 2.10 refuses a session timeout and has regular expressions; before, the default is held against max.poll.interval.ms
)

SETTINGS = {
    "bootstrap": "bootstrap.servers", "group": "group.id", "client_id": "client.id", "instance_id": "group.instance.id",
    "session_timeout_ms": "session.timeout.ms", "heartbeat_interval_ms": "heartbeat.interval.ms", "max_poll_interval_ms": "max.poll.interval.ms",
    "auto_commit": "enable.auto.commit", "auto_commit_interval_ms": "auto.commit.interval.ms", "auto_offset_reset": "auto.offset.reset",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms", "request_timeout_ms": "socket.timeout.ms",
    "retry_backoff_ms": "retry.backoff.ms", "assignor": "group.remote.assignor", "reconnect_backoff_ms": "reconnect.backoff.ms",
}  # fmt: skip
CLASSIC_ONLY = ("session_timeout_ms", "heartbeat_interval_ms", "assignors")
RECORDS_MAX = 500
REVOCATION_S_MAX = 10.0
"""How many seconds `unsubscribe` waits until the client has released its partitions. librdkafka does so in the background."""


def main() -> None:
    version = confluent_kafka.version()
    print("librdkafka", confluent_kafka.libversion()[0], file=sys.stderr)
    serve("confluent-kafka", version if isinstance(version, str) else version[0], capabilities(), ConfluentMember)


def capabilities() -> list[str]:
    found = [
        "classic",
        "commit",
        "commit-async",
        "auto-commit",
        "pause",
        "poll-deadline",
        "static",
        "cooperative",
        "on-revoked",
        "resubscribe",
        "regex",
    ]
    release = confluent_kafka.libversion()[1]
    if release >= CONSUMER_PROTOCOL_SINCE:
        found += ["consumer"] if release >= PREVIEW_BEFORE else ["consumer", "consumer-preview"]
    return found


class ConfluentMember(PollingMember):
    consumer: Any
    is_static = False
    commits_pending = 0  # requested asynchronous commits without a callback yet

    def open(self, subscribe: Subscribe) -> None:
        pattern = subscribe.take("pattern")
        if pattern is not None and subscribe.dialect == "consumer" and confluent_kafka.libversion()[1] < REFUSED_SINCE:
            raise Unimplemented("librdkafka before 2.10 has no regular expressions in a consumer group")
        settings = self._settings(subscribe)
        self.is_static = "group.instance.id" in settings
        callbacks = {"on_commit": self.on_commit, "error_cb": self.on_error}
        self.consumer = Consumer({**settings, **callbacks})
        self.resubscribe(subscribe.topics if pattern is None else [f"^({pattern})$"])

    def _settings(self, subscribe: Subscribe) -> dict[str, Any]:
        settings = subscribe.config(SETTINGS)
        if subscribe.dialect == "consumer":
            settings["group.protocol"] = "consumer"
            for field in CLASSIC_ONLY:  # librdkafka refuses them with group.protocol=consumer
                settings.pop(SETTINGS.get(field, ""), None)
                subscribe.ignore(field)
            if confluent_kafka.libversion()[1] < REFUSED_SINCE:
                settings["session.timeout.ms"] = min(45_000, settings.get("max.poll.interval.ms", 45_000))
                # It is never sent. With an eager one, the default, callbacks get whole assignments (librdkafka 2.4.0, INTRODUCTION.md).
                settings["partition.assignment.strategy"] = "cooperative-sticky"
        else:
            settings["partition.assignment.strategy"] = ",".join(_assignors(subscribe.take("assignors", ["range"])))
            if settings.get("max.poll.interval.ms", 300_000) < (session := settings.get("session.timeout.ms", 45_000)):
                settings["max.poll.interval.ms"] = session
                subscribe.ignore("max_poll_interval_ms")
        settings.update(subscribe.take("properties", {}))
        return settings

    def resubscribe(self, topics: Sequence[str]) -> None:
        self.consumer.subscribe(list(topics), on_assign=self.on_assign, on_revoke=self.on_revoke, on_lost=self.on_lost)

    def on_assign(self, _consumer: Any, partitions: Sequence[Any]) -> None:
        self.assigned(_pairs(partitions))

    def on_revoke(self, _consumer: Any, partitions: Sequence[Any]) -> None:
        self.revoked(_pairs(partitions))

    def on_lost(self, _consumer: Any, partitions: Sequence[Any]) -> None:
        self.lost(_pairs(partitions))

    def identity(self) -> dict[str, Any]:
        return {"member_id": self.consumer.memberid() or None}

    def on_commit(self, error: Any, partitions: Sequence[Any]) -> None:
        """Report the end of an asynchronous or automatic commit."""
        commanded, self.commits_pending = self.commits_pending > 0, max(0, self.commits_pending - 1)
        if error is not None and error.code() == KafkaError._NO_OFFSET:
            if commanded:  # by an application; an automatic commit without offsets reports nothing
                self.emit_committed({}, None)
            return
        error = error or next((partition.error for partition in partitions if partition.error is not None), None)
        committed = {(partition.topic, partition.partition): partition.offset for partition in partitions}
        self.emit_committed(committed, None if error is None else _problem_of(error))

    def on_error(self, error: Any) -> None:
        name, message, fatal = _problem_of(error)
        self.emit("error", error=name, message=message, fatal=fatal)
        self.polling = self.polling and not fatal

    def poll(self) -> Ranges:
        first = self.consumer.poll(self.poll_timeout_s)
        messages = [] if first is None else [first, *self.consumer.consume(RECORDS_MAX, 0)]
        ranges: dict[Partition, tuple[int, int, int]] = {}
        for message in messages:
            if message.error() is not None:
                self.on_error(message.error())
                continue
            partition, offset = (message.topic(), message.partition()), message.offset()
            least, _, count = ranges.get(partition, (offset, offset, 0))
            ranges[partition] = (least, offset, count + 1)
        return ranges

    def unsubscribe(self) -> None:
        self.consumer.unsubscribe()
        deadline = time.monotonic() + REVOCATION_S_MAX
        while self.consumer.assignment() and time.monotonic() < deadline:
            self.consumer.poll(0.05)
        self.polling = True  # an application continues to poll: it has a client without topics

    def check_leave(self, *, leave: bool) -> None:
        if leave is self.is_static:
            raise Unimplemented("librdkafka has no way to " + ("make a static member leave" if leave else "close without leaving"))

    def close(self, *, leave: bool | None) -> None:
        self.consumer.close()

    def commit_sync(self, offsets: Mapping[Partition, int] | None) -> None:
        try:
            committed = self.consumer.commit(asynchronous=False, **_offsets(offsets))
        except KafkaException as error:
            if offsets is None and error.args[0].code() == KafkaError._NO_OFFSET:
                return  # nothing was consumed since the last commit; other clients report a success
            raise
        for item in committed or ():
            if item.error is not None:
                raise KafkaException(item.error)

    def commit_async(self, offsets: Mapping[Partition, int] | None) -> None:
        self.commits_pending += 1
        self.consumer.commit(asynchronous=True, **_offsets(offsets))

    def assignment(self) -> Iterable[Partition]:
        return _pairs(self.consumer.assignment())

    def consumed(self) -> dict[Partition, int]:
        return {(item.topic, item.partition): item.offset for item in self.consumer.position(self.consumer.assignment()) if item.offset >= 0}

    def position(self, partition: Partition) -> int | None:
        return _offset(self.consumer.position([TopicPartition(*partition)])[0])

    def committed(self, partition: Partition) -> int | None:
        return _offset(self.consumer.committed([TopicPartition(*partition)], timeout=10)[0])

    def problem(self, error: Exception) -> Problem:
        if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
            return _problem_of(error.args[0])
        return upper_snake(type(error).__name__), str(error), True


def _assignors(names: Sequence[str]) -> Sequence[str]:
    missing = [name for name in names if name not in ASSIGNORS]
    if missing:
        raise Unimplemented(f"librdkafka has no assignor {', '.join(missing)}")
    if "cooperative-sticky" in names and len(names) > 1:
        raise Unimplemented("librdkafka lets nobody mix cooperative and eager assignors")
    return names


def _pairs(partitions: Iterable[Any]) -> list[Partition]:
    return [(partition.topic, partition.partition) for partition in partitions]


def _offset(found: Any) -> int | None:
    if found.error is not None:
        raise KafkaException(found.error)
    offset: int = found.offset
    return offset if offset >= 0 else None


def _offsets(offsets: Mapping[Partition, int] | None) -> dict[str, Any]:
    return {} if offsets is None else {"offsets": [TopicPartition(*partition, offset) for partition, offset in offsets.items()]}


def _problem_of(error: Any) -> Problem:
    is_fatal = error.fatal() or error.code() == KafkaError._FATAL
    return ERROR_NAMES.get(error.code(), error.name()), error.str(), is_fatal


if __name__ == "__main__":
    main()
