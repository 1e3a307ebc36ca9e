"""Judges that heartbeats go on, against the session timeout and never against the interval (contract, "Time")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from groupproof.harness.judging.case_checkers.findings import end
from groupproof.harness.judging.case_checkers.trace_queries import moment, synced
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict, Wait
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["heartbeats_go_on", "heartbeats_stop", "heartbeats_while_parked"]


@checker
def heartbeats_go_on(
    ev: Evidence, client: str, *, after: str, before: str | None = None, requirement: str, absent: Verdict = Verdict.FAILED, unasked: str = ""
) -> Iterator[Finding]:
    """Judge that between two instants the coordinator hears from `client` at least once in every session timeout of its JoinGroup.

    Heartbeats and commits count when they arrive; a JoinGroup or SyncGroup counts as long as it is parked. `absent` is the verdict on a silence.
    With `unasked`, the name of a capability, a silence is NON_STRICT for a client that does not declare it.
    """
    claim = Claim(requirement=requirement, expected="The coordinator hears of the client at least once in every session timeout.")
    session_ms = ev.terms(client).session_ms
    since, until = moment(ev, after), end(ev) if before is None else moment(ev, before)
    left = next(iter(ev.requests(Api.LEAVE_GROUP, client, after, until.seq)), None)
    until = left or until  # a client that has left owes no heartbeat
    if elapsed_ms(since, until) < session_ms / 2:
        if left is not None and (back := next(iter(synced(ev, client, left.seq, ev.closing)), None)) is not None:
            # reactor-kafka closes its consumer on any error of poll, and the application subscribes again.
            yield claim.ok("It left the group before a heartbeat was due, and came back.", back)
            return
        _cannot_see(ev, client, "the window is shorter than half a session timeout")
    quiet, at = _longest_silence(ev, client, since, until)
    if quiet > tolerated_ms(session_ms):
        severity = Verdict.NON_STRICT if unasked and unasked not in ev.capabilities(client) else absent
        silent = "It was silent for longer than its session timeout."
        detail = f"{quiet:.0f} ms, with a session timeout of {session_ms:.0f} ms"
        yield claim.found(severity, silent, at, proof=Proof.LIVENESS, detail=detail, wait=_wait(ev, at, quiet, tolerated_ms(session_ms)))
    else:
        yield claim.ok("It did.", at)


def _cannot_see(ev: Evidence, client: str, why: str) -> NoReturn:
    """Raise the reason why the window is too short: the shim ignores a setting, or the run did not last long enough."""
    terms = ev.terms(client)
    if terms.ignored & {"session_timeout_ms", "heartbeat_interval_ms"}:
        raise NotOffered(f"{client} keeps a session timeout of {terms.session_ms:.0f} ms of its own, too long for this case")
    raise NotReached(why)


def _wait(ev: Evidence, ended: Observation, quiet: float, due_ms: float) -> Wait:
    """Return the silence before `ended` as a wait."""
    began = next((obs for obs in reversed(ev.trace[: ended.seq]) if obs.at_ms <= ended.at_ms - quiet), ev.trace[0])
    return Wait(since=began.seq, ms=quiet, due_ms=due_ms)


def _longest_silence(ev: Evidence, client: str, since: Observation, until: Observation) -> tuple[float, Observation]:
    """Return the longest time (ms) without a sign of `client` in the window, and the observation that ended it."""
    heard, worst, at = since.at_ms, 0.0, since
    for begins, ends, obs in _signs(ev, client, until):
        if ends < since.at_ms:
            continue
        if begins - heard > worst:
            worst, at = begins - heard, obs
        heard = max(heard, ends)
    return (until.at_ms - heard, until) if until.at_ms - heard > worst else (worst, at)


def _signs(ev: Evidence, client: str, until: Observation) -> Iterator[tuple[float, float, Observation]]:
    """Yield the spans (ms) in which the coordinator heard from the client, in order of their beginning."""
    apis = {Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title, Api.JOIN_GROUP.title, Api.SYNC_GROUP.title}
    for request in ev.select("request", None, client, before=until.seq):
        if request.api not in apis:
            continue
        answer = ev.answer(request) if request.api in (Api.JOIN_GROUP.title, Api.SYNC_GROUP.title) else request
        yield request.at_ms, until.at_ms if answer is None else answer.at_ms, request


@checker
def heartbeats_while_parked(ev: Evidence, client: str, *, hold: str, requirement: str, at_least_ms: float) -> Iterator[Finding]:
    """Judge that heartbeats come while fault `hold` holds the response to SyncGroup.

    A silence is INFORMATIONAL: brokers keep a member with a parked SyncGroup alive, so it costs nobody (KAFKA-10134 made the Java client send
    heartbeats).
    """
    claim = Claim(requirement=requirement, expected="The client heartbeats while its SyncGroup waits for an answer.")
    held = moment(ev, hold)
    freed = ev.receipts(hold, "released") or ev.receipts(hold, "healed")
    until = freed[0] if freed else end(ev)
    if elapsed_ms(held, until) < max(at_least_ms, 3 * ev.terms(client).heartbeat_ms):
        _cannot_see(ev, client, "the SyncGroup was not held for long enough")
    beats = ev.requests(Api.HEARTBEAT, client, held.seq, until.seq)
    yield claim.ok("It did.", beats[0]) if beats else claim.found(Verdict.INFORMATIONAL, "None came.", held, proof=Proof.LIVENESS)


@checker
def heartbeats_stop(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float, until: str | None = None) -> Iterator[Finding]:
    """Judge that no heartbeat comes later than `within_ms` after an instant, up to another: the client must no longer keep its place."""
    claim = Claim(requirement=requirement, expected="The client stops heartbeating.")
    since, last = moment(ev, after), end(ev) if until is None else moment(ev, until)
    if elapsed_ms(since, last) < tolerated_ms(within_ms):
        raise NotReached("the run ended before the client had to be silent")
    beats = [beat for beat in ev.requests(Api.HEARTBEAT, client, after, last.seq) if elapsed_ms(since, beat) > tolerated_ms(within_ms)]
    yield claim.failed("It went on.", beats[0], proof=Proof.TIMING) if beats else claim.ok("It did.")
