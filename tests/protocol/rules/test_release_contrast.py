"""What two profiles do differently, in words."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import profile, profiles
from groupproof.protocol.rules.release_contrast import ReleaseDiff, contrast


def _between(one: str, other: str) -> ReleaseDiff:
    return contrast(profile(one), profile(other))


def _all(found: ReleaseDiff) -> str:
    return "\n".join(f"{difference.says} @ {'; '.join(difference.rules)}" for difference in found.behaviour)


@pytest.mark.parametrize("name", profiles())
def test_a_profile_differs_in_nothing_from_itself(name: str) -> None:
    assert not _between(name, name)


@pytest.mark.parametrize("one", profiles()[:-1])
def test_two_profiles_differ_and_the_other_way_round_in_as_much(one: str) -> None:
    later = profiles()[profiles().index(one) + 1 :]
    both = {other: (_between(one, other), _between(other, one)) for other in later}

    assert [other for other, (forth, _) in both.items() if not forth] == []
    assert {other: _sizes(forth) for other, (forth, _) in both.items()} == {other: _sizes(back) for other, (_, back) in both.items()}


def _sizes(found: ReleaseDiff) -> tuple[int, int]:
    return len(found.behaviour), len(found.versions)


def test_4_0_differs_from_4_1_in_heartbeats_of_the_consumer_protocol_and_in_versions_alone() -> None:
    found = _between("kafka-4.0", "kafka-4.1")

    regex, order = [rule for difference in found.behaviour for rule in difference.rules]
    assert regex.startswith("ConsumerGroupHeartbeat in ")
    assert regex.endswith("consumer.Stable: regex-invalid")
    assert order == "ConsumerGroupHeartbeat, before the group is looked at"
    assert (found.fields, found.settings) == (("join_drops_regex: 1 | 0", "own_pending_is_free: 1 | 0"), ())
    assert found.versions == ("Produce: 0–12 | 0–13", "Fetch: 4–17 | 4–18")


@pytest.mark.parametrize(("one", "other", "message"), [
    ("kafka-2.4", "kafka-2.8", "answers 27 REBALANCE_IN_PROGRESS | 0; only kafka-2.8: restart the member's session timer @ Heartbeat in CompletingRebalance: completing"),
    ("kafka-2.8", "kafka-3.9", "only kafka-3.9: take over session and rebalance timeout @ JoinGroup in PreparingRebalance: instance-returns, member-joins; JoinGroup in CompletingRebalance: instance-returns, metadata-changed"),
    ("kafka-3.9", "kafka-4.1", "only kafka-4.1: the request is OffsetCommit v9 or newer → 69 GROUP_ID_NOT_FOUND @ OffsetCommit in none: no-group"),
    ("kafka-3.9", "kafka-4.1", "the group's offsets partition is being loaded → 27 REBALANCE_IN_PROGRESS"),
    ("kafka-4.2", "kafka-4.3", "@ OffsetCommit in consumer.Assigning, consumer.Reconciling, consumer.Stable: epoch-older"),
    ("kafka-3.9", "kafka-4.0", "only kafka-4.0: the request is OffsetCommit v9 or newer → 69 GROUP_ID_NOT_FOUND"),
    ("kafka-1.1", "kafka-2.4", "only kafka-2.4: the group instance id belongs to another member id → 82 FENCED_INSTANCE_ID"),
])  # fmt: skip
def test_a_difference_is_reported_with_its_rules(one: str, other: str, message: str) -> None:
    assert message in _all(_between(one, other))


def test_fields_and_settings_give_the_first_profiles_value_first() -> None:
    found = _between("kafka-1.1", "kafka-4.1")

    assert found.fields == (
        "commits_check_partitions: 0 | 1",
        "deletions_repeat_topics: 1 | 0",
        "expiry_spares_pending: 0 | 1",
        "group_operations: 328 | 3400",
        "group_operations_unasked: 0 | -2147483648",
        "join_error_generation: 0 | -1",
    )
    assert "group.max.session.timeout.ms: 300000 | 1800000" in found.settings
    assert "OffsetDelete: none | 0–0" in found.versions
