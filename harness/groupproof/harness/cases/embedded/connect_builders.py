"""Builds the cases for Kafka Connect: workers as members, their connectors, and assignments of a simulated leader."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from groupproof.harness.cases.client.client_case_builders import embedded_case
from groupproof.harness.model.plan import Arm, Await, Member, Step
from groupproof.harness.model.plan_builders import JOIN_MS, answered, mark, start, strikes
from groupproof.protocol.faults import Answer
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.embedded.connect_protocol import CONNECTOR, PROTOCOL_TYPE, ConnectAssignment, encode_connect_assignment

__all__ = ["OFFSET", "TASKS", "assigns", "connect_case", "jobs", "joined_workers", "synced", "worker"]

TASKS: Final = 4
"""The default number of tasks of a connector."""

OFFSET: Final = 1
"""The offset up to which a worker has read the configuration at its start."""

_ELSEWHERE: Final = "http://another.invalid:8083/"

connect_case: Final = partial(embedded_case, "connect")


def worker(name: str = "m0", *, kind: str = "subject", connectors: tuple[str, ...] = ("t",), tasks: int = TASKS, **settings: Any) -> Member:
    """Return a worker; its properties are Kafka's worker settings, with _ for a dot, and `config_offset` and `config_end`."""
    own = {"config_offset": OFFSET, "tasks_max": tasks, **settings}
    properties = {_PROPERTIES.get(setting, setting.replace("_", ".")): str(value) for setting, value in own.items()}
    return Member(name=name, kind=kind, settings={"protocol_type": PROTOCOL_TYPE, "topics": list(connectors), "properties": properties})


_PROPERTIES: Final = {"config_offset": "kit.config.offset", "config_end": "kit.config.end"}


def jobs(*connectors: str, tasks: int = TASKS) -> tuple[TopicPartition, ...]:
    """Return the connectors and all their tasks."""
    return tuple((connector, task) for connector in connectors for task in range(CONNECTOR, tasks))


def joined_workers(*names: str) -> list[Step]:
    """Start workers one by one. A later one has joined after its work was revoked from the others and assigned to it.

    Its second heartbeat comes an interval after the first, however slow the start is: until then it may join again by itself.
    """
    steps: list[Step] = []
    for place, name in enumerate(names):
        since = f"start-{name}"
        steps += [
            mark(since),
            *start(name),
            synced(name, after=since, count=1 if place == 0 else 2),
            answered(name, Api.HEARTBEAT, after=since, count=2),
        ]
    return steps


def synced(name: str, *, after: str, count: int = 1, within_ms: int = JOIN_MS, go_on: bool = False) -> Await:
    """Wait until `count` SyncGroups of a worker are answered."""
    return answered(name, Api.SYNC_GROUP, after=after, count=count, within_ms=within_ms, go_on=go_on)


def assigns(name: str, *, client: str = "m0", version: int = 2, trailing: bytes = b"", **assignment: Any) -> Arm:
    """Replace the assignment in a worker's next SyncGroup answer with one of another leader."""
    made = ConnectAssignment(leader="another", leader_url=_ELSEWHERE, version=version, **{"offset": OFFSET, **assignment})
    body = {"assignment": encode_connect_assignment(made) + trailing}
    return strikes(name, Api.SYNC_GROUP, Answer(error_code=0, body=body), direction="response", client=client)
