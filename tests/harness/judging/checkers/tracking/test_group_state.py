from __future__ import annotations

from tests.harness.judging.checkers.stories import ROOMY, Group
from tests.traces import Story

from groupproof.harness.judging.checkers.classic.invariants import GroupInvariants
from groupproof.harness.judging.checkers.tracking.group_state import InferredGroup
from groupproof.protocol.vocabulary import Api


def standing_after(story: Story) -> InferredGroup:
    laws = GroupInvariants()
    for obs in story.trace:
        list(laws.step(obs))
    return laws.group


def test_the_group_state_follows_the_transitions_where_they_are_reported() -> None:
    story = Group()
    story.moves(None, "Empty", 0)
    story.moves("Empty", "PreparingRebalance", 0)
    story.moves("PreparingRebalance", "CompletingRebalance", 1)

    group = standing_after(story)

    assert (group.tells, group.state, group.generation) == (True, "CompletingRebalance", 1)


def test_a_group_that_is_unloaded_may_come_back_at_an_older_generation() -> None:
    story = Group()
    story.moves(None, "Empty", 0)
    story.moves("Stable", "Dead", 4, rule="Unloaded/x")

    group = standing_after(story)

    assert (group.state, group.generation, group.epoch) == (None, -1, 2)


def test_the_longest_rebalance_timeout_counts_and_in_version_0_the_session() -> None:
    story = Group()
    story.request(Api.JOIN_GROUP, body={"session_timeout_ms": 6_000, "rebalance_timeout_ms": -1})
    assert standing_after(story).rebalance_ms == 6_000

    story.request(Api.JOIN_GROUP, body=dict(ROOMY))
    assert standing_after(story).rebalance_ms == 30_000


def test_the_settings_that_the_kit_gives_are_used() -> None:
    story = Story()
    story.kit("upstream", settings={"group.initial.rebalance.delay.ms": 9_000})

    assert standing_after(story).initial_delay_ms == 9_000


def test_a_request_counts_from_when_the_coordinator_took_it_up() -> None:
    story = Group()
    beat = story.request(Api.HEARTBEAT, member="m0-1", generation=1)
    story.moves(None, "Empty", 5)
    story.see("processed", group="g", connection=beat.connection, correlation=beat.correlation)
    (request,) = standing_after(story).asked.rest()

    assert request.generation == 5
