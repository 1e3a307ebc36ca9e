"""The figures of the lag: of each rebalance the first complete file counts, and what was there before does not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.benchmarks.stream_lag import lag_text, lags_of


def _batch(facts: Path, number: int, written_s: float, rows: list[dict[str, Any]], name: str = "part-0.parquet") -> None:
    folder = facts / f"batch={number}"
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / name)
    os.utime(folder / name, (written_s, written_s))


def _rebalance(number: int, at_ms: int, kind: str = "rebalance") -> dict[str, Any]:
    return {"group": "g", "kind": kind, "number": number, "at_ms": at_ms}


def test_the_lag_is_from_the_record_to_the_first_complete_file_that_reports_it(tmp_path: Path) -> None:
    _batch(tmp_path, 9, 12.0, [_rebalance(1, 1_000), _rebalance(2, 10_000), _rebalance(1, 11_000, "storm")])
    _batch(tmp_path, 10, 20.0, [_rebalance(2, 10_000), _rebalance(3, 19_000)])
    _batch(tmp_path, 11, 21.0, [_rebalance(4, 20_000)], name=".part-0.parquet")

    assert sorted(lags_of(tmp_path, since_ms=2_000)) == [1.0, 2.0]


def test_the_figures_stand_beside_the_noise_of_the_machine() -> None:
    line = lag_text([1.0, 2.0, 3.0], [0.001] * 20, records=5_000, seconds=10)

    assert "3 rebalances among 500 records a second: lag 2.0 s in the middle" in line
    assert "at most 3.0 s; this process woke up 1 ms late" in line
    assert lag_text([1.0], [0.0], records=0, seconds=1).endswith("too few")
