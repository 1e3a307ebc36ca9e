from __future__ import annotations

from typing import Any

import pytest

from groupproof.harness.reports.texts.embedded_text import embedded_facts
from groupproof.harness.reports.texts.frame_text import line_of
from groupproof.protocol.trace import Observation
from groupproof.protocol.wire.connect_protocol import ConnectAssignment, WorkerState, encode_connect_assignment, encode_worker_state

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
