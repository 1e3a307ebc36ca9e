from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.epoch_traces import EpochStory
from tests.harness.reports.making import REBALANCE, SHARED, played

from groupproof.harness.reports.texts.frame_text import line_of, short_id
from groupproof.protocol.trace import Observation

ID = "m0-8e0f6c5a-97c0-4a37-8fd3-0123456789ab"


def line_text(kind: str, **columns: Any) -> str:
    """Return who, arrow and text as one line."""
    line = line_of(Observation(seq=3, at_ns=1_500_000, kind=kind, **columns))
    assert (line.seq, line.ms) == (3, 1.5)
    return " ".join(part for part in (line.who, line.arrow, line.text) if part)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"api": "JoinGroup", "version": 9, "client": "m0", "member": ""}, "m0 → JoinGroup v9 · member ''"),
        (
            {"api": "JoinGroup", "version": 7, "client": "m0", "member": ID, "instance": "i0", "partitions": (("t", 0), ("t", 1))},
            "m0 → JoinGroup v7 · member …456789ab · instance i0 · owns t-0, t-1",
        ),
        ({"api": "Heartbeat", "version": 4, "client": "m0", "member": "short", "generation": 3}, "m0 → Heartbeat v4 · generation 3 · member short"),
        (
            {"api": "OffsetCommit", "version": 8, "client": "m0", "member": "a", "generation": 1, "offsets": (("t", 0, 5), ("t", 1, 7))},
            "m0 → OffsetCommit v8 · generation 1 · member a · t-0@5, t-1@7",
        ),
        ({"api": "OffsetFetch", "version": 9, "client": "m0", "partitions": (("t", 0),)}, "m0 → OffsetFetch v9 · of t-0"),
        ({"api": "FindCoordinator", "version": 4, "client": "m0"}, "m0 → FindCoordinator v4"),
    ],
)
def test_a_request_tells_who_asks_what(columns: dict[str, Any], words: str) -> None:
    assert line_text("request", **columns) == words


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"api": "JoinGroup", "client": "m0", "error": 0, "generation": 2, "member": ID, "body": {"leader": ID}},
            "m0 ← JoinGroup · NONE · generation 2 · member …456789ab · leader",
        ),
        (
            {"api": "JoinGroup", "client": "m0", "error": 0, "generation": 2, "member": "m0-1", "body": {"leader": "m1-1"}},
            "m0 ← JoinGroup · NONE · generation 2 · member m0-1 · leader is m1-1",
        ),
        ({"api": "JoinGroup", "client": "m0", "error": 79, "member": "m0-1"}, "m0 ← JoinGroup · MEMBER_ID_REQUIRED · member m0-1"),
        ({"api": "SyncGroup", "client": "m0", "error": 0, "partitions": (("t", 0),)}, "m0 ← SyncGroup · NONE · assigned t-0"),
        ({"api": "SyncGroup", "client": "m0", "error": 0}, "m0 ← SyncGroup · NONE · assigned nothing"),
        (
            {"api": "Heartbeat", "client": "m0", "error": 27, "fault": "rebalance"},
            "m0 ← Heartbeat · REBALANCE_IN_PROGRESS · put in by fault rebalance",
        ),
        ({"api": "Heartbeat", "client": "m0", "error": 999}, "m0 ← Heartbeat · UNKNOWN(999)"),
    ],
)
def test_an_answer_tells_what_it_gives(columns: dict[str, Any], words: str) -> None:
    assert line_text("response", **columns) == words


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"who": "shim", "client": "m0", "partitions": (("t", 0),), "body": {"name": "partitions_revoked"}}, "m0 application: partitions_revoked · t-0"),
        ({"who": "shim", "client": "m0", "body": {"name": "error", "error": "Fenced", "message": "bye", "fatal": True}}, "m0 application: error Fenced (fatal) · bye"),
        ({"who": "shim", "client": "m0", "body": {"name": "answer", "id": 4, "error": "X", "message": ""}}, "m0 application: the call fails with X"),
        ({"who": "shim", "client": "m0", "body": {"name": "answer", "id": 4, "ok": True}}, "m0 application: the call returns"),
        ({"who": "shim", "client": "m0", "body": {"name": "answer", "unimplemented": "no seek"}}, "m0 shim: unimplemented · no seek"),
        (
            {"who": "shim", "client": "m0", "body": {"name": "offsets_committed", "success": False, "error": "E", "offsets": [{"topic": "t", "partition": 0, "offset": 5}]}},
            "m0 application: the commit fails with E · t-0@5",
        ),
        (
            {"who": "shim", "client": "m0", "body": {"name": "offsets_committed", "outcome": "unknown", "offsets": [{"topic": "t", "partition": 0, "offset": 5}]}},
            "m0 application: a commit whose outcome the client does not report · t-0@5",
        ),
        ({"who": "shim", "client": "m0", "partitions": (("t", 0),), "body": {"name": "records_consumed", "count": 20}}, "m0 application: consumes 20 records of t-0"),
        ({"who": "kit", "client": "m0", "body": {"name": "command", "command": "commit", "fields": {"mode": "sync"}}}, "m0 is told to commit · mode=sync"),
        ({"who": "kit", "client": "m0", "body": {"name": "command", "command": "subscribe", "fields": {"group": "g"}}}, "m0 is told to subscribe"),
        ({"who": "kit", "body": {"name": "mark", "mark": "newcomer"}}, "plan — newcomer —"),
        (
            {"who": "kit", "body": {"name": "names", "group": {"g": "ledger-3f2a"}, "topics": {"t": "orders-21"}, "codes": {"999": 4711}}},
            "plan names of the case in this run: group g is ledger-3f2a, topic t is orders-21, error 999 is 4711",
        ),
        ({"who": "kit", "body": {"name": "timeout", "waiting": "JoinGroup"}}, "plan time is out, waiting for JoinGroup"),
        ({"who": "kit", "client": "m0", "body": {"name": "exit", "how": "was killed by signal 9", "commanded": False}}, "m0 process was killed by signal 9, without being asked to"),
        ({"who": "link", "node": 1, "connection": 4, "body": {"name": "closed", "reason": "cut"}}, "link connection 4 to node 1 closes · cut"),
        ({"who": "coordinator", "body": {"name": "moved", "state": "lost", "parked": "drop"}}, "coordinator the coordinator moves · its state is lost, parked requests: drop"),
        ({"who": "shim", "client": "m0", "body": {"name": "something_new", "depth": 3}}, "m0 something_new · depth=3"),
    ],
)  # fmt: skip
def test_an_event_tells_what_happened(columns: dict[str, Any], words: str) -> None:
    assert line_text("event", **columns) == words


