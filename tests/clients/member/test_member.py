"""The member as a whole: what it says of itself, and what holds whatever comes (Hypothesis writes the history)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.outputs import CallbackKind, CloseResult, Drop, Fail, NeedMetadata
from groupproof.clients.planted.member_variants import LEGAL
from groupproof.protocol.vocabulary import Api, MemberState
from groupproof.protocol.wire.messages import (
    HeartbeatResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import Bench

JOIN, SYNC, HEARTBEAT, FIND, COMMIT, LEAVE = (
    Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.FIND_COORDINATOR, Api.OFFSET_COMMIT, Api.LEAVE_GROUP,
)  # fmt: skip
CODES = (0, 0, 0, 0, 3, 7, 14, 15, 16, 22, 23, 25, 26, 27, 30, 79, 82, 9999)


def test_a_member_says_who_it_is(bench: type[Bench]) -> None:
    b = bench()
    assert (b.member.member_id, b.member.generation, b.member.state, b.member.coordinator) == ("", -1, MemberState.UNJOINED, None)
    b.stable(0)

    assert (b.member.member_id, b.member.generation, b.member.state) == ("m-1", 1, MemberState.STABLE)
    assert b.member.coordinator is not None
    assert b.member.metadata_topics == {"t"}
    assert b.member.policy is REFERENCE
    assert b.member.is_settled


def test_an_answer_to_nothing_is_ignored(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    before = (b.member.member_id, b.member.generation, b.member.state)
    b.do(b.member.response(9999, HeartbeatResponse(error_code=25), b.now))
    b.do(b.member.unanswered(9999, b.now))

    assert (b.member.member_id, b.member.generation, b.member.state) == before


@pytest.mark.requirement("CLIENT-61")
def test_a_failure_waits_for_the_applications_poll_and_is_reported_once(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.fail("SOME_ERROR", "why", b.now))
    assert b.failures == []
    b.poll()
    b.poll()

    assert b.failures == [Fail(error="SOME_ERROR", message="why", fatal=True)]
    assert b.member.failure == b.failures[0]


def test_what_is_in_flight_to_a_lost_coordinator_is_unanswered(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.commit(1, {("t", 0): 3}, b.now, is_sync=True))
    b.advance(1000)
    assert b.waits(COMMIT)
    b.answer(HEARTBEAT, 16)
    b.answer(FIND)

    assert len(b.of(Drop)) == 1
    assert b.count(COMMIT) == 2


# Any history


MOVES = (
    "poll",
    "advance",
    "answer",
    "answer",
    "answer",
    "lose",
    "called",
    "called",
    "commit",
    "fetch",
    "grow",
    "resubscribe",
    "unsubscribe",
    "disconnect",
)
STEPS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 9999), st.sampled_from(CODES)), max_size=60)
VARIANTS = {"reference": REFERENCE} | {variant.name: variant.policy for variant in LEGAL}


def settles(b: Bench) -> bool:
    """Answer everything well for at most 20 s; return whether the member settled."""
    for _ in range(400):
        if b.callbacks:
            b.called()
        for send in list(b.waiting):
            if send in b.waiting:
                answer_well(b, send.message.api)
        if b.of(NeedMetadata):
            b.others = [output for output in b.others if not isinstance(output, NeedMetadata)]
            b.do(b.member.metadata(Cluster(partitions={"t": 2, "u": 1}), b.now))
        b.advance(50, polling=not b.callbacks)
        if b.member.is_settled and b.member.coordinator is not None:
            return True
    return False


def answer_well(b: Bench, api: Api) -> None:
    fields: dict[Api, dict[str, Any]] = {
        JOIN: {"member_id": "m-7", "generation_id": 10_000 + b.now, "leader": "m-0", "protocol_name": b.protocol},
        SYNC: {"assignment": b.assignment(0)},
    }
    b.answer(api, 0, **fields.get(api, {}))


class _History:
    """Plays moves on a bench and checks after each what must always hold."""

    def __init__(self, b: Bench) -> None:
        self.b = b
        self.tokens = 0
        self.moves: dict[str, Callable[[int, int], None]] = {
            "poll": self.poll,
            "advance": lambda number, _code: b.advance(number % 7000),
            "answer": self.answer,
            "lose": self.lose,
            "called": self.called,
            "commit": self.commit,
            "fetch": self.fetch,
            "grow": lambda number, _code: b.do(b.member.metadata(Cluster(partitions={"t": number % 5, "u": 1}), b.now)),
            "resubscribe": lambda number, _code: b.do(b.member.resubscribe((("t",), ("t", "u"))[number % 2], b.now)),
            "unsubscribe": lambda _number, _code: b.do(b.member.unsubscribe(b.now)),
            "disconnect": self.disconnect,
        }

    def poll(self, _number: int, _code: int) -> None:
        if self.b.member.calling is None:
            self.b.poll()

    def called(self, _number: int, _code: int) -> None:
        if self.b.callbacks:
            self.b.called()

    def answer(self, number: int, code: int) -> None:
        if not self.b.waiting:
            return
        api = self.b.waiting[number % len(self.b.waiting)].message.api
        fields: dict[str, Any] = {}
        if api is JOIN:
            fields = {"member_id": f"m-{number}", "generation_id": number, "leader": f"m-{number - number % 2}", "protocol_name": self.b.protocol}
        elif api is SYNC:
            fields = {"assignment": self.b.assignment(*range(number % 3))}
        self.b.answer(api, code, **fields)

    def lose(self, number: int, _code: int) -> None:
        if self.b.waiting:
            self.b.lose(self.b.waiting[number % len(self.b.waiting)].message.api)

    def disconnect(self, _number: int, _code: int) -> None:
        if self.b.member.coordinator is not None:
            self.b.do(self.b.member.disconnected(self.b.member.coordinator, self.b.now))

    def commit(self, number: int, _code: int) -> None:
        self.tokens += 1
        self.b.do(self.b.member.commit(self.tokens, {("t", 0): number}, self.b.now, is_sync=number % 2 == 0))

    def fetch(self, _number: int, _code: int) -> None:
        self.tokens += 1
        self.b.do(self.b.member.fetch_offsets(self.tokens, frozenset({("t", 0)}), self.b.now))

    def play(self, steps: list[tuple[str, int, int]], *, is_stable: bool) -> None:
        """Play from the start, or from a member that is STABLE, which chance alone seldom reaches."""
        assert not is_stable or settles(self.b)
        for move, number, code in steps:
            sent = len(self.b.sent)
            self.moves[move](number, code)
            self.check([message for _, message in self.b.sent[sent:]])

    def check(self, sent: list[Any]) -> None:
        b = self.b
        waiting = [send.message.api for send in b.waiting]
        assert waiting.count(FIND) <= 1, "CLIENT-02"
        assert sum(send.message.api is HEARTBEAT for send in b.waiting) <= 1
        assert all(send.to is not None for send in b.waiting if send.message.api is not FIND), "CLIENT-01"
        for message in sent:
            if message.api in (HEARTBEAT, SYNC):
                assert message.generation_id >= 0 or (message.api is HEARTBEAT and b.member.policy.heartbeats_between)
                assert message.member_id
        deadline = b.member.next_deadline_ms()
        assert deadline is None or deadline > b.now - 1
        if b.member.state is MemberState.STABLE:
            assert b.member.generation >= 0
        assert len(b.callbacks) == (b.member.calling is not None)


@given(
    steps=STEPS,
    variant=st.sampled_from(sorted(VARIANTS)),
    cooperative=st.booleans(),
    instance=st.sampled_from([None, "i0"]),
    auto_commit=st.booleans(),
    is_stable=st.booleans(),
)
@example(
    steps=[("advance", 950, 0), ("answer", 0, 22)], variant="heartbeats-between-generations", cooperative=False, instance=None, auto_commit=False, is_stable=True
)  # fmt: skip
@settings(max_examples=300)
def test_whatever_comes_the_member_follows_the_protocol_and_can_leave(
    bench: type[Bench], steps: list[tuple[str, int, int]], variant: str, cooperative: bool, instance: str | None, auto_commit: bool, is_stable: bool
) -> None:
    b = bench(VARIANTS[variant], assignors=("cooperative-sticky" if cooperative else "range",), instance_id=instance, auto_commit=auto_commit)
    b.positions = {("t", 0): 1, ("t", 1): 1}
    history = _History(b)
    history.play(steps, is_stable=is_stable)

    b.do(b.member.close(b.now))
    for _ in range(20):
        if b.callbacks:
            assert b.called().kind in CallbackKind
        b.advance(1000)
    assert b.of(CloseResult)
    assert b.of(CloseResult)[-1].closed
    assert b.count(LEAVE) <= 3 + len(steps)
    sent = len(b.sent)
    b.advance(300_000)
    assert [message.api for _, message in b.sent[sent:]].count(HEARTBEAT) == 0


@given(steps=STEPS, variant=st.sampled_from(sorted(VARIANTS)), is_stable=st.booleans())
@settings(max_examples=200)
def test_when_the_faults_end_the_member_settles(bench: type[Bench], steps: list[tuple[str, int, int]], variant: str, is_stable: bool) -> None:
    """Safety first, then liveness: a coordinator that answers well brings any member that did not fail to STABLE in bounded time."""
    b = bench(VARIANTS[variant])
    _History(b).play([step for step in steps if step[0] != "unsubscribe"], is_stable=is_stable)
    if b.member.failure is not None:
        return
    assert settles(b), f"{b.member.state} after 20 s of good answers"


def test_a_member_that_joins_in_the_background_waits_out_the_pause_without_a_poll(bench: type[Bench]) -> None:
    b = bench(Policy(joins_from="background"))
    b.joining()
    b.answer(Api.JOIN_GROUP, 14)

    assert b.member.next_deadline_ms() == 100
