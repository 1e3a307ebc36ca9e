"""The shim's word on which a finding rests, where frames alone do not prove it: an event, a missing event, a command or a setting. Pure.

No frame distinguishes an application without a callback from a shim that printed nothing (CLIENT-62), nor an application that polls in vain from
one that does not poll (CLIENT-52). The finding stands, and names the word that it believes.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation, Trace

__all__ = ["word_of"]

_UNSEEN: Final = frozenset({"pause", "resume", "unsubscribe", "resubscribe", "close"})
"""The commands for which an idle shim and an idle client cause the same frames."""


def word_of(finding: Finding, trace: Trace) -> str:
    """Return the event, command or setting that is believed. Return "" where frames prove the finding, or a silence that follows no command."""
    if word := finding.line or finding.setting or finding.command:
        return word
    obs = trace[finding.seq] if finding.seq is not None and finding.seq < len(trace) else None
    if obs is not None and obs.who == "shim":
        return str(obs.body.get("name")) if obs.body.get("name") != "answer" else _command_of(trace, obs)
    return "" if finding.wait is None else _command_since(trace, finding.wait.since)


def _command_of(trace: Trace, answer: Observation) -> str:
    """Return the command that the line answers: the last one to its member before it."""
    asked = (obs for obs in reversed(trace[: answer.seq]) if _is_kits(obs, "command") and obs.client == answer.client)
    return next((str(obs.body.get("command")) for obs in asked), "answer")


def _command_since(trace: Trace, since: int) -> str:
    """Return the command of the awaited step: the first one after its mark, which may come before `since`."""
    marked = next((obs.seq for obs in reversed(trace[: since + 1]) if _is_kits(obs, "mark")), None)
    if marked is None:
        return ""
    command = next((obs for obs in trace[marked:] if _is_kits(obs, "command") or _is_kits(obs, "end")), None)
    named = "" if command is None else str(command.body.get("command"))
    return named if named in _UNSEEN else ""


def _is_kits(obs: Observation, name: str) -> bool:
    return obs.who == "kit" and obs.body.get("name") == name
