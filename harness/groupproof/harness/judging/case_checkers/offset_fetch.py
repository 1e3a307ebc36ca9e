"""After an OffsetFetch that failed: a client whose heartbeats go on, and which never reads again, is as good as gone."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.judging.case_checkers.findings import Timed, overdue
from groupproof.harness.judging.case_checkers.trace_queries import moment, surfaced
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.vocabulary import Api

__all__ = ["goes_on_reading"]

READ_MS = 6_000
"""Within which a client has asked again for the offsets that it was refused, whatever its backoff."""


def goes_on_reading(client: str, *, after: str, requirement: str = "CLIENT-79", within_ms: float = READ_MS) -> Judge:
    """Judge that a client whose fetch of offsets failed asks again, reads all the same, or tells its application.

    Heartbeats are no sign of it: they keep partitions that nobody reads (librdkafka#5586). Where it reads from is another judge's question.
    """
    claim = Claim(requirement=requirement, expected="The client asks for its offsets again, reads, or tells the application.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        report = surfaced(ev, client, after)
        again = next(iter(ev.requests(Api.OFFSET_FETCH, client, after, ev.closing)), None)
        read = next(iter(ev.requests(Api.FETCH, client, after, ev.closing)), None) or next(
            iter(ev.events("records_consumed", client, after, ev.closing)), None
        )
        if report is not None:
            yield claim.ok("It told the application.", report)
        elif again is not None:
            yield claim.ok("It asked again.", again)
        elif read is not None:
            yield claim.ok("It read on.", read)
        else:
            never = "It never asked for its offsets again, read nothing, and told nobody."
            yield overdue(ev, claim, None, since=moment(ev, after), within_ms=within_ms, never=never, late="") or claim.ok("")

    return Timed(judge, after, within_ms)
