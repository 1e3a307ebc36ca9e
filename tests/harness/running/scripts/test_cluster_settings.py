from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import pytest
from tests.harness.running.scripts.test_coordinator_stage import case
from tests.harness.subjects.brokers.unlike_brokers import unlike

from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model import consumer_script_builders as consumer
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.script_builders import join, stable
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.scripts.cluster_pool import PooledCluster, cluster_spec_of, opened
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage
from groupproof.harness.subjects.brokers import measured_settings
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually

DELAY, LEAST, MAX_SIZE = "group.initial.rebalance.delay.ms", "group.min.session.timeout.ms", "group.max.size"
INTERVAL, LEAST_INTERVAL = "group.consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms"
ALIKE = {DELAY: 0, LEAST: 100, LEAST_INTERVAL: 1_000}
SETTINGS: Sequence[Mapping[str, Any]] = ({**ALIKE, MAX_SIZE: 3, INTERVAL: 3_000}, {**ALIKE, MAX_SIZE: 9, INTERVAL: 4_000})

Story = Callable[[PooledCluster, Mapping[int, str], BrokerStage], Awaitable[None]]


def run_story(settings: Sequence[Mapping[str, Any]], story: Story, one: Case | None = None, unlisted: Collection[str] = ()) -> None:
    """Run `story` with a cluster of brokers with these settings, and a group of each broker."""
    one = one or case(*stable("a"))

    async def main() -> None:
        async with unlike(settings, unlisted=unlisted) as subject, opened(subject, cluster_spec_of(one), [one]) as cluster:
            groups = {node.node_id: await cluster.where.group_at(node.node_id, "g") or "" for node in cluster.where.nodes}
            await story(
                cluster, groups, BrokerStage(subject=subject, spec=cluster_spec_of(one), cluster=cluster, profile="kafka-4.1", seed=1, token="x")
            )

    run_virtually(main, seed=1)


def test_the_settings_of_a_group_are_those_of_the_broker_that_coordinates_it() -> None:
    async def story(cluster: PooledCluster, groups: Mapping[int, str], stage: BrokerStage) -> None:
        for node_id, group in groups.items():
            own = await cluster.with_groups([group])
            assert {name: own.settings[name] for name in SETTINGS[node_id]} == SETTINGS[node_id]
            assert own.known_settings[INTERVAL].source == "DescribeConfigs of a group"
            assert own.disagreement == ""

    run_story(SETTINGS, story)


def test_a_requested_setting_is_unmet_at_the_broker_that_lacks_it_alone() -> None:
    async def story(cluster: PooledCluster, groups: Mapping[int, str], stage: BrokerStage) -> None:
        hindrances = [(await cluster.with_groups([group])).hindrances(script_of(limited)) for _, group in sorted(groups.items())]
        assert hindrances == [[], [f"{MAX_SIZE}=3: the broker has 9, 3 is needed"]]

    limited = case(*map(join, "abcd"), settings={DELAY: 0, LEAST: 100, MAX_SIZE: 3})
    run_story(SETTINGS, story, limited)


@pytest.mark.slow
def test_every_case_is_judged_by_the_settings_of_its_own_coordinator() -> None:
    async def story(cluster: PooledCluster, groups: Mapping[int, str], stage: BrokerStage) -> None:
        nodes = set()
        for number in range(12):
            play = await stage.play(joins, key=f"c{number}")
            ground = next(obs.body for obs in play.trace if obs.body.get("name") == "ground")
            node_id = next(obs.body["node"] for obs in play.trace if obs.body.get("name") == "coordinator")
            nodes.add(node_id)
            assert ground["settings"][INTERVAL] == SETTINGS[node_id][INTERVAL]
            assert judge_script_run(joins, play.trace).verdict is Verdict.OK
        assert nodes == {0, 1}

    joins = case(consumer.join("a"), id="join/consumer/x")
    run_story(SETTINGS, story, joins)


def test_a_script_whose_groups_have_unlike_coordinators_is_not_judged() -> None:
    async def story(cluster: PooledCluster, groups: Mapping[int, str], stage: BrokerStage) -> None:
        both = await cluster.with_groups(groups.values())
        assert both.hindrances(script_of(case(*stable("a")))) == [f"one value of {INTERVAL}: broker 0 has 3000, broker 1 has 4000"]

    run_story(SETTINGS, story)


def test_the_report_names_the_brokers_where_they_differ() -> None:
    async def story(cluster: PooledCluster, groups: Mapping[int, str], stage: BrokerStage) -> None:
        assert f"{INTERVAL}=3000 (DescribeConfigs of a group)" in cluster.known_texts()
        await cluster.with_groups(groups.values())
        texts = cluster.known_texts()
        assert {f"{MAX_SIZE}=3 (DescribeConfigs, broker 0)", f"{MAX_SIZE}=9 (DescribeConfigs, broker 1)"} < set(texts)
        assert f"{DELAY}=0 (DescribeConfigs)" in texts

    run_story(SETTINGS, story)


def test_brokers_that_the_kit_started_are_all_alike() -> None:
    async def main() -> None:
        one = case(*stable("a"), brokers=2)
        async with opened(ReferenceBrokers(profile="kafka-4.1"), cluster_spec_of(one), [one]) as cluster:
            assert await cluster.with_groups(["g"]) is cluster
            assert cluster.known_texts() == []

    run_virtually(main, seed=1)


def _of_delays(*delays_ms: int) -> tuple[Any, list[str]]:
    """Return the delay by which groups of brokers with these delays are judged, and the hindrances: the brokers do not list the delay."""
    found: list[tuple[Any, list[str]]] = []
    delayed = case(join("a"), settings={DELAY: 0, LEAST: 100})

    async def story(cluster: PooledCluster, groups: Mapping[int, str], stage: BrokerStage) -> None:
        own = await cluster.with_groups(groups.values())
        found.append((own.settings.get(DELAY), own.hindrances(script_of(delayed))))

    run_story([{**ALIKE, DELAY: delay} for delay in delays_ms], story, delayed, unlisted=(DELAY,))
    return found[0]


def test_measured_delays_that_differ_by_a_late_answer_are_one_delay_and_the_shortest_counts() -> None:
    assert _of_delays(1_000, 1_100) == (1_000, [])
    assert _of_delays(1_100, 1_000) == (1_000, [])


def test_measured_delays_that_differ_by_more_are_two_settings() -> None:
    delay_ms, hindrances = _of_delays(1_000, 1_300)
    assert (delay_ms, hindrances) == (1_000, [f"one value of {DELAY}: broker 0 has 1000, broker 1 has 1300"])


def test_a_delay_that_cannot_be_measured_judges_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_settings, "ALIKE_MS", -1)
    delay_ms, (hindrance,) = _of_delays(1_000, 1_000)
    assert delay_ms is None
    assert hindrance.startswith(f"{DELAY}=0: the broker ")
    assert hindrance.endswith("1000, 1000, 1000, 1000, 1000, 1000 ms, so that the kit can't measure it")
