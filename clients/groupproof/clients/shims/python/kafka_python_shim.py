"""The shim of kafka-python, releases 1.4.4 to 3.x, and of its fork kafka-python-ng: one consumer and one thread for each member.

The shim detects differences between releases in the library, not by version number: static membership is a key of
`KafkaConsumer.DEFAULT_CONFIG`, an assignor is a module. It subscribes and polls like any application and requests nothing before. So the first
join, with or without metadata, is the client's own. Polls before the first assignment may take longer than later ones: the client forgets a rejoin
that outlasts its poll (docs/findings/kafka-python-forgets-a-rejoin.md). That bug has its own cases and must not end others by chance. From
3.0 on, rebalance listeners run on the client's own event loop. Its documentation then requires `AsyncConsumerRebalanceListener`, which this
application uses there.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupproof_shim import Partition, PollingMember, Problem, Ranges, Subscribe, Unimplemented, cannot_run_here, is_of_a_closed_socket, serve

try:
    import kafka
    from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
    from kafka.structs import OffsetAndMetadata
except ImportError as missing:
    cannot_run_here(f"kafka-python cannot be imported here: {missing}")

AsyncListener = getattr(kafka, "AsyncConsumerRebalanceListener", None)

FORK = "kafka-python-ng"

FIRST_POLLS_S = 0.5

ASSIGNORS = {
    "range": ("range", "RangePartitionAssignor"),
    "roundrobin": ("roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("sticky.sticky_assignor", "StickyPartitionAssignor"),
    "cooperative-sticky": ("cooperative_sticky", "CooperativeStickyAssignor"),
}

SETTINGS = {
    "bootstrap": "bootstrap_servers", "group": "group_id", "client_id": "client_id", "session_timeout_ms": "session_timeout_ms",
    "heartbeat_interval_ms": "heartbeat_interval_ms", "max_poll_interval_ms": "max_poll_interval_ms", "auto_commit": "enable_auto_commit",
    "auto_commit_interval_ms": "auto_commit_interval_ms", "auto_offset_reset": "auto_offset_reset", "metadata_max_age_ms": "metadata_max_age_ms",
    "request_timeout_ms": "request_timeout_ms", "retry_backoff_ms": "retry_backoff_ms", "reconnect_backoff_ms": "reconnect_backoff_ms",
}  # fmt: skip


def main() -> None:
    serve(package(), kafka.__version__, capabilities(), KafkaPythonMember)


def package() -> str:
    """Return the installed package's name. The fork has the same modules."""
    try:
        importlib.metadata.distribution(FORK)
    except importlib.metadata.PackageNotFoundError:
        return "kafka-python"
    return FORK


def capabilities() -> list[str]:
    found = ["classic", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "on-revoked", "resubscribe"]
    if "group_instance_id" in KafkaConsumer.DEFAULT_CONFIG:
        found.append("static")
    if assignor("cooperative-sticky") is not None:
        found.append("cooperative")
    return found


def assignor(name: str) -> Any:
    """Return the class of Kafka's assignor `name`, or None if this release lacks it."""
    module, cls = ASSIGNORS.get(name, ("", ""))
    try:
        return getattr(importlib.import_module(f"kafka.coordinator.assignors.{module}"), cls, None)
    except ImportError:
        return None


