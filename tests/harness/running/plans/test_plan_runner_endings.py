"""How the driver ends a plan: crashes, members that are killed, frozen or do not go, and limits of time and of observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.running.plans.driving import JOINED, LIMITS, M0, kit, ok, play, requests, shim

from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure
from groupproof.harness.model.plan import (
    Arm,
    Await,
    BreakBroker,
    Command,
    Freeze,
    Impair,
    Kill,
    Mark,
    Member,
    Mend,
    Pass,
    Stable,
    Start,
    Step,
    Thaw,
)
from groupproof.harness.running.plans.member_control import Actor
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.protocol.faults import Fault, Hold, Selector
from groupproof.protocol.toxics import latency, timeout
from groupproof.protocol.trace import Observation


def test_a_crash_ends_the_steps_at_once_and_is_reported_with_the_last_words() -> None:
    def crash_on_pause(command: dict[str, Any]) -> Sequence[dict[str, Any]] | None:
        return None if command["command"] == "pause" else ok(command)

    steps: list[Step] = [Start(member="m0"), Command(member="m0", command="pause", wait=False), Pass(ms=60_000), Mark(name="not-reached")]
    trace = play(steps, subject=shim(crash_on_pause))

    (exited,) = kit(trace, "exit")
    assert not exited.body["commanded"]
    assert exited.body["stderr"][-1] == "RuntimeError: as the test asked"
    assert exited.at_ms < 1_000
    assert kit(trace, "mark", "overdue") == []


@pytest.mark.parametrize(("ignored", "goes_on"), [(["request_timeout_ms"], False), (["assignors"], True)])
def test_a_member_without_a_setting_that_the_case_needs_ends_the_steps_at_once(ignored: list[str], goes_on: bool) -> None:
    def ignore(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [{"id": command["id"], "ok": True, "ignored": ignored}] if command["command"] == "subscribe" else ok(command)

    needed = {"m0": frozenset({"request_timeout_ms"})}
    trace = play([Start(member="m0"), Pass(ms=20_000), Mark(name="reached")], subject=shim(ignore), settings_needed=needed)

    assert bool(kit(trace, "mark")) is goes_on
    assert (trace[-1].at_ms >= 20_000) is goes_on
    assert kit(trace, "refused") == [], "the judge of the case says what is missing"


def test_a_crash_while_its_answer_is_awaited_ends_the_steps_too() -> None:
    def crash_on_pause(command: dict[str, Any]) -> Sequence[dict[str, Any]] | None:
        return None if command["command"] == "pause" else ok(command)

    trace = play([Start(member="m0"), Command(member="m0", command="pause"), Mark(name="not-reached")], subject=shim(crash_on_pause))

    assert kit(trace, "mark") == []
    assert len(kit(trace, "exit", "end", "closed")) == 3


def test_a_killed_member_sends_no_leave() -> None:
    trace = play([*JOINED, Kill(member="m0"), Pass(ms=100)])

    assert requests(trace, "LeaveGroup") == []
    (exited,) = kit(trace, "exit")
    assert exited.body["commanded"]


def test_a_frozen_member_is_silent_and_is_thawed_for_its_clean_close() -> None:
    trace = play([*JOINED, Freeze(member="m0"), Mark(name="frozen"), Pass(ms=3_000)])

    (frozen,) = kit(trace, "mark")
    (end,) = kit(trace, "end")
    assert [obs for obs in requests(trace, "Heartbeat") if frozen.seq < obs.seq < end.seq] == []
    assert len(requests(trace, "LeaveGroup")) == 1


def test_a_thawed_member_continues() -> None:
    trace = play([*JOINED, Freeze(member="m0"), Pass(ms=1_000), Thaw(member="m0"), Mark(name="thawed"), Pass(ms=1_000)])

    (thawed,) = kit(trace, "mark")
    assert any(obs.seq > thawed.seq for obs in requests(trace, "Heartbeat"))


def test_a_member_that_the_plan_closes_is_not_closed_twice() -> None:
    trace = play([*JOINED, Command(member="m0", command="close"), Pass(ms=100)])

    assert len([obs for obs in kit(trace, "command") if obs.body["command"] == "close"]) == 1


def test_a_close_that_the_plan_does_not_wait_for_is_waited_for_in_the_end() -> None:
    hold = Fault(name="slow", selector=Selector(api="LeaveGroup"), action=Hold(ms=2_000))
    trace = play([*JOINED, Arm(fault=hold), Command(member="m0", command="close", wait=False)])

    (closed,) = kit(trace, "closed")
    answers = [obs.seq for obs in trace if obs.who == "shim" and obs.body["name"] == "answer"]
    assert max(answers) < closed.seq
    assert kit(trace, "overdue") == []


def test_a_member_that_does_not_close_in_time_is_killed_and_that_is_recorded() -> None:
    def deaf(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [] if command["command"] == "close" else ok(command)

    trace = play([Start(member="m0")], subject=shim(deaf))

    (overdue,) = kit(trace, "overdue")
    assert overdue.client == "m0"
    assert overdue.at_ms >= LIMITS.close_s * 1000


def test_a_member_has_longer_to_close_if_its_client_pauses_for_longer_between_its_tries() -> None:
    def deaf(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [] if command["command"] == "close" else ok(command)

    quick, slow = (kit(play([Start(member="m0")], subject=shim(deaf), react_ms=ms), "overdue")[0] for ms in (REACT_MS / 2, 3 * REACT_MS))

    assert slow.body["within_ms"] == 3 * quick.body["within_ms"] == 3_000 * LIMITS.close_s
    assert slow.at_ms >= 3_000 * LIMITS.close_s > quick.at_ms


def test_a_close_that_is_refused_is_overdue() -> None:
    def refuse(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [{"id": command["id"], "error": "X", "message": "m", "fatal": False}] if command["command"] == "close" else ok(command)

    assert len(kit(play([Start(member="m0")], subject=shim(refuse)), "overdue")) == 1


def test_steps_that_take_too_long_in_all_are_ended() -> None:
    trace = play((*JOINED, Pass(ms=600_000)), limits=Limits(steps_s=30))

    (timeout,) = kit(trace, "timeout")
    assert timeout.body["waiting"] == "the end of the steps, for 30 s in all"
    assert len(requests(trace, "LeaveGroup")) == 1


def test_a_flood_ends_the_steps_and_says_so() -> None:
    trace = play((*JOINED, Pass(ms=600_000)), limits=Limits(steps_s=3_600, observations_max=500))

    (timeout,) = kit(trace, "timeout")
    assert timeout.body["waiting"] == "the end of a flood of more than 500 observations"
    assert 500 <= timeout.seq < 550
    assert len(requests(trace, "LeaveGroup")) == 1


def test_a_member_that_started_is_shown_before_it_gets_a_command() -> None:
    lines: list[str] = []

    async def show(actor: Actor) -> None:
        assert actor.handle is not None
        lines.append(actor.handle.line)
        await trio.sleep(3_600)

    trace = play(JOINED, on_started=show, limits=Limits(steps_s=7_200))

    assert len(lines) == 1
    (subscribe,) = [obs for obs in kit(trace, "command") if obs.body["command"] == "subscribe"]
    assert subscribe.at_ms >= 3_600_000


@pytest.mark.parametrize("ending", [Kill(member="m0"), Command(member="m0", command="close")], ids=["killed", "closed"])
def test_a_member_that_is_gone_is_started_again_under_its_name(ending: Step) -> None:
    again = Await(until=Stable(members=("m0",), after="gone"))
    trace = play([*JOINED, ending, Mark(name="gone"), Start(member="m0"), again])

    assert kit(trace, "timeout") == []
    assert len(kit(trace, "hello")) == 2
    joined = {obs.member for obs in trace if obs.kind == "response" and obs.api == "JoinGroup" and not obs.error}
    assert len(joined) == 2


def test_a_member_that_is_still_there_can_not_be_started_again() -> None:
    with pytest.raises(ExceptionGroup) as failure:
        play([*JOINED, Start(member="m0")])

    assert failure.group_contains(KitFailure, match="starts m0 again, which it has neither killed nor closed")


def test_a_broker_that_can_not_be_broken_here_ends_the_run() -> None:
    with pytest.raises(ExceptionGroup) as failure:
        play([*JOINED, BreakBroker(name="b", how="pause", node=9)])

    assert failure.group_contains(BrokenEnvironment, match="no broker 9 is running here")


def receipts(trace: Sequence[Observation], name: str) -> list[str | None]:
    return [obs.detail for obs in trace if obs.kind == "fault" and obs.fault == name]


def test_an_impaired_way_is_proven_and_mended_by_its_step_or_at_the_end() -> None:
    steps: list[Step] = [
        Impair(name="i", toxics=(latency(50),), members=("m0",)),
        Impair(name="j", toxics=(latency(50),), members=("m1",)),
        Pass(ms=1_000),
    ]
    trace = play([*JOINED, *steps, Mend(name="i"), Mend(name="i"), Mark(name="mended")])

    assert receipts(trace, "i") == ["armed", "delivered", "healed"]
    assert receipts(trace, "j") == ["armed", "healed"]
    (mark,), (end,) = kit(trace, "mark"), kit(trace, "end")
    healed = {obs.fault: obs for obs in trace if obs.detail == "healed"}
    assert healed["i"].seq < mark.seq < end.seq < healed["j"].seq
    assert healed["i"].body["connections"] >= 1


def test_a_member_behind_a_black_hole_loses_its_session_and_its_neighbour_does_not() -> None:
    hole = Impair(name="i", toxics=(timeout(0), timeout(0, stream="upstream")), members=("m0",))
    both: list[Step] = [Start(member="m0"), Start(member="m1"), Await(until=Stable(members=("m0", "m1"))), hole, Mark(name="cut")]
    trace = play([*both, Await(until=Stable(members=("m1",), after="cut"), within_ms=30_000)], M0, Member(name="m1"))

    assert kit(trace, "timeout") == []
    assigned = [obs for obs in trace if obs.body.get("name") == "partitions_assigned" and obs.client == "m1"]
    assert assigned[-1].partitions == (("t", 0), ("t", 1))
