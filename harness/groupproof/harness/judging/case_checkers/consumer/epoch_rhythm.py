"""How often a KIP-848 member sends heartbeats: at the coordinator's interval, one at a time, and whatever the application does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from groupproof.harness.judging.case_checkers.consumer.epoch_beats import Beat, beats
from groupproof.harness.judging.case_checkers.findings import end
from groupproof.harness.judging.case_checkers.trace_queries import moment
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof

__all__ = ["keeps_interval", "never_two_in_flight", "stays_alive"]

_EARLY = 0.5
"""A heartbeat before this share of the interval is one too many. Java sends at 0.9 of it when it has spare time; others have jitter."""

_GAPS_MIN = 3


@checker
def keeps_interval(ev: Evidence, client: str, *, after: str, ms: float, requirement: str = "CGC-24", before: str | None = None) -> Iterator[Finding]:
    """Judge that a member without changes sends heartbeats at the interval that the coordinator asks for.

    More heartbeats cost the coordinator. Fewer cost nobody until the session ends (`stays_alive`). Both are NON_STRICT.
    """
    claim = Claim(requirement=requirement, expected="The client heartbeats by the interval that the coordinator asks for.")
    sent = [beat.request for beat in beats(ev, client, after, ev.closing if before is None else ev.at(before))]
    gaps = [(elapsed_ms(one, other), other) for one, other in pairwise(sent)]
    until = end(ev) if before is None else moment(ev, before)
    if len(gaps) < _GAPS_MIN and elapsed_ms(moment(ev, after), until) < (_GAPS_MIN + 1) * tolerated_ms(ms):
        raise NotReached(f"only {len(sent)} heartbeats of {client} were seen")
    middle = sorted(gaps, key=lambda gap: gap[0])[len(gaps) // 2] if gaps else (elapsed_ms(moment(ev, after), until), until)
    detail = f"every {middle[0]:.0f} ms, asked was every {ms:.0f}"
    if middle[0] < _EARLY * ms:
        yield claim.tolerated("It heartbeats more often.", middle[1], detail=detail, proof=Proof.TIMING)
    elif middle[0] > tolerated_ms(ms):
        yield claim.tolerated("It heartbeats more seldom.", middle[1], detail=detail, proof=Proof.TIMING)
    else:
        yield claim.ok("It did.", middle[1])


@checker
def stays_alive(
    ev: Evidence, client: str, *, after: str, session_ms: float, requirement: str = "CGC-28", before: str | None = None
) -> Iterator[Finding]:
    """Judge that between two instants no heartbeat is later than the group's session timeout, which the coordinator defines."""
    claim = Claim(requirement=requirement, expected="The coordinator hears of the client at least once in every session timeout.")
    since, until = moment(ev, after), end(ev) if before is None else moment(ev, before)
    if elapsed_ms(since, until) < session_ms / 2:
        raise NotReached("the window is shorter than half a session timeout")
    sent = [beat.request for beat in beats(ev, client, after, until.seq)]
    quiet, at = max(((elapsed_ms(one, other), other) for one, other in pairwise((since, *sent, until))), key=lambda gap: gap[0])
    if quiet <= tolerated_ms(session_ms):
        yield claim.ok("It did.", at)
        return
    began = next((obs for obs in reversed(ev.trace[: at.seq]) if obs.at_ms <= at.at_ms - quiet), since)
    detail = f"{quiet:.0f} ms, with a session timeout of {session_ms:.0f} ms"
    yield claim.failed(
        "It was silent for longer than the session timeout.", at, proof=Proof.LIVENESS, detail=detail, wait=waited(began, at, session_ms)
    )


@checker
def never_two_in_flight(ev: Evidence, client: str, *, patience_ms: float | None = None, requirement: str = "CGC-27") -> Iterator[Finding]:
    """Judge that a heartbeat waits for the answer to the one before, except a leave. Two open heartbeats report different owned partitions.

    A heartbeat that was given up, with its connection or after `patience_ms` (the client's request timeout), is no longer in flight.
    """
    claim = Claim(requirement=requirement, expected="No heartbeat is sent while another waits for its answer, but for the leave.")
    sent = beats(ev, client)
    if not sent:
        raise NotReached(f"{client} sent no heartbeat")
    wrong = next((later for one, later in pairwise(sent) if not later.is_leave and _overlap(ev, one, later, patience_ms)), None)
    yield claim.ok("It did.", sent[0].request) if wrong is None else claim.failed("A second one was sent.", wrong.request)


def _overlap(ev: Evidence, one: Beat, later: Beat, patience_ms: float | None) -> bool:
    """Return whether `later` was sent before `one` was answered or given up."""
    if one.answer is not None and one.answer.seq < later.request.seq:
        return False
    if one.request.connection != later.request.connection and _is_closed(ev, one, later):
        return False
    return patience_ms is None or elapsed_ms(one.request, later.request) < patience_ms


def _is_closed(ev: Evidence, one: Beat, later: Beat) -> bool:
    """Return whether the connection of `one` had ended, or was about to. Its end is recorded a moment after the next connection began."""
    ends = (obs for obs in ev.select("event", after=one.request.seq) if obs.who == "link" and obs.body.get("name") == "closed")
    mine = next((obs for obs in ends if obs.connection == one.request.connection), None)
    return mine is not None and mine.at_ms - later.request.at_ms < 1_000
