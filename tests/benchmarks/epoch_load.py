"""The load of the benchmark in the `consumer` dialect (KIP-848): members that only send heartbeats, as bare sockets and one epoll.

A group forms in rounds. In the first one everybody joins; in each later one everybody sends one heartbeat, as at the end of its interval: who got
another assignment reports what it owns, all others name themselves and their epoch. So every coordinator gets the same requests, however long it takes.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from tests.benchmarks.load import SENT_S, Address, Unfit, connected

from groupproof.protocol.vocabulary import Api, error_named
from groupproof.protocol.wire.message_codec import Framer, frame, read_response, write_request, write_response

__all__ = ["ROUNDS_MAX", "TOPIC", "VERSION", "EpochGroup"]

VERSION: Final = 1
TOPIC: Final = "t"
STABLE_S: Final = 60.0
ROUNDS_MAX: Final = 400
ROUND_S: Final = 0.2
"""A round begins no sooner than this after the one before it: 4.4 computes a target once a second (KIP-1263), and would else be asked for nothing."""

REBALANCE_MS: Final = 60_000
_READ_BYTES: Final = 1 << 18
_HEARTBEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT
_API_VERSIONS: Final = Api.API_VERSIONS


@dataclass(slots=True)
class EpochMember:
    """One member on a connection of its own; `owned` is the assignment that it got last, `is_owing` says that it has not reported it yet."""

    number: int
    member_id: str
    sock: socket.socket
    epoch: int = 0
    owned: tuple[dict[str, Any], ...] = ()
    is_owing: bool = False
    interval_ms: int = 0
    framer: Framer = field(default_factory=Framer)


class EpochGroup:
    """A group of `size` members that subscribe to `TOPIC`, which has so many `partitions`; close it, or leave its context."""

    def __init__(self, address: Address, name: str, size: int, *, partitions: int) -> None:
        self.name = name
        self.rounds = 0
        self._partitions = partitions
        self._stack = ExitStack()
        self._epoll = self._stack.enter_context(select.epoll())
        self.members = [
            EpochMember(number, str(uuid5(NAMESPACE_URL, f"{name}/{number}")), self._stack.enter_context(connected(address)))
            for number in range(size)
        ]
        self._by_fd = {member.sock.fileno(): member for member in self.members}
        for fd in self._by_fd:
            self._epoll.register(fd, select.EPOLLIN)
        greeting = {member.number: frame(write_request(_API_VERSIONS, 0, member.number, f"m{member.number}", {})) for member in self.members}
        self._exchange(greeting)

    def __enter__(self) -> EpochGroup:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def form(self) -> float:
        """Let everybody join at once, and return the seconds until all have reached one epoch and own every partition once, in even shares."""
        began = time.perf_counter()
        self._round({member.number: self._joining(member) for member in self.members})
        while not self.is_stable():
            if self.rounds >= ROUNDS_MAX or time.perf_counter() - began > STABLE_S:
                raise Unfit(f"after {time.perf_counter() - began:.0f} s and {self.rounds} rounds the group is not stable: {self._description()}")
            self._epoll.poll(max(0.0, self._began + ROUND_S - time.perf_counter()))  # nothing is under way: this waits for the next round
            self._round({member.number: self._beating(member) for member in self.members})
        return time.perf_counter() - began

    def is_stable(self) -> bool:
        """Tell whether all are at one epoch, have reported what they own, and own every partition once, in shares of one size.

        A target of the first member alone would do but for the sizes: 4.4 computes the next one a second later (KIP-1263).
        """
        owners = Counter(self._owned())
        shares = [sum(len(topic["partitions"]) for topic in member.owned) for member in self.members]
        is_level = len({member.epoch for member in self.members}) == 1 and not any(member.is_owing for member in self.members)
        return is_level and max(shares) - min(shares) <= 1 and len(owners) == self._partitions == sum(shares)

    def heartbeats(self) -> list[bytes]:
        """Return each member's steady heartbeat as a frame."""
        return [self._beating(member) for member in self.members]

    def answers(self) -> list[bytes]:
        """Return the right answers to them, as frames."""
        return [
            frame(write_response(_HEARTBEAT, VERSION, member.number, {
                "member_id": member.member_id, "member_epoch": member.epoch, "heartbeat_interval_ms": member.interval_ms, "assignment": None,
            }))
            for member in self.members
        ]  # fmt: skip

    # Rounds

    def _round(self, frames: Mapping[int, bytes]) -> None:
        self.rounds += 1
        self._began = time.perf_counter()
        for number, payload in self._exchange(frames):
            self._take(self.members[number], read_response(_HEARTBEAT, VERSION, payload)[1])

    def _exchange(self, frames: Mapping[int, bytes]) -> list[tuple[int, bytes]]:
        """Send all of them, and return the answers by the number of the member once all are there: reading them is none of the coordinator's time."""
        answers: list[tuple[int, bytes]] = []
        for number, data in frames.items():
            self.members[number].sock.sendall(data)
        while len(answers) < len(frames):
            for fd, _ in self._epoll.poll(SENT_S) or _nobody():
                member = self._by_fd[fd]
                data = os.read(fd, _READ_BYTES)
                if not data:
                    raise Unfit(f"it closed the connection of member {member.number}")
                answers += ((member.number, payload) for payload in member.framer.feed(data))
        return answers

    def _take(self, member: EpochMember, answer: Mapping[str, Any]) -> None:
        if code := answer["error_code"]:
            raise Unfit(f"ConsumerGroupHeartbeat was answered {code} {error_named(code)}: {answer['error_message']}")
        member.epoch, member.interval_ms = answer["member_epoch"], answer["heartbeat_interval_ms"]
        if answer["assignment"] is not None:
            member.owned, member.is_owing = answer["assignment"]["topic_partitions"], True

    def _owned(self) -> Iterator[tuple[str, int]]:
        return ((topic["topic_id"], index) for member in self.members for topic in member.owned for index in topic["partitions"])

    def _description(self) -> str:
        epochs = Counter(member.epoch for member in self.members)
        return f"{len(epochs)} epochs up to {max(epochs)}, {len(set(self._owned()))} of {self._partitions} partitions are owned"

    # Frames

    def _joining(self, member: EpochMember) -> bytes:
        return self._frame(member, {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": (TOPIC,), "topic_partitions": ()})

    def _beating(self, member: EpochMember) -> bytes:
        """Return the next heartbeat, with a report of what the member owns where that is due (KIP-848)."""
        is_due, member.is_owing = member.is_owing, False
        return self._frame(member, {"rebalance_timeout_ms": -1, "subscribed_topic_names": None, "topic_partitions": member.owned if is_due else None})

    def _frame(self, member: EpochMember, fields: Mapping[str, Any]) -> bytes:
        body = {"group_id": self.name, "member_id": member.member_id, "member_epoch": member.epoch, **fields}
        return frame(write_request(_HEARTBEAT, VERSION, member.number, f"m{member.number}", body))


def _nobody() -> list[tuple[int, int]]:
    raise Unfit(f"no heartbeat was answered for {SENT_S:.0f} s")
