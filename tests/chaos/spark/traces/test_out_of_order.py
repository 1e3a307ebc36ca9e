from __future__ import annotations

import pyarrow as pa

from groupproof.chaos.spark.traces.out_of_order import _before, _counter


def counted_rows(*rows: tuple[int | None, str, int], before: dict[tuple[str, int], int] | None = None) -> list[tuple[str, int, int, int]]:
    batches = [
        pa.RecordBatch.from_pylist([{"seq": seq, "piece": piece, "start": start} for seq, piece, start in some]) for some in (rows[:3], rows[3:])
    ]
    return [tuple(row.values()) for batch in _counter(before or {})([batch for batch in batches if batch.num_rows]) for row in batch.to_pylist()]


def test_each_piece_tells_how_far_it_goes_and_what_is_behind() -> None:
    rows = [(1, "a", 0), (5, "a", 0), (3, "a", 0), (4, "a", 0), (None, "a", 0), (9, "b", 0), (2, "a", 70), (2, "a", 70)]

    assert counted_rows(*rows) == [("a", 0, 5, 2), ("b", 0, 9, 0), ("a", 70, 2, 0)]


def test_a_later_piece_is_held_against_all_that_came_before_it() -> None:
    before = _before([("a", 70, 2), ("b", 0, 9), ("a", 0, 5), ("a", 140, 7)])

    assert before == {("a", 70): 5, ("a", 140): 5}
    assert counted_rows((2, "a", 70), (6, "a", 70), (6, "a", 140), before=before) == [("a", 70, 6, 1), ("a", 140, 6, 0)]


def test_an_empty_trace_has_nothing_out_of_its_place() -> None:
    assert counted_rows() == []
    assert _before([]) == {}
