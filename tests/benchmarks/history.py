"""How long Spark takes over an offsets topic of any size: kept records to facts of groups, on the processors of this machine.

    python -m tests.benchmarks.history [--records 10_000_000] [--folder DIR]

Of fifty records one is a generation of ten members, the others are commits; fifty partitions have twenty groups each.

Aim: 10 million records in four minutes on two processors, that is eight minutes of processor time.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from tests.benchmarks.offsets_topic import member_of
from tests.benchmarks.processes import cpu_of_tree_s

from groupproof.chaos.spark.offsets.history_page import page_of, summary_of
from groupproof.chaos.spark.offsets.partition_files import kept_files
from groupproof.chaos.spark.offsets.record_fold import Fact
from groupproof.chaos.spark.offsets.record_tables import HistoryOrder, facts_of
from groupproof.chaos.spark.session import session
from groupproof.protocol.wire.coordinator_records import encode_record

__all__ = ["measure", "write_records"]

_PARTITIONS: Final = 50
_GROUPS: Final = 20
_TOPIC_PARTITIONS: Final = 64
_GENERATION_EVERY: Final = 50
_BEGIN_MS: Final = 1_700_000_000_000
_APART_MS: Final = 100


def write_records(folder: Path, records: int) -> None:
    """Write a file for each partition of the topic."""
    records_each = records // _PARTITIONS
    values = [_value(number) for number in range(records_each)]
    for partition in range(_PARTITIONS):
        keys = _keys(partition)
        columns = {
            "offset": pa.array(range(records_each), pa.int64()),
            "at_ms": pa.array(range(_BEGIN_MS, _BEGIN_MS + records_each * _APART_MS, _APART_MS), pa.int64()),
            "key": pa.array([keys[number % _GENERATION_EVERY == 0][number % len(keys[0])] for number in range(records_each)], pa.binary()),
            "value": pa.array(values, pa.binary()),
        }  # fmt: skip
        place = folder / f"partition={partition}"
        place.mkdir()
        pq.write_table(pa.table(columns), place / "0.parquet")


def _keys(partition: int) -> tuple[list[bytes], list[bytes]]:
    """Return the keys of commits and of generations, in the order of the groups."""
    both: tuple[list[bytes], list[bytes]] = ([], [])
    for number in range(_GROUPS * _TOPIC_PARTITIONS):
        group = f"payments-{partition:02}-{number % _GROUPS:02}"
        both[0].append(encode_record("OffsetCommit", {"group": group, "topic": "orders.events.v1", "partition": number // _GROUPS}, None)[0])
        both[1].append(encode_record("GroupMetadata", {"group": group}, None)[0])
    return both


def _value(number: int) -> bytes | None:
    if number % _GENERATION_EVERY:
        value = {"offset": number, "leader_epoch": 3, "metadata": "", "commit_timestamp": _BEGIN_MS + number}
        return encode_record("OffsetCommit", {"group": "", "topic": "", "partition": 0}, value, 3)[1]
    fields = {"protocol_type": "consumer", "protocol": "range", "generation": number // _GENERATION_EVERY + 1, "members": (member_of(),) * 10}
    return encode_record("GroupMetadata", {"group": ""}, fields, 3)[1]


def measure(folder: Path) -> tuple[int, int, float, float]:
    """Return how many records there are, how many rebalances they come to on the page, and the seconds that it took from the files to the page: by the clock, and of processors."""
    spark = session("groupproof history benchmark", is_long=True)
    began, spent = time.perf_counter(), cpu_of_tree_s(os.getpid())
    facts = facts_of(spark, kept_files(spark, [folder]), HistoryOrder(folder=folder)).collect()
    summary = summary_of((Fact(*row) for row in facts), source="a benchmark")
    page_of(summary)
    return summary.records, summary.to_json()["rebalances"], time.perf_counter() - began, cpu_of_tree_s(os.getpid()) - spent


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        if not any(folder.iterdir()):
            write_records(folder, asked.records)
        records, rebalances, seconds, spent = measure(folder)
    print(
        f"{records:,} records, {rebalances:,} rebalances, {seconds:.1f} s: {records / seconds:,.0f} records a second; {spent:.1f} s of processor time, "
        f"{os.getloadavg()[0]:.1f} processes on {os.cpu_count()} processors"
    )


if __name__ == "__main__":
    _main()
