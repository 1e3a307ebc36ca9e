"""Judges runs without frames: a client that sent nothing has proven nothing, whatever its shim reports. Pure.

A shim may report an assignment, records or a commit before its client has sent any request of the group protocol. It made that up: BROKEN.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.shim_claims import GROUP_TITLES
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.verdicts import ADVERSE, Verdict
from groupproof.protocol.trace import Observation, Trace

__all__ = ["impossible_events", "silence_of"]

_NEED_FRAMES: Final = {"partitions_assigned": "partitions", "records_consumed": "count", "offsets_committed": "offsets"}
"""The events that no client can have without its group, each with the field that must not be empty."""


def impossible_events(case: Case, trace: Trace) -> list[str]:
    """Return the events that cannot be true as sentences, the first of each member."""
    names = _subjects(case)
    if not names or not _is_attributable(trace):
        return []
    requesting: set[str] = set()
    impossible: dict[str, str] = {}
    for obs in trace:
        if obs.client is None or obs.client not in names:
            continue
        if obs.kind == "request" and obs.api in GROUP_TITLES:
            requesting.add(obs.client)
        elif obs.client not in requesting and (claim := _claimed(obs)) is not None:
            impossible.setdefault(obs.client, f"the shim of {obs.client} told {claim} although its client had sent no request of the group protocol")
    return list(impossible.values())


def silence_of(case: Case, trace: Trace, verdict: Verdict) -> str:
    """Return why the verdict cannot stand: no subject of the case sent a request of the group protocol. Return "" where it can stand.

    A client that asks for metadata but never for its coordinator is itself at fault. A client that sent no request at all may not exist.
    """
    names = _subjects(case) & {obs.client for obs in trace if obs.client is not None and _is_subscribing(obs)}
    requests = [obs for obs in trace if obs.kind == "request" and (obs.client in names or not _is_attributable(trace))]
    if not names or any(obs.api in GROUP_TITLES for obs in requests) or (requests and verdict in ADVERSE):
        return ""
    return "the client sent no request of the group protocol" if requests else "the shim answered, and no request of its client came"


def _subjects(case: Case) -> frozenset[str]:
    return frozenset(member.name for member in case.plan.members if member.kind == "subject") if isinstance(case.plan, Plan) else frozenset()


def _is_attributable(trace: Trace) -> bool:
    """Return whether requests carry the members' names. A shim may say that it cannot give its client an id."""
    answers = (obs.body.get("ignored") for obs in trace if obs.who == "shim" and obs.body.get("name") == "answer")
    return not any("client_id" in (answer or ()) for answer in answers)


def _is_subscribing(obs: Observation) -> bool:
    return obs.who == "kit" and obs.body.get("name") == "command" and obs.body.get("command") == "subscribe"


def _claimed(obs: Observation) -> str | None:
    name = obs.body.get("name") if obs.who == "shim" and obs.kind == "event" else None
    if name not in _NEED_FRAMES or not obs.body.get(_NEED_FRAMES[name]):
        return None
    return None if name == "offsets_committed" and not obs.body.get("success") else str(name)
