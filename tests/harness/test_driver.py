"""The driver against the real cluster in virtual time: with the reference member, and with scripted shims that have no client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.clients.shim import run_shim
from groupproof.coordinator.cluster import Cluster
from groupproof.harness.actor import Actor
from groupproof.harness.conversation import Listener
from groupproof.harness.driver import Driver, Limits
from groupproof.harness.network import MemoryNetwork, Network
from groupproof.harness.plan import (
    Arm,
    Await,
    Command,
    Freeze,
    Grow,
    Heal,
    Kill,
    Mark,
    Member,
    MoveCoordinator,
    Pass,
    Plan,
    Release,
    Seen,
    Stable,
    Start,
    Step,
    Thaw,
)
from groupproof.harness.play import COORDINATOR_DEFAULTS
from groupproof.harness.shim_memory import RunShim
from groupproof.harness.subjects import Handle, ReferenceSubject
from groupproof.harness.troubles import BrokenShim
from groupproof.protocol.faults import Answer, Fault, Hold, Selector
from groupproof.protocol.trace import Observation, Recorder
from groupproof.protocol.vocabulary import ErrorCode

M0 = Member(name="m0")
JOINED = (Start(member="m0"), Await(until=Stable(members=("m0",))))
LIMITS = Limits(subscribe_s=20, close_s=5, steps_s=60)


def play(
    steps: Sequence[Step],
    *members: Member,
    subject: RunShim = run_shim,
    of: ReferenceSubject | None = None,
    limits: Limits = LIMITS,
    on_started: Callable[[Actor], Awaitable[None]] | None = None,
) -> list[Observation]:
    """Carry steps out in virtual time, and return the trace."""
    plan = Plan(members=members or (M0,), steps=tuple(steps))
    trace: list[Observation] = []

    async def main() -> None:
        recorder = Recorder(lambda: round(trio.current_time() * 1e9))
        cluster = Cluster(settings=COORDINATOR_DEFAULTS, topics=plan.topics, records=plan.records, recorder=recorder)
        under_test, company, network = of or ReferenceSubject(subject), ReferenceSubject(run_shim), MemoryNetwork()
        driver = Driver(
            plan,
            cluster,
            network,
            recorder,
            subject_of=lambda kind: under_test if kind == "subject" else company,
            key="c1",
            seed=1,
            limits=limits,
            on_started=on_started,
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(cluster.run)
            async with network.opened(cluster) as addresses:
                await driver.run(addresses)
            nursery.cancel_scope.cancel()
        trace.extend(recorder.trace)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return trace


def kit(trace: Sequence[Observation], *names: str) -> list[Observation]:
    return [seen for seen in trace if seen.who == "kit" and seen.body["name"] in names]


def requests(trace: Sequence[Observation], api: str) -> list[Observation]:
    return [seen for seen in trace if seen.kind == "request" and seen.api == api]


def shim(reply: Callable[[dict[str, Any]], Sequence[dict[str, Any]] | None], *capabilities: str) -> RunShim:
    """Return a shim without a client: `reply` says what lines answer a command; None ends the shim with an error."""

    async def run(
        lines: AsyncIterator[str],
        emit: Callable[[str], Awaitable[None]],
        connect: Callable[[str, int], Awaitable[trio.abc.Stream]],
        *,
        seed: int,
        variant: str | None = None,
    ) -> None:
        greeting = {"name": "hello", "contract": 1, "client": "none", "version": "1", "language": "none", "capabilities": list(capabilities)}
        await emit(json.dumps(greeting))
        async for line in lines:
            command = json.loads(line)
            if command["command"].startswith("made-up"):
                await emit(json.dumps({"id": command["id"], "unimplemented": "no"}))
                continue
            said = reply(command)
            if said is None:
                raise RuntimeError("as the test asked")
            for each in said:
                await emit(json.dumps(each) if each else "{not json")

    return run


def ok(command: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": command["id"], "ok": True}]


def test_a_plan_is_carried_out_and_its_members_are_closed_in_order() -> None:
    a0, m0 = Member(name="a0", kind="reference"), M0
    trace = play([*JOINED, Start(member="a0"), Await(until=Stable(members=("m0", "a0"))), Pass(ms=700)], m0, a0)

    names = [seen.body["name"] for seen in kit(trace, "end", "closed")]
    assert names == ["end", "closed"]
    (end,) = kit(trace, "end")
    leaves = [seen.client for seen in requests(trace, "LeaveGroup") if seen.seq > end.seq]
    assert leaves == ["m0", "a0"]
    assert [seen.body["step"] for seen in kit(trace, "step")] == ["start", "await", "start", "await", "pass"]
    assert all(seen.body["commanded"] for seen in kit(trace, "exit"))


def test_members_are_subscribed_with_the_defaults_and_their_own_settings() -> None:
    trace = play(JOINED, Member(name="m0", settings={"session_timeout_ms": 7_000}))

    (subscribe,) = [seen for seen in kit(trace, "command") if seen.body["command"] == "subscribe"]
    fields = subscribe.body["fields"]
    assert (fields["client_id"], fields["group"], fields["session_timeout_ms"]) == ("m0", "g", 7_000)
    assert fields["bootstrap"] == "broker-0:9092,broker-1:9092"
    assert requests(trace, "JoinGroup")[0].body["session_timeout_ms"] == 7_000


def test_events_carry_the_members_name_and_its_partitions() -> None:
    trace = play(JOINED)

    (assigned,) = [seen for seen in trace if seen.who == "shim" and seen.body["name"] == "partitions_assigned"]
    assert (assigned.client, assigned.partitions) == ("m0", (("t", 0), ("t", 1)))
    assert "member" not in assigned.body


def test_what_never_comes_ends_the_steps_with_what_was_waited_for() -> None:
    never = Await(until=Seen(kind_of="request", api="LeaveGroup"), within_ms=800)
    trace = play([*JOINED, never, Mark(name="not-reached")])

    (timeout,) = kit(trace, "timeout")
    assert timeout.body["waiting"] == "request api=LeaveGroup"
    assert kit(trace, "mark") == []
    assert len(requests(trace, "LeaveGroup")) == 1


def test_an_await_that_may_fail_goes_on() -> None:
    never = Await(until=Seen(kind_of="request", api="LeaveGroup"), within_ms=800, go_on=True)
    trace = play([*JOINED, never, Mark(name="reached")])

    assert len(kit(trace, "timeout")) == 1
    assert len(kit(trace, "mark")) == 1


def test_what_was_seen_before_the_await_counts() -> None:
    trace = play([*JOINED, Await(until=Seen(kind_of="request", api="JoinGroup"), within_ms=0)])

    assert kit(trace, "timeout") == []


def test_faults_are_armed_released_and_in_the_end_healed() -> None:
    hold = Fault(name="slow", selector=Selector(api="SyncGroup", direction="response"), action=Hold())
    delivered = Await(until=Seen(kind_of="fault", fault="slow"))
    trace = play([Arm(fault=hold), Start(member="m0"), delivered, Release(fault="slow"), Await(until=Stable(members=("m0",)))])

    stages = [seen.detail for seen in trace if seen.fault == "slow" and seen.kind == "fault"]
    assert stages == ["armed", "triggered", "delivered", "released", "healed"]
    assert kit(trace, "timeout") == []


def test_a_healed_fault_strikes_no_more() -> None:
    error = Fault(name="error", selector=Selector(api="Heartbeat", count=None), action=Answer(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    struck = Await(until=Seen(kind_of="fault", fault="error"))
    trace = play([*JOINED, Arm(fault=error), struck, Heal(fault="error"), Await(until=Stable(members=("m0",), after="error"))])

    assert kit(trace, "timeout") == []


def test_the_coordinator_moves_and_topics_grow_where_the_plan_says() -> None:
    trace = play([*JOINED, MoveCoordinator(), Grow(topic="t", partitions=3), Await(until=Seen(kind_of="response", error=16))])

    assert kit(trace, "timeout") == []
    assert [seen.body["to"] for seen in trace if seen.body.get("name") == "moved"] == [None]


def test_a_command_is_asked_and_its_answer_recorded_after_its_events() -> None:
    trace = play([*JOINED, Command(member="m0", command="commit", fields={"mode": "sync", "offsets": [["t", 0, 5]]})])

    told = [seen.body["name"] for seen in trace if seen.who == "shim" and seen.body["name"] in ("offsets_committed", "answer")]
    assert told == ["answer", "offsets_committed", "answer", "answer"]


def test_a_command_without_wait_lets_the_plan_go_on() -> None:
    commit = Command(member="m0", command="commit", fields={"mode": "sync", "offsets": [["t", 0, 5]]}, wait=False)
    hold = Fault(name="slow", selector=Selector(api="OffsetCommit", direction="response"), action=Hold(ms=500))
    trace = play([*JOINED, Arm(fault=hold), commit, Mark(name="at-once"), Pass(ms=1_000)])

    (mark,) = kit(trace, "mark")
    (answer,) = [seen for seen in trace if seen.body.get("name") == "answer" and "offsets" in seen.body]
    assert mark.seq < answer.seq


def test_a_command_that_is_not_answered_in_time_ends_the_steps() -> None:
    hold = Fault(name="slow", selector=Selector(api="OffsetCommit", direction="response"), action=Hold())
    commit = Command(member="m0", command="commit", fields={"mode": "sync", "offsets": [["t", 0, 5]]}, within_ms=500)
    trace = play([*JOINED, Arm(fault=hold), commit, Mark(name="not-reached")])

    assert [seen.body["waiting"] for seen in kit(trace, "timeout")] == ["the answer of m0 to commit"]
    assert kit(trace, "mark") == []


def test_a_command_that_the_shim_has_not_is_recorded_as_refused() -> None:
    def no_pause(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [{"id": command["id"], "unimplemented": "no poll to pause"}] if command["command"] == "pause" else ok(command)

    trace = play([Start(member="m0"), Command(member="m0", command="pause"), Mark(name="not-reached")], subject=shim(no_pause))

    (refused,) = kit(trace, "refused")
    assert (refused.client, refused.body["command"], refused.body["reason"]) == ("m0", "pause", "no poll to pause")
    assert kit(trace, "mark") == []


def test_one_without_wait_is_recorded_as_refused_too() -> None:
    def no_pause(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [{"id": command["id"], "unimplemented": "no"}] if command["command"] == "pause" else ok(command)

    trace = play([Start(member="m0"), Command(member="m0", command="pause", wait=False), Pass(ms=60_000)], subject=shim(no_pause))

    assert len(kit(trace, "refused")) == 1
    assert trace[-1].at_ms < 1_000


@pytest.mark.parametrize(
    ("answer", "unimplemented", "reason"),
    [({"error": "INVALID_CONFIG", "message": "what?", "fatal": True}, False, "INVALID_CONFIG what?"), ({"unimplemented": "static"}, True, "static")],
)
def test_a_refused_subscribe_ends_the_steps(answer: dict[str, Any], *, unimplemented: bool, reason: str) -> None:
    def refuse(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [{"id": command["id"], **answer}] if command["command"] == "subscribe" else ok(command)

    (refused,) = kit(play([Start(member="m0"), Mark(name="not-reached")], subject=shim(refuse)), "refused")

    assert (refused.body["unimplemented"], refused.body["reason"]) == (unimplemented, reason)


def test_a_subscribe_that_is_not_answered_breaks_the_contract() -> None:
    def mute(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [] if command["command"] == "subscribe" else ok(command)

    (broken,) = kit(play([Start(member="m0")], subject=shim(mute)), "broken")

    assert broken.body["reason"] == "subscribe was not answered within 20 s"


def test_a_bad_line_ends_the_steps_and_is_recorded() -> None:
    def bad(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [*ok(command), {}] if command["command"] == "subscribe" else ok(command)

    trace = play([Start(member="m0"), Pass(ms=60_000), Mark(name="not-reached")], subject=shim(bad))

    (broken,) = kit(trace, "broken")
    assert "is no JSON" in broken.body["reason"]
    assert kit(trace, "mark") == []


class Unbelievable(ReferenceSubject):
    @asynccontextmanager
    async def member(self, key: str, listener: Listener, network: Network, *, alone: bool, seed: int) -> AsyncIterator[Handle]:
        raise BrokenShim("the shim answers ok to 'made-up-1'")
        yield


def test_a_shim_that_can_not_be_believed_never_plays() -> None:
    trace = play([Start(member="m0"), Mark(name="not-reached")], of=Unbelievable(run_shim))

    assert [seen.body["reason"] for seen in kit(trace, "broken")] == ["the shim answers ok to 'made-up-1'"]
    assert kit(trace, "mark", "command") == []


def test_a_crash_ends_the_steps_at_once_and_is_told_with_the_last_words() -> None:
    def crash_on_pause(command: dict[str, Any]) -> Sequence[dict[str, Any]] | None:
        return None if command["command"] == "pause" else ok(command)

    steps: list[Step] = [Start(member="m0"), Command(member="m0", command="pause", wait=False), Pass(ms=60_000), Mark(name="not-reached")]
    trace = play(steps, subject=shim(crash_on_pause))

    (exited,) = kit(trace, "exit")
    assert not exited.body["commanded"]
    assert exited.body["stderr"][-1] == "RuntimeError: as the test asked"
    assert exited.at_ms < 1_000
    assert kit(trace, "mark", "overdue") == []


def test_a_crash_while_its_answer_is_awaited_ends_the_steps_too() -> None:
    def crash_on_pause(command: dict[str, Any]) -> Sequence[dict[str, Any]] | None:
        return None if command["command"] == "pause" else ok(command)

    trace = play([Start(member="m0"), Command(member="m0", command="pause"), Mark(name="not-reached")], subject=shim(crash_on_pause))

    assert kit(trace, "mark") == []
    assert len(kit(trace, "exit", "end", "closed")) == 3


def test_a_killed_member_says_no_goodbye() -> None:
    trace = play([*JOINED, Kill(member="m0"), Pass(ms=100)])

    assert requests(trace, "LeaveGroup") == []
    (exited,) = kit(trace, "exit")
    assert exited.body["commanded"]


def test_a_frozen_member_is_silent_and_is_thawed_for_its_goodbye() -> None:
    trace = play([*JOINED, Freeze(member="m0"), Mark(name="frozen"), Pass(ms=3_000)])

    (frozen,) = kit(trace, "mark")
    (end,) = kit(trace, "end")
    assert [seen for seen in requests(trace, "Heartbeat") if frozen.seq < seen.seq < end.seq] == []
    assert len(requests(trace, "LeaveGroup")) == 1


def test_a_thawed_member_goes_on() -> None:
    trace = play([*JOINED, Freeze(member="m0"), Pass(ms=1_000), Thaw(member="m0"), Mark(name="thawed"), Pass(ms=1_000)])

    (thawed,) = kit(trace, "mark")
    assert any(seen.seq > thawed.seq for seen in requests(trace, "Heartbeat"))


def test_a_member_that_the_plan_closes_is_not_closed_twice() -> None:
    trace = play([*JOINED, Command(member="m0", command="close"), Pass(ms=100)])

    assert len([seen for seen in kit(trace, "command") if seen.body["command"] == "close"]) == 1


def test_a_close_that_the_plan_does_not_wait_for_is_waited_for_in_the_end() -> None:
    hold = Fault(name="slow", selector=Selector(api="LeaveGroup"), action=Hold(ms=2_000))
    trace = play([*JOINED, Arm(fault=hold), Command(member="m0", command="close", wait=False)])

    (closed,) = kit(trace, "closed")
    answers = [seen.seq for seen in trace if seen.who == "shim" and seen.body["name"] == "answer"]
    assert max(answers) < closed.seq
    assert kit(trace, "overdue") == []


def test_a_member_that_does_not_close_in_time_is_killed_and_that_is_recorded() -> None:
    def deaf(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [] if command["command"] == "close" else ok(command)

    trace = play([Start(member="m0")], subject=shim(deaf))

    (overdue,) = kit(trace, "overdue")
    assert overdue.client == "m0"
    assert overdue.at_ms >= LIMITS.close_s * 1000


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
    assert timeout.seq == 501
    assert len(requests(trace, "LeaveGroup")) == 1


def test_who_started_is_shown_before_it_is_asked_anything() -> None:
    shown: list[str] = []

    async def show(actor: Actor) -> None:
        assert actor.handle is not None
        shown.append(actor.handle.line)
        await trio.sleep(3_600)

    trace = play(JOINED, on_started=show, limits=Limits(steps_s=7_200))

    assert len(shown) == 1
    (subscribe,) = [seen for seen in kit(trace, "command") if seen.body["command"] == "subscribe"]
    assert subscribe.at_ms >= 3_600_000
