"""Short sessions of a case that a client refuses or is too slow for: the case is then UNIMPLEMENTED for that client. Pure.

The coordinator keeps a member id from JoinGroup for one session (KIP-394). sarama up to 1.41 waits its backoff of 2 s before it joins with the id.
That is harmless with sessions of 6 s or more, the default minimum of every broker (group.min.session.timeout.ms). Cases use shorter ones. A
client whose heartbeat interval cannot be set (3 s by default) refuses a session that is not longer (CLIENT-42).
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.lag import lost_ms
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["SESSION_MS_MIN", "late_rejoin", "refused_session"]

SESSION_MS_MIN: Final = 6_000
"""Kafka's default of group.min.session.timeout.ms. A client need not be in time for a shorter session."""

_JOIN: Final = Api.JOIN_GROUP.title


def late_rejoin(trace: Trace) -> str:
    """Return as text which client rejoined with its new member id only after its short session was over; "" where none did."""
    answers: dict[str, Observation] = {}
    for obs in trace:
        if obs.api != _JOIN or obs.client is None:
            continue
        if obs.kind == "response" and obs.error == ErrorCode.MEMBER_ID_REQUIRED:
            answers[obs.client] = obs
        elif obs.kind == "request" and (answer := answers.pop(obs.client, None)) is not None and obs.member == answer.member:
            paused_ms = obs.at_ms - answer.at_ms - lost_ms(trace, answer.at_ms, obs.at_ms)
            session_ms = float(obs.body.get("session_timeout_ms") or SESSION_MS_MIN)
            if session_ms < SESSION_MS_MIN and paused_ms >= session_ms:
                return f"{obs.client} joins {paused_ms:.0f} ms after it is given its id, when the short session of {session_ms:.0f} ms that the case asks for is over"
    return ""


def refused_session(trace: Trace, client: str | None) -> str:
    """Return as text that a client's heartbeat interval, which the kit cannot set, forbids the short session of the case; "" otherwise.

    Before all cases a plain `subscribe` of its shim succeeded, and its answer listed that setting as ignored (contract, amendment 2).
    """
    rhythm = next((obs for obs in trace if obs.who == "kit" and obs.body.get("name") == "rhythm"), None)
    asked = next(
        (
            obs
            for obs in reversed(trace)
            if obs.client == client and obs.who == "kit" and obs.body.get("command") == "subscribe" and "fields" in obs.body
        ),
        None,
    )
    if rhythm is None or asked is None or "heartbeat_interval_ms" not in (rhythm.body.get("ignored") or ()):
        return ""
    session_ms = float(asked.body["fields"].get("session_timeout_ms") or SESSION_MS_MIN)
    if session_ms >= SESSION_MS_MIN:
        return ""
    return f"{client} keeps a heartbeat interval of its own, and refuses the short session of {session_ms:.0f} ms that the case asks for"
