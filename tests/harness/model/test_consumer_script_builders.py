from __future__ import annotations

from groupproof.harness.model.consumer_script_builders import (
    acknowledge,
    away,
    beat,
    commit,
    commit_by_id,
    configure,
    describe,
    describe_configs,
    fetch,
    fetch_by_id,
    full,
    join,
    leave,
    settled,
)
from groupproof.harness.model.script import (
    Ask,
    OwnedById,
    PartitionsById,
    Ref,
    Script,
    Topic,
    TopicId,
    TopicPattern,
    script_from_json,
    script_to_json,
)
from groupproof.protocol.vocabulary import Api


def test_a_heartbeat_says_nothing_but_who_sends_it() -> None:
    fields = beat("a").fields

    assert (fields["member_id"], fields["member_epoch"]) == ("a", Ref("a", "member_epoch"))
    assert fields["rebalance_timeout_ms"] == -1
    assert {fields[name] for name in ("instance_id", "rack_id", "subscribed_topic_names", "subscribed_topic_regex", "server_assignor")} == {None}
    assert fields["topic_partitions"] is None


def test_a_join_says_all_that_it_must() -> None:
    fields = join("a", names=("t", "u")).fields

    assert (fields["member_epoch"], fields["topic_partitions"]) == (0, PartitionsById())
    assert fields["subscribed_topic_names"] == (Topic("t"), Topic("u"))
    assert fields["rebalance_timeout_ms"] > 0


def test_a_member_reports_its_assignment_or_the_listed_partitions() -> None:
    assert acknowledge("a").fields["topic_partitions"] == full("a").fields["topic_partitions"] == OwnedById("a")
    assert beat("a", owned=[("t", 1)]).fields["topic_partitions"] == PartitionsById((("t", 1),))


def test_leaves_have_epochs_of_their_own() -> None:
    assert (leave("a").fields["member_epoch"], away("a", "i").fields["member_epoch"]) == (-1, -2)
    assert away("a", "i").fields["instance_id"] == "i"


def test_fields_go_by_kafkas_names_and_the_rest_says_how_it_is_sent() -> None:
    ask = beat("a", regex="{t}", member_id="b", code=110, over="a/2", version=0)

    assert (ask.fields["member_id"], ask.fields["subscribed_topic_regex"]) == ("b", TopicPattern("{t}"))
    assert (ask.code, ask.over, ask.version) == (110, "a/2", 0)


def test_commits_and_fetches_bring_the_epoch() -> None:
    assert commit("a", {("t", 1): 7}).fields["generation_id"] == Ref("a", "member_epoch")
    (group,) = fetch("a", member_id=None, epoch=-1, everything=True).fields["groups"]
    assert (group["member_id"], group["member_epoch"], group["topics"]) == (None, -1, None)
    assert describe("z", "x").fields["group_ids"] == ("x",)


def test_offsets_go_by_topic_id_in_version_10() -> None:
    (committed,) = commit_by_id("a", {("t", 1): 7}).fields["topics"]
    (group,) = fetch_by_id("a", {"t": (0,)}).fields["groups"]

    assert (committed["topic_id"], "name" in committed, commit_by_id("a").version) == (TopicId("t"), False, 10)
    assert (group["topics"], fetch_by_id("a").version) == (({"topic_id": TopicId("t"), "partition_indexes": (0,)},), 10)


def test_settings_of_a_group_are_set_removed_and_described() -> None:
    (resource,) = configure("z", {"x": "1", "y": None}).fields["resources"]

    assert [(change["name"], change["config_operation"]) for change in resource["configs"]] == [("x", 0), ("y", 1)]
    assert configure("z", {}, only_checks=True).fields["validate_only"]
    assert [asked["resource_type"] for asked in describe_configs("z").fields["resources"]] == [32]


def test_members_settle_in_turn() -> None:
    assert [step.member for step in settled("a", "b", rounds=2) if isinstance(step, Ask)] == ["a", "b", "a", "b"]
    assert {step.api for step in settled("a") if isinstance(step, Ask)} == {Api.CONSUMER_GROUP_HEARTBEAT}


def test_such_a_script_is_written_and_read_back() -> None:
    script = Script(steps=(join("a", regex="{t}.*"), beat("a", owned=[("t", 0)]), acknowledge("a")))

    assert script_from_json(script_to_json(script)) == script
