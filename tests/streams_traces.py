"""What members of Kafka Streams say and deal, for traces made by hand: tasks are the partitions of the topic t."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.traces import ID, Story

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.embedded.streams_protocol import (
    LATEST_OFFSET,
    NO_REBALANCE_MS,
    AssignmentInfo,
    SubscriptionInfo,
    Task,
    encode_assignment_info,
    encode_subscription_info,
)
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["OTHER", "gives", "joins", "leads", "says", "task"]

OTHER = "other"


def task(number: int) -> Task:
    return Task(0, number)


def says(
    *,
    version: int = 11,
    latest: int = 11,
    owned: Iterable[int] = (),
    running: Iterable[int] = (),
    restoring: Iterable[int] = (),
    unique: int = 0,
    process: str = "0" * 32,
    error: int = 0,
) -> bytes:
    """Return a member's subscription."""
    sums = (*((task(number), LATEST_OFFSET) for number in running), *((task(number), 5) for number in restoring))
    info = SubscriptionInfo(version=version, latest=latest, offset_sums=sums, unique=unique, process=process, error=error)
    partitions = tuple(("t", number) for number in owned)
    return encode_subscription(Subscription(topics=("t",), owned=partitions, version=1, user_data=encode_subscription_info(info)))


def gives(
    active: Iterable[int] = (),
    *,
    standby: Iterable[int] = (),
    version: int = 11,
    commonly: int = 11,
    next_ms: int = NO_REBALANCE_MS,
    error: int = 0,
    tasks: Iterable[int] | None = None,
) -> bytes:
    """Return a member's assignment; its `tasks` are those of its partitions unless they are named."""
    partitions = tuple(("t", number) for number in active)
    info = AssignmentInfo(
        version=version,
        commonly=commonly,
        active=tuple(map(task, active if tasks is None else tasks)),
        standby=tuple((task(number), (("t", number),)) for number in standby),
        next_rebalance_ms=next_ms,
        error=error,
    )
    return encode_assignment(Assignment(partitions=partitions, user_data=encode_assignment_info(info)))


def joins(story: Story, metadata: bytes) -> None:
    """Let m0 join with this subscription, as it has its id."""
    body = {"protocol_type": "consumer", "protocols": [{"name": "stream", "metadata": metadata}]}
    request = story.request(Api.JOIN_GROUP, member=ID, body=body)
    story.answer(request, member=ID, generation=1, body={"member_id": ID, "leader": "x", "protocol_name": "stream"})


def leads(story: Story, members: Mapping[str, bytes], dealt: Mapping[str, Iterable[int] | bytes], *, version: int = 11, commonly: int = 11) -> None:
    """Let m0 lead a generation of members that said this, and deal this out: the numbers of tasks, or an assignment."""
    blobs = {name: item if isinstance(item, bytes) else gives(tuple(item), version=version, commonly=commonly) for name, item in dealt.items()}
    listed = [{"member_id": name, "metadata": metadata} for name, metadata in members.items()]
    request = story.request(Api.JOIN_GROUP, member=ID, body={"protocol_type": "consumer", "protocols": [{"name": "stream", "metadata": members[ID]}]})
    story.answer(request, member=ID, generation=1, body={"member_id": ID, "leader": ID, "protocol_name": "stream", "members": listed})
    assignments = [{"member_id": name, "assignment": blob} for name, blob in blobs.items()]
    sync = story.request(Api.SYNC_GROUP, member=ID, generation=1, body={"assignments": assignments})
    story.answer(sync, member=ID, generation=1, body={"assignment": blobs.get(ID, b"")})
