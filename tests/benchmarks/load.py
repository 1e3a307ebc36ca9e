"""The load of the benchmark: members as bare sockets and one epoll, without event loop, tasks or clients.

Heartbeats are frames made once: what is sent again is the same bytes, and every answer is compared with the one answer that is right, so that
neither side's codec costs the generator anything. `echo.py` answers as fast as such a loop can, which gives the generator's ceiling.
"""

from __future__ import annotations

import heapq
import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.protocol.vocabulary import Api, ErrorCode, error_named
from groupproof.protocol.wire.message_codec import Framer, frame, read_response, write_request, write_response
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["SENT_S", "VERSIONS", "Address", "Beats", "Expelled", "Group", "Member", "Unfit", "beat", "connected", "echoed"]

Address = tuple[str, int]

VERSIONS: Final = {Api.API_VERSIONS: 0, Api.JOIN_GROUP: 5, Api.SYNC_GROUP: 3, Api.HEARTBEAT: 3}
"""Spoken to every coordinator: the newest that all of them answer."""

STABLE_S: Final = 60.0
SESSION_MS: Final = 10_000
"""Short, because librdkafka's mock ends a join phase after a member's first one only when this is nearly over."""

REBALANCE_MS: Final = 60_000
SENT_S: Final = 10.0
BEATS_EACH_S: Final = 2_000
"""How many heartbeats a second a forming group sends in all, at most."""

_READ_BYTES: Final = 1 << 18
_PREFIX_BYTES: Final = 4  # the length of a frame
_SUBSCRIBED: Final = encode_subscription(Subscription(topics=("t",), owned=(), user_data=None, version=1))
_ASSIGNED: Final = encode_assignment(Assignment(partitions=(("t", 0),), user_data=None))
_AGAIN: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID})
"""Answers after which a member joins again; a large group's member may lose its session while the others join."""


class Unfit(Exception):
    """The coordinator answered what a working group is never answered; `str()` says what."""


