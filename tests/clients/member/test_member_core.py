"""The state that the member's parts share."""

from __future__ import annotations

import pytest

from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member_core import Core, answer_named
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind, Drop, Fail, Node
from groupproof.protocol.rules.classic.member_reactions import Answer, Lapse, Phase
from groupproof.protocol.vocabulary import MemberState
from groupproof.protocol.wire.messages import HeartbeatRequest

NODE = Node(node_id=1, host="h", port=1)
HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def core(policy: Policy = Policy(), **settings: object) -> Core:  # noqa: B008 - a policy is frozen
    made = Core(MemberSettings(group="g", topics=("t",), **settings), policy, lambda: 0.5)  # type: ignore[arg-type] # any setting
    made.coordinator, made.member_id, made.generation, made.state = NODE, "m", 1, MemberState.STABLE
    return made


@pytest.mark.requirement("CLIENT-64")
def test_a_reset_forgets_who_the_member_was_and_asks_for_a_rejoin() -> None:
    c = core()
    c.rejoin_reason = None
    c.reset("because")

    assert str(c.rejoin_reason) == "because"
    assert (c.member_id, c.generation, c.state, c.is_lost) == ("", -1, MemberState.UNJOINED, True)


@pytest.mark.requirement("CLIENT-64")
def test_a_generation_dropped_while_joining_leaves_the_join_alone() -> None:
    c = core()
    c.state, c.attempt = MemberState.PREPARING_REBALANCE, 7
    c.drop_generation()

    assert (c.generation, c.state, c.attempt, c.was_reset_while_joining) == (-1, MemberState.PREPARING_REBALANCE, 7, True)


@pytest.mark.requirement("CLIENT-65")
def test_the_first_reason_for_a_rejoin_stays() -> None:
    c = core()
    c.rejoin_reason = None
    for reason in ("one", "two"):
        c.request_rejoin(reason)

    assert str(c.rejoin_reason) == "one"
    assert (c.member_id, c.generation) == ("m", 1)


def test_a_forgotten_coordinator_strands_what_was_in_flight_to_it_once() -> None:
    c = core()
    c.send(HEARTBEAT, 0)
    c.forget_coordinator()
    c.forget_coordinator()

    assert len(c.stranded) == 1
    assert [output for output in c.out if isinstance(output, Drop)] == [Drop(to=NODE)]


def test_phases_are_measured_against_what_was_sent() -> None:
    c = core()
    request_id = c.send(HEARTBEAT, 0)
    pending = c.requests.take(request_id)
    assert pending is not None
    assert c.phase(pending) is Phase.CURRENT
    c.attempt, c.state = 9, MemberState.PREPARING_REBALANCE
    assert c.phase(pending) is Phase.JOINING
    c.state = MemberState.COMPLETING_REBALANCE
    assert c.phase(pending) is Phase.SYNCING
    c.generation = 2
    assert c.phase(pending) is Phase.STALE


def test_callbacks_run_one_at_a_time_and_move_what_is_owned() -> None:
    c = core()
    c.call(CallbackKind.ASSIGNED, frozenset({("t", 0), ("t", 1)}))
    assert c.owned == {("t", 0), ("t", 1)}
    c.call(CallbackKind.REVOKED, frozenset({("t", 1)}))
    assert len(c.out) == 1
    c.called()
    assert len(c.out) == 2
    assert c.owned == {("t", 0), ("t", 1)}
    c.called()
    assert c.owned == {("t", 0)}
    c.called()
    assert not c.is_calling()


def test_the_first_failure_stays() -> None:
    c = core()
    c.fail("ONE", "one")
    c.fail("TWO", "two")

    assert c.failure == Fail(error="ONE", message="one", fatal=True)
    assert not c.is_taking_part


def test_the_backoff_doubles_up_to_its_bound() -> None:
    assert [core().backoff_ms(failures) for failures in (1, 2, 3, 4, 5, 99)] == [100, 200, 400, 800, 1000, 1000]
    assert core(Policy(retry_factor=0.02)).backoff_ms() == 2
    assert core(retry_backoff_max_ms=1 << 40).backoff_ms(99) == 100 << 16, "a shift by as many bits as there were failures has no bound"


@pytest.mark.parametrize(("policy", "after"), [(Policy(), "i0"), (Policy(instance_id="first-join"), None), (Policy(instance_id="wrong"), "i0-other")])
def test_the_instance_id_is_sent_as_the_policy_has_it(policy: Policy, after: str | None) -> None:
    c = core(policy, instance_id="i0")
    assert c.instance_id == after
    c.member_id = ""
    assert c.instance_id == "i0"


@pytest.mark.parametrize(
    ("answer", "name"),
    [(27, "REBALANCE_IN_PROGRESS"), (9999, "UNKNOWN(9999)"), (Lapse.DISCONNECTED, "DISCONNECTED"), (Lapse.TIMED_OUT, "REQUEST_TIMED_OUT")],
)
def test_answers_are_named_as_kafka_names_them(answer: Answer, name: str) -> None:
    assert answer_named(answer) == name


@pytest.mark.parametrize(("factor", "pause_ms"), [(0.0, 1), (0.5, 50), (1.0, 100)])
def test_a_pause_is_a_millisecond_at_least(factor: float, pause_ms: int) -> None:
    assert core(Policy(retry_factor=factor)).backoff_ms() == pause_ms
