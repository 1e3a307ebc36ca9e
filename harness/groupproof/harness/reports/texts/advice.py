"""What to configure or do differently, by the cause of a rebalance (catalogue, section H.3). Each advice has its requirement's id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.group_history import NEAR
from groupproof.harness.judging.diagnosis.rebalances import CLASSIC, CONSUMER, DATALINK, Rebalance, name_of

__all__ = ["ADVICE", "GROUP_LARGE", "Advice", "advice_for"]

GROUP_LARGE: Final = 20
"""From this number of members on, every change of one member costs many."""


class Advice(NamedTuple):
    """A requirement's id and its advice. `about` names a member if the advice is about one."""

    id: str
    text: str
    about: str = ""


ADVICE: Final[dict[str, str]] = {
    "TUNE-01": "Keep groups small, and give each business a group of its own: every member waits for each rebalance of the whole group.",
    "TUNE-02": "Avoid frequent joins and leaves: restart consumers one after the other, slowly, and don't open and close one for a few records.",
    "TUNE-03": "Watch the CPU load and the garbage collector's pauses of the client's host, so that its heartbeat thread is not starved; a longer "
               "session.timeout.ms tolerates longer pauses.",
    "TUNE-04": "Process polled records asynchronously or by several threads, or poll fewer at a time (max.poll.records), and set max.poll.interval.ms to "
               "fit what a batch takes at worst.",
    "TUNE-05": "Consider static membership (group.instance.id, from 2.3.0 on): a member that is back within its session timeout costs no rebalance.",
    "TUNE-06": "Choose max.poll.interval.ms with care: it bounds both the processing of a batch and how long a rebalance waits for a member that is stuck.",
    "TUNE-07": "Raise the log level to DEBUG if the marker lines do not show the cause: kafka.coordinator.group and kafka.request.logger on the broker, "
               "org.apache.kafka.clients.consumer.internals on the client.",
    "TUNE-08": "group.initial.rebalance.delay.ms trades the latency of the first assignment for fewer rebalances at start-up: set it to what it takes until "
               "all members are up, or to 0 where there is one.",
    "DIAG-27": "The join phase took nearly the whole rebalance timeout: a member was stuck in processing between two polls. Its session was alive, so that "
               "session.timeout.ms would change nothing.",
    "DIAG-28": "A heartbeat timeout means an overloaded or paused client host (its heartbeat thread was starved, a long garbage collection, a frozen "
               "container) or a network that is down, not slow processing.",
    "TRIG-04": "Members notice a topic's new partitions within metadata.max.age.ms; add partitions when a rebalance does no harm.",
    "DISC-10": "A coordinator that moves costs a rebalance only where the group is not settled or members do not follow within their session; move leaders "
               "and restart brokers when groups are quiet.",
    "JOIN-56": "The group has more members than group.max.size allows: raise it, or run fewer.",
    "STATIC-16": "A static member that comes back with other assignors than before changes the group's protocol: change assignors in two rolling restarts.",
    "PLAN-02": "Every rebalance of a DataLink group stops all its tasks: with the sticky assignor and an incremental hand-over only what moves is stopped.",
    "MGR-33": "After a switch the first worker that joins gets every task while the others still run theirs: let tasks tolerate running twice for a "
              "heartbeat interval, or avoid switches of the Managers.",
    "DISC-14": "A member that joins and then never asks for its assignment is put out after the rebalance timeout: look at what it does between the two.",
}  # fmt: skip
"""The advice by the id of its requirement or reading."""

_BY_CAUSE: Final[dict[Cause, tuple[str, ...]]] = {
    Cause.POLL_INTERVAL: ("TUNE-04", "TUNE-06"),
    Cause.LEFT: ("TUNE-04", "TUNE-02", "TUNE-07"),
    Cause.HEARTBEAT_TIMEOUT: ("DIAG-28", "TUNE-03"),
    Cause.CLOSED: ("TUNE-02", "TUNE-05"),
    Cause.FIRST_MEMBER: ("TUNE-08",),
    Cause.NEW_MEMBER: ("TUNE-02", "TUNE-05"),
    Cause.RETURNED: ("TUNE-05", "TUNE-02"),
    Cause.PARTITIONS: ("TRIG-04",),
    Cause.MOVED: ("DISC-10",),
    Cause.OVER_CAPACITY: ("JOIN-56",),
    Cause.STATIC_REPLACED: ("STATIC-16",),
    Cause.SYNC_TIMEOUT: ("DISC-14",),
    Cause.UNREPORTED: ("TUNE-07",),
    Cause.METADATA: ("TUNE-07",),
}


_OF_CONSUMERS: Final[dict[Cause, tuple[str, ...]]] = {
    Cause.POLL_INTERVAL: ("TUNE-04",),
    Cause.LEFT: ("TUNE-04", "TUNE-02", "TUNE-07"),
    Cause.HEARTBEAT_TIMEOUT: ("DIAG-28",),
    Cause.REVOCATION_TIMEOUT: ("TUNE-04", "TUNE-06"),
    Cause.CLOSED: ("TUNE-02", "TUNE-05"),
    Cause.NEW_MEMBER: ("TUNE-05",),
    Cause.RETURNED: ("TUNE-05",),
}
"""The advice that also holds for groups of the consumer protocol: the brokers set sessions and heartbeats, no member waits to join, and the
coordinator notices new partitions."""


_OF_WORKERS: Final[dict[Cause, tuple[str, ...]]] = {
    Cause.HEARTBEAT_TIMEOUT: ("DIAG-28", "TUNE-03"),
    Cause.MOVED: ("MGR-33",),
    Cause.NEW_MEMBER: ("PLAN-02",),
    Cause.METADATA: ("PLAN-02",),
    Cause.LEADER_REJOINED: ("PLAN-02",),
    Cause.FORCED: ("PLAN-02",),
}
"""The advice for groups of DataLink's workers, which do not poll, have no instance ids and wait for no initial delay."""
_BY_PROTOCOL: Final = {CLASSIC: _BY_CAUSE, CONSUMER: _OF_CONSUMERS, DATALINK: _OF_WORKERS}


def advice_for(now: Rebalance) -> list[Advice]:
    """Return what to do differently about a rebalance, the most relevant first."""
    return [Advice(id, ADVICE[id], about) for id, about in dict(_ids(now)).items()]


def _ids(now: Rebalance) -> Iterator[tuple[str, str]]:
    if _was_stuck(now) and now.protocol != DATALINK:
        stuck = ", ".join(name_of(name) for name in now.evicted) or next(
            (name_of(awaited_member.member) for awaited_member in now.awaited_to_join if awaited_member.member), ""
        )
        yield from (("DIAG-27", stuck), ("TUNE-04", stuck), ("TUNE-06", ""))
    yield from ((name, "") for name in _BY_PROTOCOL[now.protocol].get(now.cause, ()))
    if now.also:
        yield "TUNE-07", ""
    if now.protocol != CONSUMER and max(len(now.members), now.member_count or 0) >= GROUP_LARGE:
        yield "TUNE-01", ""


def _was_stuck(now: Rebalance) -> bool:
    """Return whether the rebalance timeout ended the join phase. That is so if a member was left out, whatever the timeout."""
    if now.join_ms is None or now.is_emptied:
        return False
    return bool(now.evicted) or (now.rebalance_timeout_ms is not None and now.join_ms >= NEAR * now.rebalance_timeout_ms)
