"""Frames of protocols embedded in the classic group in words: which member runs which connectors and tasks (Kafka Connect, Kafka Streams). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.judging.checkers.embedded.connect_frames import assignment_in, assignments_in_sync, jobs_in_words, states_in
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.blob_reader import BlobError
from groupproof.protocol.wire.embedded.connect_protocol import PROTOCOL_TYPE, ConnectAssignment
from groupproof.protocol.wire.embedded.streams_protocol import (
    ASSIGNOR,
    LATEST_OFFSET,
    NO_REBALANCE_MS,
    AssignmentInfo,
    SubscriptionInfo,
    decode_assignment_info,
    decode_subscription_info,
)
from groupproof.protocol.wire.subscription import decode_assignment, decode_subscription

__all__ = ["embedded_facts", "is_embedded"]


def is_embedded(obs: Observation) -> bool:
    """Return whether a frame says that its group is one of Kafka Connect's workers. SyncGroup says so from version 5 on."""
    return obs.body.get("protocol_type") == PROTOCOL_TYPE


def embedded_facts(obs: Observation) -> Iterator[str]:
    """Yield the facts in a JoinGroup or SyncGroup of such a protocol that other groups do not have."""
    yield from _of_workers(obs) if is_embedded(obs) else _of_streams(obs)


def _of_workers(obs: Observation) -> Iterator[str]:
    if obs.kind == "request" and obs.api == Api.JOIN_GROUP.title:
        yield from _joined(obs)
    elif obs.kind == "request" and obs.api == Api.SYNC_GROUP.title:
        for member, assignment in assignments_in_sync(obs).items():
            yield f"gives {member[-8:]} {_assigned(assignment)}"
    elif obs.kind == "response" and obs.api == Api.SYNC_GROUP.title and not obs.error:
        yield _assigned(assignment_in(obs))


def _joined(obs: Observation) -> Iterator[str]:
    states = states_in(obs)
    yield f"{PROTOCOL_TYPE}: {', '.join(states)}"
    state = next(iter(states.values()), None)
    if state is None:
        yield "a state that cannot be read"
        return
    yield f"{state.url} at config offset {state.offset}"
    if state.assignment is not None:
        yield f"runs {jobs_in_words(state.assignment.assigned)}"


def _assigned(assignment: ConnectAssignment | None) -> str:
    if assignment is None:
        return "an assignment that cannot be read"
    words = [f"assigned {jobs_in_words(assignment.assigned)}"]
    words += [f"revoked {jobs_in_words(assignment.revoked)}"] if assignment.revoked else []
    words += [f"delay {assignment.delay_ms} ms"] if assignment.delay_ms else []
    words += [f"error {assignment.error}"] if assignment.error else []
    return f"{', '.join(words)} at config offset {assignment.offset}"


def _of_streams(obs: Observation) -> Iterator[str]:
    """Yield the user data of the assignor `stream` in words. A SyncGroup response names the assignor from version 5 on."""
    try:
        if obs.kind == "request" and obs.api == Api.JOIN_GROUP.title:
            blobs = (item.get("metadata") or b"" for item in obs.body.get("protocols") or () if item.get("name") == ASSIGNOR)
            for blob in blobs:
                yield _subscription_text(decode_subscription_info(decode_subscription(blob).user_data or b""))
        elif obs.kind == "response" and obs.api == Api.SYNC_GROUP.title and obs.body.get("protocol_name") == ASSIGNOR and not obs.error:
            yield _assignment_text(decode_assignment_info(decode_assignment(obs.body.get("assignment") or b"").user_data or b""))
    except BlobError as error:
        yield f"{ASSIGNOR}: {error}"


def _subscription_text(info: SubscriptionInfo) -> str:
    words = [f"{ASSIGNOR}: version {info.version} of {info.latest}"]
    if info.is_known:
        words += [f"process {info.process[:8]}", *([f"at {info.end_point}"] if info.end_point else [])]
        words.append(f"runs {', '.join(map(str, info.active)) or 'nothing'}")
        standby = [f"{task} at {offset_sum}" for task, offset_sum in info.offset_sums if offset_sum != LATEST_OFFSET]
        words += [f"keeps {', '.join(standby)}"] if standby else []
    return ", ".join(words)


def _assignment_text(info: AssignmentInfo) -> str:
    words = [f"{ASSIGNOR}: version {info.version}, {info.commonly} known to all"]
    if info.is_known:
        words.append(f"active {', '.join(map(str, info.active)) or 'nothing'}")
        words += [f"standby {', '.join(str(task) for task, _ in info.standby)}"] if info.standby else []
        words += [f"probes again at {info.next_rebalance_ms} ms"] if info.next_rebalance_ms != NO_REBALANCE_MS else []
        words += [f"error {info.error}"] if info.error else []
    return ", ".join(words)
