"""The cost of a scenario for its group, for the page: the cause and duration of each rebalance, and the meters. Pure.

A case with one question about a client shows its frames. A scenario is a story, and is read in this form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from groupproof.harness.judging.meters.all_meters import meters_of
from groupproof.harness.judging.meters.table import html_table
from groupproof.harness.reports.pictures.svg import time_label
from groupproof.protocol.trace import Trace

if TYPE_CHECKING:
    from groupproof.harness.judging.diagnosis.rebalances import Rebalance

__all__ = ["STORIES", "Cost", "cost_of", "figures_of", "is_story"]

STORIES: Final = "chaos"
"""The area of the cases that are stories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A line for each rebalance, and the meters as a table."""

    rebalances: tuple[str, ...]
    meters: str


def is_story(case: str) -> bool:
    return case.partition("/")[0] == STORIES


def figures_of(traces: Iterable[Trace]) -> dict[str, dict[str, float]]:
    """Return the meters of a case's runs, by `run 1` and so on."""
    return {f"run {number}": meters_of(trace).result() for number, trace in enumerate(traces, 1)}


def cost_of(case: str, trace: Trace | None) -> Cost | None:
    """Return the cost of a case's run. Return None for a case that is no story, or was not run."""
    if trace is None or not is_story(case):
        return None
    from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of  # for stories alone

    lines = tuple(" ".join(_words(rebalance)) for rebalance in rebalances_of(trace))
    return Cost(rebalances=lines, meters=html_table({"": meters_of(trace).result()}))


def _words(now: Rebalance) -> Iterator[str]:
    from groupproof.harness.judging.diagnosis.rebalances import name_of

    yield f"{time_label(now.started_ms)}, {now.cause}: {now.words}."
    if now.join_ms is not None and not now.is_emptied:
        yield f"Join {time_label(now.join_ms)}" + ("." if now.sync_ms is None else f", sync {time_label(now.sync_ms)}.")
    for awaited_member in now.awaited_to_join:
        yield f"Waited for {name_of(awaited_member.member)}: {awaited_member.why}." if awaited_member.member else f"Waited for {awaited_member.why}."
