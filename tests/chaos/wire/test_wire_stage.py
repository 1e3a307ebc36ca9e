"""Cases over the wire, the reference member before the reference cluster: several at once, each with names of its own, impaired and struck."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from groupproof.chaos.wire.toxiproxy_server import Program
from groupproof.chaos.wire.wire_stage import ChaosStage
from groupproof.harness.judging.case_result import Play
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Await, GroupSettled, Plan, Step
from groupproof.harness.model.plan_builders import delivered, grow, holds, impairs, kill, mark, mend, move, passing, plan, start, subject
from groupproof.harness.model.verdicts import Level, Verdict
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.client_registry import reference_subject
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.protocol.toxics import latency
from groupproof.protocol.vocabulary import Api


def settled(*members: str, after: str | None = None, partitions: int = 2) -> Await:
    return Await(until=GroupSettled(members=members, topics={"t": partitions}, after=after), within_ms=60_000)


def case(of: Plan, name: str = "a") -> Case:
    return Case(id=f"chaos/classic/{name}", title=name, requirements=("HB-01",), level=Level.MUST, plan=of, judges=())


def planned(*steps: Step, records: int = 5) -> Plan:
    members = (subject(name, metadata_max_age_ms=1_000, session_timeout_ms=2_000) for name in ("m0", "m1"))
    return plan(*members, start("m0", "m1"), settled("m0", "m1"), *steps, topics={"t": 2}, records=records)


def played(story: Callable[[ChaosStage], Awaitable[None]], tmp_path: Path) -> None:
    async def main() -> None:
        members = reference_subject(is_virtual=False)
        brokers = ReferenceBrokers(profile="kafka-4.1", seed=1)
        stage = ChaosStage(subject=members, reference_peers=members, brokers=brokers, seed=1, cache=tmp_path)
        async with members.opened(), stage.opened():
            with trio.fail_after(300):
                await story(stage)

    trio.run(main)


def timeouts(play: Play) -> list[Any]:
    return [obs.body for obs in play.trace if obs.who == "kit" and obs.body.get("name") == "timeout"]


@pytest.mark.slow
def test_cases_side_by_side_share_a_cluster_and_do_not_meet(tmp_path: Path) -> None:
    plays: list[Play] = []
    again = [kill("m1"), mark("gone"), settled("m0", after="gone"), *start("m1"), mark("back"), settled("m0", "m1", after="back")]
    courses = (
        planned(mark("moving"), move(), settled("m0", "m1", after="moving")),
        planned(mark("growing"), grow("t", 4), settled("m0", "m1", after="growing", partitions=4)),
        planned(*again),
    )

    async def one(stage: ChaosStage, number: int) -> None:
        plays.append(await stage.play(case(courses[number], f"c{number}"), key=f"c{number}"))

    async def story(stage: ChaosStage) -> None:
        async with trio.open_nursery() as nursery:
            for number in range(len(courses)):
                nursery.start_soon(one, stage, number)
        assert stage.judge(case(courses[0]), plays[0].trace).verdict is Verdict.INCONCLUSIVE  # it has no judges

    played(story, tmp_path)
    assert [timeouts(play) for play in plays] == [[], [], []]
    for play in plays:
        assert {obs.group for obs in play.trace if obs.group} == {"g"}
        assert {topic for obs in play.trace for topic, _ in obs.partitions} == {"t"}
        assert any(obs.body.get("name") == "records_consumed" for obs in play.trace)
        assert len({obs.connection for obs in play.trace if obs.body.get("name") == "connected"}) == len(
            [obs for obs in play.trace if obs.body.get("name") == "connected"]
        )


@pytest.mark.slow
def test_a_case_that_needs_what_the_coordinator_can_not_have_is_not_for_it(tmp_path: Path) -> None:
    async def story(stage: ChaosStage) -> None:
        needs = case(replace(planned(), coordinator={"group.initial.rebalance.delay.ms": 0, "no.such.setting": 7}))
        play = await stage.play(needs, key="c1")
        judged = stage.judge(needs, play.trace)

        assert judged.verdict is Verdict.UNIMPLEMENTED
        assert judged.reason.startswith("no.such.setting=7: ")

    played(story, tmp_path)


@pytest.mark.slow
def test_faults_act_on_bytes_and_frames_in_one_run_and_topics_are_gone_after_it(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupproof.chaos.wire.toxiproxy_server.provision_toxiproxy", lambda cache, say: program)
    monkeypatch.setattr("groupproof.chaos.wire.member_networks._COUNTED_S", 50.0)
    struck = planned(
        holds("held", Api.HEARTBEAT, ms=300, client="m0"), impairs("late", latency(100), members=["m0"]), delivered("held", within_ms=60_000),
        passing(600), mend("late"), mark("mended"), settled("m0", "m1", after="mended"),
    )  # fmt: skip
    topics: list[str] = []

    @asynccontextmanager
    async def nothing_left(stage: ChaosStage) -> Any:
        yield
        async with (
            stage.clusters.cluster(next(iter(stage.clusters._kept))) as cluster,
            asking(await cluster.running.connect(*cluster.running.addresses[0])) as asker,
        ):
            topics.extend(topic["name"] for topic in (await asker.ask(Api.METADATA, {"topics": None}, newest=8))["topics"])

    async def story(stage: ChaosStage) -> None:
        async with nothing_left(stage):
            plays.append(await stage.play(case(struck), key="c1"))

    plays: list[Play] = []
    played(story, tmp_path)
    (play,) = plays
    stages = {name: [obs.detail for obs in play.trace if obs.kind == "fault" and obs.fault == name] for name in ("held", "late")}
    assert stages == {"held": ["armed", "triggered", "delivered", "released", "healed"], "late": ["armed", "delivered", "healed"]}
    counted = [obs.body["sent"]["downstream"] for obs in play.trace if obs.body.get("name") == "traffic"]
    assert len(counted) == 4
    assert sum(counted) > 1_000
    assert timeouts(play) == []
