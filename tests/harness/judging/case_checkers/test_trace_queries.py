from __future__ import annotations

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.case_checkers import trace_queries
from groupproof.harness.judging.checkers import frame_facts
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.protocol.vocabulary import Api


def test_an_id_handed_out_with_79_is_given_without_a_generation() -> None:
    story = Story()
    story.join(gets="m0-pending", generation=-1, error=79)
    story.join(member="m0-pending", gets="m0-pending", generation=4)

    memberships = trace_queries.memberships_given(Evidence(story.trace), "m0")

    assert [(assignment.member, assignment.generation, assignment.is_leader) for assignment in memberships] == [
        ("m0-pending", -1, False),
        ("m0-pending", 4, True),
    ]


def test_an_answer_that_refuses_gives_nothing() -> None:
    story = Story()
    story.join(gets="", error=25)

    assert trace_queries.memberships_given(Evidence(story.trace), "m0") == []
    assert trace_queries.newest(Evidence(story.trace), "m0") is None


def test_a_sync_follows_the_join_of_its_member_and_generation() -> None:
    story = Story()
    story.join(generation=1)
    story.join(member=ID, generation=2)
    stray, good = story.sync(generation=7), story.sync(generation=2)
    ev = Evidence(story.trace)

    assert trace_queries.origin(ev, "m0", stray) is None
    assert (found := trace_queries.origin(ev, "m0", good)) is not None
    assert found.generation == 2


def test_a_sync_of_a_generation_that_is_counted_again_soon_after_follows_the_one_that_was_answered_by_then() -> None:
    story = Story()
    story.join(generation=2, leader="m1-1")
    sync = story.sync(generation=2, error=16)
    story.at(90).join(member=ID, generation=2)
    again = story.sync(generation=2)
    ev = Evidence(story.trace)

    assert (first := trace_queries.origin(ev, "m0", sync)) is not None
    assert (second := trace_queries.origin(ev, "m0", again)) is not None
    assert (first.is_leader, second.is_leader) == (False, True)


def test_an_answer_recorded_a_moment_after_the_request_that_it_caused_was_known() -> None:
    story = Story()
    request = story.at(100).request(Api.SYNC_GROUP)
    soon, later = story.at(150).beat(), story.at(400).beat()

    assert frame_facts.knew(soon, request)
    assert not frame_facts.knew(later, request)


def test_what_a_leader_assigns_is_read_from_its_blobs_and_garbage_assigns_nothing() -> None:
    story = Story()
    sync = story.sync(assigns={ID: [("t", 0)], "m1-1": []})
    sync.body["assignments"].append({"member_id": "m2-1", "assignment": b"\x00"})

    assert frame_facts.assignments_of(sync) == {ID: (("t", 0),), "m1-1": (), "m2-1": ()}


def test_the_subscriptions_of_a_leaders_answer_are_read_by_member() -> None:
    story = Story()
    story.join(members={ID: ["t"], "m1-1": ["t", "u"]})

    assert {member: subscription.topics for member, subscription in frame_facts.subscriptions_of(story.trace[-1]).items()} == {
        ID: ("t",),
        "m1-1": ("t", "u"),
    }
    assert (own := frame_facts.subscription_of(story.trace[0])) is not None
    assert own.topics == ("t",)


def test_offsets_that_the_driver_asked_for_are_distinguished_from_the_clients_own() -> None:
    story = Story()
    story.kit("command", "m0", command="commit", fields={"mode": "sync", "offsets": [["t", 0, 5]]})
    story.kit("command", "m1", command="commit", fields={"offsets": [["t", 1, 6]]})

    assert trace_queries.explicit_offsets(Evidence(story.trace), "m0") == {("t", 0, 5)}


@pytest.mark.parametrize(("name", "body"), [("error", {"error": "X"}), ("answer", {"error": "X"})])
def test_an_application_gets_a_report_by_an_error_event_or_by_a_commands_error(name: str, body: dict[str, str]) -> None:
    story = Story().mark("since")
    story.tell("answer", ok=True)
    report = story.tell(name, **body)
    story.end()

    assert trace_queries.surfaced(Evidence(story.trace), "m0", "since") == report
    assert trace_queries.surfaced(Evidence(story.trace), "m1", "since") is None


def test_the_clients_are_those_that_spoke_to_a_group() -> None:
    story = Story()
    story.exchange(Api.METADATA, "m7")
    story.find("m1")
    story.beat("m0")

    assert trace_queries.clients(Evidence(story.trace)) == ["m1", "m0"]


def test_a_moment_that_was_never_reached_says_so() -> None:
    with pytest.raises(NotReached):
        trace_queries.moment(Evidence(Story().end().trace), "never")


def test_an_instance_id_is_read_from_wherever_the_request_has_it() -> None:
    story = Story()
    left = story.request(Api.LEAVE_GROUP, body={"members": [{"member_id": ID, "group_instance_id": "i0"}]})

    assert frame_facts.instance_of(story.join(instance="i0")) == "i0"
    assert frame_facts.instance_of(left) == "i0"
    assert frame_facts.instance_of(story.beat()) is None


def test_the_absence_of_a_report_counts_only_where_the_program_could_have_made_one() -> None:
    quiet, mute, tells = Story(), Story(), Story()
    for story in (mute, tells):
        story.kit("hello", "m0", capabilities=["classic"], level=0, unreported=["error"])
    report = tells.tell("error", error="X", message="", fatal=False)

    assert trace_queries.report_due(quiet.evidence, "m0", None) is None
    assert trace_queries.report_due(tells.evidence, "m0", None) == report
    assert trace_queries.surfaced(mute.evidence, "m0", None) is None
    with pytest.raises(NotOffered):
        trace_queries.report_due(mute.evidence, "m0", None)


@pytest.mark.parametrize(("name", "fatal", "tells"), [("error", True, True), ("answer", True, True), ("error", False, False)])
def test_an_application_knows_of_the_end_by_a_fatal_error(name: str, fatal: bool, tells: bool) -> None:
    story = Story()
    word = story.tell(name, error="X", fatal=fatal)

    assert trace_queries.reported_end(story.evidence, "m0", -1) == (word if tells else None)
