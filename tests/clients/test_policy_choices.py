"""Each choice that a policy leaves to a client shows: one short story, told of the reference and of a client that chose otherwise."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from tests.clients import stories
from tests.clients.stories import AUTO, COOPERATIVE, FIND, JOIN, TWO_TOPICS, Settings, Story
from tests.project import ROOT

from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

CHOICES: list[tuple[Policy, Story, object, object, Settings]] = [
    (Policy(looks_up_own_group=False), stories.group_looked_up, ("g",), ("g-other",), {}),
    (Policy(looks_up=False), stories.sent_at_first, [FIND], [JOIN], {}),
    (Policy(lookups_at_once=2), stories.sent_at_first, [FIND], [FIND, FIND], {}),
    (Policy(rediscovers_each_rebalance=True), stories.lookups_of_two_rebalances, (1, 1), (1, 2), {}),
    (Policy(lanes="joins"), stories.lanes, ("group", "group"), ("joins", "group"), {}),
    (Policy(joins_with_id=False), stories.member_id_of_the_second_join, "m-1", "", {}),
    (Policy(joins_at_once=2), stories.joins_at_first, 1, 2, {}),
    (Policy(rejoin_delay_ms=100), stories.when_it_joins, [0], [100], {}),
    (Policy(protocol_type="connect"), stories.protocol_type, "consumer", "connect", {}),
    (Policy(rebalance_timeout="session"), stories.rebalance_timeout, 30_000, 6_000, {}),
    (Policy(join_timeout_factor=0.5), stories.when_an_unanswered_join_is_given_up, 35_000, 17_500, {}),
    (Policy(sync_timeout_factor=0.5), stories.when_an_unanswered_sync_is_given_up, 30_000, 15_000, {"max_poll_interval_ms": 60_000}),
    (Policy(immediate_rejoins_max=0), stories.joins_after_a_refusal, [0, 0], [0, 100], {}),
    (Policy(topics_reversed=True), stories.topics_told, ("t", "u"), ("u", "t"), TWO_TOPICS),
    (Policy(topics_listed="first"), stories.topics_told, ("t", "u"), ("t",), TWO_TOPICS),
    (Policy(owned_in_subscription=False), stories.owned_told, (("t", 0),), (), COOPERATIVE),
    (Policy(sync_protocol="preferred"), stories.protocol_synced, "roundrobin", "range", {"assignors": ("range", "roundrobin")}),
    (Policy(syncs=False), stories.syncs, 1, 0, {}),
    (Policy(commit_generation="previous"), stories.commit_in_the_second_generation, (2, "m-1"), (1, "m-1"), {}),
    (Policy(commit_generation="none"), stories.commit_in_the_second_generation, (2, "m-1"), (-1, ""), {}),
    (Policy(commits_when_unstable=True), stories.commits_while_syncing, 0, 1, {}),
    (Policy(commit_reported="sent"), stories.told_of_a_commit_before_its_answer, (0, 1), (1, 1), {}),
    (Policy(swallows_commit_errors="async"), stories.errors_told, [False, False], [True, False], {}),
    (Policy(swallows_commit_errors="sync"), stories.errors_told, [False, False], [False, True], {}),
    (Policy(commits_unowned=True), stories.offsets_committed_by_itself, [0], [0, 9], AUTO),
    (Policy(commits_before_revoke=False), stories.commits_before_the_join, 1, 0, AUTO),
    (Policy(requires_stable_offsets=False), stories.asks_for_stable_offsets, True, False, {}),
    (Policy(commits_on_close=False), stories.commits_at_the_end, 1, 0, AUTO),
    (Policy(commits_each_batch=True), stories.commits_after_a_batch, (0, 0), (1, 1), {"auto_commit": True, "auto_commit_interval_ms": 60_000}),
    (Policy(leaves_while_joining=False), stories.leaves_while_it_joins, 1, 0, {}),
    (
        Policy(sync_waits="rebalance", poll_deadline_factor=None),
        stories.when_an_unanswered_sync_is_given_up,
        30_000,
        60_000,
        {"max_poll_interval_ms": 30_000},
    ),
    (Policy(heartbeats_between=3), stories.generations_of_heartbeats_after_a_refused_one, [1], [1, -1, -1, -1], {}),
    (Policy(failed_rejoin="heartbeats"), stories.after_a_failed_rejoin, (1, 0), (0, 1), {}),
    (Policy(leaves_when_static=True), stories.leaves_at_the_end, 0, 1, {"instance_id": "i0"}),
    (Policy(poll_end_leaves=False), stories.leaves_without_polls, (1, ""), (0, ""), {"max_poll_interval_ms": 2_000}),
    (Policy(poll_deadline_factor=0.5), stories.when_it_leaves_without_polls, [2_000], [1_000], {"max_poll_interval_ms": 2_000}),
    (Policy(commit_shift=1), stories.offset_committed, 5, 6, {}),
    (Policy(rejoins_after_commit=True), stories.joins_after_a_commit, 0, 1, {}),
    (Policy(rejoins_on_any_metadata=True), stories.joins_after(stories.same_metadata), 0, 1, {}),
    (Policy(rejoins_on_resubscribe=False), stories.joins_after(stories.resubscribed), 1, 0, {}),
    (Policy(rejoins_on_growth=False), stories.growth, 1, 0, {}),
    (Policy(heartbeat_factor=0.5), stories.first_heartbeat, [1_000], [500], {}),
    (Policy(calls_assigned=False), stories.told_of_its_partitions, ([CallbackKind.ASSIGNED], [("t", 0)]), ([], [("t", 0)]), {}),
    (Policy(cooperative_rejoins=False), stories.joins_after_giving_back, 1, 0, COOPERATIVE),
]
"""A policy, a story, what it shows of the reference, what it shows of the policy, and the member's settings."""

