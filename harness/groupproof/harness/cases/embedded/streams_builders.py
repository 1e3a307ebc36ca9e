"""How the cases for Kafka Streams are made: applications as members, assignments in the leader's stead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from groupproof.harness.cases.client.client_case_builders import embedded_case
from groupproof.harness.model import plan_builders
from groupproof.harness.model.plan import Arm, Member, Plan, Step
from groupproof.harness.model.plan_builders import JOIN_MS, answered, mark, passing, requested, start, strikes, tells_of_a_rebalance
from groupproof.protocol.faults import Answer
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.embedded.streams_protocol import (
    ASSIGNOR,
    NO_REBALANCE_MS,
    STREAMS_VERSION_MAX,
    AssignmentInfo,
    Task,
    encode_assignment_info,
)
from groupproof.protocol.wire.subscription import Assignment, encode_assignment

__all__ = ["COMMIT_MS", "PARTITIONS", "WAIT_MS", "application", "assigns", "peer", "plan", "rejoins_at_leisure", "streams_case", "synced", "working"]

PARTITIONS: Final = 4
"""The partitions of each topic, and so the tasks of its subtopology."""

COMMIT_MS: Final = 400
"""How often an application commits, unless a case says otherwise."""

WAIT_MS: Final = 12_000
_RESTORED_MS: Final = 600

streams_case: Final = partial(embedded_case, "streams")


def plan(*parts: Member | Step | Iterable[Step], topics: Mapping[str, int] | None = None, records: int = 20) -> Plan:
    """Return a plan whose topic t has a partition for each task."""
    return plan_builders.plan(*parts, topics=topics or {"t": PARTITIONS}, records=records)


def application(
    name: str = "m0",
    *,
    kind: str = "subject",
    topics: tuple[str, ...] = ("t",),
    commit_ms: int = COMMIT_MS,
    instance: str | None = None,
    session_ms: int | None = None,
    **settings: Any,
) -> Member:
    """Return an application with one thread, whose tasks each have a table; its properties are Kafka's own, with _ for a dot."""
    own = {"kit_stateful": "true", **settings}
    fields: dict[str, Any] = {
        "assignors": [ASSIGNOR],
        "topics": list(topics),
        "auto_commit": True,
        "auto_commit_interval_ms": commit_ms,
        "properties": {setting.replace("_", "."): str(value) for setting, value in own.items()},
    }
    own_terms = {"instance_id": instance, "session_timeout_ms": session_ms}
    return Member(name=name, kind=kind, settings=fields | {field: value for field, value in own_terms.items() if value is not None})


def peer(**settings: Any) -> Member:
    """Return the kit's own member of Kafka Streams beside the subject."""
    return application("a0", kind="reference", **settings)


def synced(name: str, *, after: str, count: int = 1, within_ms: int = JOIN_MS, go_on: bool = False) -> Step:
    """Wait until a member has been answered its SyncGroup so many times."""
    return answered(name, Api.SYNC_GROUP, after=after, count=count, within_ms=within_ms, go_on=go_on)


def working(name: str = "m0") -> list[Step]:
    """Start an application and wait until its tasks run: they commit what they have read."""
    started = f"start-{name}"
    return [
        mark(started),
        *start(name),
        synced(name, after=started),
        requested(name, Api.OFFSET_COMMIT, after=started, within_ms=JOIN_MS),
        passing(_RESTORED_MS),
    ]


def rejoins_at_leisure(name: str = "rebalance", client: str = "m0") -> list[Step]:
    """Have a member join again, by heartbeats that are answered 27."""
    return [*tells_of_a_rebalance(client, name=name), synced(client, after=name, within_ms=WAIT_MS, go_on=True)]


def assigns(
    name: str,
    *,
    active: Iterable[int] = range(PARTITIONS),
    standby: Iterable[int] = (),
    version: int = STREAMS_VERSION_MAX,
    commonly: int = STREAMS_VERSION_MAX,
    next_rebalance_ms: int = NO_REBALANCE_MS,
    error: int = 0,
) -> Arm:
    """Give m0 this assignment of another leader in place of the one that comes with its next SyncGroup answer; `active` are partitions of the topic t.

    It is of version 11, that of every release from 3.2 on: a higher one than a member used would be wrong, a lower one has it join again.
    """
    partitions: tuple[TopicPartition, ...] = tuple(("t", number) for number in active)
    info = AssignmentInfo(
        version=version,
        commonly=commonly,
        active=tuple(Task(0, number) for _, number in partitions),
        standby=tuple((Task(0, number), (("t", number),)) for number in standby),
        error=error,
        next_rebalance_ms=next_rebalance_ms,
    )
    blob = encode_assignment(Assignment(partitions=partitions, user_data=encode_assignment_info(info)))
    return strikes(name, Api.SYNC_GROUP, Answer(error_code=0, body={"assignment": blob}), direction="response", client="m0")
