"""Members by their deeds, in virtual time, before the reference coordinator in memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.chaos.spark.members.churn_plan import Action, MemberAction
from groupproof.chaos.spark.members.load_order import ClientChoice, MemberOrder, TaskOrder
from groupproof.chaos.spark.members.reference_host import ReferenceHost
from groupproof.chaos.spark.members.task_recorder import TaskRecorder
from groupproof.chaos.spark.traces.trace_segments import Sealer, Stamp
from groupproof.clients.consumer.consumer import Consumer
from groupproof.clients.consumer.fetch_positions import Delivery
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import read_parquet

SETTINGS = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000, "max_poll_interval_ms": 10_000}


class Played:
    def __init__(self, trace: list[Observation], entries: list[dict[str, Any]]) -> None:
        self.trace, self.entries = trace, entries

    def events(self, client: str) -> list[str]:
        return [obs.body["name"] for obs in self.trace if obs.kind == "event" and obs.client == client and "_" not in obs.body["name"]]

    def requests(self, client: str) -> Counter[str]:
        return Counter(str(obs.api) for obs in self.trace if obs.kind == "request" and obs.client == client)

    def errors(self, client: str, api: str) -> list[int]:
        return [obs.error for obs in self.trace if obs.kind == "response" and obs.client == client and obs.api == api and obs.error]


def play(
    folder: Path, *lives: tuple[MemberAction, ...], duration_s: float = 60.0, skip_s: float = 0.0, stops_after: int = 10_000, rate: float = 1.0
) -> Played:
    entries: list[dict[str, Any]] = []

    async def main() -> None:
        brokers = ReferenceBrokers(profile="kafka-4.1")
        async with brokers.cluster(settings={"group.initial.rebalance.delay.ms": 500}, brokers=1, topics={"t": 4}) as cluster:
            order = TaskOrder(
                task=0, slot=1, run="r", output=str(folder), topics=("t",), bootstrap=tuple(cluster.addresses), client=ClientChoice(kind="reference"),
                members=tuple(MemberOrder(client=f"m{number}", group="g", deeds=life) for number, life in enumerate(lives)),
                rate=rate, duration_s=duration_s, seed=1, settings=SETTINGS, channel=("", 0), secret="", skip_s=skip_s,
            )  # fmt: skip
            began = trio.current_time()
            recorder = TaskRecorder(
                Stamp(1, lambda: round((trio.current_time() - began + skip_s) * 1e9)), Sealer(folder, "r", "w"), run="r", seed=1, slot=1, attempt=0
            )

            def tick() -> bool:
                recorder.seal()
                entries.append(recorder.counted())
                return len(entries) < stops_after

            await ReferenceHost(order, recorder, lambda: trio.current_time() - began + skip_s, tick, cluster.connect).live()
            tick()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return Played(list(read_parquet(folder)), entries)


START = MemberAction(0.0, Action.START)


def test_members_join_commit_and_leave_when_the_plan_is_over(tmp_path: Path) -> None:
    played = play(tmp_path, (START,), (START,), duration_s=20.0)

    assert played.events("m0") == ["started", "left"]
    assert played.requests("m0")["LeaveGroup"] == 1
    assert played.requests("m0")["Heartbeat"] >= 10
    assert played.entries[10]["groups"] == {"g": [1, 2, 2]}
    assert played.entries[-1]["groups"] == {"g": [1, 0, 0]}
    assert played.entries[-1]["rows"] == len(played.trace)


def test_a_member_polls_for_its_commits_and_its_interval_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A poll costs as much as a heartbeat; by thousands of members that is what a machine does."""
    timeouts_ms: list[int] = []
    poll = Consumer.poll

    async def counted(consumer: Consumer, timeout_ms: int) -> list[Delivery]:
        timeouts_ms.append(timeout_ms)
        return await poll(consumer, timeout_ms)

    monkeypatch.setattr(Consumer, "poll", counted)
    played = play(tmp_path, (START,), duration_s=60.0, rate=0.1)

    assert played.requests("m0")["OffsetCommit"] in (5, 6, 7)
    assert played.requests("m0")["LeaveGroup"] == 1, "it polled in time"
    assert max(timeouts_ms) == SETTINGS["max_poll_interval_ms"] / 4
    assert len(timeouts_ms) < 60 / 2.5 + 15


def test_who_dies_says_no_goodbye_and_is_waited_for_until_its_session_ends(tmp_path: Path) -> None:
    played = play(tmp_path, (START,), (START, MemberAction(10.0, Action.DIE)), duration_s=30.0)

    assert played.events("m1") == ["started", "died"]
    assert played.requests("m1")["LeaveGroup"] == 0
    assert played.entries[25]["groups"] == {"g": [2, 1, 1]}


@pytest.mark.slow
def test_a_restart_leaves_and_a_crash_does_not_and_both_come_back(tmp_path: Path) -> None:
    played = play(tmp_path, (START, MemberAction(10.0, Action.RESTART, 0.5)), (START, MemberAction(30.0, Action.CRASH, 0.5)))

    assert played.events("m0") == ["started", "left", "started", "left"]
    assert played.events("m1") == ["started", "died", "started", "left"]
    assert (played.requests("m0")["LeaveGroup"], played.requests("m1")["LeaveGroup"]) == (2, 1)


@pytest.mark.slow
def test_a_slow_poller_leaves_the_group_and_comes_back(tmp_path: Path) -> None:
    played = play(tmp_path, (START, MemberAction(10.0, Action.STALL, 15.0)), (START,))

    assert played.events("m0") == ["started", "stalled", "polls again", "left"]
    assert played.requests("m0")["LeaveGroup"] == 2
    assert played.entries[55]["groups"]["g"][1:] == [2, 2]


@pytest.mark.slow
def test_a_zombie_commits_what_others_own_and_is_refused(tmp_path: Path) -> None:
    played = play(tmp_path, (START,), (START, MemberAction(20.0, Action.FREEZE, 15.0)))

    assert played.events("m1") == ["started", "frozen", "thawed", "left"]
    silent = [obs for obs in played.trace if obs.client == "m1" and 20.5e9 < obs.at_ns < 34.9e9 and obs.kind == "response"]
    assert silent == []
    assert set(played.errors("m1", "OffsetCommit") + played.errors("m1", "Heartbeat")) & {22, 25}
    assert played.entries[55]["groups"]["g"][1:] == [2, 2]


def test_the_driver_can_end_it_before_its_time(tmp_path: Path) -> None:
    played = play(tmp_path, (START, MemberAction(50.0, Action.DIE)), stops_after=5)

    assert played.events("m0") == ["started", "left"]
    assert max(obs.at_ns for obs in played.trace) < 10e9


@pytest.mark.parametrize(("deeds", "events"), [((START,), ["started", "left"]), ((START, MemberAction(1.0, Action.DIE)), [])])
def test_a_plan_is_entered_where_it_stands(tmp_path: Path, deeds: tuple[MemberAction, ...], events: list[str]) -> None:
    played = play(tmp_path, deeds, duration_s=10.0, skip_s=5.0)

    assert played.events("m0") == events
    assert all(obs.at_ns >= 5e9 for obs in played.trace)
