"""How the cases for Kafka Connect's workers are made: workers as members, the connectors they run, assignments in the leader's stead."""

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
"""The tasks of each connector, unless a case says otherwise."""

OFFSET: Final = 1
"""How far a worker has read the configuration when it starts."""

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
    """Start workers one after the other; a later one has joined when what it is to run was taken from the others and given to it.

    The second heartbeat comes an interval after the first, however slow the worker was to start: until then it may join again of itself.
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
    """Wait until a worker has been answered its SyncGroup so many times."""
    return answered(name, Api.SYNC_GROUP, after=after, count=count, within_ms=within_ms, go_on=go_on)


def assigns(name: str, *, client: str = "m0", version: int = 2, trailing: bytes = b"", **assignment: Any) -> Arm:
    """Give a worker this assignment of another leader in place of the one that comes with its next SyncGroup answer."""
    made = ConnectAssignment(leader="another", leader_url=_ELSEWHERE, version=version, **{"offset": OFFSET, **assignment})
    body = {"assignment": encode_connect_assignment(made) + trailing}
    return strikes(name, Api.SYNC_GROUP, Answer(error_code=0, body=body), direction="response", client=client)
