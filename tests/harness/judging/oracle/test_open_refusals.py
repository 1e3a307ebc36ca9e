from __future__ import annotations

from typing import Any

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed

from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.judging.oracle.open_refusals import OPEN_REFUSALS
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Level
from groupproof.protocol.wire.admin_messages import ListGroupsRequest
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

PROFILE = "kafka-4.4"
JOINS: dict[str, Any] = {"member_epoch": 0, "rebalance_timeout_ms": 10_000, "subscribed_topic_names": (), "topic_partitions": ()}


def beat(recording: Recording, client: str, label: str, **fields: Any) -> None:
    recording.ask(client, ConsumerGroupHeartbeatRequest(**{"group_id": "g", "member_id": client, **fields}), version=1, label=label)
    recording.wait(10)


def findings(trace: Trace) -> list[Finding]:
    return findings_of(trace, profile=PROFILE, settings=SETTINGS)


@pytest.mark.parametrize(
    ("fields", "code", "requirement"),
    [
        ({"instance_id": "i"}, 42, "CGM-24"),
        ({"rebalance_timeout_ms": 0}, 42, "CGH-29"),
        ({"subscribed_topic_names": ("no topic!",)}, 17, "CGH-32"),
    ],
)
def test_a_join_that_kafka_takes_and_nobody_has_to_may_be_refused(fields: dict[str, Any], code: int, requirement: str) -> None:
    recording = Recording(PROFILE)
    beat(recording, "a", "join", **JOINS)
    beat(recording, "a", "again", **{**JOINS, **fields})
    trace = changed(recording.end(), "again", bodied(error_code=code, member_id=None, member_epoch=0, heartbeat_interval_ms=0, assignment=None))

    (finding,) = findings(trace)

    assert (finding.requirement, finding.verdict) == (requirement, Verdict.INFORMATIONAL)
    assert finding.expected == "ConsumerGroupHeartbeat of a (generation 1, Stable): Apache Kafka takes the request."


def test_nothing_of_a_refused_request_is_done() -> None:
    recording = Recording(PROFILE)
    beat(recording, "a", "join", **JOINS)
    beat(recording, "a", "static", **JOINS, instance_id="i")
    beat(recording, "b", "another", **JOINS, instance_id="i")
    trace = changed(recording.end(), "static", bodied(error_code=42, member_id=None, member_epoch=0, heartbeat_interval_ms=0, assignment=None))

    # The second member of the instance is refused, as if the first had become static.
    assert [finding.verdict for finding in findings(trace)] == [Verdict.INFORMATIONAL, Verdict.FAILED]


def joins_a_group_of_consumers(member_id: str | None) -> Trace:
    recording = Recording(PROFILE)
    beat(recording, "a", "join", **JOINS)
    if member_id is None:
        recording.join("k", label="asks for an id", version=9)
        recording.wait(10)
    else:
        recording.ids["k"] = member_id
    recording.join("k", label="joins", version=9)
    recording.wait(10)
    return changed(recording.end(), "joins", bodied(error_code=25, generation_id=-1, protocol_type=None, protocol_name=None))


def test_an_id_of_a_clients_own_making_may_be_refused_and_one_that_was_handed_out_may_not() -> None:
    assert [(finding.requirement, finding.verdict) for finding in findings(joins_a_group_of_consumers("k"))] == [("CGG-24", Verdict.INFORMATIONAL)]
    assert findings(joins_a_group_of_consumers(None))[-1].verdict is Verdict.FAILED


@pytest.mark.parametrize(("epoch", "verdict", "requirement"), [(1, Verdict.INFORMATIONAL, "CGG-49"), (-1, Verdict.FAILED, "CGM-29")])
def test_a_classic_member_may_be_refused_a_switch_without_a_join_and_not_its_leave(epoch: int, verdict: Verdict, requirement: str) -> None:
    recording = Recording(PROFILE)
    recording.joined("k", version=9)
    recording.wait(10)
    recording.sync("k")
    recording.wait(10)
    beat(recording, "a", "upgrades the group", **JOINS)
    beat(recording, "k", "as a consumer", member_id=recording.ids["k"], member_epoch=epoch)
    trace = recording.end()
    assert findings(trace) == []

    refused = changed(trace, "as a consumer", bodied(error_code=25, member_id=None, member_epoch=0, heartbeat_interval_ms=0, assignment=None))

    assert [(finding.requirement, finding.verdict) for finding in findings(refused)] == [(requirement, verdict)]


@pytest.mark.parametrize("profile", ["kafka-3.9", PROFILE])
@pytest.mark.parametrize(
    ("filters", "code", "verdict"),
    [
        ({"states_filter": ("NoSuchState",)}, 42, Verdict.INFORMATIONAL),
        ({"states_filter": ("Stable", "NoSuchState")}, 42, Verdict.INFORMATIONAL),
        ({"states_filter": ("NoSuchState",)}, 15, Verdict.FAILED),
        ({"states_filter": ("Stable",)}, 42, Verdict.FAILED),
        ({"states_filter": ("Assigning",)}, 42, Verdict.FAILED),
        ({}, 42, Verdict.FAILED),
    ],
)
def test_a_filter_of_list_groups_by_a_name_that_does_not_exist_may_be_refused(
    filters: dict[str, Any], code: int, verdict: Verdict, profile: str
) -> None:
    recording = Recording(profile)
    recording.stable("a")
    recording.ask("x", ListGroupsRequest(**filters), version=4, label="list")
    recording.wait(10)
    trace = changed(recording.end(), "list", bodied(error_code=code, groups=()))

    (finding,) = findings_of(trace, profile=profile, settings=SETTINGS)

    assert (finding.verdict, finding.requirement) == (verdict, "CGD-22" if verdict is Verdict.INFORMATIONAL else finding.requirement)


def test_groups_that_a_filter_by_a_name_that_does_not_exist_lists_are_wrong() -> None:
    recording = Recording(PROFILE)
    recording.stable("a")
    recording.ask("x", ListGroupsRequest(types_filter=("no-such-type",)), version=5, label="list")
    recording.wait(10)
    listed = {"group_id": "g", "protocol_type": "consumer", "group_state": "Stable", "group_type": "classic"}
    assert findings(recording.end()) == []

    (finding,) = findings(changed(recording.end(), "list", bodied(groups=(listed,))))

    assert finding.verdict is Verdict.FAILED


def test_no_open_refusal_is_of_a_must() -> None:
    assert {by_id(item.requirement).level for item in OPEN_REFUSALS} == {
        Level.INFO,
        Level.SHOULD,
    }  # CGH-29 binds the client, CGD-22 administrators' listings
