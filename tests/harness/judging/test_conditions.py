from __future__ import annotations

import pytest
from tests.traces import Story

from groupproof.harness.judging.conditions import Watcher, describe, marks_of, watch
from groupproof.harness.model.plan import Condition, Matches, Stable
from groupproof.protocol.vocabulary import Api, TopicPartition

MEMBERS = frozenset({"m0", "m1"})
T0, T1 = ("t", 0), ("t", 1)


def holds_at(condition: Condition, story: Story) -> int | None:
    """Return the `seq` at which the condition first holds."""
    watcher: Watcher = watch(condition, MEMBERS)
    return next((obs.seq for obs in story.trace if watcher.feed(obs)), None)


def add_callback(story: Story, name: str, *partitions: TopicPartition, client: str = "m0") -> None:
    """Tell of a callback as the driver records it: with the partitions in their column."""
    story.see("event", who="shim", client=client, body={"name": f"partitions_{name}"}, partitions=partitions)


def stable(story: Story, generation: int = 1) -> None:
    story.see("transition", group="g", state_after="Stable", generation=generation)


def test_as_many_observations_as_asked_for_must_match_every_column() -> None:
    story = Story()
    story.beat(error=27)
    story.beat("m1", error=27)
    story.beat(error=0)
    last = story.beat(error=27)

    condition = Matches(kind_of="response", api="Heartbeat", client="m0", error=27, count=2)

    assert holds_at(condition, story) == last.seq + 1


def test_events_are_named_and_their_fields_compared_by_path() -> None:
    story = Story()
    story.tell("offsets_committed", success=False)
    story.kit("offsets_committed", "m0", success=True)
    wanted = story.tell("offsets_committed", success=True, place={"topic": "t"})

    condition = Matches(kind_of="event", event="offsets_committed", where={"success": True, "place.topic": "t"})

    assert holds_at(condition, story) == wanted.seq


def test_a_path_through_a_list_holds_for_any_of_its_items() -> None:
    """Java reports the records of both partitions in one event, and other clients each record in its own."""
    story = Story()
    story.mark("back")
    first = story.consume(("t", 0, 10, 10))
    story.consume(("t", 0, 11, 11))
    both = story.consume(("t", 0, 12, 19), ("t", 1, 10, 19))

    of_first, of_second = (Matches(kind_of="event", event="records_consumed", where={"partitions.partition": number}) for number in (0, 1))

    assert (holds_at(of_first, story), holds_at(of_second, story)) == (first.seq, both.seq)
    assert holds_at(Matches(kind_of="event", event="records_consumed", where={"partitions.partition": 2}), story) is None


def test_what_came_before_a_mark_does_not_count_after_it() -> None:
    story = Story()
    story.beat()
    story.mark("now")
    beat = story.beat()

    assert holds_at(Matches(kind_of="request", api="Heartbeat", after="now"), story) == beat.seq
    assert holds_at(Matches(kind_of="request", api="Heartbeat", after="never"), story) is None


def test_after_a_fault_reaches_back_to_its_trigger_once_it_is_delivered() -> None:
    """The client acts as soon as it has the bytes, and the receipt is written a moment later."""
    story = Story()
    story.beat()
    story.fault("error", "armed", "triggered")
    story.find()
    story.fault("error", "delivered")

    assert holds_at(Matches(kind_of="request", api=Api.FIND_COORDINATOR.title, after="error"), story) == story.trace[-1].seq
    assert holds_at(Matches(kind_of="request", api=Api.HEARTBEAT.title, after="error"), story) is None


def test_a_fault_without_a_stage_means_its_delivery() -> None:
    story = Story().fault("error")

    assert holds_at(Matches(kind_of="fault", fault="error"), story) == 2
    assert holds_at(Matches(kind_of="fault", fault="error", where={"stage": "armed"}), story) == 0


def test_a_group_is_stable_once_every_member_has_synced_and_knows_its_partitions() -> None:
    story = Story()
    story.join("m0", generation=1)
    story.join("m1", gets="m1-1", generation=1, leader="m0-1")
    story.sync("m0", generation=1)
    story.sync("m1", member="m1-1", generation=1)
    stable(story)
    add_callback(story, "assigned", T0)
    assert holds_at(Stable(members=("m0",)), story) == story.trace[-1].seq
    assert holds_at(Stable(members=("m0", "m1")), story) is None

    add_callback(story, "assigned", T1, client="m1")
    assert holds_at(Stable(members=("m0", "m1")), story) == story.trace[-1].seq


def test_a_newer_generation_asks_for_everything_again() -> None:
    story = Story()
    story.join(generation=1)
    story.sync(generation=1)
    add_callback(story, "assigned", T0)
    story.join(generation=2)
    stable(story, generation=2)
    assert holds_at(Stable(members=("m0",)), story) is None

    story.sync(generation=2)
    add_callback(story, "assigned", T0)
    assert holds_at(Stable(members=("m0",)), story) == story.trace[-1].seq


