"""Draws the reads: a lane for each partition and query over time, with the coordinator's assignments and each batch's reads. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from groupproof.chaos.spark.streaming.streaming_reads import Batch, GenerationAssignment, QueryReads
from groupproof.chaos.spark.streaming.streaming_run import StreamingResult

__all__ = ["drawn"]

_LEFT: Final = 110
_WIDTH: Final = 1000
_LANE: Final = 22
_GAP: Final = 12
_TOP: Final = 34
_SHADES: Final = {"a": "var(--completing)", "b": "var(--preparing)"}


def drawn(result: StreamingResult, assignments: Sequence[GenerationAssignment], partitions: int) -> str:
    """Return an SVG; colours are the page's variables."""
    queries = result.scenario.queries
    row = len(queries) * _LANE + _GAP
    height = _TOP + partitions * row + 30
    to_x = _Scale(max(result.ended_s, 1.0))
    parts = [
        f'<svg class="tl" viewBox="0 0 {_LEFT + _WIDTH + 20} {height}" role="img" aria-label="who read what of which partition, over time">',
        *_axis(to_x, height),
        *(_mark(to_x, at_s, label, height) for at_s, label in result.marks),
    ]
    reads = {read_row.query: read_row for read_row in result.reads}
    for partition in range(partitions):
        top = _TOP + partition * row
        parts.append(f'<text class="name" x="4" y="{top + len(queries) * _LANE / 2 + 4:.0f}">partition {partition}</text>')
        for number, query in enumerate(queries):
            y = top + number * _LANE
            parts.append(f'<rect class="lane" x="{_LEFT}" y="{y}" width="{_WIDTH}" height="{_LANE - 2}"/>')
            parts.append(f'<text class="soft" x="{_LEFT - 16}" y="{y + 14}">{escape(query)}</text>')
            parts += _owned(to_x, assignments, query, partition, y, result.ended_s)
            parts += _batches(to_x, reads.get(query), partition, y)
    return "".join([*parts, "</svg>"])


class _Scale:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, at_s: float) -> float:
        return _LEFT + _WIDTH * min(max(at_s, 0.0), self.seconds) / self.seconds


def _axis(to_x: _Scale, height: int) -> Iterator[str]:
    step = next(number for number in (1, 2, 5, 10, 20, 50, 100, 1000) if to_x.seconds / number <= 12)
    for at_s in range(0, int(to_x.seconds) + 1, step):
        x = to_x(at_s)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - 24}"/>'
        yield f'<text class="soft" x="{x:.1f}" y="{height - 8}" text-anchor="middle">{at_s} s</text>'


def _mark(to_x: _Scale, at_s: float, label: str, height: int) -> str:
    x = to_x(at_s)
    return (
        f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - 24}"/>'
        f'<text class="markname" x="{x + 3:.1f}" y="{_TOP - 12}">{escape(label)}</text>'
    )


def _owned(to_x: _Scale, assignments: Sequence[GenerationAssignment], query: str, partition: int, y: int, ended_s: float) -> Iterator[str]:
    """Draw the times in which the coordinator assigned the partition to the query's driver, each until the next generation begins."""
    for number, assignment in enumerate(assignments):
        if partition in assignment.partitions.get(query, ()):
            until = assignments[number + 1].at_s if number + 1 < len(assignments) else ended_s
            x, end = to_x(assignment.at_s), to_x(until)
            title = f"generation {assignment.generation}: {query} was given partition {partition}"
            yield f'<rect class="owned" x="{x:.1f}" y="{y + 1}" width="{max(end - x, 1):.1f}" height="{_LANE - 4}"><title>{escape(title)}</title></rect>'


def _batches(to_x: _Scale, read: QueryReads | None, partition: int, y: int) -> Iterator[str]:
    number = -1
    for batch in () if read is None else read.batches:
        if batch.partition == partition:
            is_again = batch.first <= number
            yield _batch(to_x, batch, read.query if read is not None else "", y, is_again=is_again)
            number = max(number, batch.last)


def _batch(to_x: _Scale, batch: Batch, query: str, y: int, *, is_again: bool) -> str:
    colour = "var(--bad)" if is_again else _SHADES.get(query, "var(--mark)")
    again = ", which it had read before" if is_again else ""
    title = f"{query} read {batch.rows} rows of partition {batch.partition}: {batch.first} to {batch.last}{again}"
    return f'<rect x="{to_x(batch.at_s) - 3:.1f}" y="{y + 4}" width="6" height="{_LANE - 10}" style="fill:{colour}"><title>{escape(title)}</title></rect>'
