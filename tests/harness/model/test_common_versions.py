from __future__ import annotations

import pytest

from groupproof.harness.model.common_versions import common_versions, unspoken
from groupproof.protocol.vocabulary import Api

OLD = {Api.JOIN_GROUP: (0, 2), Api.HEARTBEAT: (0, 1), Api.SYNC_GROUP: (0, 1)}


@pytest.mark.parametrize(
    ("need", "lines"),
    [
        ("JoinGroup", []),
        ("JoinGroup=0", []),
        ("JoinGroup>=2", []),
        ("JoinGroup=5", ["JoinGroup v5 (its ApiVersions say v0 to v2)"]),
        ("JoinGroup>=5", ["JoinGroup v5 or newer (its ApiVersions say v0 to v2)"]),
        ("OffsetDelete", ["OffsetDelete (its ApiVersions say nothing of it)"]),
    ],
)
def test_what_a_broker_does_not_speak_is_reported_in_its_own_words(need: str, lines: list[str]) -> None:
    assert unspoken([need], OLD) == lines


@pytest.mark.parametrize(
    ("need", "lines"),
    [
        ("JoinGroup=2", []),
        ("JoinGroup>=1", []),
        ("JoinGroup>=2", ["JoinGroup v2 or newer (its ApiVersions say v0 to v2, yet nothing newer than v1 works)"]),
    ],
)
def test_a_missing_version_is_reported_only_for_a_need_that_requires_it(need: str, lines: list[str]) -> None:
    assert unspoken([need], OLD, {**OLD, Api.JOIN_GROUP: (0, 1)}) == lines


def test_an_api_that_is_not_there_at_all_is_reported_once() -> None:
    assert len(unspoken(["OffsetDelete", "OffsetDelete=0", "OffsetDelete>=0"], OLD)) == 1


def test_a_need_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="'JoinGroup<5' is no need"):
        unspoken(["JoinGroup<5"], OLD)


def test_versions_that_call_topics_by_ids_are_for_those_who_insist_on_them() -> None:
    assert common_versions(Api.OFFSET_COMMIT, {Api.OFFSET_COMMIT: (2, 10)}) == (2, 9)
    assert common_versions(Api.OFFSET_FETCH, {Api.OFFSET_FETCH: (1, 10)}) == (1, 9)
    assert unspoken(["OffsetCommit=10"], {Api.OFFSET_COMMIT: (2, 10)}) == []
    assert unspoken(["OffsetCommit=10"], {Api.OFFSET_COMMIT: (2, 9)}) != []


def test_versions_that_do_not_meet_are_none() -> None:
    assert common_versions(Api.JOIN_GROUP, {Api.JOIN_GROUP: (90, 99)}) is None
    assert common_versions(Api.JOIN_GROUP, {Api.JOIN_GROUP: (1, 99)}) == (1, 9)