def test_a_callback_may_be_recorded_before_the_answer_that_caused_it() -> None:
    story = Story()
    story.join(generation=1)
    request = story.request(Api.SYNC_GROUP, member="m0-1", generation=1)
    add_callback(story, "assigned", T0)
    answer = story.answer(request)
    stable(story)

    assert holds_at(Stable(members=("m0",)), story) == answer.seq + 1


def test_stable_after_a_mark_needs_a_sync_and_a_callback_after_it() -> None:
    story = Story()
    story.join(generation=1)
    story.sync(generation=1)
    add_callback(story, "assigned", T0)
    stable(story)
    story.mark("later")
    assert holds_at(Stable(members=("m0",), after="later"), story) is None

    story.see("transition", group="g", state_after="PreparingRebalance", generation=1)
    story.join(generation=2)
    story.sync(generation=2)
    add_callback(story, "assigned", T0)
    stable(story, generation=2)
    assert holds_at(Stable(members=("m0",), after="later"), story) == story.trace[-1].seq


def test_a_cooperative_member_that_keeps_what_it_has_need_not_be_called_again() -> None:
    story = Story()
    story.join(generation=1, protocol="cooperative-sticky")
    story.sync(generation=1, gets=[T0, T1])
    add_callback(story, "assigned", T0, T1)
    story.join(generation=2, protocol="cooperative-sticky")
    story.sync(generation=2, gets=[T0])
    stable(story, generation=2)
    assert holds_at(Stable(members=("m0",), after=None), story) is None

    add_callback(story, "revoked", T1)
    assert holds_at(Stable(members=("m0",)), story) == story.trace[-1].seq


def test_an_eager_member_must_be_called_again_even_for_the_same_partitions() -> None:
    story = Story()
    for generation in (1, 2):
        story.join(generation=generation)
        story.sync(generation=generation, gets=[T0])
        if generation == 1:
            add_callback(story, "assigned", T0)
    stable(story, generation=2)

    assert holds_at(Stable(members=("m0",)), story) is None


def test_a_member_that_reports_no_partitions_is_not_waited_for() -> None:
    story = Story()
    story.join("x0", gets="x0-1", generation=1)
    story.sync("x0", member="x0-1", generation=1)
    stable(story)

    assert holds_at(Stable(members=("x0",)), story) == story.trace[-1].seq


def test_a_group_that_is_not_stable_is_not() -> None:
    story = Story()
    story.join(generation=1)
    story.sync(generation=1)
    add_callback(story, "assigned", T0)
    story.see("transition", group="g", state_after="PreparingRebalance", generation=1)

    assert holds_at(Stable(members=("m0",)), story) is None


def test_instants_have_the_names_of_marks_and_of_delivered_faults() -> None:
    story = Story().mark("here").fault("error")

    assert [marks_of(obs) for obs in story.trace] == ["here", None, None, "error"]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Stable(members=("m0", "m1"), after="x"), "group stable with m0, m1 after x"),
        (Matches(kind_of="request", api="JoinGroup", client="m0", count=2), "2 × request client=m0 api=JoinGroup"),
        (Matches(kind_of="fault", fault="slow", where={"stage": "armed"}, after="m"), "fault fault=slow stage=armed after m"),
        (Matches(kind_of="response", error=0), "response error=0"),
    ],
)
def test_a_condition_reads_as_a_reader_of_a_report_wants_it(condition: Condition, words: str) -> None:
    assert describe(condition) == words


def test_what_an_eager_assignment_does_not_name_is_gone_when_a_cooperative_one_follows() -> None:
    """An eager assignment replaces: else the cooperative one after it would never be all that the application knows."""
    story = Story()
    add_callback(story, "assigned", T0, T1)
    add_callback(story, "assigned", T0)
    story.join(protocol="cooperative-sticky")
    story.sync(gets=[T0])
    stable(story)

    assert holds_at(Stable(members=("m0",)), story) is not None


@pytest.mark.requirement("CLIENT-48")
@pytest.mark.parametrize("name", ["kill", "exit"])
def test_a_group_is_not_stable_with_a_member_that_is_gone(name: str) -> None:
    story = Story().member(gets=[T0])
    add_callback(story, "assigned", T0)
    story.kit(name, "m0")
    stable(story)

    assert holds_at(Stable(members=("m0",)), story) is None


def test_a_callback_of_a_loads_member_counts_like_a_shims() -> None:
    story = Story().member(gets=[T0])
    event = story.see("event", who="member", client="m0", body={"name": "partitions_assigned"}, partitions=(T0,))

    assert holds_at(Matches(kind_of="event", event="partitions_assigned"), story) == event.seq
