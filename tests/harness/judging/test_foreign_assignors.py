"""A client that has none of the others' assignors keeps them out of its group, unless its shim can set them, or the two never meet."""

from __future__ import annotations

import pytest
from tests.traces import Story

from groupproof.harness.judging.foreign_assignors import ForeignAssignors, shared_assignors
from groupproof.harness.model.plan import Member, Plan
from groupproof.harness.model.plan_builders import reference_peer, subject
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

SHARED = {"m0": frozenset({"range"})}
LACK = "the shim of m0 does not set assignors, and m0 does not offer range, which others in its group have"


def plan_with(*members: Member) -> Plan:
    return Plan(members=members, steps=())


@pytest.mark.parametrize(("members", "shared"), [
    ((subject(),), {}),
    ((subject(), subject("m1")), {}),
    ((subject(), reference_peer()), {"m0": {"range"}}),
    ((subject(assignors=["roundrobin", "range"]), reference_peer()), {"m0": {"range"}}),
    ((subject(), reference_peer(assignors=["sticky", "range"])), {"m0": {"range"}}),
    ((subject(assignors=["range"]), reference_peer(assignors=["roundrobin"])), {}),  # the case wants them to be apart
])  # fmt: skip
def test_what_a_subject_shall_share_is_what_it_and_the_others_are_to_offer(members: tuple[Member, ...], shared: dict[str, set[str]]) -> None:
    assert shared_assignors(plan_with(*members)) == shared


def meeting(*, ignored: tuple[str, ...] = ("assignors",), offers: str = "consumer", refused: str = "a0", made_up: bool = False) -> list[Observation]:
    """Return the trace of a client that joins with one protocol, and of a refusal."""
    story = Story()
    story.see("event", who="kit", client="m0", body={"name": "command", "command": "subscribe", "fields": {"assignors": ["range"]}})
    story.see("event", who="shim", client="m0", body={"name": "answer", "id": 1, "ok": True, "ignored": list(ignored)})
    story.join(protocol=offers)
    request = story.request(Api.JOIN_GROUP, refused)
    if made_up:
        story.see("fault", detail="triggered", connection=request.connection, correlation=request.correlation)
    story.answer(request, error=23)
    return story.trace


def words(trace: list[Observation]) -> list[str]:
    foreign = ForeignAssignors(SHARED)
    return [foreign.feed(obs) for obs in trace]


@pytest.mark.parametrize("refused", ["m0", "a0"])
def test_the_first_refusal_says_it_whomever_it_meets(refused: str) -> None:
    lacks = words(meeting(refused=refused))

    assert lacks[:-1] == [""] * (len(lacks) - 1)
    assert lacks[-1] == LACK


def test_what_the_shim_ignores_may_come_to_light_after_the_refusal() -> None:
    subscribe, answer, *frames = meeting()

    assert words([subscribe, *frames, answer])[-2:] == ["", LACK]


@pytest.mark.parametrize("trace", [meeting(ignored=()), meeting(offers="range"), meeting(made_up=True), meeting()[:-1]])
def test_a_client_that_can_be_set_or_shares_one_or_meets_nobody_keeps_nobody_out(trace: list[Observation]) -> None:
    assert set(words(trace)) == {""}
