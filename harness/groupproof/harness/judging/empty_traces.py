"""What a run without frames is worth: a client that sent nothing has shown nothing, whatever its shim tells. Pure.

A shim that tells of an assignment, of records or of a commit before its client has sent a single request of the group protocol made that up: BROKEN.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.shim_claims import GROUP_TITLES
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.verdicts import ADVERSE, Verdict
from groupproof.protocol.trace import Observation, Trace

__all__ = ["lies_in", "silence_of"]

_NEED_FRAMES: Final = {"partitions_assigned": "partitions", "records_consumed": "count", "offsets_committed": "offsets"}
"""The events that no client can have without its group, with the field that says so where it is not empty."""


def lies_in(case: Case, trace: Trace) -> list[str]:
    """Return the events that cannot be true, the first of each member, as sentences."""
    names = _subjects(case)
    if not names or not _is_attributable(trace):
        return []
    spoke: set[str] = set()
    lied: dict[str, str] = {}
    for seen in trace:
        if seen.client is None or seen.client not in names:
            continue
        if seen.kind == "request" and seen.api in GROUP_TITLES:
            spoke.add(seen.client)
        elif seen.client not in spoke and (what := _claimed(seen)) is not None:
            lied.setdefault(seen.client, f"the shim of {seen.client} told {what} although its client had sent no request of the group protocol")
    return list(lied.values())


def silence_of(case: Case, trace: Trace, verdict: Verdict) -> str:
    """Return why the verdict can't stand, since no subject of the case sent a request of the group protocol; empty where it can.

    A client that asks for metadata and never for its coordinator is at fault itself; of one that was never heard of nobody knows whether it exists.
    """
    names = _subjects(case) & {seen.client for seen in trace if seen.client is not None and _is_subscribing(seen)}
    requests = [seen for seen in trace if seen.kind == "request" and (seen.client in names or not _is_attributable(trace))]
    if not names or any(seen.api in GROUP_TITLES for seen in requests) or (requests and verdict in ADVERSE):
        return ""
    return "the client sent no request of the group protocol" if requests else "the shim answered, and no request of its client came"


def _subjects(case: Case) -> frozenset[str]:
    return frozenset(each.name for each in case.plan.members if each.kind == "subject") if isinstance(case.plan, Plan) else frozenset()


def _is_attributable(trace: Trace) -> bool:
    """Tell whether requests carry the members' names: a shim may say that its client can't be given an id."""
    answers = (seen.body.get("ignored") for seen in trace if seen.who == "shim" and seen.body.get("name") == "answer")
    return not any("client_id" in (each or ()) for each in answers)


def _is_subscribing(seen: Observation) -> bool:
    return seen.who == "kit" and seen.body.get("name") == "command" and seen.body.get("command") == "subscribe"


def _claimed(seen: Observation) -> str | None:
    name = seen.body.get("name") if seen.who == "shim" and seen.kind == "event" else None
    if name not in _NEED_FRAMES or not seen.body.get(_NEED_FRAMES[name]):
        return None
    return None if name == "offsets_committed" and not seen.body.get("success") else str(name)
