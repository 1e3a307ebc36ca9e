from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.wire.embedded.connect_protocol import (
    CONNECT_PROTOCOLS,
    ConnectAssignment,
    ConnectError,
    WorkerState,
    decode_connect_assignment,
    decode_worker_state,
    encode_connect_assignment,
    encode_worker_state,
)

ASSIGNED = (("c", -1), ("c", 0), ("d", 1))
REVOKED = (("e", -1), ("e", 2))
ASSIGNMENT = ConnectAssignment(leader="l", leader_url="http://l/", offset=7, assigned=ASSIGNED, revoked=REVOKED, delay_ms=1_500, version=1)
STATE = WorkerState(url="http://w/", offset=7, assignment=ASSIGNMENT, version=1)

# Encoded by the classes of connect-runtime 4.1.2: ConnectProtocol and IncrementalCooperativeConnectProtocol.
_DEALT = (
    "0000"
    + "00016c"
    + "0009687474703a2f2f6c2f"
    + "0000000000000007"
    + "00000002"
    + "000163"
    + "00000002"
    + "ffffffff00000000"
    + "000164"
    + "0000000100000001"
)
_TAKEN = "00000001" + "000165" + "00000002" + "ffffffff00000002" + "000005dc"
_WORKER = "0009687474703a2f2f772f" + "0000000000000007"
STATES = [
    ("0000" + _WORKER, WorkerState(url="http://w/", offset=7)),
    ("0001" + _WORKER + "ffffffff", replace(STATE, assignment=None)),
    ("0001" + _WORKER + "0000004f" + "0001" + _DEALT + _TAKEN, STATE),
    ("0002" + _WORKER + "0000004f" + "0002" + _DEALT + _TAKEN, replace(STATE, version=2, assignment=replace(ASSIGNMENT, version=2))),
]
ASSIGNMENTS = [
    ("0000" + _DEALT, replace(ASSIGNMENT, version=0, revoked=(), delay_ms=0)),
    ("0001" + _DEALT + _TAKEN, ASSIGNMENT),
    ("0002" + _DEALT + _TAKEN, replace(ASSIGNMENT, version=2)),
]

names = st.text(st.characters(codec="utf-8"), max_size=5)
jobs = st.lists(st.tuples(names, st.integers(-1, 2**31 - 1)), unique=True, max_size=5).map(lambda items: tuple(sorted(items)))
assignments = st.builds(
    ConnectAssignment,
    error=st.integers(0, 2**15 - 1),
    leader=names,
    leader_url=names,
    offset=st.integers(-1, 2**63 - 1),
    assigned=jobs,
    revoked=jobs,
    delay_ms=st.integers(0, 2**31 - 1),
    version=st.integers(1, 2**15 - 1),
)
states = st.builds(WorkerState, url=names, offset=st.integers(-1, 2**63 - 1), assignment=st.none() | assignments, version=st.integers(1, 2))


@pytest.mark.parametrize(("golden", "state"), STATES)
def test_a_worker_state_has_the_bytes_of_kafkas_own_classes(golden: str, state: WorkerState) -> None:
    assert encode_worker_state(state).hex() == golden
    assert decode_worker_state(bytes.fromhex(golden)) == state


@pytest.mark.parametrize(("golden", "assignment"), ASSIGNMENTS)
def test_an_assignment_has_the_bytes_of_kafkas_own_classes(golden: str, assignment: ConnectAssignment) -> None:
    assert encode_connect_assignment(assignment).hex() == golden
    assert decode_connect_assignment(bytes.fromhex(golden)) == assignment


@given(assignments)
def test_an_assignment_survives_the_wire(assignment: ConnectAssignment) -> None:
    assert decode_connect_assignment(encode_connect_assignment(assignment)) == assignment


@given(states)
def test_a_state_survives_the_wire(state: WorkerState) -> None:
    assert decode_worker_state(encode_worker_state(state)) == state


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_named(blob: bytes) -> None:
    for decode in (decode_worker_state, decode_connect_assignment):
        try:
            decode(blob)
        except ConnectError as error:
            assert str(error)


def test_what_a_later_version_appends_is_ignored_and_what_is_missing_has_its_default() -> None:
    later = encode_connect_assignment(replace(ASSIGNMENT, version=3)) + b"more"
    assert decode_connect_assignment(later) == replace(ASSIGNMENT, version=3)
    assert decode_connect_assignment(bytes.fromhex("0001" + _DEALT)) == replace(ASSIGNMENT, revoked=(), delay_ms=0)
    assert decode_worker_state(bytes.fromhex("0001" + _WORKER)) == replace(STATE, assignment=None)


@pytest.mark.parametrize(
    ("blob", "why"),
    [
        ("ffff", "assignment of version -1"),
        ("0000", "assignment ends before its error"),
        ("0001" + _DEALT[:40], "assignment ends before its config offset"),
    ],
)
def test_a_broken_assignment_says_what_was_found(blob: str, why: str) -> None:
    with pytest.raises(ConnectError, match=why):
        decode_connect_assignment(bytes.fromhex(blob))


def test_the_protocols_stand_by_the_version_of_their_blobs() -> None:
    assert CONNECT_PROTOCOLS.index("default") == 0
    assert CONNECT_PROTOCOLS.index("sessioned") == 2
