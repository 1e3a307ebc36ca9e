from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.wire.embedded.streams_protocol import (
    LATEST_OFFSET,
    NO_REBALANCE_MS,
    STREAMS_VERSION_MAX,
    UNKNOWN_SUM,
    AssignmentInfo,
    StreamsError,
    SubscriptionInfo,
    Task,
    decode_assignment_info,
    decode_subscription_info,
    encode_assignment_info,
    encode_subscription_info,
)

PROCESS = "00000000000000010000000000000002"
SAID = SubscriptionInfo(
    version=11,
    latest=11,
    process=PROCESS,
    end_point="h:1",
    offset_sums=((Task(0, 1), LATEST_OFFSET), (Task(1, 0), 5)),
    unique=3,
    error=4,
    tags=(("k", "v"),),
)
GIVEN = AssignmentInfo(
    version=11,
    commonly=11,
    active=(Task(0, 1),),
    standby=((Task(1, 0), (("t", 0),)),),
    hosts=(("h", 1, (("t", 1),)),),
    standby_hosts=(("i", 2, (("t", 0),)),),
    next_rebalance_ms=99,
)
# Encoded by SubscriptionInfo and AssignmentInfo of kafka-streams 4.1.2, by version.
_ID = "00000000000000010000000000000002"
_OLD = "000000010000000000000001" + "000000010000000100000000"
_SUMS = "00000002" + "000000000000000100000001fffffffffffffffe" + "0000000100000001000000000000000000000005"
_NEW = "00000002" + "0000000000000001fffffffffffffffeffff" + "00000001000000000000000000000005ffff"
_END = "00000003683a31"
SAID_BYTES = {
    1: "00000001" + _ID + _OLD,
    2: "00000002" + _ID + _OLD + _END,
    3: "000000030000000b" + _ID + _OLD + _END,
    6: "000000060000000b" + _ID + _OLD + _END,
    7: "000000070000000b" + _ID + _END + _SUMS,
    8: "000000080000000b" + _ID + _END + _SUMS + "03",
    9: "000000090000000b" + _ID + _END + _SUMS + "0300000004",
    10: "0000000a0000000b" + _ID + _END + _NEW + "0300000004",
    11: "0000000b0000000b" + _ID + _END + _NEW + "0300000004" + "00000001000000016b0000000176",
}
_TASKS = "000000010000000000000001" + "0000000100000001000000000000000100017400000000"
_NAMED = "00000001000000000000000100000000" + "000000010000000100000000000000000000000100017400000000"
_HOST = "00000001000168000000010000000100017400000001"
_DICTIONARY = "0000000100000000000174"
_HOSTS = "000000010001680000000100000001" + "0000000000000001"
_STANDBYS = "000000010001690000000200000001" + "0000000000000000"
GIVEN_BYTES = {
    1: "00000001" + _TASKS,
    2: "00000002" + _TASKS + _HOST,
    3: "000000030000000b" + _TASKS + _HOST,
    4: "000000040000000b" + _TASKS + _HOST + "00000000",
    5: "000000050000000b" + _TASKS + _DICTIONARY + _HOSTS + "00000000",
    6: "000000060000000b" + _TASKS + _DICTIONARY + _HOSTS + _STANDBYS + "00000000",
    7: "000000070000000b" + _TASKS + _DICTIONARY + _HOSTS + _STANDBYS + "00000000" + "0000000000000063",
    9: "000000090000000b" + _TASKS + _DICTIONARY + _HOSTS + _STANDBYS + "00000000" + "0000000000000063",
    10: "0000000a0000000b" + _NAMED + _DICTIONARY + _HOSTS + _STANDBYS + "00000000" + "0000000000000063",
    11: "0000000b0000000b" + _NAMED + _DICTIONARY + _HOSTS + _STANDBYS + "00000000" + "0000000000000063",
}

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)
numbers = st.integers(0, 2**31 - 1)
tasks = st.builds(Task, numbers, numbers, st.just("") | names)
partitions = st.lists(st.tuples(names, numbers), max_size=3).map(tuple)
hosts = st.lists(st.tuples(names, numbers, partitions), max_size=2).map(tuple)
subscriptions = st.builds(
    SubscriptionInfo,
    version=st.just(STREAMS_VERSION_MAX),
    latest=numbers,
    process=st.binary(min_size=16, max_size=16).map(bytes.hex),
    end_point=names,
    offset_sums=st.lists(st.tuples(tasks, st.integers(-3, 2**63 - 1)), max_size=4).map(tuple),
    unique=st.integers(-128, 127),
    error=numbers,
    tags=st.lists(st.tuples(names, names), max_size=2).map(tuple),
)
assignments = st.builds(
    AssignmentInfo,
    version=st.just(STREAMS_VERSION_MAX),
    commonly=numbers,
    active=st.lists(tasks, max_size=3).map(tuple),
    standby=st.lists(st.tuples(tasks, partitions), max_size=2).map(tuple),
    hosts=hosts,
    standby_hosts=hosts,
    error=numbers,
    next_rebalance_ms=st.integers(0, NO_REBALANCE_MS),
)


