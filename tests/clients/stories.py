"""Short stories of a member, each of which shows one choice that a policy leaves to a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.outputs import CommitResult
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import HeartbeatRequest, JoinMember
from groupproof.protocol.wire.subscription import Subscription, decode_subscription, encode_subscription

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, SYNC, COMMIT, FETCH, FIND, LEAVE, HEARTBEAT = (
    Api.JOIN_GROUP, Api.SYNC_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR, Api.LEAVE_GROUP, Api.HEARTBEAT,
)  # fmt: skip
AT = {("t", 0): 5}
Story = Callable[["Bench"], object]
Settings = dict[str, Any]
COOPERATIVE: Settings = {"assignors": ("cooperative-sticky",)}
AUTO: Settings = {"auto_commit": True}
TWO_TOPICS: Settings = {"topics": ("t", "u")}


def found(b: Bench) -> None:
    b.poll()
    b.answer(FIND)
    b.poll()


def rebalanced(b: Bench) -> None:
    """A stable member is told of a rebalance, polls, and has its callbacks return, until it can do no more."""
    b.stable(0)
    b.positions = {**AT, ("t", 9): 1}
    b.answer_heartbeat(27)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()


def subscription(b: Bench) -> Subscription:
    return decode_subscription(b.message(JOIN).protocols[0].metadata)


def group_looked_up(b: Bench) -> object:
    b.poll()
    return b.message(FIND).coordinator_keys


def lookups_of_two_rebalances(b: Bench) -> object:
    b.poll()
    for _ in range(4):
        if b.waits(FIND):
            b.answer(FIND)
        b.poll()
    b.answer(JOIN, 79, member_id="m-1")
    b.poll()
    first = b.count(FIND)
    b.answer(JOIN, member_id="m-1", generation_id=1, leader="m-0", protocol_name="range")
    b.assigned(0)
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()
    return first, b.count(FIND)


def sent_at_first(b: Bench) -> object:
    b.poll()
    return [send.message.api for send in b.waiting]


def commits_while_syncing(b: Bench) -> object:
    b.syncing()
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    return b.count(COMMIT)


def lanes(b: Bench) -> object:
    b.stable(0)
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()
    b.advance(1_000)
    join = b.take(JOIN).lane
    b.do(b.member.fetch_offsets("f", frozenset(AT), b.now))
    return join, b.take(FETCH).lane


def member_id_of_the_second_join(b: Bench) -> object:
    b.joining()
    return b.message(JOIN).member_id


def joins_at_first(b: Bench) -> object:
    found(b)
    return b.count(JOIN)


def protocol_type(b: Bench) -> object:
    found(b)
    return b.message(JOIN).protocol_type


def rebalance_timeout(b: Bench) -> object:
    found(b)
    return b.message(JOIN).rebalance_timeout_ms


def when_it_joins(b: Bench) -> object:
    found(b)
    b.advance(500, polling=True)
    return b.times(JOIN)


def when_an_unanswered_join_is_given_up(b: Bench) -> object:
    b.joining()
    while b.member.state.value == "PREPARING_REBALANCE":
        due = b.member.next_deadline_ms()
        assert due is not None
        b.advance(due - b.now)
    return b.now


def when_an_unanswered_sync_is_given_up(b: Bench) -> object:
    b.syncing()
    while b.member.state.value == "COMPLETING_REBALANCE":
        b.advance(100)
        if b.waits(HEARTBEAT):
            b.answer(HEARTBEAT)
    return b.now


def joins_after_a_refusal(b: Bench) -> object:
    found(b)
    b.answer(JOIN, 25)
    b.poll()
    b.advance(500, polling=True)
    return b.times(JOIN)


def topics_told(b: Bench) -> object:
    found(b)
    return subscription(b).topics


def owned_told(b: Bench) -> object:
    rebalanced(b)
    return subscription(b).owned


def protocol_synced(b: Bench) -> object:
    b.joining()
    b.answer(JOIN, member_id="m-1", generation_id=1, leader="m-0", protocol_name="roundrobin")
    return b.message(SYNC).protocol_name


def syncs(b: Bench) -> object:
    b.syncing()
    return b.count(SYNC)


def commit_in_the_second_generation(b: Bench) -> object:
    rebalanced(b)
    b.rejoined(0, generation=2)
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    sent = b.message(COMMIT)
    return sent.generation_id, sent.member_id


def told_of_a_commit_before_its_answer(b: Bench) -> object:
    b.stable(0)
    b.do(b.member.fetch_offsets("f", frozenset(AT), b.now))
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    before = len(b.others)
    b.answer(COMMIT)
    return before, len(b.others)


def errors_told(b: Bench) -> object:
    b.stable(0)
    for is_sync in (False, True):
        b.do(b.member.commit(1, AT, b.now, is_sync=is_sync))
        b.answer(COMMIT, 12)
    return [item.error is None for item in b.of(CommitResult)]


def offsets_committed_by_itself(b: Bench) -> object:
    b.stable(0)
    b.positions = {**AT, ("t", 9): 1}
    b.advance(5_000, polling=True)
    return [partition.partition_index for topic in b.message(COMMIT).topics for partition in topic.partitions]


def commits_before_the_join(b: Bench) -> object:
    rebalanced(b)
    return b.count(COMMIT)


def asks_for_stable_offsets(b: Bench) -> object:
    b.stable(0)
    b.do(b.member.fetch_offsets("f", frozenset(AT), b.now))
    return b.message(Api.OFFSET_FETCH).require_stable


def commits_at_the_end(b: Bench) -> object:
    b.stable(0)
    b.positions = AT
    b.poll()
    b.do(b.member.close(b.now))
    return b.count(COMMIT)


def commits_after_a_batch(b: Bench) -> object:
    b.stable(0)
    b.poll()
    b.positions = AT
    b.poll()
    first = b.count(COMMIT)
    if first:
        b.answer(COMMIT)
    b.poll()
    return first, b.count(COMMIT)


def leaves_while_it_joins(b: Bench) -> object:
    b.syncing()
    b.do(b.member.close(b.now))
    return b.count(LEAVE)


def after_a_failed_rejoin(b: Bench) -> object:
    """It has rejoined at once, or it heartbeats, as the member it was, and joins if it is told to."""
    b.stable(0)
    b.answer_heartbeat(27)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    joins = b.count(JOIN)
    b.answer(JOIN, 14)
    b.advance(150, polling=True)
    has_joined = b.count(JOIN) - joins
    if has_joined:
        return has_joined, 0
    b.answer_heartbeat(27)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    return has_joined, b.count(JOIN) - joins


def generations_of_heartbeats_after_a_refused_one(b: Bench) -> object:
    b.stable(0)
    b.answer_heartbeat(22)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    return [message.generation_id for _, message in b.sent if isinstance(message, HeartbeatRequest)]


def leaves_at_the_end(b: Bench) -> object:
    b.stable(0)
    b.do(b.member.close(b.now))
    b.called()
    return b.count(LEAVE)


def leaves_without_polls(b: Bench) -> object:
    b.stable(0)
    b.answer_heartbeat()
    b.advance(3_000)
    return b.count(LEAVE), b.member.member_id


def when_it_leaves_without_polls(b: Bench) -> object:
    b.stable(0)
    b.advance(3_000)
    return b.times(LEAVE)


def offset_committed(b: Bench) -> object:
    b.stable(0)
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    return b.message(COMMIT).topics[0].partitions[0].committed_offset


def joins_after_a_commit(b: Bench) -> object:
    b.stable(0)
    joins = b.count(JOIN)
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    b.answer(COMMIT)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    return b.count(JOIN) - joins


def joins_after(change: Callable[[Bench], None]) -> Story:
    def story(b: Bench) -> object:
        b.syncing(leader="m-1", members=())
        b.do(b.member.metadata(Cluster(partitions={"t": 2}), b.now))
        b.assigned(0)
        joins = b.count(JOIN)
        change(b)
        b.poll()
        while b.callbacks:
            b.called()
        b.poll()
        return b.count(JOIN) - joins

    return story


def same_metadata(b: Bench) -> None:
    b.do(b.member.metadata(Cluster(partitions={"t": 2}), b.now))


def resubscribed(b: Bench) -> None:
    b.do(b.member.resubscribe(("t", "u"), b.now))


def growth(b: Bench) -> object:
    b.syncing(leader="m-1", members=(JoinMember(member_id="m-1", metadata=encode_subscription(Subscription(topics=("t",)))),))
    b.assigned(0, 1)
    joins = b.count(JOIN)
    b.do(b.member.metadata(Cluster(partitions={"t": 3}), b.now))
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    return b.count(JOIN) - joins


def first_heartbeat(b: Bench) -> object:
    b.stable(0)
    b.advance(1_999)
    return b.times(HEARTBEAT)


def told_of_its_partitions(b: Bench) -> object:
    b.syncing()
    b.answer(SYNC, assignment=b.assignment(0))
    b.poll()
    return [callback.kind for callback in b.callbacks], sorted(b.member.owned)


def joins_after_giving_back(b: Bench) -> object:
    rebalanced(b)
    joins = b.count(JOIN)
    b.rejoined(1, generation=2)
    return b.count(JOIN) - joins
