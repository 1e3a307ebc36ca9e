"""Each choice that a policy leaves to a client shows: one short story, told of the reference and of a client that chose otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from groupproof.clients.assignment import Cluster
from groupproof.clients.outputs import CallbackKind, Committed
from groupproof.clients.policy import Policy
from groupproof.protocol.messages import JoinMember
from groupproof.protocol.subscription import Subscription, decode_subscription, encode_subscription
from groupproof.protocol.vocabulary import Api

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


def _found(b: Bench) -> None:
    b.poll()
    b.answer(FIND)
    b.poll()


def _rebalanced(b: Bench) -> None:
    """A stable member is told of a rebalance, polls, and has its callbacks return, until it can do no more."""
    b.stable(0)
    b.positions = {**AT, ("t", 9): 1}
    b.answer_heartbeat(27)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()


def _subscription(b: Bench) -> Subscription:
    return decode_subscription(b.message(JOIN).protocols[0].metadata)


def _group_looked_up(b: Bench) -> object:
    b.poll()
    return b.message(FIND).coordinator_keys


def _lookups_of_two_rebalances(b: Bench) -> object:
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


def _sent_at_first(b: Bench) -> object:
    b.poll()
    return [each.message.api for each in b.waiting]


def _commits_while_syncing(b: Bench) -> object:
    b.syncing()
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    return b.count(COMMIT)


def _lanes(b: Bench) -> object:
    b.stable(0)
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()
    b.advance(1_000)
    join = b.take(JOIN).lane
    b.do(b.member.fetch_offsets("f", frozenset(AT), b.now))
    return join, b.take(FETCH).lane


def _member_id_of_the_second_join(b: Bench) -> object:
    b.joining()
    return b.message(JOIN).member_id


def _joins_at_first(b: Bench) -> object:
    _found(b)
    return b.count(JOIN)


def _protocol_type(b: Bench) -> object:
    _found(b)
    return b.message(JOIN).protocol_type


def _rebalance_timeout(b: Bench) -> object:
    _found(b)
    return b.message(JOIN).rebalance_timeout_ms


def _when_it_joins(b: Bench) -> object:
    _found(b)
    b.advance(500, polling=True)
    return b.times(JOIN)


def _when_an_unanswered_join_is_given_up(b: Bench) -> object:
    b.joining()
    while b.member.state.value == "PREPARING_REBALANCE":
        due = b.member.next_deadline_ms()
        assert due is not None
        b.advance(due - b.now)
    return b.now


def _when_an_unanswered_sync_is_given_up(b: Bench) -> object:
    b.syncing()
    while b.member.state.value == "COMPLETING_REBALANCE":
        b.advance(100)
        if b.waits(HEARTBEAT):
            b.answer(HEARTBEAT)
    return b.now


def _joins_after_a_refusal(b: Bench) -> object:
    _found(b)
    b.answer(JOIN, 25)
    b.poll()
    b.advance(500, polling=True)
    return b.times(JOIN)


def _topics_told(b: Bench) -> object:
    _found(b)
    return _subscription(b).topics


def _owned_told(b: Bench) -> object:
    _rebalanced(b)
    return _subscription(b).owned


def _protocol_synced(b: Bench) -> object:
    b.joining()
    b.answer(JOIN, member_id="m-1", generation_id=1, leader="m-0", protocol_name="roundrobin")
    return b.message(SYNC).protocol_name


def _syncs(b: Bench) -> object:
    b.syncing()
    return b.count(SYNC)


def _commit_in_the_second_generation(b: Bench) -> object:
    _rebalanced(b)
    b.rejoined(0, generation=2)
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    sent = b.message(COMMIT)
    return sent.generation_id, sent.member_id


def _told_of_a_commit_before_its_answer(b: Bench) -> object:
    b.stable(0)
    b.do(b.member.fetch_offsets("f", frozenset(AT), b.now))
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    before = len(b.others)
    b.answer(COMMIT)
    return before, len(b.others)


def _errors_told(b: Bench) -> object:
    b.stable(0)
    for is_sync in (False, True):
        b.do(b.member.commit(1, AT, b.now, is_sync=is_sync))
        b.answer(COMMIT, 12)
    return [each.error is None for each in b.of(Committed)]


def _offsets_committed_by_itself(b: Bench) -> object:
    b.stable(0)
    b.positions = {**AT, ("t", 9): 1}
    b.advance(5_000, polling=True)
    return [each.partition_index for topic in b.message(COMMIT).topics for each in topic.partitions]


def _commits_before_the_join(b: Bench) -> object:
    _rebalanced(b)
    return b.count(COMMIT)


def _commits_at_the_end(b: Bench) -> object:
    b.stable(0)
    b.positions = AT
    b.poll()
    b.do(b.member.close(b.now))
    return b.count(COMMIT)


def _commits_after_a_batch(b: Bench) -> object:
    b.stable(0)
    b.poll()
    b.positions = AT
    b.poll()
    first = b.count(COMMIT)
    if first:
        b.answer(COMMIT)
    b.poll()
    return first, b.count(COMMIT)


def _leaves_while_it_joins(b: Bench) -> object:
    b.syncing()
    b.do(b.member.close(b.now))
    return b.count(LEAVE)


def _after_a_failed_rejoin(b: Bench) -> object:
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


def _leaves_at_the_end(b: Bench) -> object:
    b.stable(0)
    b.do(b.member.close(b.now))
    b.called()
    return b.count(LEAVE)


def _leaves_without_polls(b: Bench) -> object:
    b.stable(0)
    b.answer_heartbeat()
    b.advance(3_000)
    return b.count(LEAVE), b.member.member_id


def _when_it_leaves_without_polls(b: Bench) -> object:
    b.stable(0)
    b.advance(3_000)
    return b.times(LEAVE)


def _offset_committed(b: Bench) -> object:
    b.stable(0)
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    return b.message(COMMIT).topics[0].partitions[0].committed_offset


def _joins_after_a_commit(b: Bench) -> object:
    b.stable(0)
    joins = b.count(JOIN)
    b.do(b.member.commit(1, AT, b.now, is_sync=True))
    b.answer(COMMIT)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    return b.count(JOIN) - joins


def _joins_after(change: Callable[[Bench], None]) -> Story:
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


def _same_metadata(b: Bench) -> None:
    b.do(b.member.metadata(Cluster(partitions={"t": 2}), b.now))


def _resubscribed(b: Bench) -> None:
    b.do(b.member.resubscribe(("t", "u"), b.now))


def _growth(b: Bench) -> object:
    b.syncing(leader="m-1", members=(JoinMember(member_id="m-1", metadata=encode_subscription(Subscription(topics=("t",)))),))
    b.assigned(0, 1)
    joins = b.count(JOIN)
    b.do(b.member.metadata(Cluster(partitions={"t": 3}), b.now))
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    return b.count(JOIN) - joins


def _first_heartbeat(b: Bench) -> object:
    b.stable(0)
    b.advance(1_999)
    return b.times(HEARTBEAT)


def _told_of_its_partitions(b: Bench) -> object:
    b.syncing()
    b.answer(SYNC, assignment=b.assignment(0))
    b.poll()
    return [each.kind for each in b.callbacks], sorted(b.member.owned)


def _joins_after_giving_back(b: Bench) -> object:
    _rebalanced(b)
    joins = b.count(JOIN)
    b.rejoined(1, generation=2)
    return b.count(JOIN) - joins


CHOICES: list[tuple[Policy, Story, object, object, Settings]] = [
    (Policy(looks_up_own_group=False), _group_looked_up, ("g",), ("g-other",), {}),
    (Policy(looks_up=False), _sent_at_first, [FIND], [JOIN], {}),
    (Policy(lookups_at_once=2), _sent_at_first, [FIND], [FIND, FIND], {}),
    (Policy(rediscovers_each_rebalance=True), _lookups_of_two_rebalances, (1, 1), (1, 2), {}),
    (Policy(lanes="joins"), _lanes, ("group", "group"), ("joins", "group"), {}),
    (Policy(joins_with_id=False), _member_id_of_the_second_join, "m-1", "", {}),
    (Policy(joins_at_once=2), _joins_at_first, 1, 2, {}),
    (Policy(rejoin_delay_ms=100), _when_it_joins, [0], [100], {}),
    (Policy(protocol_type="connect"), _protocol_type, "consumer", "connect", {}),
    (Policy(rebalance_timeout="session"), _rebalance_timeout, 30_000, 6_000, {}),
    (Policy(join_timeout_factor=0.5), _when_an_unanswered_join_is_given_up, 35_000, 17_500, {}),
    (Policy(sync_timeout_factor=0.5), _when_an_unanswered_sync_is_given_up, 30_000, 15_000, {"max_poll_interval_ms": 60_000}),
    (Policy(immediate_rejoins_max=0), _joins_after_a_refusal, [0, 0], [0, 100], {}),
    (Policy(topics_reversed=True), _topics_told, ("t", "u"), ("u", "t"), TWO_TOPICS),
    (Policy(topics_listed="first"), _topics_told, ("t", "u"), ("t",), TWO_TOPICS),
    (Policy(owned_in_subscription=False), _owned_told, (("t", 0),), (), COOPERATIVE),
    (Policy(sync_protocol="preferred"), _protocol_synced, "roundrobin", "range", {"assignors": ("range", "roundrobin")}),
    (Policy(syncs=False), _syncs, 1, 0, {}),
    (Policy(commit_generation="previous"), _commit_in_the_second_generation, (2, "m-1"), (1, "m-1"), {}),
    (Policy(commit_generation="none"), _commit_in_the_second_generation, (2, "m-1"), (-1, ""), {}),
    (Policy(commits_when_unstable=True), _commits_while_syncing, 0, 1, {}),
    (Policy(commit_told="sent"), _told_of_a_commit_before_its_answer, (0, 1), (1, 1), {}),
    (Policy(swallows_commit_errors="async"), _errors_told, [False, False], [True, False], {}),
    (Policy(swallows_commit_errors="sync"), _errors_told, [False, False], [False, True], {}),
    (Policy(commits_unowned=True), _offsets_committed_by_itself, [0], [0, 9], AUTO),
    (Policy(commits_before_revoke=False), _commits_before_the_join, 1, 0, AUTO),
    (Policy(commits_on_close=False), _commits_at_the_end, 1, 0, AUTO),
    (Policy(commits_each_batch=True), _commits_after_a_batch, (0, 0), (1, 1), {"auto_commit": True, "auto_commit_interval_ms": 60_000}),
    (Policy(leaves_while_joining=False), _leaves_while_it_joins, 1, 0, {}),
    (
        Policy(sync_waits="rebalance", poll_deadline_factor=None),
        _when_an_unanswered_sync_is_given_up,
        30_000,
        60_000,
        {"max_poll_interval_ms": 30_000},
    ),
    (Policy(failed_rejoin="heartbeats"), _after_a_failed_rejoin, (1, 0), (0, 1), {}),
    (Policy(leaves_when_static=True), _leaves_at_the_end, 0, 1, {"instance_id": "i0"}),
    (Policy(poll_end_leaves=False), _leaves_without_polls, (1, ""), (0, ""), {"max_poll_interval_ms": 2_000}),
    (Policy(poll_deadline_factor=0.5), _when_it_leaves_without_polls, [2_000], [1_000], {"max_poll_interval_ms": 2_000}),
    (Policy(commit_shift=1), _offset_committed, 5, 6, {}),
    (Policy(rejoins_after_commit=True), _joins_after_a_commit, 0, 1, {}),
    (Policy(rejoins_on_any_metadata=True), _joins_after(_same_metadata), 0, 1, {}),
    (Policy(rejoins_on_resubscribe=False), _joins_after(_resubscribed), 1, 0, {}),
    (Policy(rejoins_on_growth=False), _growth, 1, 0, {}),
    (Policy(heartbeat_factor=0.5), _first_heartbeat, [1_000], [500], {}),
    (Policy(calls_assigned=False), _told_of_its_partitions, ([CallbackKind.ASSIGNED], [("t", 0)]), ([], [("t", 0)]), {}),
    (Policy(cooperative_rejoins=False), _joins_after_giving_back, 1, 0, COOPERATIVE),
]
"""A policy, a story, what it shows of the reference, what it shows of the policy, and the member's settings."""

