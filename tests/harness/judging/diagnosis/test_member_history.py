"""What a request shows depends on what is known of its member."""

from __future__ import annotations

from tests.harness.judging.diagnosis.making import Story

from groupproof.harness.judging.diagnosis.member_history import Membership, Sign


def _signs(story: Story) -> list[Sign]:
    members = Membership()
    return [sign for obs in story.trace for sign in members.feed(obs)]


def _named(story: Story) -> list[tuple[str, str | None]]:
    return [(sign.name, sign.member) for sign in _signs(story)]


def test_a_dynamic_member_that_only_asks_for_an_id_is_not_new_yet() -> None:
    story = Story()
    story.answer(1, story.join(0, "m0"), error=79, member="a-1")
    story.join(2, "m0", "a-1")

    assert _named(story) == [("new", "a-1")]


def test_before_kip_394_a_join_without_an_id_is_a_new_member() -> None:
    story = Story()
    asked = story.join(0, "m0", version=2)
    story.joined(1, asked, "a-1", 1, "a-1")
    members = Membership()
    signs = [sign for obs in story.trace for sign in members.feed(obs)]

    assert [sign.name for sign in signs] == ["new"]
    assert members.new_ids[signs[0].asked] == "a-1"


def test_a_changed_list_of_topics_is_a_changed_subscription() -> None:
    story = Story()
    story.settle(0, {"a-1": "m0", "b-1": "m1"}, 1, "a-1")
    story.join(100, "m1", "b-1", topics=("t", "u"))
    story.join(200, "m1", "b-1", topics=("t", "u"))
    story.join(300, "m0", "a-1")

    assert _named(story)[2:] == [("subscription", "b-1"), ("again", "b-1"), ("leader-again", "a-1")]


def test_a_static_member_that_comes_without_its_id_replaces_itself() -> None:
    story = Story()
    story.settle(0, {"a-1": "m0"}, 1, "a-1", instance="i")
    story.join(100, "m0", instance="i")

    assert _named(story)[-1] == ("replaced", "a-1")


def test_a_leave_for_another_or_a_static_member_removes_it() -> None:
    story = Story()
    story.settle(0, {"a-1": "m0", "b-1": "m1"}, 1, "a-1")
    story.ask(100, "LeaveGroup", "m9", body={"members": ({"member_id": "b-1", "reason": "stuck"},)})
    story.ask(200, "LeaveGroup", "m0", body={"members": ({"member_id": "a-1"},)})

    assert _named(story)[2:] == [("removed", "b-1"), ("left", "a-1")]
    assert _signs(story)[2].reason == "stuck"


def test_a_member_that_leaves_on_its_own_connection_has_left() -> None:
    story = Story()
    story.settle(0, {"a-1": "m0", "b-1": "m1"}, 1, "a-1")
    story.ask(100, "LeaveGroup", "m1", member="b-1", version=0, connection=77)
    story.ask(200, "LeaveGroup", "m1", connection=78, body={"members": ({"member_id": "a-1"},)})

    assert _named(story)[2:] == [("left", "b-1"), ("removed", "a-1")], "kafka-go leaves so; who takes out another's member removes it"


def test_a_topic_that_grows_is_noticed_by_who_asks_for_metadata_again() -> None:
    story = Story()
    for ms, count in ((0, 3), (100, 3), (200, 10)):
        story.answer(ms + 1, story.ask(ms, "Metadata", "m0"), body={"topics": [{"name": "t", "partitions": count}]})

    assert [(sign.name, sign.topic, sign.at_ms) for sign in _signs(story)] == [("topics", "t", 201)]


def test_a_member_known_by_its_id_alone_is_called_by_what_the_id_begins_with() -> None:
    members = Membership()

    assert members.client_of("orders-0dfaaeb3-2a54-4f7c-9c1b-1f6e0d6a5a11") == "orders"
    assert members.client_of(None) is None
