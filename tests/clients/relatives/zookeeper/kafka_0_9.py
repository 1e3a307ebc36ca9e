"""Kafka 0.9.0.1's own assignors, run in a Java process: Oracle.java beside it against the jar from Maven."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from groupproof.clients.registry.toolchains.java_archives import compile_java, copy_artifacts, java_tool
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Assigned", "Case", "assigned_by_kafka"]

RELEASE = "org.apache.kafka:kafka_2.11:0.9.0.1"
SECONDS_MAX = 240

Assigned = Mapping[str, Mapping[TopicPartition, str]] | str
"""Consumer to partition to thread; or what went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What stands in ZooKeeper: the content of each topic's and each consumer's node; and which assignor is asked."""

    topics: Mapping[str, bytes]
    consumers: Mapping[str, bytes]
    assignor: str


def assigned_by_kafka(cases: Sequence[Case], folder: Path) -> list[dict[str, Assigned]]:
    """Return for each case what each consumer computes. Raises `ProvisionError` where Kafka cannot be had or compiled against."""
    jars = folder / "jars"
    jars.mkdir()
    copy_artifacts([RELEASE], jars, with_dependencies=True)
    compile_java(Path(__file__).with_name("Oracle.java"), jars, folder)
    printed = subprocess.run(
        [java_tool("java"), "-cp", f"{folder}:{jars}/*", "Oracle"],
        input="".join(map(_asked, cases)), capture_output=True, text=True, timeout=SECONDS_MAX, check=True,
    ).stdout  # fmt: skip
    return [_read(block) for block in printed.split("done\n")[:-1]]


def _asked(case: Case) -> str:
    lines = [f"topic\t{topic}\t{data.decode()}" for topic, data in case.topics.items()]
    lines += [f"consumer\t{consumer}\t{data.decode()}" for consumer, data in case.consumers.items()]
    return "\n".join([*lines, f"assign\t{case.assignor}", ""])


def _read(block: str) -> dict[str, Assigned]:
    found: dict[str, Assigned] = {}
    assignments: dict[str, dict[str, dict[TopicPartition, str]]] = {}
    for line in block.splitlines():
        kind, by, *rest = line.split("\t")
        if kind == "failed":
            found[by] = rest[0]
            continue
        of_consumer = assignments.setdefault(by, {}).setdefault(rest[0], {})
        if kind == "given":
            of_consumer[rest[1], int(rest[2])] = rest[3]
    return found | assignments