SHOWN_ELSEWHERE = {
    "overrides": "test_policy",
    "versions": "test_connection",
    "retry_factor": "test_core",
    "instance_id": "test_core",
    "joins_from": "test_joining_occasions",
    "refreshes_metadata_before_join": "test_joining_occasions",
    "sync_generation": "test_joining_occasions",
    "takes": "test_joining_occasions",
    "empty_assignment": "test_joining_occasions",
    "subscription_version": "test_handover",
    "ends_subscription_early": "test_handover",
    "revokes": "test_handover",
    "cooperative_revokes": "test_handover",
    "follower_assigns": "test_leading",
    "leader_assigns": "test_leading",
    "heartbeats": "test_heartbeats",
    "heartbeat_right_after_sync": "test_heartbeats",
    "heartbeat_jitter": "test_heartbeats",
    "heartbeat_generation": "test_heartbeats",
    "fetches_offsets": "test_reading",
    "delivers_while_joining": "test_reading",
    "reads": "test_reading",
    "delivers_revoked": "test_reading",
    "connects_anew": "test_legal_variants_of_go",
    "leaves_on_own_connection": "test_legal_variants_of_go",
    "failed_sync": "test_legal_variants_of_go",
    "commits_while_joining": "test_legal_variants_of_go",
    "leaves": "test_leaving",
    "leaves_by_id": "test_leaving",
    "commit_wavers": "test_choices_of_newcomers",
    "commits_outlive_membership": "test_choices_of_newcomers",
    "cooperative_where": "test_choices_of_newcomers",
    "keeps_outdated_id": "test_choices_of_newcomers",
    "looks_up_outside_groups": "test_choices_of_newcomers",
    "rejoins_with": "test_choices_of_newcomers",
    "subscription_tail": "test_choices_of_newcomers",
    "subscription_user_data": "test_choices_of_newcomers",
    "subscriptions_unread": "test_choices_of_newcomers",
    "heartbeats_after_leave": "test_leaving",
}
OF_THE_SHIM = (
    "commits_untold", "goodbye", "lacks", "line_delay_ms", "own_settings", "poll_pause_ms", "start_ms", "tells_assigned", "tells_offsets_committed", "tells_records", "tells_records_from",
)  # fmt: skip
OF_THE_CONNECTIONS = ("hangs_up_after_errors",)  # test_brokers has it, where it is called otherwise


def _chosen(policy: Policy) -> list[str]:
    return [each.name for each in fields(Policy) if getattr(policy, each.name) != getattr(Policy(), each.name)]


@pytest.mark.parametrize(("policy", "story", "reference", "shown", "settings"), CHOICES, ids=["-".join(_chosen(each[0])) for each in CHOICES])
def test_a_choice_shows(bench: type[Bench], policy: Policy, story: Story, reference: object, shown: object, settings: Settings) -> None:
    assert story(bench(**settings)) == reference
    assert story(bench(policy, **settings)) == shown


def test_every_choice_of_a_policy_is_shown_here_or_elsewhere() -> None:
    here = {name for policy, *_ in CHOICES for name in _chosen(policy)}

    assert sorted([*here, *SHOWN_ELSEWHERE, *OF_THE_SHIM, *OF_THE_CONNECTIONS]) == sorted(each.name for each in fields(Policy))
    assert [name for name, at in SHOWN_ELSEWHERE.items() if f"{name}=" not in (Path(__file__).parent / f"{at}.py").read_text()] == []
