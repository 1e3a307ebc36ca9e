"""The lines of the contract: whole, flushed lines from any thread, and the forms of partitions and offsets in them."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TextIO

from groupproof_shim.problems import Problem

__all__ = [
    "COMMANDS", "Command", "Lines", "MemberBase", "Partition", "Ranges", "Target", "offset_lists", "offsets_of", "partition_objects", "ranges_of",
]  # fmt: skip

Command = dict[str, Any]
Partition = tuple[str, int]
Ranges = Mapping[Partition, tuple[int, int, int]]
"""The least offset, the greatest offset and the count of each partition's records."""

COMMANDS: Final = frozenset(
    {"subscribe", "resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe", "close", "exit"},
)


class Lines:
    """The shim's stdout: one JSON object per line. Any thread can write; each line is written whole and flushed."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    @classmethod
    def taking_stdout(cls) -> Lines:
        """Keep the real stdout for the protocol. Point file descriptor 1 at stderr for the client's own output."""
        out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        os.dup2(2, 1)
        return cls(out)

    def write(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":")) + "\n"
        with self._lock:
            try:
                self._out.write(text)
                self._out.flush()
            except (BrokenPipeError, ValueError):  # nobody reads any more; the end of stdin follows
                pass


class Target(Protocol):
    """The host's view of a member: it accepts commands, in order, until it has closed."""

    @property
    def ended(self) -> threading.Event: ...

    def put(self, command: Command) -> bool:
        """Queue a command. Return False if the member has closed."""


class MemberBase:
    """A member's events and answers, in the contract's form."""

    def __init__(self, key: str | None, lines: Lines) -> None:
        self.key = key
        self.lines = lines
        self.ended = threading.Event()
        self._assigned: set[Partition] = set()
        self._positions: dict[Partition, int] = {}

    def identity(self) -> dict[str, Any]:
        """Return `member_id` and `generation` if the client exposes them, for the events of a rebalance."""
        return {}

    def assigned(self, partitions: Iterable[Partition]) -> None:
        """Report the client's assigned callback. The partitions are added to the current ones."""
        came = list(partitions)
        self._assigned.update(came)
        self.emit_partitions("partitions_assigned", came, **self.identity())
        self.emit("callback_done")

    def lost(self, partitions: Iterable[Partition]) -> None:
        """Report the client's lost callback. There was no chance to commit."""
        went = list(partitions)
        self.emit_partitions("partitions_lost", went, **self.identity())
        self._gone(went)

    def _gone(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self._assigned.discard(partition)
            self._positions.pop(partition, None)
        self.emit("callback_done")

    def emit(self, name: str, **fields: Any) -> None:
        self._write({"name": name, "timestamp": int(time.time() * 1000), **{key: value for key, value in fields.items() if value is not None}})

    def answer(self, command: Command, **fields: Any) -> None:
        if "id" in command:  # the close at the process's end has none: nobody waits for an answer
            self._write({"id": command["id"], **fields})

    def _write(self, line: dict[str, Any]) -> None:
        self.lines.write(line if self.key is None else {**line, "member": self.key})

    def emit_partitions(self, name: str, partitions: Iterable[Partition], member_id: str | None = None, generation: int | None = None) -> None:
        self.emit(name, partitions=partition_objects(partitions), member_id=member_id, generation=generation)

    def emit_records(self, ranges: Ranges) -> None:
        """Report records, and update the application's positions."""
        self._positions.update({partition: greatest + 1 for partition, (_, greatest, _) in ranges.items()})
        parts = [
            {"topic": topic, "partition": partition, "minOffset": least, "maxOffset": greatest, "count": count}
            for (topic, partition), (least, greatest, count) in sorted(ranges.items())
        ]
        self.emit("records_consumed", count=sum(part["count"] for part in parts), partitions=parts)

    def emit_committed(self, offsets: Mapping[Partition, int], problem: Problem | None) -> None:
        listed = [{"topic": topic, "partition": partition, "offset": offset} for (topic, partition), offset in sorted(offsets.items())]
        error = None if problem is None else problem[0]
        self.emit("offsets_committed", success=problem is None, error=error, message=problem and problem[1], offsets=listed)

    def answer_problem(self, command: Command, problem: Problem) -> None:
        error, message, fatal = problem
        self.answer(command, error=error, message=message, fatal=fatal)


def partition_objects(partitions: Iterable[Partition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in sorted(partitions)]


def offset_lists(offsets: Mapping[Partition, int]) -> list[list[Any]]:
    return [[topic, partition, offset] for (topic, partition), offset in sorted(offsets.items())]


def offsets_of(lists: Iterable[Sequence[Any]] | None) -> dict[Partition, int] | None:
    return None if lists is None else {(topic, partition): offset for topic, partition, offset in lists}


def ranges_of(records: Iterable[Any]) -> Ranges:
    """Return the ranges of records with the attributes `topic`, `partition` and `offset`, as in most clients."""
    ranges: dict[Partition, tuple[int, int, int]] = {}
    for record in records:
        least, _, count = ranges.get((record.topic, record.partition), (record.offset, record.offset, 0))
        ranges[record.topic, record.partition] = (least, record.offset, count + 1)
    return ranges