SHOWN_ELSEWHERE = {
    "epochs": "tests.clients.member.consumer.test_epoch_heartbeats",
    "connect": "tests.clients.planted.test_misbehaviours_of_workers",
    "streams": "tests.clients.planted.test_misbehaviours_of_threads",
    "overrides": "tests.clients.member.test_policy",
    "versions": "tests.clients.consumer.test_connection",
    "retry_factor": "tests.clients.member.test_member_core",
    "instance_id": "tests.clients.member.test_member_core",
    "joins_from": "tests.clients.test_joining_occasions",
    "refreshes_metadata_before_join": "tests.clients.test_joining_occasions",
    "sync_generation": "tests.clients.test_joining_occasions",
    "takes": "tests.clients.test_joining_occasions",
    "empty_assignment": "tests.clients.test_joining_occasions",
    "subscription_version": "tests.clients.member.test_partition_handover",
    "ends_subscription_early": "tests.clients.member.test_partition_handover",
    "revokes": "tests.clients.member.test_partition_handover",
    "cooperative_revokes": "tests.clients.member.test_partition_handover",
    "follower_assigns": "tests.clients.member.test_group_leader",
    "ends_assignment_early": "tests.clients.member.test_group_leader",
    "leader_assigns": "tests.clients.member.test_group_leader",
    "heartbeats": "tests.clients.member.test_heartbeat_timers",
    "heartbeat_right_after_sync": "tests.clients.member.test_heartbeat_timers",
    "newest_heartbeat_decides": "tests.clients.member.test_heartbeat_timers",
    "heartbeat_jitter": "tests.clients.member.test_heartbeat_timers",
    "heartbeat_generation": "tests.clients.member.test_heartbeat_timers",
    "fetches_offsets": "tests.clients.consumer.test_record_reader",
    "delivers_while_joining": "tests.clients.consumer.test_record_reader",
    "reads": "tests.clients.consumer.test_record_reader",
    "delivers_revoked": "tests.clients.consumer.test_record_reader",
    "connects_anew": "tests.clients.planted.test_legal_variants_of_go",
    "leaves_on_own_connection": "tests.clients.planted.test_legal_variants_of_go",
    "failed_sync": "tests.clients.planted.test_legal_variants_of_go",
    "commits_while_joining": "tests.clients.planted.test_legal_variants_of_go",
    "leaves": "tests.clients.member.test_member_close",
    "leaves_by_id": "tests.clients.member.test_member_close",
    "commit_wavers": "tests.clients.test_choices_of_newcomers",
    "commits_outlive_membership": "tests.clients.test_choices_of_newcomers",
    "cooperative_where": "tests.clients.test_choices_of_newcomers",
    "keeps_outdated_id": "tests.clients.test_choices_of_newcomers",
    "looks_up_outside_groups": "tests.clients.test_choices_of_newcomers",
    "rejoins_with": "tests.clients.test_choices_of_newcomers",
    "subscription_tail": "tests.clients.test_choices_of_newcomers",
    "subscription_user_data": "tests.clients.test_choices_of_newcomers",
    "subscriptions_unread": "tests.clients.test_choices_of_newcomers",
    "heartbeats_after_leave": "tests.clients.member.test_member_close",
}
OF_THE_SHIM = (
    "assignment_reported", "commits_unreported", "goodbye", "lacks", "line_delay_ms", "own_settings", "poll_pause_ms", "start_ms", "tells_assigned", "tells_offsets_committed", "tells_records", "tells_records_from",
)  # fmt: skip
OF_THE_CONNECTIONS = ("hangs_up_after_errors", "lookups_go_to", "repeats_correlations")  # shown by the tests of connections, by other names


def _chosen(policy: Policy) -> list[str]:
    return [field.name for field in fields(Policy) if getattr(policy, field.name) != getattr(Policy(), field.name)]


@pytest.mark.parametrize(("policy", "story", "reference", "deviating", "settings"), CHOICES, ids=["-".join(_chosen(choice[0])) for choice in CHOICES])
def test_a_choice_shows(bench: type[Bench], policy: Policy, story: Story, reference: object, deviating: object, settings: Settings) -> None:
    assert story(bench(**settings)) == reference
    assert story(bench(policy, **settings)) == deviating


def test_every_choice_of_a_policy_is_shown_here_or_elsewhere() -> None:
    here = {name for policy, *_ in CHOICES for name in _chosen(policy)}

    assert sorted([*here, *SHOWN_ELSEWHERE, *OF_THE_SHIM, *OF_THE_CONNECTIONS]) == sorted(field.name for field in fields(Policy))
    assert [name for name, at in SHOWN_ELSEWHERE.items() if f"{name}=" not in (ROOT / f"{at.replace('.', '/')}.py").read_text()] == []
