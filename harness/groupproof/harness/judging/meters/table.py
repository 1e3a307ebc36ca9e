"""Figures as a table: for a terminal, for a page, and side by side for several clients or runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

__all__ = ["BESIDE", "TITLES", "html_table", "lines", "rows", "to_json", "value_text"]

TITLES: Final[dict[str, str]] = {
    "ownership_overlap_ms": "two owners of a partition",
    "ownership_overlap_partition_ms": "two owners, summed over partitions",
    "unowned_ms": "a partition without an owner",
    "unowned_partition_ms": "without an owner, summed over partitions",
    "stop_the_world_ms": "no partition with an owner",
    "time_to_detect_ms": "from the fault to the first rebalance",
    "time_to_stable_ms": "from the last fault until settled",
    "rebalances": "rebalances",
    "rebalancing_ms": "rebalancing",
    "requests_per_rebalance": "requests a rebalance",
    "reconciliation_max_ms": "until all members owned their targets, longest",
    "epochs_per_hour": "epochs an hour",
    "commits_after_revocation": "commits after revocation",
    "commits_after_revocation_accepted": "commits after revocation, accepted",
    "duplicate_records": "records given twice",
    "lost_records": "records given to nobody",
    "heartbeat_latency_mean_ms": "heartbeat answered, mean",
    "heartbeat_latency_max_ms": "heartbeat answered, longest",
}
"""The figures in a table, in its order, each with its title."""

BESIDE: Final[dict[str, str]] = {
    "ownership_overlap_ms": "two owners",
    "unowned_ms": "no owner",
    "time_to_detect_ms": "to detect",
    "time_to_stable_ms": "to settle",
    "rebalances": "rebalances",
    "requests_per_rebalance": "requests each",
    "commits_after_revocation": "late commits",
    "duplicate_records": "twice",
    "lost_records": "lost",
}
"""The figures that compare many runs, one run per row, with their column heads."""

_SUMMED: Final = "_partition_ms"


def value_text(name: str, value: float | None) -> str:
    """Return a figure with its unit. Return a dash where it was not measured."""
    if value is None:
        return "-"
    if name.endswith(_SUMMED):
        return f"{value:,.0f} partition ms"
    if name.endswith("_ms"):
        return f"{value:,.1f} ms" if value < 10 else f"{value:,.0f} ms"
    return f"{value:,.1f}" if value != int(value) else f"{int(value):,}"


def _columns(runs: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows for which some run has a value."""
    for name, words in TITLES.items():
        values = [run.get(name) for run in runs.values()]
        if any(value is not None for value in values):
            yield words, [value_text(name, value) for value in values]


def lines(runs: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the table as text, with a column for each run (its name, and its figures as `Meters.result` returns them)."""
    rows = [("", list(runs)), *_columns(runs)] if len(runs) > 1 else list(_columns(runs))
    if not rows:
        return []
    first = max(len(words) for words, _ in rows)
    widths = [max(len(values[index]) for _, values in rows) for index in range(len(rows[0][1]))]
    return [f"{words:{first}}  {_justified(values, widths)}" for words, values in rows]


def _justified(values: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{value:>{width}}" for value, width in zip(values, widths, strict=True))


def rows(runs: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return many runs as rows, with the figures that compare them. A column without any value is left out."""
    heads = {name: head for name, head in BESIDE.items() if any(name in run for run in runs.values())}
    table = [["", *heads.values()], *([name, *(value_text(head, run.get(head)) for head in heads)] for name, run in runs.items())]
    widths = [max(len(row[index]) for row in table) for index in range(len(heads) + 1)]
    return [f"{name:{widths[0]}}  {_justified(values, widths[1:])}".rstrip() for name, *values in table] if heads else []


def html_table(runs: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table for a page, which styles `table.meters` itself."""
    head = "".join(f"<th>{escape(name)}</th>" for name in runs)
    body = "".join(f"<tr><th>{escape(words)}</th>{''.join(f'<td>{escape(value)}</td>' for value in values)}</tr>" for words, values in _columns(runs))
    return f'<table class="meters"><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>'


def to_json(runs: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return all figures of each run, rounded to a microsecond."""
    return {name: {figure: round(value, 3) for figure, value in run.items()} for name, run in runs.items()}
