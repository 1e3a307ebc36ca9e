from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.ruling import rule_on
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model import consumer_script_builders as consumer
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.script import GrowTopic, MoveGroup, Pass, Script, ScriptStep
from groupproof.harness.model.script_builders import beat, describe, join, stable
from groupproof.harness.model.verdicts import Level, Verdict
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage, PooledCluster, Stages, cases_by_cluster, cluster_spec_of, opened
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually

PROMPT = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}


def case(
    *steps: ScriptStep, id: str = "join/classic/x", brokers: int = 1, settings: Mapping[str, Any] = PROMPT, needs: frozenset[str] = frozenset()
) -> Case:
    plan = Script(steps=steps, settings=settings, brokers=brokers, topics={"t": 3})
    return Case(
        id=id, title="", requirements=("JOIN-13",), level=Level.MUST, plan=plan, judges=(), side="coordinator", needs=needs
    )  # fmt: skip


def played(*cases: Case, subject: Any = None, profile: str = "kafka-4.1") -> list[Play]:
    """Run the cases, which share a cluster, side by side in virtual time."""
    plays: dict[int, Play] = {}
    subject = subject or ReferenceBrokers(profile=profile)
    spec = cluster_spec_of(cases[0])

    async def main() -> None:
        async with opened(subject, spec, cases) as cluster, trio.open_nursery() as nursery:
            held = None if spec.only else cluster
            stage = BrokerStage(subject=subject, spec=spec, cluster=held, profile=profile, seed=1, token="x")

            async def play(number: int) -> None:
                plays[number] = await stage.play(cases[number], key=f"c{number}")

            for number in range(len(cases)):
                nursery.start_soon(play, number)

    run_virtually(main, seed=1)
    return [plays[number] for number in range(len(cases))]


def test_cases_of_the_same_settings_share_a_cluster_and_one_that_stops_brokers_has_its_own() -> None:
    delayed = {**PROMPT, "group.initial.rebalance.delay.ms": 500}
    plain, same, slow, two, moving = (
        case(id="a/classic/a"),
        case(id="a/classic/b", settings=dict(reversed(PROMPT.items()))),
        case(id="a/classic/c", settings=delayed),
        case(id="a/classic/d", brokers=2),
        case(MoveGroup(), id="a/classic/e", brokers=2),
    )

    by_spec = cases_by_cluster([plain, same, slow, two, moving])

    assert [[item.id[-1] for item in cases] for cases in by_spec.values()] == [["a", "b"], ["c"], ["d"], ["e"]]
    assert [spec.only for spec in by_spec] == [None, None, None, "a/classic/e"]


def test_where_coordinators_are_elected_cases_that_move_them_share_a_cluster_and_take_turns() -> None:
    two, moving = case(id="a/classic/d", brokers=2), case(MoveGroup(), id="a/classic/e", brokers=2)

    (spec,) = cases_by_cluster([two, moving], SimpleNamespace(elects=True))

    assert (spec.only, spec.moves) == (None, True)
    assert not cluster_spec_of(case(), SimpleNamespace(elects=True)).moves


def test_where_a_topic_changes_all_groups_a_case_that_makes_topics_has_a_cluster_of_its_own() -> None:
    plain, making = case(id="a/classic/d"), case(GrowTopic(topic="later", partitions=2), id="a/classic/e")

    assert [spec.only for spec in cases_by_cluster([plain, making], SimpleNamespace(topics_change_all_groups=True))] == [None, "a/classic/e"]
    assert [spec.only for spec in cases_by_cluster([plain, making], SimpleNamespace(topics_change_all_groups=False))] == [None]


def test_cases_side_by_side_do_not_meet() -> None:
    plays = played(*(case(*stable("a", "b"), id=f"a/classic/{number}") for number in range(5)))

    assert len({obs.group for play in plays for obs in play.trace if obs.api == "JoinGroup"}) == 5
    for play in plays:
        assert [obs.generation for obs in play.trace if obs.kind == "response" and obs.detail == "sync a"] == [2]


