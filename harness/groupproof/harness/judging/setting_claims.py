"""Settings and commands that a shim says it performed, compared with the frames and its own lines: auto-commit, `on_revoked`, `close`. Pure.

If a client should auto-commit and sends no OffsetCommit at all, its shim did not pass the setting on. The same holds for a client that joins
without its instance id (CLIENT-62). The application is the shim's own: what it does in `partitions_revoked` and what it prints after the close is
not the client's doing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from groupproof.harness.judging.lag import lags_in, lost_ms
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["refuted_settings"]

_COMMIT, _BEAT, _JOIN, _SYNC = (api.title for api in (Api.OFFSET_COMMIT, Api.HEARTBEAT, Api.JOIN_GROUP, Api.SYNC_GROUP))

_INTERVAL_MS: Final = 5_000
"""Kafka's default of auto.commit.interval.ms. A client may use it whatever `subscribe` says."""

_INTERVALS_MIN: Final = 1.2
"""The number of intervals without a commit that prove that the client does not auto-commit."""

_SHARE_OF_SLEEP: Final = 0.5
"""An application that returns before this share of its sleep time has not slept."""

Life = list[Observation]
"""The observations of one client from a `subscribe` on, with the lags of that time."""


def refuted_settings(trace: Trace) -> Iterator[str]:
    """Yield a sentence for each client and claim that the trace refutes."""
    rhythms = (float(obs.body["react_ms"]) / REACT_MS for obs in trace if obs.who == "kit" and obs.body.get("name") == "rhythm")
    stretch = max((1.0, *rhythms))
    for client, capabilities, life in _lives(trace):
        settings = _settings(life)
        if "auto-commit" in capabilities and settings.get("auto_commit"):
            yield from _commits_nothing(client, settings, life, stretch)
        if "on-revoked" in capabilities and settings.get("on_revoked"):
            yield from _sleeps_not(client, settings["on_revoked"].get("sleep_ms", 0), life)
        yield from _check_closed_member(client, life)


def _lives(trace: Trace) -> Iterator[tuple[str, frozenset[str], Life]]:
    able: dict[str, frozenset[str]] = {}
    lives: dict[str, Life] = {}
    over: list[tuple[str, frozenset[str], Life]] = []
    for obs in trace:
        if obs.client is None:
            for life in lives.values():
                life.append(obs)
        elif obs.who == "kit" and obs.body.get("name") == "hello":
            able[obs.client] = frozenset(obs.body["capabilities"])
        elif _is_command(obs, "subscribe"):
            if obs.client in lives:
                over.append((obs.client, able.get(obs.client, frozenset()), lives[obs.client]))
            lives[obs.client] = [obs]
        elif obs.client in lives:
            lives[obs.client].append(obs)
    yield from over
    yield from ((client, able.get(client, frozenset()), life) for client, life in lives.items())


def _settings(life: Life) -> dict[str, Any]:
    """Return the settings that the client has, by the answer to `subscribe`. Return none where it was refused or never answered."""
    answer = next((obs for obs in life if _is_line(obs, "answer")), None)
    if answer is None or not answer.body.get("ok"):
        return {}
    return {name: value for name, value in life[0].body["fields"].items() if name not in (answer.body.get("ignored") or ())}


def _commits_nothing(client: str, settings: dict[str, Any], life: Life, stretch: float) -> Iterator[str]:
    """Check the time that it spent in a generation after its first records, while nothing stopped its polls."""
    slow_ms = float(settings.get("handler_delay_ms") or 0)
    due_ms = (max(_INTERVAL_MS, settings.get("auto_commit_interval_ms") or 0) * _INTERVALS_MIN + slow_ms) * stretch
    if any(obs.kind == "request" and obs.api == _COMMIT for obs in life):
        return
    since: Observation | None = None
    lags, longest_ms = lags_in(life), 0.0
    for observation in life:
        if (observation.kind == "request" and observation.api == _JOIN) or _is_command(observation):
            since = None  # a paused client does not poll, and a rebalance and a close have their own rules
        elif since is None and _is_line(observation, "records_consumed") and observation.body.get("count"):
            since = observation
        elif since is not None and observation.kind == "response" and observation.api == _BEAT and not observation.error:
            longest_ms = max(longest_ms, observation.at_ms - since.at_ms - lost_ms(lags, since.at_ms, observation.at_ms))
    if longest_ms >= due_ms:
        yield f"the shim claims auto-commit, yet {client} sent no OffsetCommit at all, {longest_ms / 1000:.0f} s after its records and a member still"


def _sleeps_not(client: str, sleep_ms: float, life: Life) -> Iterator[str]:
    """Check the time from the response that announces a rebalance (cooperative: SyncGroup's) to the next JoinGroup. The application sleeps in it.

    The end of the callback must be printed before the JoinGroup arrives, so that a client which does not wait for its application is not blamed.
    """
    event: Observation | None = None
    revoked: Observation | None = None
    is_back = False
    for obs in life:
        if obs.kind == "response" and obs.api == _SYNC and not obs.error:
            event, revoked, is_back = obs, None, False
        elif obs.kind == "response" and obs.error == ErrorCode.REBALANCE_IN_PROGRESS and event is not None and event.api == _SYNC and revoked is None:
            event = obs
        elif _is_line(obs, "partitions_revoked") and obs.body.get("partitions"):
            revoked = obs
        elif _is_line(obs, "callback_done"):
            is_back = revoked is not None
        elif obs.kind == "request" and obs.api == _JOIN:
            if event is not None and is_back and obs.at_ms - event.at_ms < sleep_ms * _SHARE_OF_SLEEP:
                yield f"on_revoked: {client} was to take {sleep_ms:.0f} ms in partitions_revoked, yet came back from it and joined again at once"
            event, revoked, is_back = None, None, False


def _check_closed_member(client: str, life: Life) -> Iterator[str]:
    """Check a member that the plan closed. Members that the run closes at its end are not judged."""
    closing = next((at for at, obs in enumerate(life) if _is_command(obs, "close")), len(life))
    planned = any(obs.who == "kit" and obs.body.get("name") == "end" for obs in life[closing:])
    if not planned or not _is_answered_well(life):
        return
    if not any(_is_line(obs, "shutdown_complete") for obs in life[closing:]):
        yield f"close of {client} was answered ok, and no shutdown_complete came"


def _is_answered_well(life: Sequence[Observation]) -> bool:
    """Return whether every command was answered, and the last one with ok."""
    answers = [obs for obs in life if _is_line(obs, "answer")]
    return len(answers) == sum(1 for obs in life if _is_command(obs)) and bool(answers[-1].body.get("ok"))


def _is_command(obs: Observation, command: str | None = None) -> bool:
    return obs.who == "kit" and obs.body.get("name") == "command" and command in (None, obs.body["command"])


def _is_line(obs: Observation, name: str) -> bool:
    return obs.who == "shim" and obs.body.get("name") == name
