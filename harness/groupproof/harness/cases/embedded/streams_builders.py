"""Builds the cases for Kafka Streams: applications as members, and assignments of a simulated leader."""

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
"""The partitions of each topic, which are also the tasks of its subtopology."""

COMMIT_MS: Final = 400
"""The default interval of an application's commits."""

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
    """Return an application with one thread. Each of its tasks has a table. Its properties are Kafka's own, with _ for a dot."""
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
    """Return a reference member of Kafka Streams beside the subject."""
    return application("a0", kind="reference", **settings)


def synced(name: str, *, after: str, count: int = 1, within_ms: int = JOIN_MS, go_on: bool = False) -> Step:
    """Wait until `count` SyncGroups of a member are answered."""
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
    """Make a member join again, by heartbeats that are answered with 27."""
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
    """Replace the assignment in m0's next SyncGroup answer with one of another leader; `active` are partitions of the topic t.

    The version is 11, as in every release from 3.2 on. A version above the member's own would be wrong; a lower one makes it join again.
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
