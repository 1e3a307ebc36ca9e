from __future__ import annotations

from typing import Any

import pytest

from groupproof.harness.reports.texts.embedded_text import embedded_facts
from groupproof.harness.reports.texts.frame_text import line_of
from groupproof.protocol.trace import Observation
from groupproof.protocol.wire.embedded.connect_protocol import ConnectAssignment, WorkerState, encode_connect_assignment, encode_worker_state
from groupproof.protocol.wire.embedded.streams_protocol import (
    LATEST_OFFSET,
    AssignmentInfo,
    SubscriptionInfo,
    Task,
    encode_assignment_info,
    encode_subscription_info,
)
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

JOBS = (("c", -1), ("c", 0))
HELD = ConnectAssignment(leader="l", leader_url="u", offset=7, assigned=JOBS, version=1)
STATE = WorkerState(url="http://w/", offset=7, assignment=HELD, version=1)
DEALT = ConnectAssignment(leader="l", leader_url="u", offset=7, assigned=(("d", 1),), revoked=(("c", 0),), delay_ms=1_500, error=1, version=1)
BLOB = encode_connect_assignment(DEALT)


def frame(kind: str, api: str, **body: Any) -> Observation:
    return Observation(seq=0, at_ns=0, kind=kind, api=api, client="m0", member="m", error=0, body={"protocol_type": "connect", **body})


@pytest.mark.parametrize(
    ("obs", "facts"),
    [
        (
            frame("request", "JoinGroup", protocols=[{"name": "compatible", "metadata": encode_worker_state(STATE)}]),
            ["connect: compatible", "http://w/ at config offset 7", "runs c, c-0"],
        ),
        (frame("request", "JoinGroup", protocols=[{"name": "default", "metadata": b"?"}]), ["connect: default", "a state that cannot be read"]),
        (
            frame("request", "SyncGroup", assignments=[{"member_id": "m", "assignment": BLOB}]),
            ["gives m assigned d-1, revoked c-0, delay 1500 ms, error 1 at config offset 7"],
        ),
        (frame("response", "SyncGroup", assignment=BLOB), ["assigned d-1, revoked c-0, delay 1500 ms, error 1 at config offset 7"]),
        (frame("response", "SyncGroup", assignment=b""), ["an assignment that cannot be read"]),
        (frame("request", "Heartbeat"), []),
    ],
)
def test_a_workers_frame_says_who_runs_what(obs: Observation, facts: list[str]) -> None:
    assert list(embedded_facts(obs)) == facts


def test_a_line_of_a_report_has_it_too_and_a_consumers_has_not() -> None:
    assert line_of(frame("response", "SyncGroup", assignment=BLOB)).text.endswith(
        "assigned d-1, revoked c-0, delay 1500 ms, error 1 at config offset 7"
    )
    consumers = Observation(seq=0, at_ns=0, kind="response", api="SyncGroup", client="m0", error=0, body={"protocol_type": "consumer"})
    assert line_of(consumers).text.endswith("assigned nothing")


SAID = SubscriptionInfo(version=11, latest=11, end_point="h:1", offset_sums=((Task(0, 1), LATEST_OFFSET), (Task(1, 0), 5)))
GIVEN = AssignmentInfo(version=11, commonly=11, active=(Task(0, 1),), standby=((Task(1, 0), ()),), next_rebalance_ms=99, error=2)


def subscribed(user_data: bytes) -> Observation:
    blob = encode_subscription(Subscription(topics=("t",), user_data=user_data))
    return Observation(
        seq=0, at_ns=0, kind="request", api="JoinGroup", body={"protocol_type": "consumer", "protocols": [{"name": "stream", "metadata": blob}]}
    )


def dealt(user_data: bytes) -> Observation:
    body = {"protocol_type": "consumer", "protocol_name": "stream", "assignment": encode_assignment(Assignment(user_data=user_data))}
    return Observation(seq=0, at_ns=0, kind="response", api="SyncGroup", error=0, body=body)


@pytest.mark.parametrize(
    ("obs", "facts"),
    [
        (subscribed(encode_subscription_info(SAID)), ["stream: version 11 of 11, process 00000000, at h:1, runs 0_1, keeps 1_0 at 5"]),
        (subscribed(bytes.fromhex("0000000d0000000e")), ["stream: version 13 of 14"]),
        (subscribed(b""), ["stream: subscription info ends before its version, after 0 bytes"]),
        (dealt(encode_assignment_info(GIVEN)), ["stream: version 11, 11 known to all, active 0_1, standby 1_0, probes again at 99 ms, error 2"]),
        (dealt(bytes.fromhex("0000000d0000000b")), ["stream: version 13, 11 known to all"]),
        (dealt(b""), ["stream: assignment info ends before its version, after 0 bytes"]),
    ],
)
def test_a_frame_of_streams_says_which_tasks_its_member_runs(obs: Observation, facts: list[str]) -> None:
    assert list(embedded_facts(obs)) == facts
