from __future__ import annotations

from typing import Any

import pytest
from tests.traces import Written

from groupproof.harness.model.evidence import NotReached
from groupproof.protocol.vocabulary import Api


class Story(Written):
    """A trace written line by line; these return the observation's `seq`."""

    def frame(self, kind: str, api: str, correlation: int, **columns: Any) -> int:
        return self.see(kind, api=api, connection=1, correlation=correlation, client="m0", **columns).seq

    def fault(self, name: str, stage: str) -> int:
        return self.see("fault", fault=name, detail=stage).seq

    def link(self, name: str, correlation: int) -> int:
        return self.see("event", who="link", connection=1, correlation=correlation, body={"name": name}).seq


def test_a_request_its_taking_up_and_its_answer_are_joined_by_connection_and_correlation() -> None:
    story = Story()
    story.frame("request", "Heartbeat", 1)
    processing = story.frame("processed", "Heartbeat", 1)
    answered = story.frame("response", "Heartbeat", 1, error=27)
    story.frame("request", "Heartbeat", 2)

    first, second = story.evidence.requests(Api.HEARTBEAT)

    assert [obs and obs.seq for obs in (story.evidence.processing(first), story.evidence.answer(first))] == [processing, answered]
    assert story.evidence.answer(second) is None
    assert story.evidence.processing(second) is None


def test_an_answer_that_never_left_is_none() -> None:
    story = Story()
    story.frame("request", "SyncGroup", 1)
    story.frame("response", "SyncGroup", 1, error=0)
    story.link("unsent", 1)

    (request,) = story.evidence.requests(Api.SYNC_GROUP)

    assert story.evidence.answer(request) is None
    assert story.evidence.responses(Api.SYNC_GROUP) == []


def test_an_instant_is_a_mark_or_the_trigger_that_led_to_the_first_delivery() -> None:
    story = Story()
    mark = story.kit("mark", mark="paused").seq
    story.fault("lost", "armed")
    trigger = story.fault("lost", "triggered")
    story.fault("lost", "delivered")

    assert story.evidence.at(None) == -1
    assert story.evidence.at("paused") == mark
    assert story.evidence.at("lost") == trigger
    assert story.evidence.reached("lost")


def test_what_was_triggered_and_never_delivered_was_not_reached_and_the_timeout_is_reported() -> None:
    story = Story()
    story.fault("lost", "triggered")
    story.kit("timeout", waiting="a Heartbeat of m0")

    assert not story.evidence.reached("lost")
    with pytest.raises(NotReached, match="lost was never reached: a Heartbeat of m0"):
        story.evidence.at("lost")


def test_between_two_instants_means_without_them() -> None:
    story = Story()
    story.frame("request", "Heartbeat", 1)
    story.kit("mark", mark="from")
    within = story.frame("request", "Heartbeat", 2)
    story.kit("mark", mark="to")
    story.frame("request", "Heartbeat", 3)

    assert [obs.seq for obs in story.evidence.requests(Api.HEARTBEAT, "m0", "from", "to")] == [within]
    assert len(story.evidence.requests(Api.HEARTBEAT, after=within)) == 1
    assert story.evidence.requests(Api.JOIN_GROUP) == []


def test_events_are_the_shims_by_name_and_member() -> None:
    story = Story()
    mine = story.tell("partitions_assigned", "m0").seq
    story.tell("partitions_assigned", "m1")
    story.kit("partitions_assigned")

    assert [obs.seq for obs in story.evidence.events("partitions_assigned", "m0")] == [mine]


def test_the_clean_close_begins_where_the_driver_ends_the_plan_or_never() -> None:
    story = Story()
    story.frame("request", "Heartbeat", 1)
    assert story.evidence.closing == 1

    assert story.kit("end").seq == story.evidence.closing


def test_member_ids_are_reported_in_order_without_repeats() -> None:
    story = Story()
    for correlation, member in enumerate(["m0-1", "m0-1", "", "m0-2"]):
        story.frame("response", "JoinGroup", correlation, member=member)

    assert story.evidence.member_ids("m0") == ["m0-1", "m0-2"]
    assert story.evidence.member_ids("m1") == []


def test_receipts_are_reported_by_stage() -> None:
    story = Story()
    story.fault("lost", "armed")
    delivered = story.fault("lost", "delivered")
    story.fault("other", "delivered")

    assert len(story.evidence.receipts("lost")) == 2
    assert [obs.seq for obs in story.evidence.receipts("lost", "delivered")] == [delivered]
