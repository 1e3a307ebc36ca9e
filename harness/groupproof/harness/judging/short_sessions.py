"""Sessions that a case wants to be short, and that a client's own pace is too slow for: then the case can't be had of that client. Pure.

A member id that JoinGroup hands out is kept for one session (KIP-394). sarama up to 1.41 waits its backoff of 2 s before it joins with the id. That
harms nobody where a session has 6 s or more, as every broker insists on by default (group.min.session.timeout.ms); cases are quicker than that.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.lag import lost_ms
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["SESSION_MS_MIN", "outpaced"]

SESSION_MS_MIN: Final = 6_000
"""Kafka's default of group.min.session.timeout.ms: a client has no need to be in time for a shorter session."""

_JOIN: Final = Api.JOIN_GROUP.title


def outpaced(trace: Trace) -> str:
    """Return which client came back with the id that it was given only when its short session was over; empty where none did."""
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
