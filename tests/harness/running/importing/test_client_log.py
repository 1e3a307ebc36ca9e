"""What Java consumers log of their leaves and of heartbeats that failed, in the recorded logs of real ones and in the wordings of other releases."""

from __future__ import annotations

import pytest
from tests.harness.judging.diagnosis.recordings import recorded
from tests.harness.judging.diagnosis.trimming import RECORDED

from groupproof.harness.running.importing.client_log import read_client_log
from groupproof.harness.running.importing.imported_event import ImportedEvent

SAYS = "2024-02-15 12:34:56,789 [main] {level} org.apache.kafka.clients.consumer.internals.AbstractCoordinator - [Consumer clientId=m0, groupId=g] {said}"


def _log(release: str) -> list[ImportedEvent]:
    return list(read_client_log((RECORDED / release / "client.log").read_text().splitlines()))


def _read(line: str, level: str = "INFO") -> list[ImportedEvent]:
    return list(read_client_log([SAYS.format(level=level, said=line)]))


@pytest.mark.requirement("DIAG-07")
@pytest.mark.parametrize("release", ["1.1.0", "4.1.0"])
def test_a_real_client_logs_each_leave_that_the_wire_shows(release: str) -> None:
    """From 2.4 on with its reason; before that the line of a member over its poll interval stands beside it."""
    sent = {obs.client for obs in recorded(release, "wire") if obs.api == "LeaveGroup" and obs.kind == "request"} - {"adminclient-1"}
    logged = {result.columns["client"]: result.columns["body"] for result in _log(release) if result.columns["body"]["name"] == "leaving"}

    assert set(logged) == sent == {"closed-a", "closed-b", "poll-b"}
    assert all(body["marks"] == "DIAG-07" for body in logged.values())
    if release == "4.1.0":
        assert {body["reason"] for body in logged.values()} == {"the consumer is being closed", "consumer poll timeout has expired."}


@pytest.mark.requirement("DIAG-07")
def test_a_client_of_1_1_logs_its_leave_at_debug() -> None:
    (result,) = _read("Sending LeaveGroup request to coordinator 10.0.0.1:9092 (id: 2147483646 rack: null)", "DEBUG")

    assert (result.columns["body"]["name"], result.columns["body"]["level"], result.columns["group"]) == ("leaving", "DEBUG", "g")


@pytest.mark.requirement("DIAG-08")
def test_a_real_client_logs_each_heartbeat_that_was_answered_with_a_rebalance() -> None:
    """The clients beside the 1.1.0 broker; of those that played by hand nothing is logged."""
    wire = recorded("1.1.0", "wire")
    lines = [obs.client for obs in wire if obs.api == "Heartbeat" and obs.kind == "response" and obs.error == 27 and not _is_played(obs.client)]
    logged = [result.columns["client"] for result in _log("1.1.0") if result.columns["body"].get("cause") == "group rebalancing"]

    assert sorted(logged) == sorted(str(client) for client in lines)


def _is_played(client: str | None) -> bool:
    return (client or "").startswith(("slow-", "leader-", "moved-", "sync-"))


@pytest.mark.requirement("DIAG-08")
@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("Attempt to heartbeat failed since coordinator 10.0.0.1:9092 (id: 1 rack: null) is either not started or not valid.", "coordinator invalid"),
        ("Attempt to heartbeat failed since group is rebalancing", "group rebalancing"),
        ("Attempt to heartbeat failed since generation 4 is not current", "generation not current"),
        ("Attempt to heartbeat failed for since member id m0-1 is not valid.", "member id not valid"),
        ("Attempt to heartbeat with Generation{generationId=4, memberId='m0-1', protocol='range'} and group instance id Optional.empty failed due to "
         "UNKNOWN_MEMBER_ID, resetting generation", "member id not valid"),
    ],
)  # fmt: skip
def test_a_failed_heartbeat_is_reported_with_its_cause(line: str, cause: str) -> None:
    (result,) = _read(line)

    assert (result.columns["body"]["name"], result.columns["body"]["cause"], result.columns["body"]["marks"]) == (
        "heartbeat-failed",
        cause,
        "DIAG-08",
    )


def test_other_words_of_consumers_and_of_others_are_passed_over() -> None:
    assert _read("Successfully joined group with generation 4") == []
    assert list(read_client_log(["2024-02-15 12:34:56,789 [main] INFO a.B - LeaveGroup is a word"])) == []
