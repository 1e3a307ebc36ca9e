"""The kind of member for a consumer's settings, and the conversion of its messages to bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member import Member
from groupproof.clients.member.policy import Policy
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupproof.protocol.wire.message_codec import body_of, response_of

__all__ = ["AnyMember", "answer_of", "member_of", "plain_body"]

AnyMember = Member | EpochMember


def member_of(settings: MemberSettings, *, policy: Policy, draw: Callable[[], float]) -> AnyMember:
    """Return a member for the protocol in the settings."""
    kind = EpochMember if settings.by_epochs else Member
    return kind(settings, policy=policy, draw=draw)


def plain_body(message: Any) -> dict[str, Any]:
    """Return a request as a body. ConsumerGroupHeartbeat needs no registered dialect."""
    if isinstance(message, ConsumerGroupHeartbeatRequest):
        return asdict(message)
    return body_of(message)


def answer_of(api: Api, body: Mapping[str, Any]) -> Any:
    """Return an answer body as a message."""
    return _heartbeat_answer(body) if api is Api.CONSUMER_GROUP_HEARTBEAT else response_of(api, body)


def _heartbeat_answer(body: Mapping[str, Any]) -> ConsumerGroupHeartbeatResponse:
    assignment = body["assignment"]
    return ConsumerGroupHeartbeatResponse(
        error_code=body["error_code"], error_message=body["error_message"], member_id=body["member_id"], member_epoch=body["member_epoch"],
        heartbeat_interval_ms=body["heartbeat_interval_ms"], assignment=None if assignment is None else _assignment(assignment),
    )  # fmt: skip


def _assignment(assignment: Mapping[str, Any]) -> ConsumerAssignment:
    topics = (TopicPartitions(topic_id=topic["topic_id"], partitions=tuple(topic["partitions"])) for topic in assignment["topic_partitions"])
    return ConsumerAssignment(topic_partitions=tuple(topics))
