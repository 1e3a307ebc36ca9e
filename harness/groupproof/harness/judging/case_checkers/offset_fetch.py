"""Judges a client after a failed OffsetFetch: heartbeats that go on without any further read are useless."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from groupproof.harness.judging.case_checkers.findings import TimedJudge, overdue, timed_checker, unless
from groupproof.harness.judging.case_checkers.trace_queries import hit_by, moment, report_due, reported_end
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["READ_MS", "goes_on_reading", "if_stable", "unless_asked_twice", "unless_ended"]

READ_MS = 6_000
"""The time (ms) within which a client sends a refused OffsetFetch again, whatever its backoff."""


@timed_checker
def goes_on_reading(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-79", within_ms: float = READ_MS) -> Iterator[Finding]:
    """Judge that a client whose OffsetFetch failed sends it again, reads anyway, or reports to its application.

    Heartbeats do not count: they keep partitions that nobody reads (librdkafka#5586). Another judge checks where it reads from.
    """
    claim = Claim(requirement=requirement, expected="The client asks for its offsets again, reads, or tells the application.")
    again = next(iter(ev.requests(Api.OFFSET_FETCH, client, after, ev.closing)), None)
    read = next(iter(ev.requests(Api.FETCH, client, after, ev.closing)), None) or next(
        iter(ev.events("records_consumed", client, after, ev.closing)), None
    )
    if again is not None:
        yield claim.ok("It asked again.", again)
    elif read is not None:
        yield claim.ok("It read on.", read)
    elif (report := report_due(ev, client, after)) is not None:
        yield claim.ok("It told the application.", report)
    else:
        never = "It never asked for its offsets again, read nothing, and told nobody."
        yield overdue(ev, claim, None, since=moment(ev, after), within_ms=within_ms, never=never, late="") or claim.ok("")


def unless_asked_twice(asked: TimedJudge, client: str, *, requirement: str) -> TimedJudge:
    """Run `asked`, unless a second OffsetFetch, sent at the same time as the one that a fault refused, gave the client its offsets.

    kafkajs sends one for each broker that it reads from, and needs only one answer (`resolveOffsets`). Faust sends one beside aiokafka, and which
    of the two the fault hits is a race of their threads.
    """
    claim = Claim(requirement=requirement, expected="The client gets its offsets.")
    return unless(asked, partial(_answered_beside, client=client), claim, "It had asked twice at once, and was answered the other time.")


def unless_ended(asked: TimedJudge, client: str, *, requirement: str) -> TimedJudge:
    """Run `asked`, unless the client ends at the error and tells its application so, as kafrust's `join()` does.

    The application has to join anew, and the group waits for the former member until its session ends.
    """
    claim = Claim(requirement=requirement, expected="The client gets its offsets.")
    return unless(asked, partial(_ended, client=client), claim, "It told the application that it ends.", Verdict.NON_STRICT)


def _ended(ev: Evidence, fault: str, *, client: str) -> Observation | None:
    return reported_end(ev, client, fault)


def if_stable(asked: TimedJudge, client: str, *, requirement: str) -> TimedJudge:
    """Run `asked` only where the OffsetFetch that a fault answered with error 88 requires stable offsets. No broker gives that error to others
    (KIP-447)."""
    claim = Claim(requirement=requirement, expected="A client that asks for stable offsets alone knows such an answer.")
    return unless(asked, partial(_asked_for_any, client=client), claim, "It asks for whatever offsets there are.")


def _asked_for_any(ev: Evidence, fault: str, *, client: str) -> Observation | None:
    """Return the OffsetFetch that a fault refused if it requires no stable offsets."""
    refused = hit_by(ev, fault, Api.OFFSET_FETCH, client)
    return None if refused is None or refused.body.get("require_stable") else refused


def _answered_beside(ev: Evidence, fault: str, *, client: str) -> Observation | None:
    """Return the successful answer to an OffsetFetch for the same partitions that was on its way when the fault refused the other."""
    refusal, refused = next(iter(ev.receipts(fault, "triggered")), None), hit_by(ev, fault, Api.OFFSET_FETCH, client)
    if refusal is None or refused is None:
        return None
    sent = ev.requests(Api.OFFSET_FETCH, client, before=refusal.seq)
    others = [obs for obs in sent if obs is not refused and set(obs.partitions) >= set(refused.partitions)]
    answers = (answer for obs in others if (answer := ev.answer(obs)) is not None)
    return next((answer for answer in answers if answer.seq > refusal.seq and error_of(answer) == 0), None)
