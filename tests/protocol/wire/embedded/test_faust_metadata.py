from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.wire.embedded.faust_metadata import (
    FaustError,
    FaustMetadata,
    decode_faust_assignment,
    decode_faust_subscription,
    encode_faust_assignment,
    encode_faust_subscription,
)

# As faust-streaming 0.15.3 sent it.
SENT = (
    b'{"assignment":{"actives":{"t":[0,1]},"standbys":{"t":[]}},"url":"http://m0:6066","changelog_distribution":{"http://m0:6066":{}},'
    b'"external_topic_distribution":{"http://m0:6066":{"t":[0,1]}},"topic_groups":{"t":0}}'
)
PARTITIONS = st.frozensets(st.tuples(st.text(max_size=4), st.integers(0, 9)), max_size=5)
METADATA = st.builds(
    FaustMetadata,
    url=st.text(max_size=20),
    actives=PARTITIONS,
    standbys=PARTITIONS,
    owners=st.dictionaries(st.text(max_size=5), PARTITIONS, max_size=3),
    topic_groups=st.dictionaries(st.text(max_size=4), st.integers(0, 9), max_size=3),
)


def test_what_faust_sends_is_read() -> None:
    both = frozenset({("t", 0), ("t", 1)})

    assert decode_faust_subscription(SENT) == FaustMetadata(
        url="http://m0:6066", actives=both, owners={"http://m0:6066": both}, topic_groups={"t": 0}
    )
    assert decode_faust_assignment(zlib.compress(SENT)) == decode_faust_subscription(SENT)


@given(METADATA)
def test_what_is_written_is_read_again(metadata: FaustMetadata) -> None:
    assert decode_faust_subscription(encode_faust_subscription(metadata)) == metadata
    assert decode_faust_assignment(encode_faust_assignment(metadata)) == metadata


@pytest.mark.parametrize("user_data", [b"", b"{}", b"\xff", SENT[:-1], SENT.replace(b"[0,1]", b'["0"]')])
def test_user_data_that_is_no_such_object_is_refused(user_data: bytes) -> None:
    with pytest.raises(FaustError):
        decode_faust_subscription(user_data)


@pytest.mark.parametrize("user_data", [b"", SENT, zlib.compress(SENT)[:-5], zlib.compress(b" " * 2**21)])
def test_an_assignment_that_cannot_be_unpacked_or_is_too_long_is_refused(user_data: bytes) -> None:
    with pytest.raises(FaustError):
        decode_faust_assignment(user_data)
