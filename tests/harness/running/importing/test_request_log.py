"""Request logs of real brokers, as structs and as JSON, tell the requests that the tap saw in the same run."""

from __future__ import annotations

import gzip
from collections import Counter

import pytest
from tests.harness.judging.diagnosis.recordings import recorded
from tests.harness.judging.diagnosis.trimming import RECORDED

from groupproof.harness.running.importing.imported_event import ImportedEvent
from groupproof.harness.running.importing.request_log import read_request_log
from groupproof.protocol.trace import Observation

COMPARED = ("JoinGroup", "SyncGroup", "LeaveGroup")


def _log(release: str) -> list[ImportedEvent]:
    files = sorted((RECORDED / release).glob("debug-*.log.gz"))
    return [result for file in files for result in read_request_log(gzip.decompress(file.read_bytes()).decode().splitlines())]


def _key(columns: dict[str, object], kind: str) -> tuple[object, ...]:
    return (kind, *(columns.get(name) for name in ("api", "client", "correlation", "group", "member", "generation", "error", "instance")))


def _columns(obs: Observation) -> dict[str, object]:
    return {name: getattr(obs, name) for name in ("api", "client", "correlation", "group", "member", "generation", "error", "instance")}


@pytest.mark.parametrize("release", ["1.1.0", "4.1.0"])
def test_what_the_log_tells_is_what_the_wire_showed(release: str) -> None:
    """But for what a broker that was killed never answered: that it did not log."""
    log = Counter(_key(dict(result.columns), result.kind) for result in _log(release) if result.columns["api"] in COMPARED)
    answers = [obs for obs in recorded(release, "wire") if obs.api in COMPARED and obs.kind == "response"]
    wire = Counter(_key(_columns(obs), "response") for obs in answers)

    assert {key: count for key, count in wire.items() if log[key] != count} == {}
    assert len(wire) > 70


@pytest.mark.parametrize("release", ["1.1.0", "4.1.0"])
def test_a_request_came_as_long_before_its_answer_as_the_log_says(release: str) -> None:
    pairs: dict[tuple[object, object, object], dict[str, ImportedEvent]] = {}
    for result in _log(release):
        if result.columns["group"] == "slow-member" if "group" in result.columns else False:
            pairs.setdefault((result.columns["client"], result.columns["connection"], result.columns["correlation"]), {})[result.kind] = result
    parked = [
        both["response"].at_ms - both["request"].at_ms
        for both in pairs.values()
        if both["request"].columns["api"] == "JoinGroup" and both["response"].columns["generation"] == 2
    ]

    assert max(parked) == pytest.approx(4_000, abs=100), "who came first waited for the rebalance timeout"
    assert all(ms >= 0 for ms in parked)


def test_blobs_are_reported_by_json_and_only_their_length_by_structs() -> None:
    old = next(result for result in _log("1.1.0") if result.columns["api"] == "JoinGroup").columns["body"]["protocols"]
    new = next(result for result in _log("4.1.0") if result.columns["api"] == "JoinGroup").columns["body"]["protocols"]

    assert old == ({"name": "range", "metadata": b"", "metadata_bytes": 13},)
    assert new[0]["metadata"].startswith(b"\x00")


def test_metadata_keeps_how_many_partitions_each_topic_has() -> None:
    for release in ("1.1.0", "4.1.0"):
        counts = {
            topic["partitions"]
            for result in _log(release)
            if result.columns["api"] == "Metadata"
            for topic in result.columns["body"]["topics"]
            if topic["name"] == "grow"
        }
        assert counts == {3, 10}


@pytest.mark.parametrize(
    "line",
    [
        "[2024-02-15 12:34:56,789] DEBUG Completed request:{\"requestHeader\":{}} (kafka.request.logger)",
        "[2024-02-15 12:34:56,789] DEBUG Completed request:{broken (kafka.request.logger)",
        "[2024-02-15 12:34:56,789] DEBUG Completed request:RequestHeader(apiKey=JOIN_GROUP, apiVersion=2, clientId=a, correlationId=2) -- {group_id=g (kafka.request.logger)",
        "[2024-02-15 12:34:56,789] DEBUG Completed request:RequestHeader(apiKey=PRODUCE, apiVersion=2, clientId=a, correlationId=2) -- {} from connection x;totalTime:1",
        "[2024-02-15 12:34:56,789] INFO something else",
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_passed_over(line: str) -> None:
    assert list(read_request_log([line])) == []
