"""Members by their actions, in virtual time, before the reference coordinator in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.chaos.spark.members import reference_host
from groupproof.chaos.spark.members.churn_plan import Action, MemberAction
from groupproof.chaos.spark.members.load_order import ClientChoice, MemberOrder, TaskOrder
from groupproof.chaos.spark.members.reference_host import ReferenceHost
from groupproof.chaos.spark.members.task_recorder import TaskRecorder
from groupproof.chaos.spark.traces.trace_segments import Sealer, Stamp
from groupproof.clients.consumer.connection import Exchange
from groupproof.clients.consumer.consumer import Consumer
from groupproof.clients.consumer.fetch_positions import Delivery
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import read_parquet
from groupproof.protocol.vocabulary import Api

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
                members=tuple(MemberOrder(client=f"m{number}", group="g", actions=life) for number, life in enumerate(lives)),
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

    run_virtually(main, seed=1)
    return Played(list(read_parquet(folder)), entries)


START = MemberAction(0.0, Action.START)


def test_members_join_commit_and_leave_when_the_plan_is_over(tmp_path: Path) -> None:
    played = play(tmp_path, (START,), (START,), duration_s=20.0)

    assert played.events("m0") == ["started", "left"]
    assert played.requests("m0")["LeaveGroup"] == 1
    assert played.requests("m0")["Heartbeat"] >= 10
    assert played.entries[10]["groups"] == {"g": [1, 2, 2, 0]}
    assert played.entries[-1]["groups"] == {"g": [1, 0, 0, 0]}
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


@pytest.mark.slow
def test_a_member_that_owns_nothing_polls_for_no_commit_and_commits_in_time_once_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polls: dict[str, list[float]] = defaultdict(list)
    poll = Consumer.poll

    async def noted(consumer: Consumer, timeout_ms: int) -> list[Delivery]:
        polls[consumer._client_id].append(trio.current_time())
        return await poll(consumer, timeout_ms)

    monkeypatch.setattr(Consumer, "poll", noted)
    leaves = (START, MemberAction(30.0, Action.LEAVE))
    played = play(tmp_path, leaves, leaves, leaves, leaves, (START,), duration_s=60.0)

    early = [at for at in polls["m4"] if at < polls["m4"][0] + 30]
    assert len(early) < 30 / 2.5 + 5
    assert 25 <= played.requests("m4")["OffsetCommit"] <= 31, "it owned everything from second 30 on"


class Entries:
    """Counts the members that run and have not asked to join; `at_once` is the most of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, entering_max: int) -> None:
        self.entering = self.at_once = 0
        run, exchanged = Consumer.run, reference_host._Life._exchanged
        joined: set[object] = set()

        async def counted(consumer: Consumer, **options: Any) -> None:
            self.entering += 1
            self.at_once = max(self.at_once, self.entering)
            await run(consumer, **options)

        def observed(life: Any, exchange: Exchange) -> None:
            if exchange.api is Api.JOIN_GROUP and life not in joined:
                joined.add(life)
                self.entering -= 1
            exchanged(life, exchange)

        monkeypatch.setattr(reference_host, "ENTERING_MAX", entering_max)
        monkeypatch.setattr(reference_host._Life, "_exchanged", observed)
        monkeypatch.setattr(Consumer, "run", counted)


def test_few_members_at_once_are_on_their_way_to_join_and_all_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Side by side, each step of a thousand members ends when the last of them has done it, and requests are overdue by then."""
    entries = Entries(monkeypatch, 2)
    played = play(tmp_path, *[(START,)] * 7, duration_s=20.0)

    assert entries.at_once == 2
    assert played.entries[10]["groups"] == {"g": [1, 7, 7, 0]}


def test_a_client_that_does_not_connect_delays_no_join_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Entries(monkeypatch, 1)
    send = Consumer._send

    def lost(consumer: Consumer, to: Any, lane: str, api: Api, *args: Any) -> None:
        if consumer._client_id != "m0":
            send(consumer, to, lane, api, *args)

    monkeypatch.setattr(Consumer, "_send", lost)
    played = play(tmp_path, (START,), (START,), (START,), duration_s=20.0)

    assert played.requests("m0") == {}
    assert played.entries[10]["groups"] == {"g": [1, 3, 2, 0]}


def test_a_waiting_task_that_leaves_before_its_turn_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Entries(monkeypatch, 0)
    played = play(tmp_path, (START, MemberAction(5.0, Action.DIE), START), (START,), duration_s=8.0)

    assert played.requests("m0") == played.requests("m1") == {}


def test_a_member_that_dies_sends_no_leave_and_is_waited_for_until_its_session_ends(tmp_path: Path) -> None:
    played = play(tmp_path, (START,), (START, MemberAction(10.0, Action.DIE)), duration_s=30.0)

    assert played.events("m1") == ["started", "died"]
    assert played.requests("m1")["LeaveGroup"] == 0
    assert played.entries[25]["groups"] == {"g": [2, 1, 1, 0]}


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
    assert played.entries[55]["groups"]["g"][1:3] == [2, 2]


@pytest.mark.slow
def test_a_zombie_commits_what_others_own_and_is_refused(tmp_path: Path) -> None:
    played = play(tmp_path, (START,), (START, MemberAction(20.0, Action.FREEZE, 15.0)))

    assert played.events("m1") == ["started", "frozen", "thawed", "left"]
    silent = [obs for obs in played.trace if obs.client == "m1" and 20.5e9 < obs.at_ns < 34.9e9 and obs.kind == "response"]
    assert silent == []
    assert set(played.errors("m1", "OffsetCommit") + played.errors("m1", "Heartbeat")) & {22, 25}
    assert played.entries[55]["groups"]["g"][1:3] == [2, 2]


def test_the_driver_can_end_it_before_its_time(tmp_path: Path) -> None:
    played = play(tmp_path, (START, MemberAction(50.0, Action.DIE)), stops_after=5)

    assert played.events("m0") == ["started", "left"]
    assert max(obs.at_ns for obs in played.trace) < 10e9


@pytest.mark.parametrize(("actions", "events"), [((START,), ["started", "left"]), ((START, MemberAction(1.0, Action.DIE)), [])])
def test_a_plan_is_entered_where_it_stands(tmp_path: Path, actions: tuple[MemberAction, ...], events: list[str]) -> None:
    played = play(tmp_path, actions, duration_s=10.0, skip_s=5.0)

    assert played.events("m0") == events
    assert all(obs.at_ns >= 5e9 for obs in played.trace)
