"""The benchmark of histories in small: the records that it writes are read, and tell of every generation."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from tests.benchmarks.history import write_records

from groupproof.chaos.spark.offsets.record_fold import REBALANCE, RecordFold, StoredRecord


def test_what_is_written_is_a_topic_of_commits_and_generations(tmp_path: Path) -> None:
    write_records(tmp_path, 10_000)
    files = sorted(tmp_path.glob("*/*.parquet"))
    fold = RecordFold()
    facts = fold.take(StoredRecord(0, **row) for row in pq.ParquetFile(files[0]).read().to_pylist())

    assert (len(files), fold.tally.read) == (50, 200)
    assert sum(fact.kind == REBALANCE for fact in facts) == 4
