from __future__ import annotations

import pytest

from groupproof.harness.model.script import Ask, AssignmentBytes, AwaitAnswer, Group, Ref, Topic
from groupproof.harness.model.script_builders import beat, commit, fetch, joined, leave, stable, sync
from groupproof.protocol.vocabulary import Api, ErrorCode


def test_a_newcomer_asks_for_its_id_before_it_joins() -> None:
    first, second = joined("a")

    assert isinstance(first, Ask)
    assert isinstance(second, Ask)
    assert (first.wait, first.code, first.label) == (True, ErrorCode.MEMBER_ID_REQUIRED, "id a")
    assert (second.wait, second.label) == (False, "join a")
    assert first.fields == second.fields


@pytest.mark.parametrize("options", [{"instance": "i"}, {"version": 3}])
def test_a_member_that_needs_no_id_joins_at_once(options: dict[str, object]) -> None:
    (only,) = joined("a", **options)

    assert isinstance(only, Ask)
    assert only.api is Api.JOIN_GROUP


def test_what_a_request_asks_is_overridden_by_kafkas_names_and_how_it_is_sent_by_the_steps() -> None:
    ask = beat("a", generation_id=Ref("a", "generation", 1), code=22, over="a/2")

    assert (ask.fields["generation_id"], ask.fields["group_id"]) == (Ref("a", "generation", 1), Group())
    assert (ask.code, ask.over, ask.label) == (22, "a/2", "beat a")


def test_a_leader_gives_each_member_its_partitions_and_a_follower_gives_none() -> None:
    assert sync("a").fields["assignments"] == ()
    assert sync("a", {"b": [("t", 1)]}).fields["assignments"] == ({"member_id": Ref("b", "member_id"), "assignment": AssignmentBytes((("t", 1),))},)


def test_commits_and_fetches_are_of_partitions_by_topic() -> None:
    topics = commit("a", {("t", 0): 5, ("t", 1): 6}).fields["topics"]

    assert [topic["name"] for topic in topics] == [Topic("t")]
    assert [partition["committed_offset"] for partition in topics[0]["partitions"]] == [5, 6]
    assert fetch("a", everything=True).fields["groups"][0]["topics"] is None


def test_the_member_itself_leaves_unless_others_are_named() -> None:
    assert leave("a").fields["members"] == ({"member_id": Ref("a", "member_id"), "group_instance_id": None},)
    assert leave("a", members=({"member_id": "x"},)).fields["members"] == ({"member_id": "x"},)


def test_a_stable_group_is_led_by_the_first_and_every_member_joined_each_generation() -> None:
    steps = stable("a", "b")
    joins = [step.member for step in steps if isinstance(step, Ask) and step.label.startswith("join")]
    synced = [step.label for step in steps if isinstance(step, AwaitAnswer) and step.label.startswith("sync")]

    assert joins == ["a", "b", "a"]
    assert synced == ["sync b"]