def test_transitions_faults_and_the_coordinators_rule_are_reported() -> None:
    transition = {"state_before": "Stable", "state_after": "PreparingRebalance", "generation": 2, "detail": f"adding new member {ID}"}
    assert line_text("transition", **transition) == "group Stable → PreparingRebalance · generation 2: adding new member …456789ab"
    fault = {"fault": "late", "detail": "failed", "api": "SyncGroup", "client": "m0", "body": {"action": "hold", "why": "the peer has gone"}}
    assert line_text("fault", **fault) == "fault late: failed (hold) · SyncGroup of m0 · the peer has gone"
    assert (
        line_text("processed", api="Heartbeat", client="m0", rule="Heartbeat/Stable/alive")
        == "coordinator processes Heartbeat of m0 · Heartbeat/Stable/alive"
    )
    assert line_text("timer", detail="session") == "coordinator timer session"


def test_what_a_client_says_is_cut_at_a_length_that_fits_a_line() -> None:
    line = line_of(Observation(seq=0, at_ns=0, kind="event", who="shim", client="m0", body={"name": "error", "message": "x" * 9_000}))

    assert len(line.text) < 300
    assert line.text.endswith("…")


def test_an_id_is_shortened_to_its_end() -> None:
    assert short_id(ID) == "…456789ab"
    assert short_id("consumer-1") == "consumer-1"


def test_every_observation_of_real_runs_has_words() -> None:
    for result in (*played(REBALANCE, SHARED), *played(REBALANCE, variant="ignores-heartbeat-27")):
        assert all(line_of(obs).text for obs in result.plays[0].trace)


@given(st.builds(Observation, seq=st.just(0), at_ns=st.just(0), kind=st.text(), who=st.text(), body=st.dictionaries(st.text(), st.text())))
def test_whatever_is_in_a_trace_it_has_words(obs: Observation) -> None:
    assert line_of(obs).tone is not None


def test_a_heartbeat_of_kip_848_tells_its_epoch_what_is_owned_and_what_is_assigned() -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=[("t", 0), ("t", 1)])
    story.hb(1, owns=[("t", 0), ("t", 1)])
    story.hb(-2, gets=-2)
    lines = [line_of(obs).text for obs in story.trace]

    assert "joins at epoch 0" in lines[0]
    assert "owns nothing" in lines[0]
    assert lines[1].endswith("NONE · epoch 1 · assigned t-0, t-1")
    assert lines[2].endswith("owns t-0, t-1")
    assert "leaves for a while" in lines[4]
