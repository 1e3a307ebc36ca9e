from __future__ import annotations

from pathlib import Path

from groupproof.chaos.spark.streaming.streaming_query import QueryConfig, _batches, _reason


def test_rows_are_put_into_batches_by_partition() -> None:
    rows = [(0, 5, 2.0), (0, 4, 2.0), (1, 9, 2.0), (0, 6, 3.5)]

    assert [(batch.partition, batch.at_s, batch.first, batch.last, batch.rows) for batch in _batches(rows)] == [
        (0, 2.0, 4, 5, 2), (1, 2.0, 9, 9, 1), (0, 3.5, 6, 6, 1),
    ]  # fmt: skip


def test_the_reason_of_a_failure_is_one_line_without_what_spark_wraps_around_it() -> None:
    assert _reason("\n=== Streaming Query ===\n\tat x.y(Z.scala)\nSome data may have been lost\nmore") == "Some data may have been lost"
    assert _reason("") == "it does not say why"
    assert _reason("x" * 1_000) == "x" * 300 + "…"


def test_rows_of_a_query_have_a_folder_of_their_own(tmp_path: Path) -> None:
    query = QueryConfig(name="a", bootstrap="x:1", topic="t", group="g", is_deprecated=False, fails_on_loss=False, folder=tmp_path)

    assert query.rows == tmp_path / "reads" / "query=a"