def test_a_run_is_judged_by_the_oracle_from_its_trace_alone() -> None:
    right = case(*stable("a"), beat("a"))
    (play,) = played(right)

    judgement = judge_script_run(right, play.trace)

    assert judgement.verdict is Verdict.OK
    assert {finding.verdict for finding in judgement.findings} == {Verdict.OK}
    (ground,) = (obs.body for obs in play.trace if obs.body.get("name") == "ground")
    assert (ground["profile"], ground["settings"], ground["topics"]) == ("kafka-4.1", PROMPT, {"groupproof-t3": 3})


def test_what_the_broker_does_not_speak_makes_a_case_unimplemented() -> None:
    new = case(*stable("a"), describe("a"), needs=frozenset({"JoinGroup>=5"}))
    (play,) = played(new, profile="kafka-1.1")

    judgement = judge_script_run(new, play.trace)

    assert judgement.verdict is Verdict.UNIMPLEMENTED
    assert judgement.reason == "It does not speak JoinGroup v5 or newer (its ApiVersions say v0 to v2)."
    assert not [obs for obs in play.trace if obs.kind == "request"]


def test_a_setting_that_the_subject_cannot_have_makes_a_case_inconclusive_and_is_named() -> None:
    odd = case(*stable("a"), settings={**PROMPT, "group.made.up": 3})
    (play,) = played(odd)

    ruling = rule_on(odd, [judge_script_run(odd, play.trace)])

    assert ruling.verdict is Verdict.INCONCLUSIVE
    assert ruling.observed.startswith("The case needs group.made.up=3: ")


def test_a_case_that_stops_brokers_has_a_cluster_of_its_own_each_time() -> None:
    moving = case(*stable("a"), MoveGroup(), beat("a", label="after"), brokers=2)

    plays = played(moving, moving)

    for play in plays:
        assert [obs.error for obs in play.trace if obs.kind == "response" and obs.detail == "after"] == [0]


class Dying(ReferenceBrokers):
    """Its only broker refuses every connection from the tenth on."""

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        async with super().cluster(settings=settings, brokers=brokers, topics=topics) as cluster:
            connect, connections = cluster.connect, [0]

            async def refusing(host: str, port: int) -> trio.abc.Stream:
                connections[0] += 1
                if connections[0] > 10:
                    raise ConnectionRefusedError("nobody listens")
                return await connect(host, port)

            cluster.connect = refusing  # type: ignore[method-assign] # a double of one method
            yield cluster


def test_a_broker_that_dies_in_the_middle_is_trouble_and_the_trace_so_far_is_kept() -> None:
    (play,) = played(case(*stable("a", "b", "c", "d", "e", "f", "g", "h")), subject=Dying(profile="kafka-4.1"))

    assert isinstance(play.trouble, BrokenEnvironment)
    assert "nobody listens" in str(play.trouble)
    assert any(obs.kind == "response" for obs in play.trace)


