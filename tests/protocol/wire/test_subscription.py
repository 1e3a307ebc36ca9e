from __future__ import annotations

import base64
import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.wire.subscription import (
    SUBSCRIPTION_VERSION_MAX,
    Assignment,
    Subscription,
    SubscriptionError,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

FULL = Subscription(topics=("t", "u"), owned=(("t", 0), ("t", 2), ("u", 1)), generation=7, rack="r", user_data=b"xy", version=3)
BY_VERSION = [
    replace(FULL, version=0, owned=(), generation=-1, rack=None),
    replace(FULL, version=1, generation=-1, rack=None),
    replace(FULL, version=2, rack=None),
    FULL,
]
OWNED = "00000002" + "000174" + "00000002" + "00000000" + "00000002" + "000175" + "00000001" + "00000001"
# Encoded by kafka-python 3.0.12 from Kafka's own schemas.
GOLDEN = [
    "0000" + "0000000200017400017500000002" + "7879",
    "0001" + "0000000200017400017500000002" + "7879" + OWNED,
    "0002" + "0000000200017400017500000002" + "7879" + OWNED + "00000007",
    "0003" + "0000000200017400017500000002" + "7879" + OWNED + "00000007" + "000172",
]

topics = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
partitions = st.lists(st.tuples(topics, st.integers(0, 2**31 - 1)), unique=True, max_size=5).map(lambda item: tuple(sorted(item)))
subscriptions = st.builds(
    Subscription,
    topics=st.lists(topics, max_size=3).map(tuple),
    owned=partitions,
    generation=st.integers(-1, 2**31 - 1),
    rack=st.none() | topics,
    user_data=st.none() | st.binary(max_size=8),
    version=st.just(SUBSCRIPTION_VERSION_MAX),
)


@pytest.mark.parametrize(("subscription", "golden"), list(zip(BY_VERSION, GOLDEN, strict=True)), ids=["v0", "v1", "v2", "v3"])
def test_a_subscription_of_each_version_has_the_bytes_that_another_implementation_gives_it(subscription: Subscription, golden: str) -> None:
    assert encode_subscription(replace(FULL, version=subscription.version)).hex() == golden
    assert decode_subscription(bytes.fromhex(golden)) == subscription


def test_an_assignment_has_the_bytes_that_another_implementation_gives_it() -> None:
    assignment = Assignment(partitions=(("t", 0), ("t", 2), ("u", 1)), version=1)

    assert encode_assignment(assignment).hex() == "0001" + OWNED + "ffffffff"
    assert decode_assignment(encode_assignment(assignment)) == assignment


@given(subscriptions)
def test_a_subscription_survives_its_encoding(subscription: Subscription) -> None:
    assert decode_subscription(encode_subscription(subscription)) == subscription


@given(partitions, st.none() | st.binary(max_size=8))
def test_an_assignment_survives_its_encoding(given_partitions: tuple[tuple[str, int], ...], user_data: bytes | None) -> None:
    assignment = Assignment(partitions=given_partitions, user_data=user_data)

    assert decode_assignment(encode_assignment(assignment)) == assignment


def test_partitions_of_a_topic_are_written_together_in_their_order() -> None:
    mixed = Assignment(partitions=(("u", 1), ("t", 3), ("u", 0)))

    assert decode_assignment(encode_assignment(mixed)).partitions == (("u", 1), ("u", 0), ("t", 3))


def test_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    """Kafka's ConsumerProtocol reads a newer version with the newest schema it has and ignores the rest."""
    newer = b"\0\x09" + encode_subscription(FULL)[2:] + b"fields of v9"

    assert decode_subscription(newer) == replace(FULL, version=9)


@pytest.mark.parametrize(
    ("version", "field", "kept"),
    [(1, "owned partitions", 0), (2, "owned partitions", 0), (2, "generation", 1), (3, "generation", 1), (3, "rack", 2)],
)
def test_a_subscription_that_ends_where_a_later_field_begins_is_read_as_far_as_it_goes(version: int, field: Any, kept: int) -> None:
    whole = encode_subscription(replace(FULL, version=kept))
    early = struct.pack(">h", version) + whole[2:]

    assert decode_subscription(early) == replace(decode_subscription(whole), version=version, ends_before=field)
    assert decode_subscription(early).is_truncated
    assert encode_subscription(decode_subscription(early)) == early


def test_what_kafka_go_sends_is_read() -> None:
    """segmentio/kafka-go#1156, and @platformatic/kafka up to 2.11.0."""
    read = decode_subscription(base64.b64decode("AAEAAAABAAF0/////w=="))

    assert read == Subscription(topics=("t",), version=1, ends_before="owned partitions")


def test_a_whole_subscription_is_not_truncated() -> None:
    assert [decode_subscription(bytes.fromhex(golden)).is_truncated for golden in GOLDEN] == [False] * len(GOLDEN)


def test_bytes_after_an_assignment_are_ignored() -> None:
    assert decode_assignment(encode_assignment(Assignment(partitions=(("t", 0),))) + b"more").partitions == (("t", 0),)


def test_an_assignment_that_ends_before_its_user_data_is_read_and_written_as_it_is() -> None:
    whole = encode_assignment(Assignment(partitions=(("t", 0),), version=1))
    early = whole[:-4]

    assert decode_assignment(early) == Assignment(partitions=(("t", 0),), version=1, is_truncated=True)
    assert encode_assignment(decode_assignment(early)) == early
    assert not decode_assignment(whole).is_truncated
    with pytest.raises(SubscriptionError, match="user data"):
        decode_assignment(whole[:-2])


def test_an_empty_blob_is_an_empty_assignment_but_no_subscription() -> None:
    assert decode_assignment(b"") == Assignment()
    with pytest.raises(SubscriptionError, match="subscription ends before its version, after 0 bytes"):
        decode_subscription(b"")


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        ("ffff", "subscription of version -1"),
        ("0000", "subscription ends before its topics"),
        ("0000ffffffff", "subscription with -1 topics"),
        ("00007fffffff", "subscription with 2147483647 topics in 0 bytes"),
        ("000000000001ffff", "subscription whose topic is null"),
        ("0000000000010001ff00000000", "subscription whose topic is not UTF-8"),
        ("00000000000000000005ab", "subscription whose user data has 5 bytes, of 1 left"),
        ("000100000000ffffffff00", "subscription ends before its topics with partitions, after 11 bytes"),
        ("000200000000ffffffff0000000000", "subscription ends before its generation, after 15 bytes"),
        ("000100000000ffffffff000000010001747fffffff", "subscription with 2147483647 partitions in 0 bytes"),
    ],
)
def test_a_broken_subscription_says_what_was_found(blob: str, message: str) -> None:
    with pytest.raises(SubscriptionError, match=message):
        decode_subscription(bytes.fromhex(blob))


@given(st.binary(max_size=60))
def test_garbage_is_refused_as_garbage(blob: bytes) -> None:
    for decode in (decode_subscription, decode_assignment):
        try:
            decode(blob)
        except SubscriptionError as error:
            assert str(error)
