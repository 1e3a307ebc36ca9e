"""Judges the clients in front of a tap group by group, as `serve --judge` does, where the tap has all that they got. Pure.

Members that joined before the tap existed use ids that no recorded answer gave them. Members of a dialect without checkers are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis, naming_apis, readers_by_api
from groupproof.harness.judging.observed.limits import UnjudgedSide
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.protocol.trace import Trace

__all__ = ["judge_clients"]


def judge_clients(trace: Trace, upstream: Mapping[str, Any] | None) -> list[CaseResult | UnjudgedSide]:
    """Return a result for each group that a member named, in order of appearance. `upstream` is the body of the event about the upstream."""
    groups = dict.fromkeys(obs.group for obs in trace if obs.group is not None and obs.api in membership_apis())
    left_out = {group: why for group in groups if (why := _why_not(group, trace, upstream))}
    judged = judge_live([obs for obs in trace if obs.group not in left_out])
    return [*judged, *(UnjudgedSide(group=group, side="members", why=why) for group, why in left_out.items())]


def _why_not(group: str, trace: Trace, upstream: Mapping[str, Any] | None) -> str:
    was_there = upstream is not None and (upstream["groups"] is None or group in upstream["groups"])
    return "some of them joined before the tap was there" if was_there and _named_before(group, trace) else ""


def _named_before(group: str, trace: Trace) -> bool:
    """Return whether a member uses an id that no recorded answer gave. If the group existed before, the id came from before the tap."""
    ids: set[str | None] = {"", None}
    for obs in trace:
        reader = readers_by_api().get(obs.api or "")
        brings_id = obs.kind == "request" and reader is not None and reader.brings_id(obs)
        if brings_id or (obs.kind == "response" and obs.api in naming_apis()):
            ids.add(obs.member)
        elif obs.kind == "request" and obs.group == group and obs.api in membership_apis() and obs.member not in ids:
            return True
    return False
