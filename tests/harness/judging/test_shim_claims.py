from __future__ import annotations

from typing import Any

import pytest
from tests.traces import Story

from groupproof.harness.judging.shim_claims import broken_claims, unattributed
from groupproof.harness.running.plans.member_control import DEFAULTS
from groupproof.protocol.vocabulary import Api


def subscribed(client: str = "m0", ignored: tuple[str, ...] = (), **settings: Any) -> Story:
    """Tell of a member that was told its settings and said ok."""
    story = Story()
    story.kit("command", client, command="subscribe", fields={**DEFAULTS, "client_id": client, **settings})
    story.tell("answer", client, id=1, ok=True, ignored=list(ignored))
    return story


def join(story: Story, client: str = "m0", *, version: int = 9, **body: Any) -> None:
    fields = {
        "session_timeout_ms": 6_000,
        "rebalance_timeout_ms": 30_000,
        "group_instance_id": None,
        "protocols": [{"name": "range", "metadata": b""}],
    }
    story.request(Api.JOIN_GROUP, client, version=version, body={**fields, **body})


def test_a_client_that_does_as_its_shim_says_breaks_no_claim() -> None:
    story = subscribed()
    join(story)
    story.beat()

    assert broken_claims(story.trace) == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"session_timeout_ms": 45_000}, "session_timeout_ms: m0 was told 6000, its JoinGroup says 45000"),
        ({"group_instance_id": "i"}, "instance_id: m0 was told None, its JoinGroup says 'i'"),
        ({"protocols": [{"name": "roundrobin"}]}, "assignors: m0 was told ['range'], its JoinGroup says ['roundrobin']"),
    ],
)
def test_what_the_wire_refutes_is_a_broken_claim_and_reported_once(body: dict[str, Any], text: str) -> None:
    story = subscribed()
    join(story, **body)
    join(story, **body)

    assert broken_claims(story.trace) == [text]


def test_what_the_answer_lists_as_ignored_was_not_claimed() -> None:
    story = subscribed(ignored=("session_timeout_ms",))
    join(story, session_timeout_ms=45_000)

    assert broken_claims(story.trace) == []


def test_a_static_member_whose_protocol_version_knows_no_instance_id_lied() -> None:
    story = subscribed(instance_id="i")
    join(story, version=4, group_instance_id="i")

    assert broken_claims(story.trace) == ["instance_id: m0 was told 'i', its JoinGroup says None"]


def test_requests_under_another_client_id_or_for_another_group_refute_the_shim() -> None:
    story = subscribed()
    story.request(Api.FIND_COORDINATOR, "rdkafka")
    story.request(Api.HEARTBEAT, "m0", group="other")

    assert broken_claims(story.trace) == [
        "client_id: requests came as 'rdkafka', which no member was told to be (m0)",
        "group: m0 speaks for group 'other', asked was 'g'",
    ]


def test_what_an_application_of_kafka_streams_has_beside_its_member_goes_by_a_longer_client_id() -> None:
    streams, consumer = subscribed(assignors=["stream"]), subscribed()
    for story in (streams, consumer):
        story.request(Api.FIND_COORDINATOR, "m0-admin")

    assert broken_claims(streams.trace) == []
    assert broken_claims(consumer.trace) == ["client_id: requests came as 'm0-admin', which no member was told to be (m0)"]


def test_before_the_first_callback_nothing_can_be_refuted() -> None:
    story = Story()
    story.request(Api.FIND_COORDINATOR, "somebody")

    assert broken_claims(story.trace) == []


def test_a_paused_member_whose_polls_return_records_lied() -> None:
    story = subscribed()
    story.consume(("t", 0, 0, 9))
    story.kit("command", "m0", command="pause", fields={})
    story.consume(("t", 0, 10, 19))
    story.tell("answer", id=2, ok=True)
    assert broken_claims(story.trace) == []

    story.consume(("t", 0, 20, 29))
    assert broken_claims(story.trace) == ["m0 was paused, yet its polls returned records"]


def test_after_resume_records_may_come_again() -> None:
    story = subscribed()
    for number, command in enumerate(("pause", "resume"), 2):
        story.kit("command", "m0", command=command, fields={})
        story.tell("answer", id=number, ok=True)
    story.consume(("t", 0, 0, 9))

    assert broken_claims(story.trace) == []


def test_a_pause_that_was_refused_claims_nothing() -> None:
    story = subscribed()
    story.kit("command", "m0", command="pause", fields={})
    story.tell("answer", id=2, unimplemented="no")
    story.consume(("t", 0, 0, 9))

    assert broken_claims(story.trace) == []


def test_a_client_that_chooses_its_own_id_as_its_shim_says_did_not_lie_and_its_requests_are_nobodys() -> None:
    story = subscribed(ignored=("client_id",))
    assert unattributed(story.trace) is None

    story.request(Api.FIND_COORDINATOR, "rdkafka")

    assert broken_claims(story.trace) == []
    assert unattributed(story.trace) == "rdkafka"


def test_where_the_id_is_reported_all_requests_have_an_owner() -> None:
    story = subscribed()
    story.request(Api.FIND_COORDINATOR, "rdkafka")

    assert unattributed(story.trace) is None


def claiming(*capabilities: str, ignored: str, **settings: Any) -> list[str]:
    story = Story()
    story.kit("hello", "m0", capabilities=list(capabilities))
    story.kit("command", "m0", command="subscribe", fields={**DEFAULTS, "client_id": "m0", **settings})
    story.tell("answer", "m0", id=1, ok=True, ignored=[ignored])
    return broken_claims(story.trace)


@pytest.mark.parametrize(
    ("capability", "field", "value"),
    [
        ("static", "instance_id", "i0"),
        ("cooperative", "assignors", ["cooperative-sticky"]),
        ("auto-commit", "auto_commit", True),
        ("on-revoked", "on_revoked", {"sleep_ms": 10, "commit": False}),
    ],
)
def test_a_capability_whose_field_is_ignored_was_claimed_falsely(capability: str, field: str, value: Any) -> None:
    assert claiming(capability, ignored=field, **{field: value}) == [f"the shim claims {capability}, yet m0 lists {field} among ignored"]
    assert claiming("classic", ignored=field, **{field: value}) == []


def test_a_field_that_is_not_used_may_be_ignored() -> None:
    assert claiming("cooperative", ignored="assignors", assignors=["range"]) == []
    assert claiming("static", ignored="instance_id") == []
