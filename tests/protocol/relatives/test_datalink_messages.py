"""The blobs of DataLink's workers: what is written is read again, and no bytes break the reader."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupproof.protocol.relatives.datalink_messages import (
    CONFIG_MISMATCH,
    BlobError,
    TaskAssignment,
    WorkerStatus,
    decode_assigned,
    decode_status,
    encode_assigned,
    encode_status,
)

NAMES = st.lists(st.text(max_size=8), max_size=5).map(tuple)
AMOUNTS = st.dictionaries(st.text(max_size=8), st.integers(0, 10**6).map(lambda milli: milli / 1_000), max_size=4)
STATUSES = st.builds(
    WorkerStatus, url=st.text(max_size=20), config_version=st.integers(0, 2**62), generation=st.integers(-1, 2**31 - 1), held=NAMES, running=NAMES,
    capacity=st.integers(1, 10**6).map(lambda milli: milli / 1_000), resources=AMOUNTS, traffic=AMOUNTS, version=st.just(1),
)  # fmt: skip


@settings(max_examples=40)
@given(STATUSES)
def test_a_worker_s_state_is_read_as_it_was_written(status: WorkerStatus) -> None:
    assert decode_status(encode_status(status)) == status


@settings(max_examples=40)
@given(STATUSES)
def test_a_leader_that_knows_the_old_form_alone_reads_the_beginning_of_the_new_one(status: WorkerStatus) -> None:
    old = encode_status(WorkerStatus(url=status.url, config_version=status.config_version))

    assert encode_status(status)[2 : len(old)] == old[2:]


@settings(max_examples=40)
@given(
    st.builds(
        TaskAssignment,
        leader=st.text(max_size=8),
        config_version=st.integers(0, 2**62),
        tasks=NAMES,
        error=st.sampled_from([0, 1]),
        is_partial=st.booleans(),
        leader_url=st.text(max_size=8),
    )
)
def test_an_assignment_is_read_as_it_was_written(assigned: TaskAssignment) -> None:
    assert decode_assigned(encode_assigned(assigned)) == assigned
    assert assigned.has_failed is (assigned.error == CONFIG_MISMATCH)


@settings(max_examples=40)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(blob: bytes) -> None:
    for decode in (decode_status, decode_assigned):
        try:
            decode(blob)
        except BlobError as error:
            assert str(error).startswith("worker ")


@pytest.mark.requirement("MGR-13")
def test_version_0_is_datalink_s_to_the_byte() -> None:
    assert encode_status(WorkerStatus(url="http://w", config_version=7)) == b"\0\0" + b"\0\x08http://w" + b"\0\0\0\0\0\0\0\x07"
    assigned = TaskAssignment(leader="m", leader_url="u", config_version=7, tasks=("12", "34"))
    assert encode_assigned(assigned) == b"\0\0" + b"\0\0" + b"\0\x01m" + b"\0\x01u" + b"\0\0\0\0\0\0\0\x07" + b"\0\0\0\x02\0\x0212\0\x0234"


@pytest.mark.parametrize("blob", [b"", b"\0", b"\0\1\0\1u\0\0\0\0\0\0\0\1", b"\xff\xff\0\1u\0\0\0\0\0\0\0\1"])
def test_what_is_no_state_is_said(blob: bytes) -> None:
    with pytest.raises(BlobError, match="worker state"):
        decode_status(blob)


def test_a_worker_without_capacity_is_refused() -> None:
    with pytest.raises(BlobError, match="capacity"):
        decode_status(encode_status(WorkerStatus(url="w", config_version=1, capacity=0, version=1)))