@pytest.mark.parametrize(
    ("by_name", "steps", "hindered"),
    [
        ({"group.initial.rebalance.delay.ms": 3_000}, (join("a"),), []),
        ({}, (join("a"),), ["group.initial.rebalance.delay.ms=0: it says no"]),
        ({"group.initial.rebalance.delay.ms": 3_000, "group.min.session.timeout.ms": 6_000}, (join("a"), Pass(ms=1)), []),
        ({"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 6_000}, (join("a", session_timeout_ms=500),), ["min"]),
        ({"group.initial.rebalance.delay.ms": 0, "group.max.size": 9}, tuple(map(join, "abc")), ["group.max.size=2: it says no"]),
        ({"group.initial.rebalance.delay.ms": 0, "group.max.size": 9}, tuple(map(join, "aab")), []),
    ],
)
def test_a_setting_that_only_takes_longer_or_is_not_used_hinders_nothing(
    by_name: Mapping[str, int], steps: tuple[ScriptStep, ...], hindered: list[str]
) -> None:
    asked = {**PROMPT, **({"group.max.size": 2} if "group.max.size" in by_name else {})}
    unmet = dict.fromkeys(by_name or ["group.initial.rebalance.delay.ms"], "it says no")
    cluster = PooledCluster(where=ClusterMap(None), settings=by_name, unmet=unmet)  # type: ignore[arg-type] # it is not asked anything

    found = cluster.hindrances(Script(steps=steps, settings=asked))

    assert len(found) == len(hindered)
    assert all(part in line for part, line in zip(hindered, found, strict=True))


@pytest.mark.parametrize(("is_fixed", "verdict"), [(True, Verdict.UNIMPLEMENTED), (False, Verdict.INCONCLUSIVE)])
def test_a_setting_that_the_program_of_a_fake_broker_does_not_have_is_a_feature_that_it_lacks(verdict: Verdict, *, is_fixed: bool) -> None:
    brokers = ReferenceBrokers(profile="kafka-4.1", own={"group.max.size": 9})
    asked = case(*map(join, "abcd"), settings={**PROMPT, "group.max.size": 3})

    @asynccontextmanager
    async def cluster(**asked: Any) -> AsyncIterator[Any]:
        async with brokers.cluster(**asked) as running:
            running.has_fixed_settings = is_fixed  # type: ignore[attr-defined] # as the cluster of a fake broker's program has it
            yield running

    (play,) = played(asked, subject=SimpleNamespace(name="fake", release="1", is_virtual=True, cluster=cluster))
    judgement = judge_script_run(asked, play.trace)

    assert judgement.verdict is verdict
    assert judgement.reason.startswith("The case needs group.max.size=3")


def test_a_case_goes_to_the_stage_of_its_cluster_spec() -> None:
    right = case(*stable("a"))
    stages = Stages(is_virtual=True)
    plays: list[Play] = []

    async def main() -> None:
        subject = ReferenceBrokers(profile="kafka-4.1")
        async with opened(subject, cluster_spec_of(right), [right]) as cluster:
            stages.of[cluster_spec_of(right)] = BrokerStage(
                subject=subject, spec=cluster_spec_of(right), cluster=cluster, profile="kafka-4.1", seed=1, token=""
            )
            plays.append(await stages.play(right, key="c1"))

    run_virtually(main, seed=1)

    assert stages.judge(right, plays[0].trace).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("dialect", "profile", "is_asked"), [("consumer", "kafka-3.9", False), ("consumer", "kafka-4.0", True), ("classic", "kafka-3.9", True)]
)
def test_a_release_without_rules_for_a_dialect_is_asked_nothing_of_it(dialect: str, profile: str, *, is_asked: bool) -> None:
    asked = case(join("a"), id=f"join/{dialect}/x")
    (play,) = played(asked, profile=profile)

    assert any(obs.kind == "request" and obs.who == "member" for obs in play.trace) is is_asked
    if not is_asked:
        judgement = judge_script_run(asked, play.trace)
        assert (judgement.verdict, judgement.reason) == (
            Verdict.UNIMPLEMENTED, "It does not speak the dialect consumer: kafka-3.9 has no rules for it.",
        )  # fmt: skip


def test_a_dialect_that_the_broker_has_switched_off_is_not_spoken() -> None:
    off = {"group.coordinator.rebalance.protocols": "classic"}
    beats, asks_for_it = (case(consumer.join("a"), id="join/consumer/x", settings={**PROMPT, **settings}) for settings in ({}, off))

    reasons = {
        judge_script_run(one, played(one, subject=ReferenceBrokers(profile="kafka-4.1", own=off))[0].trace).reason for one in (beats, asks_for_it)
    }

    assert reasons == {"It does not speak the dialect consumer: the broker has group.coordinator.rebalance.protocols=classic.", ""}


def test_a_relative_of_kafkas_is_asked_by_what_it_advertises() -> None:
    (play,) = played(case(join("a"), id="join/consumer/x"), subject=ReferenceBrokers(profile="kafka-4.1"), profile="datalink")

    assert any(obs.kind == "request" and obs.who == "member" for obs in play.trace)
