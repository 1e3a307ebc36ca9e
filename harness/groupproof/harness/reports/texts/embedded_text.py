"""The frames of protocols that programs bring into the classic group, in words: who runs which connectors and tasks. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.judging.checkers.connect_frames import assignment_in, dealt_in, jobs_in_words, states_in
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.connect_protocol import PROTOCOL_TYPE, ConnectAssignment

__all__ = ["embedded_facts", "is_embedded"]


def is_embedded(obs: Observation) -> bool:
    """Tell whether a frame says that its group speaks such a protocol; SyncGroup says so from version 5 on."""
    return obs.body.get("protocol_type") == PROTOCOL_TYPE


def embedded_facts(obs: Observation) -> Iterator[str]:
    """Yield what a JoinGroup or SyncGroup of workers says beside what every group's says."""
    if not is_embedded(obs):
        return
    if obs.kind == "request" and obs.api == Api.JOIN_GROUP.title:
        yield from _joined(obs)
    elif obs.kind == "request" and obs.api == Api.SYNC_GROUP.title:
        for member, assignment in dealt_in(obs).items():
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