class KafkaPythonMember(PollingMember):
    consumer: Any
    has_begun = False

    def open(self, subscribe: Subscribe) -> None:
        if subscribe.dialect != "classic":
            raise Unimplemented("kafka-python has the classic group protocol only")
        self.consumer = KafkaConsumer(**self._settings(subscribe))
        self.resubscribe(subscribe.topics)

    def _settings(self, subscribe: Subscribe) -> dict[str, Any]:
        settings = subscribe.config(SETTINGS)
        settings["partition_assignment_strategy"] = _assignors(subscribe.take("assignors", ["range"]))
        if "group_instance_id" in KafkaConsumer.DEFAULT_CONFIG:
            settings.update(subscribe.config({"instance_id": "group_instance_id"}))
        if not _allowed_request_timeout(settings):
            del settings["request_timeout_ms"]
            subscribe.ignore("request_timeout_ms")
        settings.update(subscribe.take("properties", {}))
        return settings

    def resubscribe(self, topics: Sequence[str]) -> None:
        listener = _listener(self) if AsyncListener is None else _async_listener(self)
        self.consumer.subscribe(topics=list(topics), listener=listener)

    def poll(self) -> Ranges:
        polled = self.consumer.poll(timeout_ms=int(self._patience_s() * 1000))
        return {(tp.topic, tp.partition): (records[0].offset, records[-1].offset, len(records)) for tp, records in polled.items() if records}

    def problem(self, error: Exception) -> Problem:
        """Name the error. An error of 2.x's selector, after a connection closed in the same round, is not fatal: the application polls on."""
        name, message, fatal = super().problem(error)
        return name, message, fatal and not is_of_a_closed_socket(error)

    def _patience_s(self) -> float:
        """Return the timeout of this poll in seconds. Before the first assignment it is longer, so that a stalled machine does not cut it short."""
        self.has_begun = self.has_begun or bool(self.consumer.assignment())
        return self.poll_timeout_s if self.has_begun else max(self.poll_timeout_s, FIRST_POLLS_S)

    def unsubscribe(self) -> None:
        self.polling = False
        self.consumer.unsubscribe()

    def check_leave(self, *, leave: bool) -> None:
        static = self.consumer.config.get("group_instance_id") is not None
        if leave is static:
            raise Unimplemented("kafka-python has no way to " + ("make a static member leave" if static else "close without leaving"))

    def close(self, *, leave: bool | None) -> None:
        self.consumer.close()

    def commit_sync(self, offsets: Mapping[Partition, int] | None) -> None:
        self.consumer.commit(_metadata(offsets))

    def commit_async(self, offsets: Mapping[Partition, int] | None) -> None:
        self.consumer.commit_async(_metadata(offsets), callback=self.on_commit)

    def on_commit(self, offsets: Mapping[Any, Any], response: Any) -> None:
        committed = {(tp.topic, tp.partition): value.offset for tp, value in offsets.items()}
        self.emit_committed(committed, self.problem(response) if isinstance(response, Exception) else None)

    def assignment(self) -> Iterable[Partition]:
        return [(tp.topic, tp.partition) for tp in self.consumer.assignment() or ()]

    def consumed(self) -> dict[Partition, int]:
        # The offsets that commit() without arguments commits. No public call returns them without a request.
        consumed = self.consumer._subscription.all_consumed_offsets()
        return {(tp.topic, tp.partition): value.offset for tp, value in consumed.items()}

    def position(self, partition: Partition) -> int | None:
        offset: int | None = self.consumer.position(TopicPartition(*partition))
        return offset

    def committed(self, partition: Partition) -> int | None:
        offset: int | None = self.consumer.committed(TopicPartition(*partition))
        return offset

    def identity(self) -> dict[str, Any]:
        """Return member id and generation if this release exposes them (`group_metadata`, from 3.0)."""
        if not hasattr(self.consumer, "group_metadata"):
            return {}
        metadata = self.consumer.group_metadata()
        return {"member_id": metadata.member_id or None, "generation": metadata.generation_id}


def _assignors(names: Sequence[str]) -> list[Any]:
    missing = [name for name in names if assignor(name) is None]
    if missing:
        raise Unimplemented(f"kafka-python {kafka.__version__} has no assignor {', '.join(missing)}")
    if "cooperative-sticky" in names and len(names) > 1:
        raise Unimplemented("kafka-python lets nobody mix cooperative and eager assignors")
    return [assignor(name) for name in names]


def _allowed_request_timeout(settings: Mapping[str, Any]) -> bool:
    """Return whether the library accepts the request timeout. Before 3.0 it must be longer than the session timeout."""
    if "request_timeout_ms" not in settings or AsyncListener is not None:
        return True
    session: int = settings.get("session_timeout_ms", KafkaConsumer.DEFAULT_CONFIG["session_timeout_ms"])
    return bool(settings["request_timeout_ms"] > session)


def _metadata(offsets: Mapping[Partition, int] | None) -> dict[Any, Any] | None:
    if offsets is None:
        return None
    rest = ("",) if len(OffsetAndMetadata._fields) == 2 else ("", -1)  # leader_epoch came with 2.1
    return {TopicPartition(*partition): OffsetAndMetadata(offset, *rest) for partition, offset in offsets.items()}


def _pairs(partitions: Iterable[Any]) -> list[Partition]:
    return [(tp.topic, tp.partition) for tp in partitions]


def _listener(member: KafkaPythonMember) -> Any:
    """Return the listener of an application before 3.0. It blocks in the thread that polls."""

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc] # the library has no types
        def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
            member.revoked(_pairs(revoked))

        def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
            member.assigned(_pairs(assigned))

    return Listener()


def _async_listener(member: KafkaPythonMember) -> Any:
    """Return the listener of an application on 3.x. It awaits on the client's event loop, which continues its heartbeats."""

    class Listener(AsyncListener):  # type: ignore[misc,valid-type] # the library has no types
        async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
            member.emit_partitions("partitions_revoked", _pairs(revoked), **member.identity())
            if member.on_revoked_plan.get("sleep_ms"):
                await member.consumer._net.sleep(member.on_revoked_plan["sleep_ms"] / 1000)
            if member.on_revoked_plan.get("commit"):
                await _commit_on_loop(member)
            member.emit("callback_done")

        async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
            member.assigned(_pairs(assigned))

        async def on_partitions_lost(self, lost: Iterable[Any]) -> None:
            member.lost(_pairs(lost))

    return Listener()


async def _commit_on_loop(member: KafkaPythonMember) -> None:
    reported = member.consumed()
    problem: Problem | None = None
    try:
        await member.consumer.commit_async(callback=lambda _offsets, _response: None)
    except Exception as error:
        problem = member.problem(error)
    member.emit_committed(reported, problem)


if __name__ == "__main__":
    threading.current_thread().name = "shim"
    main()