class Expelled(Unfit):
    """A member is to join again: its session was over, or its group rebalances. On a machine with other work that befalls one of a thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beats:
    """Heartbeats that were answered, in so many seconds; `busy` is the part of them in which the generator had the processor."""

    count: int
    seconds: float
    busy: float

    @property
    def rate(self) -> float:
        return self.count / self.seconds


@dataclass(slots=True)
class Member:
    """One member on a connection of its own; `waiting` is what it waits for the answer to, `beats_at` when it beats next."""

    number: int
    sock: socket.socket
    member_id: str = ""
    generation: int = -1
    is_leader: bool = False
    is_synced: bool = False
    waiting: Api | None = None
    beats_at: float = float("inf")
    framer: Framer = field(default_factory=Framer)


class Group:
    """A group of `size` members, each on a connection of its own; close it, or leave its context."""

    def __init__(self, address: Address, name: str, size: int) -> None:
        self.name = name
        self._stack = ExitStack()
        self._beat_s = max(0.1, size / BEATS_EACH_S)
        self._epoll = self._stack.enter_context(select.epoll())
        self.members = [Member(number, self._stack.enter_context(connected(address))) for number in range(size)]
        self._by_fd = {member.sock.fileno(): member for member in self.members}
        self._greeted = self._named = self._synced_now = 0
        self._beats: list[tuple[float, int]] = []
        for fd in self._by_fd:
            self._epoll.register(fd, select.EPOLLIN)
        self._greet()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def form(self) -> float:
        """Let everybody join at once, and return the seconds until all of them are synced in one generation.

        Who is given a member id joins with it once all have theirs (KIP-394): then everybody is expected, as after an initial delay, and the
        time is that of the work, not of how many rebalances latecomers made.
        """
        began = time.perf_counter()
        for member in self.members:
            self._join(member)
        self._until_stable()
        return time.perf_counter() - began

    def rebalance(self) -> float:
        """Let the leader of a stable group join again, and everybody with it; return the seconds until all are synced in the next generation."""
        leader = next(member for member in self.members if member.is_leader)
        for member in self.members:
            member.beats_at = float("inf")
        while any(member.waiting is not None for member in self.members):
            self._turn(time.perf_counter() + SENT_S)
        began = time.perf_counter()
        for member in self.members:
            member.beats_at = float("inf")
            self._is_synced(member, now=False)
        self._join(leader)
        others = [member for member in self.members if member is not leader]
        if others:
            self._until_told(others[0])
        for member in others[1:]:
            self._join(member)
        self._until_stable()
        return time.perf_counter() - began

    def heartbeats(self) -> list[bytes]:
        """Return each member's Heartbeat as a frame."""
        return [self._beat_of(member) for member in self.members]

    def answers(self) -> list[bytes]:
        """Return the right answers to them, as frames."""
        return [echoed(member.number) for member in self.members]

    # Members

    def _greet(self) -> None:
        """Have every connection answered once, so that none is still to be accepted when the members join."""
        for member in self.members:
            self._send(member, Api.API_VERSIONS, {})
        while self._greeted < len(self.members):
            self._turn(time.perf_counter() + SENT_S)

    def _greeting_answered(self, member: Member, answer: Mapping[str, Any]) -> None:
        self._greeted += 1

    def _until_told(self, member: Member) -> None:
        """Let `member` beat until it is told of the rebalance; it joins then by itself."""
        self._send(member, Api.HEARTBEAT, self._who(member))
        while member.waiting is not Api.JOIN_GROUP:
            self._turn(time.perf_counter() + SENT_S)
            if member.waiting is None:
                self._send(member, Api.HEARTBEAT, self._who(member))

    def _until_stable(self) -> None:
        until = time.perf_counter() + STABLE_S
        while not self._is_stable():
            now = time.perf_counter()
            if now > until:
                raise Unfit(f"after {STABLE_S:.0f} s {self._synced_now} of {len(self.members)} members are synced")
            while self._beats and self._beats[0][0] <= now:
                at, number = heapq.heappop(self._beats)
                member = self.members[number]
                if member.beats_at == at:
                    self._send(member, Api.HEARTBEAT, self._who(member))
            self._turn(self._beats[0][0] if self._beats else until)

    def _is_stable(self) -> bool:
        return self._synced_now == len(self.members) and len({member.generation for member in self.members}) == 1

    def _turn(self, until: float) -> None:
        for fd, _ in self._epoll.poll(max(0.0, min(until - time.perf_counter(), 0.5))):
            member = self._by_fd[fd]
            data = os.read(fd, _READ_BYTES)
            if not data:
                raise Unfit(f"it closed the connection of member {member.number}")
            for payload in member.framer.feed(data):
                api, member.waiting = member.waiting, None
                assert api is not None, "an answer to nothing"
                _ANSWERED[api](self, member, _read(api, payload))

    def _send(self, member: Member, api: Api, body: Mapping[str, Any]) -> None:
        member.waiting, member.beats_at = api, float("inf")
        member.sock.sendall(frame(write_request(api, VERSIONS[api], member.number, f"m{member.number}", body)))

    def _who(self, member: Member) -> dict[str, Any]:
        return {"group_id": self.name, "generation_id": member.generation, "member_id": member.member_id}

    def _beat_of(self, member: Member) -> bytes:
        return frame(write_request(Api.HEARTBEAT, VERSIONS[Api.HEARTBEAT], member.number, f"m{member.number}", self._who(member)))

    def _join(self, member: Member) -> None:
        self._is_synced(member, now=False)
        body = {
            "group_id": self.name, "session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": REBALANCE_MS, "member_id": member.member_id,
            "protocol_type": "consumer", "protocols": ({"name": "range", "metadata": _SUBSCRIBED},),
        }  # fmt: skip
        self._send(member, Api.JOIN_GROUP, body)

    def _joined(self, member: Member, answer: Mapping[str, Any]) -> None:
        code = answer["error_code"]
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            member.member_id = answer["member_id"]
            self._named += 1
            for item in self._who_joins_now(member):
                self._join(item)
            return
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._join_again(member, code)
            return
        if code:
            raise Unfit(f"JoinGroup was answered {code} {error_named(code)}")
        member.member_id, member.generation = answer["member_id"], answer["generation_id"]
        member.is_leader = answer["leader"] == member.member_id
        listed = answer["members"] if member.is_leader else ()
        assignments = tuple({"member_id": member["member_id"], "assignment": _ASSIGNED} for member in listed)
        self._send(member, Api.SYNC_GROUP, {**self._who(member), "assignments": assignments})

    def _who_joins_now(self, named: Member) -> Sequence[Member]:
        """Return everybody once all have their ids, and after that whoever was given another one."""
        if self._named == len(self.members):
            return self.members
        return [named] if self._named > len(self.members) else []

    def _join_again(self, member: Member, code: int) -> None:
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            member.member_id, member.generation = "", -1
        self._join(member)

    def _synced(self, member: Member, answer: Mapping[str, Any]) -> None:
        code = answer["error_code"]
        if code in _AGAIN:
            self._join_again(member, code)
        elif code:
            raise Unfit(f"SyncGroup was answered {code} {error_named(code)}")
        else:
            self._is_synced(member, now=True)
            self._beats_later(member)

    def _beaten(self, member: Member, answer: Mapping[str, Any]) -> None:
        code = answer["error_code"]
        if code in _AGAIN:
            self._join_again(member, code)
        elif code:
            raise Unfit(f"Heartbeat was answered {code} {error_named(code)}")
        else:
            self._beats_later(member)

    def _is_synced(self, member: Member, *, now: bool) -> None:
        self._synced_now += now - member.is_synced
        member.is_synced = now

    def _beats_later(self, member: Member) -> None:
        member.beats_at = time.perf_counter() + self._beat_s
        heapq.heappush(self._beats, (member.beats_at, member.number))


