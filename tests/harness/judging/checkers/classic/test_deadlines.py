from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.harness.judging.checkers.stories import PLANTED, ROOMY, Group, keeping
from tests.traces import Story

from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.classic.invariants import GroupInvariants
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.vocabulary import Api


def broken(story: Story) -> list[Finding]:
    return list(findings_of(GroupInvariants(), story.trace))


def prepares(lasts_ms: float, *, static: bool = False) -> Group:
    """Tell of a join phase by the coordinator's transitions."""
    story = Group()
    story.moves(None, "Empty", 0)
    story.moves("Empty", "PreparingRebalance", 0)
    asked = story.request(Api.JOIN_GROUP, body=dict(ROOMY), instance="i" if static else None)
    story.at(lasts_ms).moves("PreparingRebalance", "CompletingRebalance", 1)
    body = {"member_id": "m0-1", "generation_id": 1, "leader": "m0-1"}
    story.answer(asked, member="m0-1", generation=1, body=body)
    return story


def test_a_join_phase_is_late_beyond_its_deadline_and_a_tenth() -> None:
    (late,) = broken(prepares(33_100))

    assert broken(prepares(32_900)) == []
    assert (late.requirement, late.proof, late.detail) == ("INV-12", Proof.TIMING, "33100 ms, of 30000 at most")


def test_a_group_may_wait_longer_for_its_static_members() -> None:
    assert broken(prepares(50_000, static=True)) == []


def test_what_a_fault_explains_is_not_late() -> None:
    story = Group()
    story.moves(None, "Empty", 0)
    story.moves("Empty", "PreparingRebalance", 0)
    story.request(Api.JOIN_GROUP, body=dict(ROOMY))
    story.fault("hold", "triggered", "delivered")
    story.at(60_000).moves("PreparingRebalance", "CompletingRebalance", 1)

    assert broken(story) == []


def test_a_phase_that_never_ends_is_reported_at_the_end() -> None:
    story = Group()
    story.moves(None, "Empty", 0)
    story.moves("Empty", "PreparingRebalance", 0)
    story.request(Api.JOIN_GROUP, body=dict(ROOMY))
    story.at(70_000).see("timer", group="g", rule="SessionEnd/x")

    assert [finding.requirement for finding in broken(story)] == ["INV-08", "INV-12"]


def test_a_request_whose_connection_ended_is_owed_no_answer() -> None:
    story = keeping()
    story.at(7_000).request(Api.HEARTBEAT, "m0", member="m0-1", generation=2)
    story.see("event", who="link", connection=1, body={"name": "closed", "by": "client"})
    story.at(90_000).see("timer", group="g", rule="SessionEnd/x")

    assert broken(story) == []


def test_a_request_that_was_on_its_way_when_its_connection_ended_is_owed_none_either() -> None:
    story = keeping()
    story.at(7_000).see("event", who="link", connection=1, body={"name": "closed", "by": "client"})
    story.at(7_080).request(Api.HEARTBEAT, "m0", member="m0-1", generation=2, connection=1)
    late = story.request(Api.HEARTBEAT, "m1", member="m1-1", generation=2, connection=2)
    story.at(90_000).see("timer", group="g", rule="SessionEnd/x")

    (owed,) = broken(story)
    assert (owed.requirement, owed.seq) == ("INV-08", late.seq)


@pytest.mark.parametrize("way", ["silent", "left", "left by an administrator", "broken connection", "other broker", "replaced", "wrong instance"])
def test_a_member_that_is_refused_for_a_reason_was_not_evicted_early(way: str) -> None:
    story = keeping()
    story.at(7_000).beat("m1", member="m1-1", generation=2, connection=2)
    if way == "left":
        story.leave("m1", member="m1-1")
    elif way == "left by an administrator":
        story.exchange(Api.LEAVE_GROUP, "admin", connection=9, body={"members": [{"member_id": "m1-1"}]})
    elif way == "broken connection":
        story.see("event", who="link", connection=1, body={"name": "closed", "by": "broker"})
    story.at(18_000 if way == "silent" else 9_000)
    if way == "replaced":
        story = Group()
        for member in ("m1-1", "m1-2"):
            asked = story.request(Api.JOIN_GROUP, "m1", body=dict(ROOMY), instance="i", connection=2)
            story.answer(asked, member=member, generation=1, body={"member_id": member, "generation_id": 1, "leader": "m1-1"})
    instance = "i9" if way == "wrong instance" else None
    story.beat("m1", member="m1-1", generation=2, connection=2, error=25, node=1 if way == "other broker" else 0, instance=instance)

    assert broken(story) == []


def moved(*, is_loaded: bool, beats: bool = True) -> Story:
    """Tell of a group that another broker has taken over, of which m1 was none any more, though its Heartbeat was answered without error."""
    story = keeping()
    story.at(20_000).moves("Stable", "Dead", 2, rule="Unloaded/Stable/unloaded")
    story.at(30_000).beat("m1", member="m1-1", generation=2, connection=2, node=1)
    if is_loaded:
        story.exchange(Api.SYNC_GROUP, "m0", member="m0-1", generation=2, node=1)
    if beats:
        story.at(32_000).beat("m1", member="m1-1", generation=2, connection=2, node=1)
    story.at(34_000).beat("m1", member="m1-1", generation=2, connection=2, node=1, error=25)
    return story


