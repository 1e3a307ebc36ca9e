"""A load as data for every process that runs it: the whole order, and the part of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groupproof.chaos.spark.members.churn_plan import Action, MemberAction
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC

__all__ = ["ClientChoice", "LoadOrder", "MemberOrder", "TaskOrder", "task_orders"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOrder:
    """The user's order. `rate` is how often a second each member commits its positions; `client` is registered, with its release. Members speak
    `dialect`."""

    members: int
    groups: int
    topics: Mapping[str, int]
    rate: float
    duration_s: float
    churn: str
    client: str
    coordinator: str
    seed: int
    tasks: int
    group_prefix: str = "load"
    settings: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    dialect: str = CLASSIC.name

    def group_of(self, member: int) -> str:
        """Return the group of a member number: groups alternate, so that every task has members of every group."""
        return f"{self.group_prefix}-{member % self.groups}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOrder:
    """One member: its client id, its group, and its actions."""

    client: str
    group: str
    actions: tuple[MemberAction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientChoice:
    """The members' client: `kind` is reference, librdkafka or kafka-python; `site` is the folder of its installed release."""

    kind: str
    release: str = ""
    site: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOrder:
    """One task's members and all that it needs to run them; pickled to the worker.

    `slot` numbers its observations (0 is not a task's), `channel` is where it reports to, `skip_s` is the part of the plan that is already over.
    """

    task: int
    slot: int
    run: str
    output: str
    members: tuple[MemberOrder, ...]
    topics: tuple[str, ...]
    bootstrap: tuple[Address, ...]
    client: ClientChoice
    rate: float
    duration_s: float
    seed: int
    settings: Mapping[str, Any]
    channel: Address
    secret: str
    skip_s: float = 0.0
    seal_s: float = 1.0


def task_orders(
    order: LoadOrder, actions: Sequence[tuple[MemberAction, ...]], *, run: str, output: str, bootstrap: Sequence[Address], client: ClientChoice,
    channel: Address, secret: str, settings: Mapping[str, Any], skip_s: float = 0.0,
) -> list[TaskOrder]:  # fmt: skip
    """Return each task's part: members in blocks of their numbers, as even as possible."""
    width = len(str(order.members - 1))
    members = [MemberOrder(client=f"m{number:0{width}}", group=order.group_of(number), actions=actions) for number, actions in enumerate(actions)]
    bounds = [task * order.members // order.tasks for task in range(order.tasks + 1)]
    return [
        TaskOrder(
            task=task, slot=task + 1, run=run, output=output, members=tuple(members[bounds[task] : bounds[task + 1]]), topics=tuple(order.topics),
            bootstrap=tuple(bootstrap), client=client, rate=order.rate, duration_s=order.duration_s, seed=order.seed, settings=settings,
            channel=channel, secret=secret, skip_s=skip_s,
        )
        for task in range(order.tasks)
    ]  # fmt: skip


def after(actions: Sequence[MemberAction], skip_s: float) -> tuple[MemberAction, ...]:
    """Return the remaining actions `skip_s` seconds into the plan: a member that was up starts at once; lasting actions are over."""
    is_up = False
    for action in actions:
        if action.at_s <= skip_s:
            is_up = action.action not in (Action.LEAVE, Action.DIE)
    left = tuple(action for action in actions if action.at_s > skip_s)
    return (MemberAction(skip_s, Action.START), *left) if is_up else left
