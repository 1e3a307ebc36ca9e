"""Compares the answers to FindCoordinator with each other: every key is answered, and a group has one coordinator (FIND-03, FIND-04).

The cluster chooses the coordinator of a group, so no rule predicts it. But all brokers must agree while nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["coordinators_agree"]

GROUP_KEY = 0


@checker
def coordinators_agree(evidence: Evidence, requirement: str) -> Iterator[Finding]:
    """Yield a finding for each wrong answer to FindCoordinator. Yield nothing after a coordinator moved."""
    if any(obs.who == "kit" and obs.body.get("name") == "moved" for obs in evidence.trace):
        return
    fields: dict[str, tuple[Any, ...]] = {}
    nodes = _nodes_in(evidence)
    for request in evidence.requests(Api.FIND_COORDINATOR):
        answer = evidence.answer(request)
        if answer is not None and not answer.error and request.body.get("key_type", GROUP_KEY) == GROUP_KEY:
            yield from _of_answer(request, answer, fields, requirement)
            yield from _of_places(answer, nodes, requirement)


def _nodes_in(evidence: Evidence) -> Mapping[int, tuple[str, int]]:
    """Return the broker addresses of the cluster's Metadata, as the run's `ground` event has them. Older traces have none."""
    ground = next((obs.body for obs in evidence.trace if obs.who == "kit" and obs.body.get("name") == "ground"), {})
    return {int(node): (str(host), int(port)) for node, (host, port) in ground.get("nodes", {}).items()}


def _of_places(answer: Observation, nodes: Mapping[int, tuple[str, int]], requirement: str) -> Iterator[Finding]:
    """Yield a finding for each answer with another address than Metadata's. A broker has one address, so no broker is at the other (FIND-04)."""
    for entry in answer.body["coordinators"]:
        node = nodes.get(entry["node_id"])
        if node is not None and not entry["error_code"] and (entry["host"], entry["port"]) != node:
            detail = f"FindCoordinator tells {entry['host']}:{entry['port']}, Metadata {node[0]}:{node[1]}"
            expected, observed = "The coordinator is told where Metadata tells that broker to be.", "It is told at another address."
            yield replace(_failed(requirement, answer, expected, observed), detail=detail)


def _of_answer(request: Observation, answer: Observation, fields: dict[str, tuple[Any, ...]], requirement: str) -> Iterator[Finding]:
    keys, found = tuple(request.body["coordinator_keys"]), tuple(answer.body["coordinators"])
    named = dict(zip(keys, found, strict=True)) if len(keys) == len(found) == 1 else {item["key"]: item for item in found}
    for key in keys:
        place = None if key not in named else _place(named[key])
        if place is None:
            yield _failed(requirement, answer, "Each key is answered.", "A key is not answered.")
        elif fields.setdefault(key, place) != place:
            moved = _failed(requirement, answer, "A group has one coordinator.", "It has another coordinator than was told before.")
            # The group may have moved: leaders may change at any time in a shared cluster, though hardly in each run.
            yield replace(moved, proof=Proof.LIVENESS)


def _place(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return entry["node_id"], entry["host"], entry["port"]


def _failed(requirement: str, answer: Observation, expected: str, observed: str) -> Finding:
    return Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, seq=answer.seq)