_ANSWERED: Final = {
    Api.API_VERSIONS: Group._greeting_answered,
    Api.JOIN_GROUP: Group._joined,
    Api.SYNC_GROUP: Group._synced,
    Api.HEARTBEAT: Group._beaten,
}


def beat(address: Address, frames: Sequence[bytes], answers: Sequence[bytes], *, seconds: float, in_flight: int = 1) -> Beats:
    """Send each of `frames` again and again over a connection of its own, `in_flight` at a time, and hold each answer against `answers`.

    Raises `Unfit` for another answer, or none, and `Expelled` for one after which a member joins again.
    """
    with ExitStack() as stack:
        poller = stack.enter_context(select.epoll())
        lines: dict[int, tuple[bytes, bytes]] = {}
        rests: dict[int, bytes] = {}
        for sent, answer in zip(frames, answers, strict=True):
            fd = stack.enter_context(connected(address)).fileno()
            lines[fd] = (sent, answer)
            poller.register(fd, select.EPOLLIN)
        began, worked = time.perf_counter(), time.process_time()
        for fd, (sent, _) in lines.items():
            os.write(fd, sent * in_flight)
        count, until = 0, began + seconds
        while (now := time.perf_counter()) < until:
            for fd, _ in poller.poll(SENT_S) or _nobody():
                sent, answer = lines[fd]
                data = os.read(fd, _READ_BYTES)
                if data == answer:
                    count += 1
                    os.write(fd, sent)
                    continue
                whole = _whole(rests.pop(fd, b"") + data, answer, rests, fd)
                count += whole
                os.write(fd, sent * whole)
        return Beats(count=count, seconds=now - began, busy=(time.process_time() - worked) / (now - began))


def _read(api: Api, payload: bytes) -> Mapping[str, Any]:
    """Return what a member asks of an answer; of all but JoinGroup's that is the code, which costs least to read by its place."""
    if api is Api.JOIN_GROUP:
        return read_response(api, VERSIONS[api], payload)[1]
    return {"error_code": _code(payload)}


def _code(payload: bytes) -> int:
    return int.from_bytes(payload[8:10], "big", signed=True)


def _whole(data: bytes, answer: bytes, rests: dict[int, bytes], fd: int) -> int:
    """Return how many whole answers there are, and keep the rest."""
    whole, rest = divmod(len(data), len(answer))
    if not data or data != (answer * (whole + 1))[: len(data)]:
        kind = Expelled if _code(data[_PREFIX_BYTES:]) in _AGAIN else Unfit
        raise kind(f"a Heartbeat was answered {data[:32].hex() or 'by a closed connection'}, {answer.hex()} is due")
    if rest:
        rests[fd] = data[-rest:]
    return whole


def _nobody() -> list[tuple[int, int]]:
    raise Unfit(f"no heartbeat was answered for {SENT_S:.0f} s")


def echoed(number: int) -> bytes:
    """Return the right answer to the Heartbeat of member `number`, as a frame."""
    body = {"throttle_time_ms": 0, "error_code": 0}
    return frame(write_response(Api.HEARTBEAT, VERSIONS[Api.HEARTBEAT], number, body))


def connected(address: Address) -> socket.socket:
    """Return a connection that sends at once."""
    sock = socket.create_connection(address, timeout=SENT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock
