"""What a polling application gets: needless fatal errors, records that come too early, and a slow handler.

A Fetch between JoinGroup and SyncGroup is not judged: it was already under way, or returns nothing. Only what reaches the application counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from groupproof.harness.judging.case_checkers.findings import overdue, timed_checker
from groupproof.harness.judging.case_checkers.partition_owner import holdings
from groupproof.harness.judging.case_checkers.trace_queries import moment, newest, synced
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTING_MS
from groupproof.harness.model.case import Judge, checker
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.vocabulary import COOPERATIVE, Api

__all__ = ["application_holds", "hears_nothing_fatal", "reads_nothing_while_joining", "where_the_handler_is_slow"]

_DELAY_TOLERANCE = 0.8
"""A measured sleep may be a little short between two lines of a program. A handler that does not sleep is far below this share."""


@checker
def hears_nothing_fatal(ev: Evidence, client: str, *, after: str, requirement: str, severity: Verdict = Verdict.FAILED) -> Iterator[Finding]:
    """Judge that the application gets no fatal error from an instant on: it learned of a rebalance, which a rejoin cures (KAFKA-10870)."""
    claim = Claim(requirement=requirement, expected="The application is told of no fatal error for what a rejoin cures.")
    moment(ev, after)
    ends = [obs for obs in ev.events("error", client, after, ev.closing) if obs.body.get("fatal")]
    if ends:
        detail = str(ends[0].body.get("error"))
        yield claim.found(severity, "The application was told that it is over.", ends[0], detail=detail, proof=Proof.LIVENESS)
    else:
        yield claim.ok("It was told of none.")


@timed_checker
def application_holds(ev: Evidence, client: str, count: int, *, after: str, requirement: str, within_ms: float = 6_000) -> Iterator[Finding]:
    """Judge that by the end the application of `client` owns `count` partitions, by its callbacks and by its last assignment."""
    claim = Claim(requirement=requirement, expected=f"In the end the application holds {count} partitions.")
    since = moment(ev, after)
    last = ev.trace[min(ev.closing, len(ev.trace) - 1)].seq
    held = {
        holding.partition
        for holding in holdings(ev)
        if holding.client == client and holding.since.seq <= last and (holding.until is None or holding.until.seq > last)
    }
    assigned = [set(answer.partitions) for answer in synced(ev, client, before=ev.closing)]
    if len(held) == count and assigned and len(assigned[-1]) == count:
        yield claim.ok("It does.")
    else:
        never = "It holds another number of partitions."
        found = overdue(ev, claim, None, since=since, within_ms=within_ms, never=never, late="")
        if found is not None:
            yield replace(found, detail=f"told of {sorted(held)}, assigned {sorted(assigned[-1]) if assigned else []}")


@checker
def reads_nothing_while_joining(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-63") -> Iterator[Finding]:
    """Judge that an eager member's application gets no records between its JoinGroup and its next assignment: it has revoked all.

    An event may be `REPORTING_MS` late. Members of a cooperative group go on reading.
    """
    claim = Claim(requirement=requirement, expected="No records are delivered between JoinGroup and the next assignment.")
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    mine = newest(ev, client, before=after)
    if join is None or mine is None or mine.protocol in COOPERATIVE:
        raise NotReached(f"{client} joined no eager group again after {after}")
    syncs = [obs for obs in ev.responses(Api.SYNC_GROUP, client, join.seq) if not error_of(obs)]
    until = syncs[0].seq if syncs else ev.closing
    early = [obs for obs in ev.events("records_consumed", client, join.seq, until) if elapsed_ms(join, obs) > REPORTING_MS]
    if early:
        yield claim.failed("Records were delivered while it was joining.", early[0], proof=Proof.LIVENESS)
    else:
        yield claim.ok("None were.", join)


@checker
def where_the_handler_is_slow(ev: Evidence, client: str, delay_ms: float, asked: Judge) -> Iterator[Finding]:
    """Run `asked` only where the application's handler is slow, by the time between its deliveries. A shim older than `handler_delay_ms` may not
    even list what it ignores."""
    deliveries = ev.events("records_consumed", client, before=ev.closing)
    if any(elapsed_ms(one, other) < delay_ms * _DELAY_TOLERANCE for one, other in pairwise(deliveries)):
        raise NotOffered(f"the application of {client} is not slow in its handler")
    yield from asked(ev)
