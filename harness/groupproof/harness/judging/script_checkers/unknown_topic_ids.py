"""Checks the answers of OffsetCommit and OffsetFetch v10 for topic ids that no topic has: error 100 for each partition (CGO-26, CGO-39).

The broker answers these outside the group, so no rule of a group predicts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from groupproof.coordinator.broker.topic_ids import BY_ID_SINCE
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["unknown_topic_ids_are_refused"]

_REQUIREMENTS: Final[Mapping[Api, str]] = {Api.OFFSET_COMMIT: "CGO-26", Api.OFFSET_FETCH: "CGO-39"}


def unknown_topic_ids_are_refused(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each answer without error 100 for a partition of an unknown topic id."""
    ids = _topic_ids(evidence)
    for api, since in BY_ID_SINCE.items():
        for request in evidence.requests(api):
            answer = evidence.answer(request)
            if answer is not None and (request.version or 0) >= since:
                yield from _of_answer(api, request, answer, ids)


def _topic_ids(evidence: Evidence) -> frozenset[str]:
    """Return the ids of the topics that existed at any time."""
    bodies = (obs.body for obs in evidence.trace if obs.who == "kit" and obs.body.get("name") in ("ground", "topics"))
    tables = (body.get("topic_ids", {}) if body["name"] == "ground" else body["topics"] for body in bodies)
    return frozenset(topic_id for table in tables for topic_id, _ in table.values())


def _of_answer(api: Api, request: Observation, answer: Observation, ids: frozenset[str]) -> Iterator[Finding]:
    if any(part.get("error_code") for part in _parts(answer.body)):
        return  # the group is refused as a whole
    found = {
        (topic["topic_id"], partition["partition_index"]): partition["error_code"]
        for part in _parts(answer.body)
        for topic in part.get("topics") or ()
        for partition in topic["partitions"]
    }
    wrong = [found.get(asked) for asked in _asked(request.body) if asked[0] not in ids and found.get(asked) != ErrorCode.UNKNOWN_TOPIC_ID]
    if wrong:
        code = "nothing" if wrong[0] is None else str(wrong[0])
        yield Finding(
            verdict=Verdict.FAILED, requirement=_REQUIREMENTS[api], expected="A partition of an id that no topic has is answered 100 UNKNOWN_TOPIC_ID.",
            observed=f"{api.title} v{request.version} answers {code} for it.", seq=answer.seq,
        )  # fmt: skip


def _parts(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return tuple(body["groups"]) if "groups" in body else (body,)


def _asked(body: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for part in _parts(body):
        for topic in part.get("topics") or ():
            indexes = topic.get("partition_indexes") or [partition["partition_index"] for partition in topic.get("partitions", ())]
            yield from ((topic["topic_id"], index) for index in indexes)
