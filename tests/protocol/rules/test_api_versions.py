"""What brokers of each release advertise."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupproof.protocol.rules import api_versions, profiles
from groupproof.protocol.rules.api_versions import SINCE, advertised
from groupproof.protocol.rules.classic.releases import RELEASES
from groupproof.protocol.vocabulary import Api


def test_every_profile_advertises_and_every_range_is_one() -> None:
    assert all(api_versions(name) for name in profiles())
    assert all(0 <= oldest <= newest for name in profiles() for oldest, newest in api_versions(name).values())


def test_a_range_begins_with_a_release_that_has_a_profile_and_each_is_another_than_the_one_before() -> None:
    lines = {release[:2] for release in RELEASES.values()}

    for history in SINCE.values():
        assert set(history) <= lines
        assert list(history) == sorted(history)
        assert all(older != newer for older, newer in pairwise(history.values()))


def test_what_came_after_a_release_is_not_advertised_by_it() -> None:
    assert Api.OFFSET_DELETE not in advertised((2, 3, 1))
    assert advertised((2, 4, 0))[Api.OFFSET_DELETE] == (0, 0)
    assert advertised((3, 1, 0)) == advertised((3, 0, 2))


# The column of the catalogue's sources, "API version ranges by broker release".
@pytest.mark.parametrize(("name", "ranges"), [
    ("kafka-1.1", ["0-2", "0-1", "0-1", "0-1", "0-3", "0-3", "0-0", "0-1", "0-1", "0-0", "0-1"]),
    ("kafka-2.0", ["0-3", "0-2", "0-2", "0-2", "0-4", "0-4", "0-1", "0-2", "0-2", "0-1", "0-2"]),
    ("kafka-2.1", ["0-3", "0-2", "0-2", "0-2", "0-6", "0-5", "0-2", "0-2", "0-2", "0-1", "0-2"]),
    ("kafka-2.2", ["0-4", "0-2", "0-2", "0-2", "0-6", "0-5", "0-2", "0-2", "0-2", "0-1", "0-2"]),
    ("kafka-2.3", ["0-5", "0-3", "0-3", "0-2", "0-7", "0-5", "0-2", "0-3", "0-2", "0-1", "0-2"]),
    ("kafka-2.4", ["0-6", "0-4", "0-4", "0-4", "0-8", "0-6", "0-2", "0-5", "0-3", "0-2", "0-3"]),
    ("kafka-2.5", ["0-7", "0-5", "0-4", "0-4", "0-8", "0-7", "0-3", "0-5", "0-3", "0-2", "0-3"]),
    ("kafka-2.6", ["0-7", "0-5", "0-4", "0-4", "0-8", "0-7", "0-3", "0-5", "0-4", "0-2", "0-3"]),
    ("kafka-2.7", ["0-7", "0-5", "0-4", "0-4", "0-8", "0-7", "0-3", "0-5", "0-4", "0-2", "0-3"]),
    ("kafka-2.8", ["0-7", "0-5", "0-4", "0-4", "0-8", "0-7", "0-3", "0-5", "0-4", "0-2", "0-3"]),
    ("kafka-3.0", ["0-7", "0-5", "0-4", "0-4", "0-8", "0-8", "0-3", "0-5", "0-4", "0-2", "0-4"]),
    ("kafka-3.2", ["0-9", "0-5", "0-4", "0-5", "0-8", "0-8", "0-3", "0-5", "0-4", "0-2", "0-4"]),
    ("kafka-3.3", ["0-9", "0-5", "0-4", "0-5", "0-8", "0-8", "0-3", "0-5", "0-4", "0-2", "0-4"]),
    ("kafka-3.7", ["0-9", "0-5", "0-4", "0-5", "0-9", "0-9", "0-3", "0-5", "0-4", "0-2", "0-4"]),
    ("kafka-3.9", ["0-9", "0-5", "0-4", "0-5", "0-9", "0-9", "0-4", "0-5", "0-5", "0-2", "0-6"]),
    ("kafka-4.0", ["0-9", "0-5", "0-4", "0-5", "2-9", "1-9", "0-5", "0-6", "0-5", "0-2", "0-6"]),
    ("kafka-4.1", ["0-9", "0-5", "0-4", "0-5", "2-9", "1-9", "0-5", "0-6", "0-5", "0-2", "0-6"]),
    ("kafka-4.2", ["0-9", "0-5", "0-4", "0-5", "2-10", "1-10", "0-5", "0-6", "0-5", "0-2", "0-6"]),
    ("kafka-4.3", ["0-9", "0-5", "0-4", "0-5", "2-10", "1-10", "0-5", "0-6", "0-5", "0-2", "0-6"]),
    ("kafka-4.4", ["0-9", "0-5", "0-4", "0-5", "2-10", "1-10", "0-6", "0-6", "0-5", "0-3", "0-6"]),
])  # fmt: skip
def test_the_group_apis_are_those_of_the_release(name: str, ranges: list[str]) -> None:
    apis = (
        Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.TXN_OFFSET_COMMIT,
        Api.DESCRIBE_GROUPS, Api.LIST_GROUPS, Api.DELETE_GROUPS, Api.FIND_COORDINATOR,
    )  # fmt: skip

    assert ["{}-{}".format(*api_versions(name)[api]) for api in apis] == ranges


def test_releases_only_ever_add_newer_versions() -> None:
    for older, newer in zip(profiles(), profiles()[1:], strict=False):
        for api, (_, newest) in api_versions(older).items():
            assert api_versions(newer)[api][1] >= newest, (newer, api)
