"""Advertised versions: the release's own, as far as they are answered here."""

from __future__ import annotations

import pytest

from groupproof.coordinator.broker.advertised_versions import SERVED, accepted, advertised
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


def test_the_newest_release_differs_only_by_what_is_not_served() -> None:
    served = advertised("kafka-4.1")

    assert [api for api, versions in api_versions("kafka-4.1").items() if served.get(api, versions) != versions] == []


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
    """Before 0.9 committed offsets were kept in ZooKeeper: OffsetCommit and OffsetFetch v0 still are."""
    assert api_versions("kafka-2.8")[Api.OFFSET_COMMIT] == (0, 8)
    assert advertised("kafka-2.8")[Api.OFFSET_COMMIT] == (1, 8)
    assert advertised("kafka-2.8")[Api.OFFSET_FETCH] == (1, 7)
