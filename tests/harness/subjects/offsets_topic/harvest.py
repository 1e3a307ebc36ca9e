"""The offsets topic of a real Apache Kafka of any release, filled by hand over the wire, and Kafka's own reading of it beside ours.

    python -m tests.harness.subjects.offsets_topic.harvest RELEASE FOLDER [--records N] [--codec gzip] [--formats v0]

It leaves the topic's segments in FOLDER/segments, Kafka's reading in FOLDER/kafka.ndjson, and prints how many records there are and which differ.
"""

from __future__ import annotations

import argparse
import random
import shutil
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio
from packaging.version import Version
from tests.harness.judging.diagnosis.puppet import Line, Puppet, pass_time
from tests.harness.subjects.offsets_topic.kafkas_own import compare, read_by_kafka

from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.offsets_topic.segment_files import segments_in
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.compression import CODECS

__all__ = ["harvest"]

PARTITIONS: Final = 60
SETTINGS: Final = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1_000}
_TEXTS: Final = ("", "", "", "checkpoint-7", "größer als Ω", "x" * 300)
_CONSUMER_SINCE: Final = Version("4.0")
_SHARE_SINCE: Final = Version("4.1")


def harvest(release: str, folder: Path, *, records: int, codec: int = 0, settings: Mapping[str, str] | None = None) -> Path:
    """Start the release, fill its offsets topic with at least so many records, and return the folder with the segments."""
    segments = folder / "segments"
    asked = {**SETTINGS, "offsets.topic.compression.codec": str(codec), **(settings or {})}

    async def main() -> None:
        subject = ApacheKafka(release=release, cache=default_cache(), say=print, provider="maven", logs=folder)
        async with subject.cluster(settings=asked, brokers=1, topics={"t": PARTITIONS, "u": 4}) as cluster:
            await _fill(Version(release), cluster, records)
            shutil.rmtree(segments, ignore_errors=True)
            for source in segments_in(cluster._layout.brokers[0].data):  # type: ignore[attr-defined]  # the kit's own Kafka: where its log is only it knows
                target = segments / source.parent.name / source.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    folder.mkdir(parents=True, exist_ok=True)
    trio.run(main)
    return segments


async def _fill(release: Version, cluster: RunningCluster, records: int) -> None:
    draw = random.Random(str(release))
    address = cluster.addresses[0]
    async with trio.open_nursery() as nursery:
        for number in range(12):
            nursery.start_soon(_classic_group, address, f"classic-{number}", draw.randint(1, 4), 3)
        if release >= _CONSUMER_SINCE:
            for number in range(12):
                nursery.start_soon(_epochs, address, f"consumer-{number}", Api.CONSUMER_GROUP_HEARTBEAT)
        if release >= _SHARE_SINCE:
            for number in range(6):
                nursery.start_soon(_epochs, address, f"share-{number}", Api.SHARE_GROUP_HEARTBEAT)
    line = await Line.to(address, "harvest")
    written = 0
    while written < records:
        for number in range(20):
            written += await _commit(line, f"simple-{number}", draw)
    await line.ask(Api.DELETE_GROUPS, {"groups_names": ("simple-0", "classic-0")})
    await line.close()
    await pass_time(1)


async def _commit(line: Line, group: str, draw: random.Random) -> int:
    """Commit every partition of a topic as nobody's member; return how many there were."""
    entries = tuple(
        {"partition_index": index, "committed_offset": draw.randint(0, 2**40), "committed_leader_epoch": draw.randint(-1, 9),
         "committed_metadata": draw.choice(_TEXTS)}
        for index in range(PARTITIONS)
    )  # fmt: skip
    body = {"group_id": group, "generation_id": -1, "member_id": "", "topics": ({"name": "t", "partitions": entries},)}
    answer = await line.ask(Api.OFFSET_COMMIT, body, version=min(8, line.newest(Api.OFFSET_COMMIT)))
    errors = {part["error_code"] for topic in answer["topics"] for part in topic["partitions"]}
    assert errors == {0}, errors
    return PARTITIONS


async def _classic_group(address: Address, group: str, members: int, generations: int) -> None:
    """Let a group come to some generations: members join, leave, and go."""
    puppets = [Puppet(client=f"{group}-{number}", group=group, bootstrap=[address], topics=("t", "u")) for number in range(members)]
    for _ in range(generations):
        async with trio.open_nursery() as nursery:
            for puppet in puppets:
                nursery.start_soon(puppet.enter)
    for puppet in puppets[1:]:
        await puppet.ask(Api.LEAVE_GROUP, members=({"member_id": puppet.member_id, "group_instance_id": None},))
    for puppet in puppets:
        await puppet.hang_up()


async def _epochs(address: Address, group: str, api: Api) -> None:
    """Let members of an epoch's protocol join, take what they are given, change what they want, and leave; static ones for now and for good."""
    line = await Line.to(address, f"{group}-client")
    members: list[dict[str, Any]] = []
    beat = partial(_beat, line, group, api)
    for number in range(3):
        instance = f"i{number}" if number and api is Api.CONSUMER_GROUP_HEARTBEAT else None
        members.append({"member_id": str(uuid.uuid4()), "member_epoch": 0, "instance_id": instance, "topics": ("t",)})
        await beat(members[-1])
        for member in members * 2:
            await beat(member)
    members[0]["topics"] = ("t", "u")
    for member in members * 3:
        await beat(member)
    if api is Api.CONSUMER_GROUP_HEARTBEAT:
        members[0]["regex"] = "u.*"
        await beat(members[0])
        await pass_time(0.5)
        members[1]["member_epoch"] = -2
        await beat(members[1])
    for member in members:
        member["member_epoch"] = -1
        await beat(member)
    await line.close()


async def _beat(line: Line, group: str, api: Api, member: dict[str, Any]) -> None:
    """Send a heartbeat that says everything, and keep what the answer gives."""
    body = {"group_id": group, "member_id": member["member_id"], "member_epoch": member["member_epoch"], "rack_id": "r1"}
    body |= {"subscribed_topic_names": member["topics"]}
    if api is Api.CONSUMER_GROUP_HEARTBEAT:
        body |= {"instance_id": member["instance_id"], "rebalance_timeout_ms": 30_000, "topic_partitions": member.get("owned", ())}
        body |= {"subscribed_topic_regex": member["regex"]} if "regex" in member else {}
    answer = await line.ask(api, body)
    if answer["error_code"]:
        return
    member["member_id"] = answer["member_id"] or member["member_id"]
    member["member_epoch"] = answer["member_epoch"]
    if answer.get("assignment"):
        member["owned"] = tuple(answer["assignment"]["topic_partitions"])


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--codec", choices=CODECS, default="none")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in asked.settings)
    segments = harvest(asked.release, asked.folder, records=asked.records, codec=CODECS.index(asked.codec), settings=settings)
    reading = read_by_kafka(asked.release, segments_in(segments), asked.folder / "kafka.ndjson")
    print(compare(segments_in(segments), reading).text)


if __name__ == "__main__":
    _main()
