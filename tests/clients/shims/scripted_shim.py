"""A shim on the modules that the Python shims share, around a client that exists in memory only: the protocol itself under test.

Topics script it: `boom` makes poll raise once, `fatal` for good; group `refused` refuses to subscribe; a commit of offset 13 is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupproof_shim import CommandFailed, Partition, PollingMember, Problem, Ranges, Subscribe, Unimplemented, serve


class ScriptedError(Exception):
    """What the client in memory raises."""


class ScriptedMember(PollingMember):
    topics: Sequence[str] = ()
    polls = 0

    def open(self, subscribe: Subscribe) -> None:
        if subscribe.take("group") == "refused":
            raise ScriptedError("INVALID_GROUP_ID")
        subscribe.config({"bootstrap": "b", "client_id": "c"})
        self.resubscribe(subscribe.topics)

    def identity(self) -> dict[str, Any]:
        return {"member_id": "id-1", "generation": 1}

    def poll(self) -> Ranges:
        self.polls += 1
        if "fatal" in self.topics or ("boom" in self.topics and self.polls == 2):
            raise ScriptedError("UNKNOWN_SERVER_ERROR" if "boom" in self.topics else "FENCED_INSTANCE_ID")
        if self.polls == 1:
            print("a client that prints to stdout")
            self.assigned(self.assignment())
            return {("t", 0): (0, 4, 5)}
        threading.Event().wait(self.poll_timeout_s)
        return {}

    def resubscribe(self, topics: Sequence[str]) -> None:
        self.topics, self.polls = topics, 0

    def unsubscribe(self) -> None:
        self.polling = False
        self.topics = ()

    def check_leave(self, *, leave: bool) -> None:
        if not leave:
            raise Unimplemented("it always leaves")

    def close(self, *, leave: bool | None) -> None:
        if "stubborn" in self.topics:
            raise ScriptedError("REQUEST_TIMED_OUT")

    def commit_sync(self, offsets: Mapping[Partition, int] | None) -> None:
        if offsets is not None and 13 in offsets.values():
            raise ScriptedError("REBALANCE_IN_PROGRESS")

    def commit_async(self, offsets: Mapping[Partition, int] | None) -> None:
        self.emit_committed(offsets or {}, None)

    def assignment(self) -> Iterable[Partition]:
        return [("t", 1), ("t", 0)] if self.topics else []

    def consumed(self) -> dict[Partition, int]:
        return {("t", 0): 5}

    def position(self, partition: Partition) -> int | None:
        if partition not in self.assignment():
            raise CommandFailed("ILLEGAL_STATE", "not assigned")
        return 5

    def committed(self, partition: Partition) -> int | None:
        return None

    def problem(self, error: Exception) -> Problem:
        return str(error), f"scripted {error}", str(error) != "UNKNOWN_SERVER_ERROR"


if __name__ == "__main__":
    serve("scripted", "1", ["classic"], ScriptedMember)
