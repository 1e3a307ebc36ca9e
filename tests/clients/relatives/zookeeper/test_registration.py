"""What a consumer registers, and what others make of it."""

from __future__ import annotations

import json

import pytest

from groupproof.clients.relatives.zookeeper.group_settings import WhiteList
from groupproof.clients.relatives.zookeeper.paths import Unreadable
from groupproof.clients.relatives.zookeeper.registration import Registration, read_registration, thread_id, thread_ids, threads_of_all

TOPICS = ("logs", "logs2", "orders", "__consumer_offsets")


@pytest.mark.requirement("ZK-10")
@pytest.mark.reading("DISC-46")
def test_threads_count_from_zero_behind_a_hyphen() -> None:
    assert thread_ids("C1", 2) == ("C1-0", "C1-1")
    assert thread_id("g_host-1-00ff", 0) == "g_host-1-00ff-0"


@pytest.mark.requirement("ZK-23", "TIMER-37")
def test_a_registration_holds_version_subscription_pattern_and_timestamp() -> None:
    data = Registration.of({"topic1": 2, "topic2": 3}).to_data(1_500_000_000_000)

    assert json.loads(data) == {"version": 1, "subscription": {"topic1": 2, "topic2": 3}, "pattern": "static", "timestamp": "1500000000000"}
    assert read_registration("/x", data) == Registration((("topic1", 2), ("topic2", 3)))


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (WhiteList(pattern="logs.*", threads=2), {"logs": 2, "logs2": 2}),
        (WhiteList(pattern="logs"), {"logs": 1}),
        (WhiteList(pattern='"logs, orders"'), {"logs": 1, "orders": 1}),
        (WhiteList(pattern="logs.*", is_black=True), {"orders": 1}),
    ],
)
def test_a_pattern_picks_whole_names_among_all_topics(listed: WhiteList, expected: dict[str, int]) -> None:
    registration = Registration.of(listed)
    read = read_registration("/x", registration.to_data(0))

    assert read == registration
    assert read.is_by_pattern
    assert read.threads(TOPICS, is_internal_excluded=True) == expected


@pytest.mark.requirement("ZK-58")
def test_internal_topics_are_picked_only_if_they_are_not_excluded() -> None:
    everything = Registration.of(WhiteList(pattern=".*"))

    assert "__consumer_offsets" not in everything.threads(TOPICS, is_internal_excluded=True)
    assert "__consumer_offsets" in everything.threads(TOPICS, is_internal_excluded=False)


def test_a_static_registration_does_not_ask_which_topics_there_are() -> None:
    assert Registration((("gone", 1),)).threads((), is_internal_excluded=True) == {"gone": 1}
    assert not Registration.of({}).is_by_pattern


def test_a_pattern_that_is_no_regular_expression_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid regex"):
        Registration.of(WhiteList(pattern="("))


@pytest.mark.parametrize("data", [b"", b"[]", b'{"pattern":"static"}', b'{"subscription":{}}', b'{"pattern":"static","subscription":{"t":"x"}}'])
def test_what_is_no_registration_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(Unreadable, match="error constructing TopicCount"):
        read_registration("/consumers/g/ids/c", data)


@pytest.mark.requirement("ZK-46")
def test_threads_are_sorted_as_strings_over_the_whole_group() -> None:
    registered = {"c2": {"t": 1}, "c1": {"t": 11, "u": 1}}

    assert threads_of_all(registered) == {
        "t": ("c1-0", "c1-1", "c1-10", "c1-2", "c1-3", "c1-4", "c1-5", "c1-6", "c1-7", "c1-8", "c1-9", "c2-0"),
        "u": ("c1-0",),
    }
