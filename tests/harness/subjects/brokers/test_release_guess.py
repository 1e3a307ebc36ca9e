from __future__ import annotations

import pytest

from groupproof.harness.subjects.brokers.release_guess import guessed, matching_profile
from groupproof.protocol.rules.profiles import api_versions, default_profiles, profiles
from groupproof.protocol.vocabulary import Api

NEWEST = api_versions("kafka-4.1")
OTHERS = (Api.CONSUMER_GROUP_HEARTBEAT, Api.CONSUMER_GROUP_DESCRIBE)


@pytest.mark.parametrize("name", [name for name in profiles() if name.startswith("kafka-")])
def test_the_profile_is_the_newest_that_the_versions_match(name: str) -> None:
    alike = [default_profile for default_profile in default_profiles() if api_versions(default_profile) == api_versions(name)]

    assert matching_profile(api_versions(name)) == alike[-1]
    assert alike == [name] or name in {"kafka-3.2", "kafka-3.3", "kafka-3.7-new", "kafka-3.9-new", "kafka-4.2", "kafka-4.3"}, (
        "their group APIs are of one version"
    )


def test_a_broker_with_fewer_apis_and_versions_is_treated_as_an_older_release() -> None:
    mock = {
        Api.FETCH: (0, 16),
        Api.METADATA: (0, 13),
        Api.JOIN_GROUP: (0, 6),
        Api.SYNC_GROUP: (0, 4),
        Api.OFFSET_FETCH: (0, 6),
        Api.API_VERSIONS: (0, 2),
    }

    assert matching_profile(mock) == "kafka-2.4"


def test_a_broker_older_than_all_profiles_gets_the_oldest() -> None:
    assert matching_profile({Api.JOIN_GROUP: (0, 0)}) == profiles()[0]


def test_a_broker_that_lacks_the_apis_of_other_groups_is_judged_by_what_its_members_send() -> None:
    without = {api: versions for api, versions in NEWEST.items() if api not in OTHERS}

    assert matching_profile(without) == "kafka-4.1"
    assert guessed(without).sentence == (
        "judged as kafka-4.1: JoinGroup 0-9, SyncGroup 0-5, Heartbeat 0-4, LeaveGroup 0-5, OffsetCommit 2-9, OffsetFetch 1-9; "
        "it lacks ConsumerGroupHeartbeat and ConsumerGroupDescribe, which kafka-4.1 has; pass --profile to judge it otherwise"
    )


def test_versions_that_came_with_other_groups_make_a_broker_no_older() -> None:
    behind = {Api.OFFSET_COMMIT: (2, 8), Api.OFFSET_FETCH: (1, 8), Api.FIND_COORDINATOR: (0, 4), Api.LIST_GROUPS: (0, 4)}
    beside = {Api.FETCH: (4, 12), Api.METADATA: (0, 11), Api.DESCRIBE_GROUPS: (0, 5)}
    by_name = {api: versions for api, versions in NEWEST.items() if api not in OTHERS} | behind | beside

    assert matching_profile(by_name) == "kafka-4.3"
    assert "it speaks OffsetCommit 2-8 where that release has 2-10, OffsetFetch 1-8 where that release has 1-10" in guessed(by_name).sentence


def test_a_broker_that_never_took_the_oldest_versions_away_is_no_4_0() -> None:
    by_name = {**NEWEST, Api.JOIN_GROUP: (0, 9), Api.OFFSET_COMMIT: (0, 9), Api.OFFSET_FETCH: (0, 9), Api.FETCH: (0, 17)}

    assert matching_profile(by_name) == "kafka-3.9"


def test_a_broker_with_one_version_less_is_still_of_its_release() -> None:
    assert matching_profile({**NEWEST, Api.JOIN_GROUP: (0, 8), Api.SYNC_GROUP: (0, 4), Api.OFFSET_COMMIT: (2, 8)}) == "kafka-4.1"


def test_a_broker_that_matches_a_release_in_every_version_gets_no_remark() -> None:
    assert guessed(api_versions("kafka-2.4")).sentence == (
        "judged as kafka-2.4: JoinGroup 0-6, SyncGroup 0-4, Heartbeat 0-4, LeaveGroup 0-4, OffsetCommit 0-8, OffsetFetch 0-6; pass --profile to judge it otherwise"
    )


def test_a_broker_without_the_group_protocol_is_reported_as_that() -> None:
    assert guessed({Api.API_VERSIONS: (0, 2)}).sentence.startswith("judged as kafka-4.4: no request of the group protocol; it lacks ")
