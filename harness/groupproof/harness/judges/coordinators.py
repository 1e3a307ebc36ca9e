"""Holds the answers to FindCoordinator against each other: every key is answered, and a group has one coordinator (FIND-03, FIND-04).

Who coordinates a group is the cluster's own affair, so that no rule foretells it; but all brokers must say the same while nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groupproof.harness.case import Judge
from groupproof.harness.evidence import Evidence
from groupproof.harness.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["coordinators_agree"]

GROUP_KEY = 0


def coordinators_agree(requirement: str) -> Judge:
    """Judge every answer to FindCoordinator that a member got; it says nothing where they agree, nor after a coordinator moved."""

    def judge(evidence: Evidence) -> Iterator[Finding]:
        if any(seen.who == "kit" and seen.body.get("name") == "moved" for seen in evidence.trace):
            return
        told: dict[str, tuple[Any, ...]] = {}
        for request in evidence.requests(Api.FIND_COORDINATOR):
            answer = evidence.answer(request)
            if answer is not None and not answer.error and request.body.get("key_type", GROUP_KEY) == GROUP_KEY:
                yield from _of_answer(request, answer, told, requirement)

    return judge


def _of_answer(request: Observation, answer: Observation, told: dict[str, tuple[Any, ...]], requirement: str) -> Iterator[Finding]:
    keys, found = tuple(request.body["coordinator_keys"]), tuple(answer.body["coordinators"])
    named = dict(zip(keys, found, strict=True)) if len(keys) == len(found) == 1 else {each["key"]: each for each in found}
    for key in keys:
        place = None if key not in named else _place(named[key])
        if place is None:
            yield _failed(requirement, answer, "Each key is answered.", "A key is not answered.")
        elif told.setdefault(key, place) != place:
            yield _failed(requirement, answer, "A group has one coordinator.", "It has another coordinator than was told before.")


def _place(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return entry["node_id"], entry["host"], entry["port"]


def _failed(requirement: str, answer: Observation, expected: str, observed: str) -> Finding:
    return Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, seq=answer.seq)
