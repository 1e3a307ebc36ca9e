"""What brokers of each release advertise."""

from __future__ import annotations

import pytest

from groupproof.protocol.spec import profiles
from groupproof.protocol.spec.api_versions import API_VERSIONS
from groupproof.protocol.vocabulary import Api


def test_every_profile_advertises_and_every_range_is_one() -> None:
    assert API_VERSIONS.keys() == set(profiles())
    assert all(0 <= oldest <= newest for ranges in API_VERSIONS.values() for oldest, newest in ranges.values())


# The column of the catalogue's sources, "API version ranges by broker release".
@pytest.mark.parametrize(("name", "ranges"), [
    ("kafka-1.1", ["0-2", "0-1", "0-1", "0-1", "0-3", "0-3", "0-0", "0-1", "0-1", "0-0", "0-1"]),
    ("kafka-2.4", ["0-6", "0-4", "0-4", "0-4", "0-8", "0-6", "0-2", "0-5", "0-3", "0-2", "0-3"]),
    ("kafka-2.8", ["0-7", "0-5", "0-4", "0-4", "0-8", "0-7", "0-3", "0-5", "0-4", "0-2", "0-3"]),
    ("kafka-3.9", ["0-9", "0-5", "0-4", "0-5", "0-9", "0-9", "0-4", "0-5", "0-5", "0-2", "0-6"]),
    ("kafka-4.0", ["2-9", "0-5", "0-4", "0-5", "2-9", "1-9", "0-5", "0-6", "0-5", "0-2", "0-6"]),
    ("kafka-4.1", ["0-9", "0-5", "0-4", "0-5", "2-9", "1-9", "0-5", "0-6", "0-5", "0-2", "0-6"]),
])  # fmt: skip
def test_the_group_apis_are_those_of_the_release(name: str, ranges: list[str]) -> None:
    apis = (
        Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.TXN_OFFSET_COMMIT,
        Api.DESCRIBE_GROUPS, Api.LIST_GROUPS, Api.DELETE_GROUPS, Api.FIND_COORDINATOR,
    )  # fmt: skip

    assert ["{}-{}".format(*API_VERSIONS[name][api]) for api in apis] == ranges


def test_releases_only_ever_add_newer_versions() -> None:
    for older, newer in zip(profiles(), profiles()[1:], strict=False):
        for api, (_, newest) in API_VERSIONS[older].items():
            assert API_VERSIONS[newer][api][1] >= newest, (newer, api)
