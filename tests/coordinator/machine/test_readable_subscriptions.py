"""Which subscription bytes Apache Kafka's coordinator chokes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.coordinator.machine.readable_subscriptions import breaks_the_reader, topics_of
from groupproof.protocol.wire.subscription import Subscription, encode_subscription


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_subscriptions_of_every_version_can_be_read(version: int) -> None:
    subscription = Subscription(topics=("t", "été"), owned=(("t", 1),), generation=4, rack="r", user_data=b"data", version=version)

    assert not breaks_the_reader(encode_subscription(subscription))
    assert topics_of(encode_subscription(subscription)) == frozenset({"t", "été"})


def test_a_topic_that_is_not_utf_8_is_read_as_java_reads_it() -> None:
    assert topics_of(b"\0\0\0\0\0\1\0\2t\xff\0\0\0\0") == frozenset({"t\N{REPLACEMENT CHARACTER}"})


@pytest.mark.parametrize("data", [
    b"", b"\0", b"\0\0", b"\0\0\0\0", b"\0\0\0\0\0\0", b"\0\0\0\0\0\1\0",
])  # fmt: skip
def test_bytes_that_stop_before_a_field_of_fixed_size_are_forgiven(data: bytes) -> None:
    assert not breaks_the_reader(data)
    assert topics_of(data) is None


@pytest.mark.parametrize("data", [
    b"metadata",  # as many topics as the letters say
    b"\0\0\xff\xff\xff\xff",  # a negative number of topics
    b"\0\0\0\0\0\1\xff\xff",  # a topic that is null
    b"\0\0\0\0\0\1\x80\0" + b"t" * 40_000,  # a negative length, though there is as much as it says without its sign
    b"\0\0\0\0\0\1\0\5t",  # a topic longer than what is left
    b"\0\0\0\0\0\0\0\0\0\5d",  # user data longer than what is left
])  # fmt: skip
def test_lengths_that_make_no_sense_break_the_reader(data: bytes) -> None:
    assert breaks_the_reader(data)
    assert topics_of(data) is None


@given(st.binary(max_size=40))
def test_any_bytes_are_judged(data: bytes) -> None:
    assert not (breaks_the_reader(data) and topics_of(data) is not None)