def test_what_a_loading_coordinator_answers_to_heartbeats_keeps_nobody_in_the_group() -> None:
    assert broken(moved(is_loaded=False)) == []
    assert broken(moved(is_loaded=True, beats=False)) == []
    assert [finding.requirement for finding in broken(moved(is_loaded=True))] == ["HB-11"]


@pytest.mark.parametrize(
    ("way", "is_blamed"),
    [
        ("a commit of nothing", False), ("a refusal for the session timeout", False), ("a Heartbeat", False), ("nothing but faults", True),
        ("a commit", True), ("a refused Heartbeat", True),
    ],
)  # fmt: skip
def test_a_broker_that_ended_a_connection_may_load_until_it_answers_what_a_loading_one_would_not(way: str, is_blamed: bool) -> None:
    story = keeping()
    by = "fault" if way == "nothing but faults" else "upstream"
    story.at(7_000).see("event", who="link", connection=9, body={"name": "closed", "by": by})
    if way == "a commit of nothing":
        story.commit(member="m0-1", generation=2)
    elif way == "a commit":
        story.exchange(Api.OFFSET_COMMIT, member="m0-1", generation=2, offsets=(("t", 0, 6),))
    elif way == "a refusal for the session timeout":
        story.join("m2", gets="", error=26, generation=-1)
    else:
        story.beat("m0", member="m0-1", generation=1, error=22 if way == "a refused Heartbeat" else 0)
    story.at(8_000).beat("m1", member="m1-1", generation=2, connection=2)
    story.at(9_000).beat("m1", member="m1-1", generation=2, connection=2, error=25)

    assert [finding.requirement for finding in broken(story)] == ["HB-11"] * is_blamed


def test_the_eviction_is_reported_with_its_figures() -> None:
    (found,) = broken(PLANTED["HB-11"]())

    assert found.detail == "m1-1, heard of 2000 ms before, of 10000 allowed"


def test_a_join_that_is_answered_at_once_restarts_no_session() -> None:
    story = keeping()
    for ms in (8_000, 11_000, 14_000):
        story.at(ms).enter("m1", "m1-1", 2, connection=2)
    story.at(16_000).beat("m1", member="m1-1", generation=2, connection=2, error=25)

    assert broken(story) == []


def rejoins(story: Group, *, leader: str = "m0-1", members: tuple[str, ...] = ()) -> Group:
    """Tell of two members that join again, and wait longer than either asked for."""
    asked = {name: story.request(Api.JOIN_GROUP, name, member=f"{name}-1", connection=int(name[1]) + 1, body=dict(ROOMY)) for name in ("m0", "m1")}
    story.at(story.trace[-1].at_ms + 50_000)
    for name, request in asked.items():
        listed = [{"member_id": member} for member in members] if f"{name}-1" == leader else []
        story.answer(
            request, member=f"{name}-1", generation=3, body={"member_id": f"{name}-1", "generation_id": 3, "leader": leader, "members": listed}
        )
    return story


def of_generation(first: int) -> Group:
    story = Group()
    story.rebalance(first, 0)
    return story


def test_a_group_whose_members_were_all_seen_is_late() -> None:
    assert [finding.requirement for finding in broken(rejoins(keeping(), members=("m0-1", "m1-1")))] == ["INV-12", "INV-12"]


@pytest.mark.parametrize(
    "story",
    [
        lambda: rejoins(keeping(), members=("m0-1", "m1-1", "x-1")), lambda: rejoins(keeping(), leader="x-1"), lambda: rejoins(of_generation(2)),
    ],
    ids=["one is listed that did not come through the tap", "one leads that did not", "the beginning was not seen"],
)  # fmt: skip
def test_a_member_that_nobody_saw_join_may_have_a_longer_timeout(story: Callable[[], Group]) -> None:
    assert broken(story()) == []


def test_where_a_later_request_of_the_connection_was_answered_an_answer_was_not_recorded() -> None:
    story = keeping()
    story.at(7_000).request(Api.HEARTBEAT, "m1", member="m1-1", generation=2, connection=2)
    owed = story.request(Api.HEARTBEAT, "m0", member="m0-1", generation=2, connection=1)
    story.at(60_000).beat("m1", member="m1-1", generation=2, connection=2)

    assert [finding.seq for finding in broken(story)] == [owed.seq]


def test_by_a_clock_that_was_set_back_nobody_was_evicted_early() -> None:
    story = keeping()
    story.at(90_000).beat("m1", member="m1-1", generation=2, connection=2)
    story.at(101_000).beat("m1", member="m1-1", generation=2, connection=2, error=25)
    assert broken(story) == []

    story.trace[-2:] = [replace(obs, at_ns=obs.at_ns - 60_000_000_000) for obs in story.trace[-2:]]
    assert broken(story) == []

    story.trace.insert(-1, replace(story.trace[-2], kind="event", who="link", api=None, correlation=None, body={"name": "closed", "by": "tap"}))
    assert broken(story) == []


@pytest.mark.parametrize(("syncs", "invariants"), [(False, []), (True, ["HB-11"])])
def test_heartbeats_keep_nobody_in_the_group_who_owes_its_sync(syncs: bool, invariants: list[str]) -> None:
    story = Group()
    story.enter("m0", "m0-1", 1, connection=1)
    for ms in (3_000, 6_000, 9_000):
        story.at(ms)
        if syncs and ms == 6_000:
            story.assigned("m0", "m0-1", 1, ("t", 0), connection=1)
        story.beat("m0", member="m0-1", generation=1)
    story.at(12_000).beat("m0", member="m0-1", generation=1, error=25)

    assert [finding.requirement for finding in broken(story)] == invariants
