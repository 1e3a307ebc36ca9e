"""Reads the frames of Kafka Streams: the tasks in a JoinGroup, a leader's assignments, and the assignment in a response. Pure.

Bytes that cannot be read are None here; a checker reports them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from groupproof.harness.judging.checkers.embedded.led_generations import syncs_of_leader
from groupproof.harness.judging.checkers.frame_facts import error_of, knew, subscriptions_of
from groupproof.harness.model.evidence import Evidence
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.blob_reader import BlobError
from groupproof.protocol.wire.embedded.streams_protocol import (
    ASSIGNOR,
    AssignmentInfo,
    SubscriptionInfo,
    Task,
    decode_assignment_info,
    decode_subscription_info,
)
from groupproof.protocol.wire.subscription import Assignment, Subscription, decode_assignment, decode_subscription

__all__ = [
    "LedGeneration",
    "ThreadAssignment",
    "assignments_before",
    "info_in",
    "led_generations",
    "newest_assignment",
    "subscription_in",
    "tasks_in_words",
    "thread_assignment_in",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadAssignment:
    """The assignment of one member."""

    partitions: tuple[TopicPartition, ...]
    info: AssignmentInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class LedGeneration:
    """The assignments in a leader's SyncGroup. `subscriptions` are the members' user data, `owned` the partitions that they report as owned."""

    sync: Observation
    leader: str
    subscriptions: Mapping[str, SubscriptionInfo | None]
    owned: Mapping[str, frozenset[TopicPartition]]
    assignments: Mapping[str, ThreadAssignment | None]

    @property
    def infos(self) -> list[AssignmentInfo]:
        return [item.info for item in self.assignments.values() if item is not None]

    def active(self) -> frozenset[Task]:
        """Return the tasks that are active on some member."""
        return frozenset(task for info in self.infos for task in info.active)


def info_in(join: Observation) -> SubscriptionInfo | None:
    """Return the user data of a JoinGroup's `stream`."""
    subscription = subscription_in(join)
    return None if subscription is None else _subscription_info(subscription)


def subscription_in(join: Observation) -> Subscription | None:
    """Return the subscription of a JoinGroup's `stream`."""
    blob = next((protocol.get("metadata") or b"" for protocol in join.body.get("protocols") or () if protocol.get("name") == ASSIGNOR), b"")
    try:
        return decode_subscription(blob)
    except BlobError:
        return None


def thread_assignment_in(answer: Observation) -> ThreadAssignment | None:
    """Return the assignment in a SyncGroup response."""
    return _thread_assignment(answer.body.get("assignment") or b"")


def newest_assignment(ev: Evidence, client: str, join: Observation) -> ThreadAssignment | None:
    """Return the newest assignment that a member knew when it sent a JoinGroup."""
    return next(reversed(assignments_before(ev, client, join)), None)


def assignments_before(ev: Evidence, client: str, join: Observation) -> list[ThreadAssignment | None]:
    """Return the assignments that a member knew when it sent a JoinGroup. In one process a response may be recorded after the request that it
    caused.
    """
    answers = (ev.answer(sync) for sync in ev.requests(Api.SYNC_GROUP, client, before=join.seq))
    return [thread_assignment_in(answer) for answer in answers if answer is not None and error_of(answer) == 0 and knew(answer, join)]


def led_generations(ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None) -> Iterator[LedGeneration]:
    """Yield what `client` assigned as a leader: its SyncGroups in generations that it led."""
    for sync, answer in syncs_of_leader(ev, client, after, before):
        subscriptions = subscriptions_of(answer)
        yield LedGeneration(
            sync=sync,
            leader=answer.member or "",
            subscriptions={member: _subscription_info(subscription) for member, subscription in subscriptions.items()},
            owned={member: frozenset(subscription.owned) for member, subscription in subscriptions.items()},
            assignments={item["member_id"]: _thread_assignment(item.get("assignment") or b"") for item in sync.body.get("assignments") or ()},
        )


def tasks_in_words(tasks: Iterable[Task]) -> str:
    return ", ".join(map(str, sorted(tasks))) or "nothing"


def _subscription_info(subscription: Subscription) -> SubscriptionInfo | None:
    try:
        return decode_subscription_info(subscription.user_data or b"")
    except BlobError:
        return None


def _thread_assignment(blob: bytes) -> ThreadAssignment | None:
    try:
        read: Assignment = decode_assignment(blob)
        return ThreadAssignment(partitions=tuple(read.partitions), info=decode_assignment_info(read.user_data or b""))
    except BlobError:
        return None
