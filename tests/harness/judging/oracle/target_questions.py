"""What a machine asks of its choices for a small group, and answers that tell of a broker's target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from tests.harness.judging.oracle.recording import Recording

from groupproof.coordinator.assignors.group_spec import TargetAssignment
from groupproof.coordinator.machine.choices import RandomChoices, TargetQuestion
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
from groupproof.coordinator.machine.consumer.target_assignment import target_of
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.harness.judging.oracle.exchanges import Exchange, histories
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest

__all__ = ["beat", "described", "group_of", "question_of", "shares", "topic_id"]

Shares = Mapping[str, str]
"""By a member's name what it has: `t0 t1 u2`."""


class _Asked(RandomChoices):
    def __init__(self) -> None:
        super().__init__(Random(1))
        self.questions: list[TargetQuestion] = []

    def target(self, question: TargetQuestion) -> TargetAssignment:
        self.questions.append(question)
        return question.kafkas


def shares(text: str) -> set[tuple[str, int]]:
    return {(topic_id(word[:-1]), int(word[-1])) for word in text.split()}


def topic_id(name: str) -> str:
    return f"00000000-0000-0000-0000-{ord(name):012x}"


def _share(text: str) -> dict[str, tuple[int, ...]]:
    share: dict[str, tuple[int, ...]] = {}
    for topic, index in sorted(shares(text)):
        share[topic] = (*share.get(topic, ()), index)
    return share


def group_of(*, topics: Mapping[str, int], names: Mapping[str, str], last: Shares, instances: Mapping[str, str], epoch: int = 2) -> ConsumerGroup:
    """Return a group whose members have their `last` target, and are to have another of the next epoch."""
    group = ConsumerGroup(group_id="g", topics={name: TopicImage(topic_id(name), count) for name, count in topics.items()})
    for name, subscribed in names.items():
        group.add(ConsumerMember(member_id=name, names=frozenset(subscribed.split()), instance_id=instances.get(name), epoch=epoch - 1))
        if name in last:
            group.give(group.members[name], _share(last[name]))
    group.generation, group.assignment_epoch = epoch, epoch - 1
    return group


def question_of(
    assignor: str = "uniform", *, topics: Mapping[str, int] | None = None, last: Shares | None = None, instances: Mapping[str, str] | None = None, **names: str
) -> TargetQuestion:  # fmt: skip
    asked, group = _Asked(), group_of(topics=topics or {"t": 4}, names=names, last=last or {}, instances=instances or {})
    target_of(group, assignor, asked, updated=None, newcomer=False, replaced=None, is_view=True)
    return asked.questions[0]


def _exchange(number: int, api: Api, message: Any, answer: Mapping[str, Any]) -> Exchange:
    recording = Recording()
    recording.stable("a")
    first = histories(recording.end())[0].exchanges[0]
    return replace(first, number=number, seq=100 + number, api=api, message=message, answer=answer)


def _topic_partitions(partitions: Iterable[tuple[str, int]]) -> dict[str, Any]:
    return {"topic_partitions": [{"topic_id": topic, "partitions": [index]} for topic, index in partitions]}


def beat(number: int, member: str, epoch: int, owns: str | None, *, asked_at: int = 1) -> Exchange:
    """Return a heartbeat whose answer has that epoch, and these partitions if any are told."""
    answer = {"error_code": 0, "member_id": member, "member_epoch": epoch, "assignment": None if owns is None else _topic_partitions(shares(owns))}
    message = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=asked_at)
    return _exchange(number, Api.CONSUMER_GROUP_HEARTBEAT, message, answer)


def described(number: int, epoch: int, targets: Shares, *, group_epoch: int | None = None) -> Exchange:
    members = [{"member_id": name, "instance_id": None, "target_assignment": _topic_partitions(shares(text))} for name, text in targets.items()]
    group = {"error_code": 0, "group_epoch": group_epoch or epoch, "assignment_epoch": epoch, "members": members}
    return _exchange(number, Api.CONSUMER_GROUP_DESCRIBE, ConsumerGroupDescribeRequest(group_ids=("g",)), {"groups": [group]})
