"""A cluster asked by its administrators over the wire: groups described, listed and deleted, offsets deleted, commits within transactions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.helpers import Client, Stage, assigned, staged, virtually

from groupproof.protocol.vocabulary import Api

OFFSETS = {"name": "t", "partitions": ({"partition_index": 0}, {"partition_index": 7})}


async def _described(client: Client, version: int, *groups: str) -> list[dict[str, Any]]:
    return list((await client.ask(Api.DESCRIBE_GROUPS, {"groups": groups}, version))["groups"])


async def _listed(stage: Stage, **filters: tuple[str, ...]) -> list[str]:
    """Ask every node, as administrators do."""
    answers = [await stage.connect("admin", node).ask(Api.LIST_GROUPS, filters) for node in stage.cluster.nodes]
    return [group["group_id"] for answer in answers for group in answer["groups"]]


async def _commit(client: Client, group: str, **more: Any) -> list[int]:
    partitions = tuple({"partition_index": number, "committed_offset": 5} for number in (0, 7))
    api = Api.TXN_OFFSET_COMMIT if "producer_id" in more else Api.OFFSET_COMMIT
    version = 4 if api is Api.TXN_OFFSET_COMMIT else 9
    answer = await client.ask(api, {"group_id": group, "topics": ({"name": "t", "partitions": partitions},), **more}, version)
    return [partition["error_code"] for topic in answer["topics"] for partition in topic["partitions"]]


@virtually
async def test_a_group_is_described_by_its_coordinator_and_by_no_other_node() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        other = stage.connect("admin", 1 - stage.coordinator)
        (group,) = await _described(stage.connect("admin"), 6, "g")
        (elsewhere,) = await _described(other, 6, "g")

        assert (group["group_state"], group["protocol_data"], group["error_code"]) == ("Stable", "range", 0)
        assert [(member["member_id"], member["client_id"], member["member_assignment"]) for member in group["members"]] == [
            (member.member_id, "m0", assigned(0)),
        ]  # fmt: skip
        assert group["members"][0]["client_host"] == "/127.0.0.1"
        assert (elsewhere["error_code"], elsewhere["members"]) == (16, ())


@pytest.mark.parametrize("version", range(7))
def test_every_version_of_describe_groups_is_answered(version: int) -> None:
    @virtually
    async def course() -> None:
        async with staged() as stage:
            await stage.stable("m0")
            absent = next(name for name in "abcdef" if stage.cluster.coordinator_node(name) == stage.coordinator)
            described, missing = await _described(stage.connect("admin"), version, "g", absent)
            assert (described["group_state"], len(described["members"]), missing["group_state"]) == ("Stable", 1, "Dead")
            assert missing["error_code"] == (69 if version == 6 else 0)

    course()


@virtually
async def test_groups_are_listed_by_the_nodes_that_coordinate_them() -> None:
    async with staged() as stage:
        await stage.stable("m0")
        for group in ("h", "i", "j"):
            await _commit(stage.connect("c", stage.cluster.coordinator_node(group)), group)

        assert sorted(await _listed(stage)) == ["g", "h", "i", "j"]
        assert await _listed(stage, states_filter=("Stable",)) == ["g"]
        assert await _listed(stage, types_filter=("consumer",)) == []


@virtually
async def test_a_group_is_deleted_once_its_members_have_left() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        admin = stage.connect("admin")
        codes = []
        for _ in range(3):
            answer = await admin.ask(Api.DELETE_GROUPS, {"groups_names": ("g",)})
            codes.append(answer["results"][0]["error_code"])
            if len(codes) == 1:
                await member.leave()

        assert codes == [68, 0, 69]
        assert stage.cluster.view("g") is None
        deleted = stage.observations("transition", state_after="Dead")
        assert [obs.body["reason"] for obs in deleted] == ["group deleted"]
        assert [obs.error for obs in stage.observations("response", api="DeleteGroups")] == [68, 0, 69]


@virtually
async def test_offsets_are_deleted_but_for_unknown_partitions_and_subscribed_topics() -> None:
    async with staged() as stage:
        admin = stage.connect("admin")
        await _commit(admin, "g")
        (topic,) = (await admin.ask(Api.OFFSET_DELETE, {"group_id": "g", "topics": (OFFSETS,)}))["topics"]
        fetched = await admin.ask(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0,)},)},)})
        await stage.stable("m0")
        (kept,) = (await admin.ask(Api.OFFSET_DELETE, {"group_id": "g", "topics": (OFFSETS,)}))["topics"]
        missing = await admin.ask(Api.OFFSET_DELETE, {"group_id": "", "topics": (OFFSETS,)})

        assert [partition["error_code"] for partition in topic["partitions"]] == [0, 3]
        assert fetched["groups"][0]["topics"][0]["partitions"][0]["committed_offset"] == -1
        assert [partition["error_code"] for partition in kept["partitions"]] == [86, 3]
        assert (missing["error_code"], missing["topics"]) == (24, ())


@pytest.mark.parametrize(("profile", "committed", "number"), [("kafka-1.1", [0, 0], 0), ("kafka-2.4", [0, 3], 2), ("kafka-2.8", [0, 3], 1)])
def test_what_older_brokers_answer_for_missing_partitions(profile: str, committed: list[int], number: int) -> None:
    """Measured on 1.1.0, 2.4.1 and 2.8.2."""

    @virtually
    async def course() -> None:
        async with staged(profile=profile) as stage:
            admin = stage.connect("admin")
            topic = {"name": "t", "partitions": tuple({"partition_index": number, "committed_offset": 5} for number in (0, 7))}
            answer = await admin.ask(Api.OFFSET_COMMIT, {"group_id": "g", "topics": (topic,)}, 3)
            assert [partition["error_code"] for partition in answer["topics"][0]["partitions"]] == committed
            if number:
                deleted = await admin.ask(Api.OFFSET_DELETE, {"group_id": "g", "topics": (OFFSETS,)})
                assert [topic["name"] for topic in deleted["topics"]] == ["t"] * number

    course()


@virtually
async def test_a_commit_within_a_transaction_holds_back_readers_that_want_stable_offsets() -> None:
    async with staged(settings={"transaction.partition.verification.enable": "false"}) as stage:
        client = stage.connect("p")
        assert await _commit(client, "g", transactional_id="tx", producer_id=1) == [0, 3]
        asked = {"groups": ({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0,)},)},)}
        entries = [await client.ask(Api.OFFSET_FETCH, {**asked, "require_stable": wanted}) for wanted in (True, False)]

        partitions = [entry["groups"][0]["topics"][0]["partitions"][0] for entry in entries]
        assert [(partition["error_code"], partition["committed_offset"]) for partition in partitions] == [(88, -1), (0, -1)]


@pytest.mark.parametrize(("profile", "code"), [("kafka-4.1", 15), ("kafka-3.9", 15), ("kafka-2.8", 0)])
def test_where_transactions_are_verified_none_is_open(profile: str, code: int) -> None:
    """Measured on 4.1.0: without a transaction log a TxnOffsetCommit is answered 15."""

    @virtually
    async def course() -> None:
        async with staged(profile=profile) as stage:
            answer = await stage.connect("p").ask(
                Api.TXN_OFFSET_COMMIT,
                {"transactional_id": "tx", "group_id": "g", "producer_id": 1,
                 "topics": ({"name": "t", "partitions": ({"partition_index": 0, "committed_offset": 5},)},)},
                3,
            )  # fmt: skip
            assert answer["topics"][0]["partitions"][0]["error_code"] == code

    course()


@pytest.mark.parametrize(("profile", "versions"), [
    ("kafka-1.1", {Api.DESCRIBE_GROUPS: (0, 1), Api.LIST_GROUPS: (0, 1), Api.DELETE_GROUPS: (0, 0), Api.TXN_OFFSET_COMMIT: (0, 0)}),
    ("kafka-2.4", {Api.DESCRIBE_GROUPS: (0, 5), Api.LIST_GROUPS: (0, 3), Api.DELETE_GROUPS: (0, 2), Api.TXN_OFFSET_COMMIT: (0, 2),
                   Api.OFFSET_DELETE: (0, 0)}),
    ("kafka-4.1", {Api.DESCRIBE_GROUPS: (0, 6), Api.LIST_GROUPS: (0, 5), Api.DELETE_GROUPS: (0, 2), Api.TXN_OFFSET_COMMIT: (0, 5),
                   Api.OFFSET_DELETE: (0, 0)}),
])  # fmt: skip
def test_the_apis_of_administrators_are_advertised_as_the_release_does(profile: str, versions: dict[Api, tuple[int, int]]) -> None:
    @virtually
    async def course() -> None:
        async with staged(profile=profile) as stage:
            answer = await stage.connect("admin").ask(Api.API_VERSIONS, {}, 0)
            fields = {key["api_key"]: (key["min_version"], key["max_version"]) for key in answer["api_keys"]}
            assert {api: fields.get(api.value) for api in versions} == versions
            assert (Api.OFFSET_DELETE.value in fields) is (Api.OFFSET_DELETE in versions)

    course()
