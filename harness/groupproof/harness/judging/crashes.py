"""A shim's process that ended without being asked to: the cause, and the sentence about it. Pure.

SIGKILL and the signals by which people and systems end programs come from outside; no client does that to itself. Another end (SIGSEGV, SIGABRT, an
exit status) is the client's own fault once it has sent a group request. Before that, it is the shim's.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Final

from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.shim_claims import GROUP_TITLES
from groupproof.harness.model.case import Case
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation, Trace

__all__ = ["crash_in", "gave_up_in", "has_crashed_closing", "how_it_ended", "signal_from_outside"]

_FROM_OUTSIDE: Final = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})
_SIGNAL_STATUS: Final = 128
"""A shell, a container and a JVM exit with this number plus the signal that ended their program."""


def crash_in(case: Case, trace: Trace) -> Judgement | None:
    """Return the judgement on a run in which a shim's process ended uncommanded. Return None where none did."""
    crash = next((obs for obs in _exits(trace) if _is_unrequested(obs) and not obs.body.get("gave_up")), None)
    if crash is None:
        return None
    how, words = str(crash.body["how"]), _last_lines(crash)
    if crash.body["shared"]:
        reason = f"a shim process shared with other cases {how}"
        ends = () if signal_from_outside(crash) is not None else (f"{how}: {words or 'nothing on stderr'}",)
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason=reason, is_blurred=True, shared_ends=ends)
    if (number := signal_from_outside(crash)) is not None:
        return Judgement(
            verdict=Verdict.INCONCLUSIVE, reason=f"the process of {crash.client} was killed from outside (signal {number})", is_blurred=True
        )
    spoke = any(obs.kind == "request" and obs.client == crash.client and obs.api in GROUP_TITLES for obs in trace[: crash.seq])
    if not spoke:
        return Judgement(verdict=Verdict.BROKEN, reason=f"the shim {how} before its client spoke: {words or 'nothing on stderr'}")
    crashed = Finding(
        verdict=Verdict.FAILED,
        requirement=case.requirements[0],
        expected="The client stays up.",
        observed=f"It crashed: {how_it_ended(crash)}.",
        seq=crash.seq,
        detail=words or "nothing on stderr",
    )
    return Judgement(verdict=Verdict.FAILED, findings=(crashed,))


def gave_up_in(trace: Trace) -> str | None:
    """Return the client whose program, of level 0, ended itself in order before it was asked to. Return None where none did.

    The program treats an error as its end. What its client would have done next stays unknown.
    """
    return next((obs.client for obs in _exits(trace) if obs.body.get("gave_up") and not obs.body["commanded"]), None)


def how_it_ended(ended: Observation) -> str:
    """Return how a process ended, in words that are the same for the same end."""
    status = ended.body.get("status")
    if isinstance(status, int) and status < 0:
        return f"its process was ended by signal {-status} ({_named(-status)})"
    return f"its process {ended.body['how']}"


def signal_from_outside(ended: Observation) -> int | None:
    """Return the number of the signal that came from outside. Return None where the process ended by itself."""
    status = ended.body.get("status")
    if not isinstance(status, int):
        return None
    number = -status if status < 0 else status - _SIGNAL_STATUS
    return number if number in _FROM_OUTSIDE else None


def has_crashed_closing(ended: Observation) -> bool:
    """Return whether a process crashed after it was asked to end. The kit's own SIGTERM is a request too, not a crash."""
    status = ended.body.get("status")
    return bool(ended.body["commanded"] and not ended.body["shared"] and status and signal_from_outside(ended) is None)


def _is_unrequested(ended: Observation) -> bool:
    """Return whether the end was unasked. For a process of many members, a close of one member is no request to end."""
    return not ended.body["commanded"] or bool(ended.body["shared"] and ended.body.get("status"))


def _exits(trace: Trace) -> Iterator[Observation]:
    return (obs for obs in trace if obs.who == "kit" and obs.body.get("name") == "exit")


def _last_lines(ended: Observation) -> str:
    return " | ".join(ended.body.get("stderr") or ())


def _named(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "of no name"
