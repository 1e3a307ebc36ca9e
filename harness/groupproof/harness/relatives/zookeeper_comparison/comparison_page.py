"""The comparison as a page: the picture, and every figure behind it. Self-contained, as reports are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from groupproof.harness.relatives.zookeeper_comparison.comparison import Comparison
from groupproof.harness.relatives.zookeeper_comparison.comparison_svg import drawn
from groupproof.harness.reports.pages.template_engine import render

__all__ = ["page", "table"]


def page(comparison: Comparison) -> str:
    """Return the HTML."""
    return render("comparison.html.j2", comparison=comparison, picture=drawn(comparison))


def table(comparison: Comparison) -> Iterable[tuple[Any, ...]]:
    """Yield each row as a person reads it: churn, members, engine, design, requests, events, rebalances, time."""
    for row in sorted(comparison.rows, key=lambda row: (row.churn, row.members, row.engine, row.design)):
        yield row.churn, row.members, row.engine, row.design, row.total, row.events, row.rebalances, row.stable_ms
