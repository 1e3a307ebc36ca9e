"""Builds the cases of the consumer dialect (KIP-848): their members, and a coordinator with short times."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from groupproof.harness.cases.client.client_case_builders import case as client_case
from groupproof.harness.model import plan_builders
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Await, Matches, Member, Plan, Reconciled, Start, Step
from groupproof.harness.model.plan_builders import JOIN_MS, REACT_MS, answered, consumed, event, passing, requested
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import ASSIGNMENT_INTERVAL, HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from groupproof.protocol.vocabulary import Api

__all__ = [
    "BEAT", "INTERVAL_MS", "LONG_MS", "SESSION_MS", "answered_commit", "beaten", "case", "consumed_each", "joined", "left", "plan", "reconciled", "rejoining", "reported", "subject", "triggered",
]  # fmt: skip

BEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT

INTERVAL_MS: Final = 500
"""The coordinator's default heartbeat interval in these cases."""

SESSION_MS: Final = 6_000
"""The group's session timeout: a case waits for a dead member only if it is about one."""

LONG_MS: Final = 9_000
"""How long a plan waits for a judge of absence."""


_NEXT_PARTITION_MS: Final = 2_000
"""How long a plan waits for one more partition when the application has records of another."""


def case(*args: Any, **options: Any) -> Case:
    """Return a case of the dialect."""
    return client_case(*args, dialect=CONSUMER, **options)


def subject(name: str = "m0", **settings: Any) -> Member:
    """Return a member of the dialect."""
    return plan_builders.subject(name, group_protocol=CONSUMER.name, **settings)


def plan(
    *parts: Member | Step | Iterable[Step],
    topics: Mapping[str, int] | None = None,
    interval_ms: int = INTERVAL_MS,
    session_ms: int = SESSION_MS,
    records: int = 20,
    coordinator: Mapping[str, Any] | None = None,
) -> Plan:
    """Return a plan with a coordinator of these times, which computes each target at once."""
    times = {HEARTBEAT_INTERVAL: interval_ms, SESSION_TIMEOUT: session_ms, ASSIGNMENT_INTERVAL: 0}
    return plan_builders.plan(*parts, topics=topics, records=records, coordinator={**times, **(coordinator or {})})


def reconciled(
    *members: str, topics: Mapping[str, int] | None = None, after: str | None = None, within_ms: int = JOIN_MS, go_on: bool = False
) -> Await:
    """Wait until exactly `members` own the partitions of `topics` and have acknowledged them."""
    return Await(until=Reconciled(members=members, topics=dict(topics or {"t": 2}), after=after), within_ms=within_ms, go_on=go_on)


def joined(*members: str, topics: Mapping[str, int] | None = None, idle: Collection[str] = ()) -> list[Step]:
    """Start members one by one. Wait each time until all of them have their partitions and the newest has consumed records.

    `idle` members get no records.
    """
    steps: list[Step] = []
    for count, member in enumerate(members, 1):
        steps += [Start(member=member), reconciled(*members[:count], topics=topics)]
        if member not in idle:
            steps.append(consumed(member))
    return steps


def consumed_each(member: str, *partitions: int, after: str, within_ms: int = LONG_MS) -> list[Step]:
    """Wait until the application has a record of each of these partitions; the plan continues without them.

    A client may report several partitions in one event (Java), or each record in an event of its own. `within_ms` is for the first partition; the
    others are due soon after it.
    """
    return [
        Await(
            until=Matches(kind_of="event", event="records_consumed", client=member, after=after, where={"partitions.partition": partition}),
            within_ms=_NEXT_PARTITION_MS if index else within_ms,
            go_on=True,
        )
        for index, partition in enumerate(partitions)
    ]


def rejoining(member: str, *, after: str, within_ms: int = REACT_MS) -> Await:
    """Wait until a member joins with epoch 0; the plan continues if it does not."""
    return requested(member, BEAT, after=after, within_ms=within_ms, go_on=True, member_epoch=0)


def left(member: str, *, after: str, epoch: int = -1, within_ms: int = REACT_MS) -> Await:
    """Wait until a member leaves; the plan continues if it does not."""
    return requested(member, BEAT, after=after, within_ms=within_ms, go_on=True, member_epoch=epoch)


def beaten(member: str, *, after: str, count: int = 1, within_ms: int = REACT_MS) -> Await:
    """Wait until `count` heartbeats of a member are answered without an error; the plan continues if they are not."""
    return answered(member, BEAT, after=after, count=count, within_ms=within_ms, go_on=True)


def answered_commit(member: str, *, after: str) -> list[Step]:
    """Wait for the answer to a commit that was refused at `after`, and for the heartbeats after that; the plan continues without them."""
    return [
        event(member, "answer", after=after, within_ms=LONG_MS, go_on=True),
        beaten(member, after=after, count=2, within_ms=LONG_MS),
        passing(2_000),
    ]


def reported(member: str, *, after: str) -> list[Step]:
    """Wait until the application is told of an error, and then for a while in which a client must not storm or go on; the plan continues anyway.

    The driver gives a client that is slow by its rhythm more time for the report, as the judges do.
    """
    return [event(member, "error", after=after, within_ms=LONG_MS, go_on=True), passing(4_000)]


def triggered(fault: str, *, within_ms: int = REACT_MS) -> Await:
    """Wait until a fault acts on a frame, whatever becomes of it. A hold is delivered right then, and not only with its release."""
    return Await(until=Matches(kind_of="fault", fault=fault, where={"stage": "triggered"}), within_ms=within_ms)
