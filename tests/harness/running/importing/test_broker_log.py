"""The marker lines of real brokers' logs, held against the wire of the same run: each that is due is there, once, at INFO, with what it has to carry."""

from __future__ import annotations

import pytest
from tests.harness.judging.diagnosis.recordings import by_group, explained, recorded

from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.running.importing.broker_log import LINE_CHARS_MAX, read_broker_log
from groupproof.protocol.trace import Observation

RELEASES = ["1.1.0", "4.1.0"]
STAMP = "[2024-02-15 12:34:56,789]"


def _lines(release: str, name: str, source: str = "info") -> list[Observation]:
    return [obs for obs in recorded(release, source) if obs.body.get("name") == name]


def _generations(release: str) -> list[tuple[str, int]]:
    """Return the generations that members were told of."""
    pairs = {(obs.group, obs.generation) for obs in recorded(release, "wire") if obs.api == "JoinGroup" and obs.kind == "response" and not obs.error}
    return sorted((str(group), generation) for group, generation in pairs if generation is not None)


@pytest.mark.requirement("DIAG-01")
@pytest.mark.parametrize("release", RELEASES)
def test_each_rebalance_that_the_wire_shows_has_one_start_marker(release: str) -> None:
    markers = [(obs.group, obs.generation) for obs in _lines(release, "prepared")]
    begun = [(rebalance.group, rebalance.generation_before) for rebalance in explained(release, "wire") if rebalance.generation_before > 0]

    assert [begin for begin in begun if markers.count(begin) != 1 and begin != ("coordinator-moved", 1)] == []
    assert markers.count(("coordinator-moved", 1)) == 2, "one at the broker that went, one at that which took over"
    assert all(
        ("reason" in obs.body and "in state PreparingRebalance" in obs.body["line"]) == (release != "1.1.0") for obs in _lines(release, "prepared")
    )


@pytest.mark.requirement("DIAG-02", "DIAG-03")
@pytest.mark.parametrize("name", ["stabilized", "assigned"])
@pytest.mark.parametrize("release", RELEASES)
def test_each_generation_has_one_marker_of_its_join_phase_and_one_of_its_assignment(release: str, name: str) -> None:
    assert sorted((str(obs.group), obs.generation) for obs in _lines(release, name)) == _generations(release)


@pytest.mark.requirement("DIAG-04")
@pytest.mark.parametrize("release", RELEASES)
def test_a_session_that_ended_is_logged_with_its_member(release: str) -> None:
    expired = {obs.member for obs in _lines(release, "expired") if obs.group == "heartbeat-timeout"}
    silent = by_group(explained(release, "wire"))["heartbeat-timeout"][2].member

    assert expired == {silent}


@pytest.mark.requirement("DIAG-05")
@pytest.mark.parametrize("release", RELEASES)
def test_a_group_that_became_empty_is_logged_with_its_new_generation(release: str) -> None:
    empty = {obs.group: obs.generation for obs in _lines(release, "emptied")}

    assert empty["closed"] == 4, "three generations with members, and the one without"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("DIAG-01", "DIAG-02", "DIAG-03", "DIAG-04", "DIAG-05")
def test_the_markers_are_at_info(release: str) -> None:
    marks = ("prepared", "stabilized", "assigned", "expired", "emptied")

    assert {obs.body["level"] for name in marks for obs in _lines(release, name, "all")} == {"INFO"}


@pytest.mark.requirement("DIAG-06")
@pytest.mark.parametrize("speaker", ["[GroupCoordinator 0]:", "[GroupCoordinator id=0 topic=__consumer_offsets partition=1]"])
def test_empty_metadata_that_could_not_be_stored_is_read_as_the_warning_it_is(speaker: str) -> None:
    """No broker here lost its offsets topic: the wording is that of the sources, 1.1 and 4.1."""
    (result,) = read_broker_log(
        [f"{STAMP} WARN {speaker} Failed to write empty metadata for group g: The coordinator is not available. (kafka.coordinator.group.X)"]
    )

    assert (result.columns["group"], result.columns["body"]["level"], result.columns["body"]["marks"]) == ("g", "WARN", "DIAG-06")


@pytest.mark.requirement("DIAG-09")
def test_what_2_3_and_later_add_is_read() -> None:
    lines = (
        "Pending member m0-1 in group g has been removed after session timeout expiration.",
        "Received notification of heartbeat expiration for member m0-1 after group g had already been unloaded or deleted.",
        "Member m0-1 was not found in g during heartbeat completion check",
    )
    entries = [
        result
        for line in lines
        for result in read_broker_log([f"{STAMP} INFO [GroupCoordinator 0]: {line} (kafka.coordinator.group.GroupCoordinator)"])
    ]

    assert [result.columns["body"]["name"] for result in entries] == ["pending-expired", "expired-elsewhere", "unknown-at-completion"]
    assert {(result.columns["member"], result.columns["group"], result.columns["body"]["marks"]) for result in entries} == {("m0-1", "g", "DIAG-09")}


@pytest.mark.requirement("DIAG-09")
def test_a_real_broker_reports_a_session_that_ended_after_its_member_was_replaced() -> None:
    (late,) = _lines("4.1.0", "expired-unknown", "all")
    (replaced,) = _lines("4.1.0", "replaced", "all")

    assert late.member == replaced.body["replaced"]


@pytest.mark.requirement("DIAG-10")
@pytest.mark.parametrize("release", ["1.1.0", "2.4.1", "2.8.2", "3.9.1", "4.1.0"])
def test_markers_carry_the_offsets_partition_by_which_the_coordinator_is_found(release: str) -> None:
    markers = [obs for name in ("prepared", "stabilized", "emptied") for obs in _lines(release, name)]

    assert len(markers) > 30
    assert {obs.body["offsets_partition"] == partition_of(str(obs.group), 5) for obs in markers} == {True}


@pytest.mark.requirement("DIAG-11")
def test_1_1_logs_nothing_of_a_member_that_was_left_out_at_the_join_timeout() -> None:
    left_out = by_group(explained("1.1.0", "wire"))["slow-member"][1]
    begun, ended = (
        next(obs.at_ns for obs in _lines("1.1.0", name, "all") if (obs.group, obs.generation) == ("slow-member", number))
        for name, number in (("prepared", 1), ("stabilized", 2))
    )
    observations = [obs for obs in recorded("1.1.0", "all") if begun <= obs.at_ns <= ended and obs.kind in ("event", "transition")]

    (member,) = left_out.evicted
    assert [obs for obs in observations if member in str(obs.body.get("line"))] == []
    assert _lines("1.1.0", "evicted", "all") == []


@pytest.mark.requirement("LEAVE-09")
@pytest.mark.parametrize(("release", "level"), [("1.1.0", "DEBUG"), ("4.1.0", "INFO")])
def test_a_leave_is_logged_with_its_member(release: str, level: str) -> None:
    left = {(obs.group, obs.member): obs.body for obs in _lines(release, "left", "all")}
    sent = {(obs.group, obs.member) for obs in recorded(release, "wire") if obs.api == "LeaveGroup" and obs.kind == "request" and obs.member}

    assert sent <= set(left)
    assert {body["level"] for body in left.values()} == {level}


def test_a_line_that_lists_every_member_is_kept_in_part() -> None:
    (result,) = read_broker_log(
        [f"{STAMP} DEBUG [GroupMetadataManager brokerId=0] Loaded group metadata GroupMetadata(groupId=g, generation=4, protocolType=" + "x" * 9_000]
    )

    assert len(result.columns["body"]["line"]) == LINE_CHARS_MAX
