"""Drawn histories of the consumer protocol: what is in them, that a seed draws the same ones, that they run on the reference, and that they find a bug."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from tests.harness.running.fuzzing.drawn import Dice

from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.model.consumer_script_builders import beat, commit, describe, join
from groupproof.harness.model.script import Ask, DeleteTopic, GrowTopic, Script
from groupproof.harness.running.fuzzing.histories.consumer_moves import OWN_TOPIC, TOPICS, malformed_heartbeat
from groupproof.harness.running.fuzzing.histories.coordinator_fuzz import FuzzEffort, Fuzzing, kinds_of, topics_drawn
from groupproof.harness.running.fuzzing.histories.history_source import Kind, histories
from groupproof.harness.running.fuzzing.histories.moves import Actor
from groupproof.harness.running.runs.whole_run import RunConfig
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS

PROFILE = "kafka-4.4"
ACTOR = Actor(name="m0", instance="i0", others=[Actor(name="m1")])


def _kind(dialect: str | None = CONSUMER.name) -> Kind:
    return Kind(profile=PROFILE, settings=kinds_of(PROFILE)[0], ranges=VERSIONS, steps=15, dialect=dialect)


@cache
def _drawn() -> tuple[Script, ...]:
    return tuple(histories(_kind(), seed=2, count=30))


def test_the_same_seed_gives_the_same_histories() -> None:
    assert histories(_kind(), seed=2, count=30) == list(_drawn())


def test_of_a_dialect_that_is_asked_for_are_most_histories_and_the_others_are_in_some() -> None:
    apis = [Counter(step.api for step in script.steps if isinstance(step, Ask)) for script in _drawn()]

    assert sum(Api.CONSUMER_GROUP_HEARTBEAT in counts for counts in apis) > 0.8 * len(apis)
    assert 0 < sum(Api.JOIN_GROUP in counts for counts in apis) < len(apis)
    assert sum(apis, Counter())[Api.CONSUMER_GROUP_HEARTBEAT] > 0.5 * sum(apis, Counter()).total()
    assert {Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.CONSUMER_GROUP_DESCRIBE, Api.DELETE_GROUPS} <= set(sum(apis, Counter()))


@pytest.mark.slow
def test_members_join_leave_for_now_and_for_good_and_topics_come_grow_and_go() -> None:
    steps = [step for script in _drawn() for step in script.steps]
    epochs = {step.fields["member_epoch"] for step in steps if isinstance(step, Ask) and step.api is Api.CONSUMER_GROUP_HEARTBEAT}

    assert {0, -1, -2} <= {epoch for epoch in epochs if isinstance(epoch, int)}
    assert {step.topic for step in steps if isinstance(step, GrowTopic)} == {OWN_TOPIC}
    assert {step.topic for step in steps if isinstance(step, DeleteTopic)} == {OWN_TOPIC}


def test_histories_of_a_release_without_the_protocol_have_the_classic_topics() -> None:
    assert (topics_drawn("kafka-2.4"), topics_drawn(PROFILE)) == ({"t": 2}, dict(TOPICS))


def test_one_field_at_most_is_put_wrong_and_nothing_else() -> None:
    dice = Dice()
    for ask in (join("m0", instance="i0"), beat("m0"), commit("m0")):
        changed = [{name for name, value in malformed_heartbeat(dice, ask, ACTOR).fields.items() if value != ask.fields[name]} for _ in range(60)]

        assert all(len(names) <= 1 for names in changed)
        assert {"member_id"} in changed
    assert malformed_heartbeat(dice, describe("m0"), ACTOR) == describe("m0")


def _fuzzed(subject: ReferenceBrokers) -> Fuzzing:
    config = RunConfig(cases=(), profile=PROFILE, level="info", seed=1, jobs=10, command=["groupproof"])
    run = Fuzzing(
        subject, config, FuzzEffort(steps=60, length=6, dialect=CONSUMER.name), say=lambda _: None, found=lambda _: None, prefix="groupproof-"
    )
    run.go()
    return run


@pytest.mark.slow
def test_the_reference_keeps_its_own_rules() -> None:
    run = _fuzzed(ReferenceBrokers(profile=PROFILE))

    assert run.by_api[Api.CONSUMER_GROUP_HEARTBEAT.title] > run.answered / 2
    assert (run.diverged, run.undecided) == ([], [])


@pytest.mark.slow
def test_a_planted_bug_is_found_and_its_history_shrunk() -> None:
    bug = variant_named("without/ConsumerGroupHeartbeat/consumer.Stable/beats/reconcile")

    (diverged,) = _fuzzed(ReferenceBrokers(profile=PROFILE, variant=bug)).diverged
    assert sum(isinstance(step, Ask) for step in diverged.case.plan.steps) <= 4
