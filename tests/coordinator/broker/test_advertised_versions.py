"""Advertised versions: the release's own, as far as they are answered here, and every difference said."""

from __future__ import annotations

import pytest

from groupproof.coordinator.broker.advertised_versions import SERVED, accepted, advertised, deviations
from groupproof.protocol.rules import api_versions, profiles
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS


@pytest.mark.parametrize("profile", profiles())
def test_nothing_is_answered_that_the_release_or_the_wire_does_not_know(profile: str) -> None:
    beside = {api: own for dialect in profile_named(profile).dialects for api, own in dialect.apis_beside.items()}
    for api, (low, high) in accepted(profile).items():
        own, read = {**beside, **api_versions(profile)}[api], VERSIONS[api]
        assert own[0] <= low <= high <= own[1]
        assert read[0] <= low <= high <= read[1]


@pytest.mark.parametrize("profile", profiles())
def test_every_difference_from_the_release_is_said_and_no_other(profile: str) -> None:
    by_name, own = advertised(profile), api_versions(profile)
    differing = {api for api in own if by_name.get(api) != own[api]}
    lines = deviations(profile)

    assert all(any(sentence.startswith(f"{api.title} ") for sentence in lines) for api in differing)
    assert all(any(sentence.startswith(f"{api.title} ") for api in own) for sentence in lines)


def test_the_newest_release_differs_only_by_what_is_not_served() -> None:
    assert [sentence for sentence in deviations("kafka-4.1") if not sentence.endswith("is not served")] == []


def test_an_old_release_is_fetched_from_by_what_kafka_4_dropped() -> None:
    assert advertised("kafka-1.1")[Api.FETCH] == (0, 7)
    assert advertised("kafka-3.9")[Api.LIST_OFFSETS] == (0, 9)
    assert advertised("kafka-4.0")[Api.FETCH][0] == 4


def test_produce_is_advertised_from_zero_by_the_newest_release_and_refused_below_three() -> None:
    """KAFKA-18659: old librdkafka looks for Produce v0 and never sends it."""
    assert advertised("kafka-4.1")[Api.PRODUCE][0] == 0
    assert accepted("kafka-4.1")[Api.PRODUCE][0] == 3


def test_the_group_apis_are_served() -> None:
    assert {Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR} <= SERVED


def test_what_old_brokers_keep_in_zookeeper_is_not_served() -> None:
    lines = [deviation for deviation in deviations("kafka-2.8") if "ZooKeeper" in deviation]

    assert lines == [
        "OffsetCommit is served from v1 to v8; the release has v0 to v8, of which v0 keeps offsets in ZooKeeper",
        "OffsetFetch is served from v1 to v7; the release has v0 to v7, of which v0 keeps offsets in ZooKeeper",
    ]
    assert not [deviation for deviation in deviations("kafka-4.0") if "ZooKeeper" in deviation]
