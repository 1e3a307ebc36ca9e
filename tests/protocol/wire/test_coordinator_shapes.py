"""Kafka's schemas of the offsets topic as shapes: which fields a version has, and in which order."""

from __future__ import annotations

from groupproof.protocol.wire.codec import Shape
from groupproof.protocol.wire.coordinator_shapes import record_forms


def untagged(shape: Shape) -> list[str]:
    return [column.name for column in shape.columns if column.tag is None]


def test_every_record_type_of_the_classic_the_consumer_the_share_and_the_streams_protocol_is_there() -> None:
    assert sorted(record_forms()) == [*range(1, 18), *range(19, 24)]
    assert [record_forms()[number].name for number in (1, 2, 3, 8, 11, 16, 17, 23)] == [
        "OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata", "ConsumerGroupCurrentMemberAssignment", "ShareGroupMetadata",
        "ConsumerGroupRegularExpression", "StreamsGroupMetadata", "StreamsGroupTopology",
    ]  # fmt: skip


def test_a_commits_value_has_the_fields_of_its_version_and_the_defaults_of_the_others() -> None:
    values = record_forms()[1].values

    assert [untagged(values[version][0]) for version in range(5)] == [
        ["offset", "metadata", "commit_timestamp"],
        ["offset", "metadata", "commit_timestamp", "expire_timestamp"],
        ["offset", "metadata", "commit_timestamp"],
        ["offset", "leader_epoch", "metadata", "commit_timestamp"],
        ["offset", "leader_epoch", "metadata", "commit_timestamp"],
    ]
    assert values[0][0].absent == {"leader_epoch": -1, "expire_timestamp": -1, "topic_id": None}
    assert [(column.name, column.tag) for column in values[4][0].columns if column.tag is not None] == [("topic_id", 0)]
    assert [values[version][0].is_flexible for version in range(5)] == [False, False, False, False, True]


def test_members_of_a_classic_group_have_an_instance_id_from_version_3_on() -> None:
    values = record_forms()[2].values
    members = {version: next(column.shape for column in values[version][0].columns if column.name == "members") for version in range(5)}

    assert ["group_instance_id" in untagged(shape) for shape in members.values() if shape is not None] == [False, False, False, True, True]
    assert ["rebalance_timeout" in untagged(shape) for shape in members.values() if shape is not None] == [False, True, True, True, True]


def test_a_version_that_releases_gave_different_fields_has_all_its_forms_with_the_newest_first() -> None:
    newest, oldest = record_forms()[11].values[0]

    assert (untagged(newest), untagged(oldest)) == (["epoch", "metadata_hash"], ["epoch"])


def test_a_tagged_field_without_versions_is_in_those_in_which_it_is_tagged() -> None:
    (streams,) = record_forms()[17].values[0]

    assert {column.tag: column.name for column in streams.columns if column.tag is not None} == {
        0: "validated_topology_epoch", 1: "last_assignment_configs", 2: "stored_description_topology_epoch", 3: "failed_description_topology_epoch",
    }  # fmt: skip
