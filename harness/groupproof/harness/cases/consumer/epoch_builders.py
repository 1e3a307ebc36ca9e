"""How the cases of the consumer dialect are made (KIP-848): their members, and a coordinator whose times let a case be short."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from groupproof.harness.cases.client.client_case_builders import case as client_case
from groupproof.harness.model import plan_builders
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Await, Matches, Member, Plan, Reconciled, Start, Step
from groupproof.harness.model.plan_builders import JOIN_MS, REACT_MS, answered, consumed, requested
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import ASSIGNMENT_INTERVAL, HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from groupproof.protocol.vocabulary import Api

__all__ = [
    "BEAT", "INTERVAL_MS", "LONG_MS", "SESSION_MS", "beaten", "case", "joined", "left", "plan", "reconciled", "rejoining", "subject", "triggered",
]  # fmt: skip

BEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT

INTERVAL_MS: Final = 500
"""The heartbeat interval that the coordinator asks for, where a case asks for no other."""

SESSION_MS: Final = 6_000
"""The session timeout of the group: no case waits for a ghost unless it is about one."""

LONG_MS: Final = 9_000
"""How long a plan waits so that a judge of absence has its time."""


def case(*args: Any, **options: Any) -> Case:
    """Return a case of the dialect."""
    return client_case(*args, dialect=CONSUMER, **options)


def subject(name: str = "m0", **settings: Any) -> Member:
    """Return a member that speaks the dialect."""
    return plan_builders.subject(name, group_protocol=CONSUMER.name, **settings)


def plan(
    *parts: Member | Step | Iterable[Step],
    topics: Mapping[str, int] | None = None,
    interval_ms: int = INTERVAL_MS,
    session_ms: int = SESSION_MS,
    records: int = 20,
    coordinator: Mapping[str, Any] | None = None,
) -> Plan:
    """Return a plan before a coordinator with these times, which computes each target at once."""
    times = {HEARTBEAT_INTERVAL: interval_ms, SESSION_TIMEOUT: session_ms, ASSIGNMENT_INTERVAL: 0}
    return plan_builders.plan(*parts, topics=topics, records=records, coordinator={**times, **(coordinator or {})})


def reconciled(
    *members: str, topics: Mapping[str, int] | None = None, after: str | None = None, within_ms: int = JOIN_MS, go_on: bool = False
) -> Await:
    """Wait until `members`, and they alone, have the partitions of `topics` and have said so."""
    return Await(until=Reconciled(members=members, topics=dict(topics or {"t": 2}), after=after), within_ms=within_ms, go_on=go_on)


def joined(*members: str, topics: Mapping[str, int] | None = None, idle: Collection[str] = ()) -> list[Step]:
    """Start members one after the other, and wait each time until all that are started have their partitions, and the newest has been given records.

    `idle` members are given none.
    """
    steps: list[Step] = []
    for count, member in enumerate(members, 1):
        steps += [Start(member=member), reconciled(*members[:count], topics=topics)]
        if member not in idle:
            steps.append(consumed(member))
    return steps


def rejoining(member: str, *, after: str, within_ms: int = REACT_MS) -> Await:
    """Wait until a member joins with epoch 0; the plan goes on where it does not."""
    return requested(member, BEAT, after=after, within_ms=within_ms, go_on=True, member_epoch=0)


def left(member: str, *, after: str, epoch: int = -1, within_ms: int = REACT_MS) -> Await:
    """Wait until a member leaves; the plan goes on where it does not."""
    return requested(member, BEAT, after=after, within_ms=within_ms, go_on=True, member_epoch=epoch)


def beaten(member: str, *, after: str, count: int = 1, within_ms: int = REACT_MS) -> Await:
    """Wait until heartbeats of a member were answered without an error; the plan goes on where they were not."""
    return answered(member, BEAT, after=after, count=count, within_ms=within_ms, go_on=True)


def triggered(fault: str, *, within_ms: int = REACT_MS) -> Await:
    """Wait until a fault has met the frame that it waits for: one that is held back is delivered only when it is let go."""
    return Await(until=Matches(kind_of="fault", fault=fault, where={"stage": "triggered"}), within_ms=within_ms)
