"""A shim of level 1 around confluent-kafka: commands on stdin, events and answers on stdout, one JSON object a line."""

from __future__ import annotations

import json
import queue
import signal
import sys
import threading
from time import sleep
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition, version

Command = dict[str, Any]
SETTINGS = {
    "bootstrap": "bootstrap.servers", "group": "group.id", "client_id": "client.id", "instance_id": "group.instance.id",
    "session_timeout_ms": "session.timeout.ms", "heartbeat_interval_ms": "heartbeat.interval.ms", "max_poll_interval_ms": "max.poll.interval.ms",
    "auto_commit": "enable.auto.commit", "auto_commit_interval_ms": "auto.commit.interval.ms", "auto_offset_reset": "auto.offset.reset",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms", "request_timeout_ms": "socket.timeout.ms",
}  # fmt: skip
ELSEWHERE = {"id", "command", "protocol", "topics", "assignors", "poll_timeout_ms", "handler_delay_ms", "broker_release"}


def write(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def name_of(error: KafkaError) -> str:
    return str(error.name()).removesuffix("_")


def listed(partitions: list[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": each.topic, "partition": each.partition} for each in partitions]


class Shim:
    """One member: commands run between polls, as in an application of one thread."""

    def __init__(self) -> None:
        self.consumer: Consumer | None = None
        self.poll_s = 0.1
        self.handler_s = 0.0
        self.polls = False

    def told(self, name: str, partitions: list[TopicPartition]) -> None:
        """Tell of a callback; the line is flushed before it returns."""
        write(name=name, partitions=listed(partitions))
        write(name="callback_done")

    def poll(self) -> None:
        assert self.consumer is not None
        message = self.consumer.poll(self.poll_s)
        if message is None:
            return
        if (error := message.error()) is not None:
            write(name="error", error=name_of(error), message=error.str(), fatal=error.fatal())
            return
        offset = message.offset()
        part = {"topic": message.topic(), "partition": message.partition(), "minOffset": offset, "maxOffset": offset, "count": 1}
        write(name="records_consumed", count=1, partitions=[part])
        sleep(self.handler_s)  # handler_delay_ms: the application is slow

    def subscribe(self, command: Command) -> Command:
        given = {name: value for name, value in command.items() if value is not None}
        settings = {SETTINGS[name]: given[name] for name in SETTINGS if name in given}
        settings["partition.assignment.strategy"] = ",".join(given["assignors"])
        self.poll_s, self.handler_s = given["poll_timeout_ms"] / 1000, given.get("handler_delay_ms", 0) / 1000
        self.consumer = Consumer(settings)
        self.consumer.subscribe(
            given["topics"],
            on_assign=lambda _, partitions: self.told("partitions_assigned", partitions),
            on_revoke=lambda _, partitions: self.told("partitions_revoked", partitions),
            on_lost=lambda _, partitions: self.told("partitions_lost", partitions),
        )
        self.polls = True
        write(name="startup_complete")
        return {"ignored": sorted(set(given) - set(SETTINGS) - ELSEWHERE)}

    def pause(self, _command: Command) -> Command:
        self.polls = False
        return {}

    def resume(self, _command: Command) -> Command:
        self.polls = True
        return {}

    def commit(self, command: Command) -> Command:
        assert self.consumer is not None
        if command["mode"] != "sync":
            return {"unimplemented": "this shim commits synchronously only"}
        offsets = [TopicPartition(*each) for each in command.get("offsets") or self.position({})["offsets"]]
        told = [{**place, "offset": each.offset} for place, each in zip(listed(offsets), offsets, strict=True)]
        try:
            done = self.consumer.commit(offsets=offsets, asynchronous=False)
            for each in done:
                if each.error is not None:
                    raise KafkaException(each.error)
        except KafkaException as refused:
            write(name="offsets_committed", success=False, error=name_of(refused.args[0]), offsets=told)
            raise
        write(name="offsets_committed", success=True, offsets=told)
        return {"offsets": [[each.topic, each.partition, each.offset] for each in offsets]}

    def asked(self, command: Command) -> list[TopicPartition]:
        assert self.consumer is not None
        partitions = command.get("partitions")
        return self.consumer.assignment() if partitions is None else [TopicPartition(*each) for each in partitions]

    def assignment(self, _command: Command) -> Command:
        return {"partitions": listed(self.asked({}))}

    def position(self, command: Command) -> Command:
        assert self.consumer is not None
        return self.offsets(self.consumer.position(self.asked(command)))

    def committed(self, command: Command) -> Command:
        assert self.consumer is not None
        return self.offsets(self.consumer.committed(self.asked(command), timeout=10))

    def offsets(self, partitions: list[TopicPartition]) -> Command:
        return {"offsets": [[each.topic, each.partition, max(each.offset, -1)] for each in partitions]}

    def close(self, command: Command) -> Command:
        if command.get("leave") is not None:
            return {"unimplemented": "librdkafka cannot be told whether to leave"}
        self.polls = False
        if self.consumer is not None:
            self.consumer.close()
        write(name="shutdown_complete")
        return {}

    exit = close

    def handle(self, command: Command) -> bool:
        """Carry a command out and answer it; tell whether it was the last one."""
        name, known = command["command"], ("subscribe", "pause", "resume", "commit", "assignment", "position", "committed", "close", "exit")
        if name not in known:
            write(id=command["id"], unimplemented="not in this shim")
            return False
        if self.consumer is None and name not in ("subscribe", "exit"):
            write(id=command["id"], error="ILLEGAL_STATE", message="not subscribed", fatal=False)
            return False
        try:
            fields = getattr(self, name)(command)
        except KafkaException as refused:
            error = refused.args[0]
            write(id=command["id"], error=name_of(error), message=error.str(), fatal=error.fatal())
            return False
        write(id=command["id"], **({} if "unimplemented" in fields else {"ok": True}), **fields)
        return name in ("close", "exit") and "unimplemented" not in fields


def main() -> None:
    capabilities = ["classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative"]
    write(name="hello", contract=1, client="confluent-kafka", version=version(), language="python", capabilities=capabilities)
    shim = Shim()
    commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
    signal.signal(signal.SIGTERM, lambda *_: commands.put(None))

    def read() -> None:
        for line in sys.stdin:
            if line.startswith("{"):
                commands.put(json.loads(line))
        commands.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            command = commands.get_nowait() if shim.polls else commands.get(timeout=0.1)
        except queue.Empty:
            if shim.polls:
                shim.poll()
            continue
        if command is None:  # the end of stdin and SIGTERM mean close
            shim.close({})
            return
        if shim.handle(command):
            return


if __name__ == "__main__":
    main()