def said_in(version: int) -> SubscriptionInfo:
    """Return what a version keeps of `SAID`."""
    info = replace(SAID, version=version, tags=SAID.tags if version >= 11 else (), error=4 if version >= 9 else 0, unique=3 if version >= 8 else 0)
    info = info if version >= 7 else replace(info, offset_sums=((Task(0, 1), LATEST_OFFSET), (Task(1, 0), UNKNOWN_SUM)))
    info = info if version >= 3 else replace(info, latest=-1)
    return info if version >= 2 else replace(info, end_point="")


def given_in(version: int) -> AssignmentInfo:
    """Return what a version keeps of `GIVEN`."""
    made = replace(GIVEN, version=version, next_rebalance_ms=99 if version >= 7 else NO_REBALANCE_MS)
    made = made if version >= 6 else replace(made, standby_hosts=())
    made = made if version >= 3 else replace(made, commonly=-1)
    return made if version >= 2 else replace(made, hosts=())


@pytest.mark.parametrize(("version", "golden"), SAID_BYTES.items())
def test_a_subscription_info_has_the_bytes_of_kafkas_own_class(version: int, golden: str) -> None:
    assert encode_subscription_info(said_in(version)).hex() == golden
    assert decode_subscription_info(bytes.fromhex(golden)) == said_in(version)


@pytest.mark.parametrize(("version", "golden"), GIVEN_BYTES.items())
def test_an_assignment_info_has_the_bytes_of_kafkas_own_class(version: int, golden: str) -> None:
    assert encode_assignment_info(given_in(version)).hex() == golden
    assert decode_assignment_info(bytes.fromhex(golden)) == given_in(version)


@given(subscriptions)
def test_a_subscription_info_survives_the_wire(info: SubscriptionInfo) -> None:
    assert decode_subscription_info(encode_subscription_info(info)) == info


@given(assignments)
def test_an_assignment_info_survives_the_wire(info: AssignmentInfo) -> None:
    assert decode_assignment_info(encode_assignment_info(info)) == info


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_named(user_data: bytes) -> None:
    for decode in (decode_subscription_info, decode_assignment_info):
        try:
            decode(user_data)
        except StreamsError as error:
            assert str(error)


def test_of_a_later_version_the_versions_are_read() -> None:
    info, dealt = (
        decode_subscription_info(bytes.fromhex("0000000d0000000e") + b"more"),
        decode_assignment_info(bytes.fromhex("0000000d0000000c") + b"more"),
    )

    assert (info.version, info.latest, info.is_known) == (13, 14, False)
    assert (dealt.version, dealt.commonly, dealt.is_known) == (13, 12, False)
    assert SAID.is_known
    assert GIVEN.is_known


@pytest.mark.parametrize(
    ("user_data", "why"),
    [
        ("", "assignment info ends before its version"),
        ("00000000", "assignment info of version 0"),
        ("000000050000000b" + _TASKS + "00000000" + _HOSTS, "assignment info with a topic of index 0, of 0"),
        ("0000000b0000000b" + "7fffffff", "assignment info with 2147483647 active tasks in 0 bytes"),
    ],
)
def test_a_broken_assignment_info_says_what_was_found(user_data: str, why: str) -> None:
    with pytest.raises(StreamsError, match=why):
        decode_assignment_info(bytes.fromhex(user_data))


def test_an_active_task_is_one_without_lag_and_a_task_goes_by_its_numbers() -> None:
    assert SAID.active == (Task(0, 1),)
    assert (str(Task(0, 1)), str(Task(2, 3, "t"))) == ("0_1", "t__2_3")
