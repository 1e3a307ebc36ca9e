"""Small traces of groups with member epochs (KIP-848), told as `tests.traces` tells classic ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from tests.traces import ID, Story

from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition

__all__ = ["BOTH", "EpochStory"]

BOTH: tuple[TopicPartition, ...] = (("t", 0), ("t", 1))
"""The partitions of a member that is alone."""

_JOINED: dict[str, Any] = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["t"]}


def _by_topic(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    """Return partitions as a body has them. A topic's name stands for its id."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return [{"topic_id": topic, "partitions": found} for topic, found in numbers.items()]


class EpochStory(Story):
    """Tells of heartbeats that join, keep, acknowledge and leave."""

    def ask(
        self, epoch: int, client: str = "m0", *, owns: Iterable[TopicPartition] | None = None, full: bool = False, member: str = ID, **columns: Any
    ) -> Observation:
        """Tell of a heartbeat that is not answered yet; it is `full` where it says everything."""
        owned = None if owns is None else tuple(owns)
        body: dict[str, Any] = {"member_epoch": epoch, "rebalance_timeout_ms": -1, "topic_partitions": None if owned is None else _by_topic(owned)}
        body |= {"subscribed_topic_names": None, "subscribed_topic_regex": None} | (_JOINED if full or epoch == 0 else {}) | columns.pop("body", {})
        partitions = () if owned is None else owned
        return self.request(Api.CONSUMER_GROUP_HEARTBEAT, client, member=member, member_epoch=epoch, body=body, partitions=partitions, **columns)

    def reply(self, asked: Observation, epoch: int | None = None, *, gives: Iterable[TopicPartition] | None = None, error: int = 0) -> Observation:
        """Tell of its answer, which `gives` an assignment."""
        partitions_ = None if gives is None else tuple(gives)
        body = {"assignment": None if partitions_ is None else {"topic_partitions": _by_topic(partitions_)}}
        granted = None if error else asked.member_epoch if epoch is None else epoch
        return self.answer(asked, error=error, member_epoch=granted, partitions=partitions_ or (), body=body)

    def hb(
        self,
        epoch: int,
        client: str = "m0",
        *,
        gets: int | None = None,
        gives: Iterable[TopicPartition] | None = None,
        owns: Iterable[TopicPartition] | None = None,
        error: int = 0,
        **more: Any,
    ) -> Observation:
        """Tell of a heartbeat and, at once, its answer; return the request."""
        asked = self.ask(epoch, client, owns=() if owns is None and epoch == 0 else owns, **more)
        self.reply(asked, gets, gives=gives, error=error)
        return asked

    def settled(self, client: str = "m0", *, gets: Iterable[TopicPartition] = BOTH, member: str = ID, epoch: int = 1) -> Self:
        """Tell how a client joined, was given partitions, and said so."""
        partitions_ = tuple(gets)
        self.hb(0, client, gets=epoch, gives=partitions_, member=member)
        self.partitions("assigned", *partitions_, client=client)
        self.tell("callback_done", client)
        self.hb(epoch, client, owns=partitions_, member=member)
        return self

    def struck(self, name: str, epoch: int, error: int, client: str = "m0", **more: Any) -> Observation:
        """Tell how a fault answered the next heartbeat with an error."""
        self.see("fault", fault=name, detail="armed", body={"stage": "armed"})
        asked = self.ask(epoch, client, **more)
        same = {"connection": asked.connection, "correlation": asked.correlation, "api": asked.api}
        self.see("fault", fault=name, detail="triggered", body={"stage": "triggered"}, **same)
        self.reply(asked, error=error)
        self.see("fault", fault=name, detail="delivered", body={"stage": "delivered"}, **same)
        return asked

    def fenced(self, name: str = "error", epoch: int = 1) -> Self:
        self.struck(name, epoch, ErrorCode.FENCED_MEMBER_EPOCH)
        return self
