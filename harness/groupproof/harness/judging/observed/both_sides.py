"""Judges both sides of a tap's trace: the members of each group, and its coordinator. Pure: a recorded trace gives the same verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.client_side import judge_clients
from groupproof.harness.judging.observed.coordinator_side import judge_coordinator
from groupproof.harness.judging.observed.limits import UnjudgedSide
from groupproof.protocol.trace import Trace

__all__ = ["judge_sides", "upstream_of"]


def upstream_of(trace: Trace) -> Mapping[str, Any] | None:
    """Return what a tap recorded about its upstream. Return None where the trace is not a tap's."""
    return next((obs.body for obs in trace if obs.who == "kit" and obs.body.get("name") == "upstream"), None)


def judge_sides(trace: Trace, *, is_cut: bool = False) -> tuple[list[CaseResult], list[UnjudgedSide]]:
    """Return the results of both sides, the members' first, and the unjudged sides. With `is_cut` the trace is incomplete."""
    upstream = upstream_of(trace)
    sides = [*judge_clients(trace, upstream), *judge_coordinator(trace, upstream, is_cut=is_cut)]
    return [side for side in sides if isinstance(side, CaseResult)], [side for side in sides if isinstance(side, UnjudgedSide)]
