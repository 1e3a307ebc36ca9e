"""The driver against the real cluster in virtual time: with the reference member, and with scripted shims that have no client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from tests.harness.running.plans.driving import JOINED, M0, kit, ok, play, requests, shim

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.model.errors import BrokenShim
from groupproof.harness.model.plan import (
    Arm,
    Await,
    Command,
    Grow,
    Heal,
    Mark,
    Matches,
    Member,
    MoveCoordinator,
    Pass,
    Release,
    Stable,
    Start,
)
from groupproof.harness.running.plans.member_control import Actor
from groupproof.harness.subjects.networks.network import Entrance
from groupproof.harness.subjects.shims.conversation import Listener
from groupproof.harness.subjects.subject import Handle, ReferenceSubject
from groupproof.protocol.faults import Answer, Fault, Hold, Selector
from groupproof.protocol.vocabulary import ErrorCode


@pytest.mark.parametrize("first", ["m0", "a0"])
def test_a_plan_is_run_and_its_members_are_closed_the_subject_before_its_peers(first: str) -> None:
    a0, m0 = Member(name="a0", kind="reference"), M0
    second = "a0" if first == "m0" else "m0"
    joined = (Start(member=first), Await(until=Stable(members=(first,))))
    trace = play([*joined, Start(member=second), Await(until=Stable(members=("m0", "a0"))), Pass(ms=700)], m0, a0)

    names = [obs.body["name"] for obs in kit(trace, "end", "closed")]
    assert names == ["end", "closed"]
    (end,) = kit(trace, "end")
    leaves = [obs.client for obs in requests(trace, "LeaveGroup") if obs.seq > end.seq]
    assert leaves == ["m0", "a0"]
    assert [obs.body["step"] for obs in kit(trace, "step")] == ["start", "await", "start", "await", "pass"]
    assert all(obs.body["commanded"] for obs in kit(trace, "exit"))


def test_members_are_subscribed_with_the_defaults_and_their_own_settings() -> None:
    trace = play(JOINED, Member(name="m0", settings={"session_timeout_ms": 7_000}))

    (subscribe,) = [obs for obs in kit(trace, "command") if obs.body["command"] == "subscribe"]
    fields = subscribe.body["fields"]
    assert (fields["client_id"], fields["group"], fields["session_timeout_ms"]) == ("m0", "g", 7_000)
    assert fields["bootstrap"] == "broker-0:9092,broker-1:9092"
    assert requests(trace, "JoinGroup")[0].body["session_timeout_ms"] == 7_000


def test_events_carry_the_members_name_and_its_partitions() -> None:
    trace = play(JOINED)

    (assigned,) = [obs for obs in trace if obs.who == "shim" and obs.body["name"] == "partitions_assigned"]
    assert (assigned.client, assigned.partitions) == ("m0", (("t", 0), ("t", 1)))
    assert "member" not in assigned.body


def test_what_never_comes_ends_the_steps_with_what_was_waited_for() -> None:
    never = Await(until=Matches(kind_of="request", api="LeaveGroup"), within_ms=800)
    trace = play([*JOINED, never, Mark(name="not-reached")])

    (timeout,) = kit(trace, "timeout")
    assert timeout.body["waiting"] == "request api=LeaveGroup"
    assert kit(trace, "mark") == []
    assert len(requests(trace, "LeaveGroup")) == 1


def test_an_await_that_may_fail_continues() -> None:
    never = Await(until=Matches(kind_of="request", api="LeaveGroup"), within_ms=800, go_on=True)
    trace = play([*JOINED, never, Mark(name="reached")])

    assert len(kit(trace, "timeout")) == 1
    assert len(kit(trace, "mark")) == 1


def test_the_time_that_the_machine_loses_in_a_wait_is_added_once_whichever_side_reports_it() -> None:
    actors: list[Actor] = []

    async def keep(actor: Actor) -> None:
        actors.append(actor)

    async def lag_three_quarters_of_the_time() -> None:
        while True:
            await trio.sleep(0.2)
            for source, lag_ms in (("loop", 150), ("child", 100)):
                actors[0].note("lag", source=source, lag_ms=lag_ms)

    async def lagging(*arguments: Any, **named: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lag_three_quarters_of_the_time)
            await run_shim(*arguments, **named)
            nursery.cancel_scope.cancel()

    trace = play([*JOINED, Await(until=Matches(kind_of="request", api="LeaveGroup"), within_ms=800)], subject=lagging, on_started=keep)

    (timeout,), begun = kit(trace, "timeout"), kit(trace, "step")[-1]
    lags = [obs for obs in kit(trace, "lag") if begun.seq < obs.seq < timeout.seq and obs.body["source"] == "loop"]
    assert len(lags) > 1
    assert timeout.at_ms - begun.at_ms == 800 + 150 * len(lags)


def test_what_was_seen_before_the_await_counts() -> None:
    trace = play([*JOINED, Await(until=Matches(kind_of="request", api="JoinGroup"), within_ms=0)])

    assert kit(trace, "timeout") == []


def test_faults_are_armed_released_and_in_the_end_healed() -> None:
    hold = Fault(name="slow", selector=Selector(api="SyncGroup", direction="response"), action=Hold())
    delivered = Await(until=Matches(kind_of="fault", fault="slow"))
    trace = play([Arm(fault=hold), Start(member="m0"), delivered, Release(fault="slow"), Await(until=Stable(members=("m0",)))])

    stages = [obs.detail for obs in trace if obs.fault == "slow" and obs.kind == "fault"]
    assert stages == ["armed", "triggered", "delivered", "released", "healed"]
    assert kit(trace, "timeout") == []


def test_a_healed_fault_no_longer_acts() -> None:
    error = Fault(name="error", selector=Selector(api="Heartbeat", count=None), action=Answer(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    struck = Await(until=Matches(kind_of="fault", fault="error"))
    trace = play([*JOINED, Arm(fault=error), struck, Heal(fault="error"), Await(until=Stable(members=("m0",), after="error"))])

    assert kit(trace, "timeout") == []


def test_the_coordinator_moves_and_topics_grow_where_the_plan_says() -> None:
    trace = play([*JOINED, MoveCoordinator(), Grow(topic="t", partitions=3), Await(until=Matches(kind_of="response", error=16))])

    assert kit(trace, "timeout") == []
    assert [obs.body["to"] for obs in trace if obs.body.get("name") == "moved"] == [None]


def test_a_command_is_asked_and_its_answer_recorded_after_its_events() -> None:
    trace = play([*JOINED, Command(member="m0", command="commit", fields={"mode": "sync", "offsets": [["t", 0, 5]]})])

    entries = [obs.body["name"] for obs in trace if obs.who == "shim" and obs.body["name"] in ("offsets_committed", "answer")]
    assert entries == ["answer", "offsets_committed", "answer", "answer"]


def test_a_command_without_wait_lets_the_plan_continue() -> None:
    commit = Command(member="m0", command="commit", fields={"mode": "sync", "offsets": [["t", 0, 5]]}, wait=False)
    hold = Fault(name="slow", selector=Selector(api="OffsetCommit", direction="response"), action=Hold(ms=500))
    trace = play([*JOINED, Arm(fault=hold), commit, Mark(name="at-once"), Pass(ms=1_000)])

    (mark,) = kit(trace, "mark")
    (answer,) = [obs for obs in trace if obs.body.get("name") == "answer" and "offsets" in obs.body]
    assert mark.seq < answer.seq


def test_a_command_that_is_not_answered_in_time_ends_the_steps() -> None:
    hold = Fault(name="slow", selector=Selector(api="OffsetCommit", direction="response"), action=Hold())
    commit = Command(member="m0", command="commit", fields={"mode": "sync", "offsets": [["t", 0, 5]]}, within_ms=500)
    trace = play([*JOINED, Arm(fault=hold), commit, Mark(name="not-reached")])

    assert [obs.body["waiting"] for obs in kit(trace, "timeout")] == ["the answer of m0 to commit"]
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
    assert broken.body["shared"] is False


def test_a_bad_line_ends_the_steps_and_is_recorded() -> None:
    def bad(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return [*ok(command), {}] if command["command"] == "subscribe" else ok(command)

    trace = play([Start(member="m0"), Pass(ms=60_000), Mark(name="not-reached")], subject=shim(bad))

    (broken,) = kit(trace, "broken")
    assert "is no JSON" in broken.body["reason"]
    assert kit(trace, "mark") == []


class Unbelievable(ReferenceSubject):
    @asynccontextmanager
    async def member(self, key: str, listener: Listener, entrance: Entrance, *, alone: bool, seed: int) -> AsyncIterator[Handle]:
        raise BrokenShim("the shim answers ok to 'made-up-1'")
        yield


def test_a_shim_that_can_not_be_believed_never_plays() -> None:
    trace = play([Start(member="m0"), Mark(name="not-reached")], of=Unbelievable(run_shim))

    assert [obs.body["reason"] for obs in kit(trace, "broken")] == ["the shim answers ok to 'made-up-1'"]
    assert kit(trace, "mark", "command") == []


@pytest.mark.parametrize(("outcome", "waited_ms"), [({"outcome": "unknown"}, 3_000), ({"success": False, "error": "ILLEGAL_GENERATION"}, 0)])
def test_a_commit_without_a_report_may_be_sent_again_until_the_steps_end(outcome: dict[str, Any], waited_ms: int) -> None:
    def commits(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        line = {"name": "offsets_committed", "offsets": [], **outcome}
        return [line, *ok(command)] if command["command"] == "commit" else ok(command)

    trace = play([Start(member="m0"), Command(member="m0", command="commit", fields={"mode": "sync"})], subject=shim(commits))

    (end,) = kit(trace, "end")
    committed = next(obs for obs in trace if obs.who == "shim" and obs.body["name"] == "offsets_committed")
    assert end.at_ms - committed.at_ms == pytest.approx(waited_ms, abs=50)
