from __future__ import annotations

from typing import Any

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed

from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.judging.oracle.open_fields import OPEN_FIELDS
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.trace import Trace
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import DescribeGroupsRequest

PROFILE = "kafka-4.4"
NOTHING: dict[str, Any] = {"topic_partitions": []}


def heartbeats(**second: Any) -> Trace:
    """A member joins without a topic, beats with `second`, and beats on."""
    recording = Recording(PROFILE)
    joins: dict[str, Any] = {"member_epoch": 0, "rebalance_timeout_ms": 10_000, "subscribed_topic_names": (), "topic_partitions": ()}
    for label, fields in (("join", joins), ("second", {"member_epoch": 1, **second}), ("third", {"member_epoch": 1})):
        recording.ask("a", ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", **fields), version=1, label=label)
        recording.wait(10)
    return recording.end()


def findings(trace: Trace, profile: str = PROFILE) -> list[Finding]:
    return findings_of(trace, profile=profile, settings=SETTINGS)


@pytest.mark.parametrize("says", [{"topic_partitions": ()}, {"rebalance_timeout_ms": 9_000}, {"subscribed_topic_names": ()}])
def test_a_heartbeat_that_says_more_than_its_epoch_may_be_answered_with_what_the_member_has(says: dict[str, Any]) -> None:
    trace = heartbeats(**says)
    assert findings(trace) == []

    (finding,) = findings(changed(trace, "second", bodied(assignment=NOTHING)))

    assert (finding.requirement, finding.verdict) == ("CGM-27", Verdict.INFORMATIONAL)
    assert finding.observed == "ConsumerGroupHeartbeat of a (generation 1, Stable): 0, with the assignment that the member has."


def test_a_bare_heartbeat_is_answered_with_no_assignment_and_none_reports_what_the_member_has_not() -> None:
    other = {"topic_partitions": [{"topic_id": "00000000-0000-0000-0000-000000000001", "partitions": [0]}]}

    assert [finding.verdict for finding in findings(changed(heartbeats(), "second", bodied(assignment=NOTHING)))] == [Verdict.FAILED]
    assert [finding.verdict for finding in findings(changed(heartbeats(topic_partitions=()), "second", bodied(assignment=other)))] == [Verdict.FAILED]


def test_what_is_wrong_behind_an_open_field_is_found() -> None:
    trace = changed(heartbeats(topic_partitions=()), "second", bodied(assignment=NOTHING))

    assert [finding.verdict for finding in findings(changed(trace, "third", bodied(member_epoch=7)))] == [Verdict.INFORMATIONAL, Verdict.FAILED]


@pytest.mark.parametrize(("field", "verdict"), [("client_id", Verdict.INFORMATIONAL), ("member_id", Verdict.FAILED)])
def test_a_client_id_is_seen_by_administrators_alone(field: str, verdict: Verdict) -> None:
    recording = Recording()
    recording.stable("a")
    recording.ask("z", DescribeGroupsRequest(groups=("g",)), version=5, label="described")
    recording.wait(10)
    trace = recording.end()
    (answer,) = [obs.body for obs in trace if obs.kind == "response" and obs.detail == "described"]
    (group,) = answer["groups"]
    (member,) = group["members"]
    change = bodied(groups=[{**group, "members": [{**member, field: "another"}]}])

    assert {finding.verdict for finding in findings(changed(trace, "described", change), "kafka-4.1")} == {verdict}


def test_an_offset_may_come_without_the_epoch_of_its_leader() -> None:
    recording = Recording()
    recording.stable("a")
    recording.commit("a")
    recording.wait(10)
    recording.fetch("a", version=5, label="fetched")
    recording.wait(10)

    assert findings(recording.end(), "kafka-4.1") == []


def test_each_open_field_belongs_to_a_requirement_and_its_text_can_follow_a_comma() -> None:
    assert [field.words for field in OPEN_FIELDS if not field.words.startswith("with ")] == []
    assert {by_id(field.requirement).id for field in OPEN_FIELDS} >= {"CGM-27", "CGG-27", "CGS-14"}


@pytest.mark.requirement("INV-04")
@pytest.mark.parametrize(
    ("label", "code", "found"),
    [("early", 22, ("INV-04", Verdict.INFORMATIONAL)), ("early", 0, ("TR-056", Verdict.FAILED)), ("late", 22, ("TR-090", Verdict.FAILED))],
)
def test_before_its_first_generation_a_group_may_refuse_any_number_of_one(label: str, code: int, found: tuple[str, Verdict]) -> None:
    settings = {**SETTINGS, "group.initial.rebalance.delay.ms": 500}
    recording = Recording(settings=settings)
    recording.joined("a", label="join a")
    recording.generations["a"] = 0
    recording.beat("a", label="early", over="a/2")
    recording.wait(600)
    recording.beat("a", label="late")
    recording.wait(5)

    found_here = findings_of(changed(recording.end(), label, bodied(error_code=code)), profile="kafka-4.1", settings=settings)

    assert [(finding.requirement, finding.verdict) for finding in found_here] == [found]
