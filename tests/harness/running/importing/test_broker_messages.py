"""Wordings of every release are told apart, and a line of anything else is none of them."""

from __future__ import annotations

import pytest

from groupproof.harness.running.importing.broker_log import read_broker_log
from groupproof.harness.running.importing.broker_messages import MESSAGE_PATTERNS, may_match, prefix_of
from groupproof.protocol.rules.coverage import everything

ID = "m0-0dfaaeb3-2a54-4f7c-9c1b-1f6e0d6a5a11"


@pytest.mark.parametrize(
    ("line", "name", "member"),
    [
        (f"Member {ID} in group a group has failed, removing it from the group", "expired", ID),
        (f"Member[group.instance.id Some(i), member.id {ID}] in group g has left, removing it from the group", "left", ID),
        (f"Member MemberMetadata(memberId={ID}, groupInstanceId=None, clientId=m0, clientHost=/10.0.0.1, sessionTimeoutMs=1) has left group g through explicit"
         " `LeaveGroup` request; client reason: not provided", "left", ID),
        (f"[Group g] Member {ID} has left group through explicit `LeaveGroup` request; client reason: the consumer is being closed", "left", ID),
        (f"Dynamic member with unknown member id rejoins group g in Stable state. Created a new member id {ID} and request the member to rejoin with this id.", "given-id", ID),
        (f"Dynamic Member with unknown member id joins group g in Stable state. Created a new member id {ID} for this member and add to the group.", "given-id", ID),
        (f"Pending dynamic member with id {ID} joins group g in Stable state. Adding to the group now.", "joining", ID),
        (f"Static member Some(i) with unknown member id rejoins, assigning new member id {ID}, while old member o-1 will be removed.", "replaced", ID),
        (f"Static member with groupInstanceId=i and unknown member id joins group g in Stable state. Replacing previously mapped member {ID} with this groupInstanceId.", "replaced", None),
        (f"Group g removed dynamic members who haven't joined: Set({ID})", "evicted", None),
        (f"Group g removed members who haven't sent their sync request: Set({ID})", "unsynced", None),
        ("Failed to write empty metadata for group g: The coordinator is not available.", "not-stored", None),
        ("Created log for partition with-hyphens-3 in /data with properties {}", "partition-made", None),
        ("Created log for partition [t,3] in /data with properties {}", "partition-made", None),
    ],
)  # fmt: skip
def test_each_wording_is_found_by_its_name(line: str, name: str, member: str | None) -> None:
    (result,) = read_broker_log([f"[2024-02-15 12:34:56,789] INFO [GroupCoordinator 1]: {line} (kafka.coordinator.group.GroupCoordinator)"])

    assert (result.columns["body"]["name"], result.columns["member"], result.columns["node"]) == (name, member, 1)


def test_the_speaker_names_broker_and_offsets_partition() -> None:
    assert prefix_of("[GroupCoordinator 2]: words") == (2, None, "words")
    assert prefix_of("[GroupMetadataManager brokerId=2] words") == (2, None, "words")
    assert prefix_of("[GroupCoordinator id=2 topic=__consumer_offsets partition=7] words") == (2, 7, "words")
    assert prefix_of("words") == (None, None, "words")


def test_marks_are_requirements_of_the_catalogue() -> None:
    marks = {message_pattern.marks for message_pattern in MESSAGE_PATTERNS} - {""}

    assert {"DIAG-01", "DIAG-02", "DIAG-03", "DIAG-04", "DIAG-05", "DIAG-06", "DIAG-09", "LEAVE-09"} == marks
    assert marks <= set(everything())


@pytest.mark.parametrize(
    "line", ["[2024-02-15 12:34:56,789] INFO [ReplicaManager broker=1] Group g is a word (x.y)", "Stabilized group g generation 1", ""]
)
def test_a_line_of_anything_else_tells_nothing(line: str) -> None:
    assert list(read_broker_log([line])) == []


def test_what_is_worth_reading_is_recognised_cheaply() -> None:
    assert may_match("Preparing to rebalance group g")
    assert not may_match("[ReplicaFetcher] Truncating t-0 to 7")
