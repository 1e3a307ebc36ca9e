"""Judges of partition owners, by the callbacks of the members and within what the wire allows.

The kit stamps the arrival of a shim's events; clocks of different processes are never compared. An event may be late by `REPORTING_MS` plus the
delay of the quickest of its kind (`GroupTracker.late_ms`), so every finding here is LIVENESS at most. A member without which the group went on
(expired, fenced) cannot know that it lost its partitions. So only members of the same generation are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from groupproof.harness.judging.case_checkers.trace_queries import late_lines_ms, newest
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms
from groupproof.harness.judging.checkers.frame_facts import has_no_callbacks, partitions_of, subscription_of
from groupproof.harness.judging.checkers.tracking.ownership_tracker import Holding, OwnershipTracker
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COOPERATIVE, Api, TopicPartition

__all__ = ["claims_nothing", "holdings", "keeps_partitions", "names_owned_partitions", "owned_at", "reports_no_revocation", "revokes_before_joining"]

_TAKES = ("partitions_revoked", "partitions_lost")


def holdings(ev: Evidence) -> list[Holding]:
    """Return every holding that the members' callbacks report."""
    hands = OwnershipTracker()
    return [holding for obs in ev.sent for holding in hands.follow(obs)[0]]


def owned_at(ev: Evidence, client: str, at: Observation) -> set[TopicPartition]:
    """Return the partitions that the application of a member owns at an instant, by its callbacks."""
    held = [holding for holding in holdings(ev) if holding.client == client and holding.since.seq < at.seq]
    return {holding.partition for holding in held if holding.until is None or holding.until.seq > at.seq}


@checker
def revokes_before_joining(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-62") -> Iterator[Finding]:
    """Judge that an eager member revokes its partitions before it rejoins. Otherwise another may get them while it still works.

    The callback's event may lag behind the frame. A member of a cooperative group keeps its partitions (KIP-429). A client without revocation
    callbacks (no `on-revoked`) may have nothing to report before its next assignment (kafkajs after UNKNOWN_MEMBER_ID). It is judged by what its
    application gets in between. `FetchesStayWithOwners` judges what it prefetches.
    """
    claim = Claim(requirement=requirement, expected="The client gives up its partitions before it joins again.")
    joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
    if not joins:
        raise NotReached(f"{client} did not join again")
    mine = newest(ev, client, before=joins[0].seq)
    if mine is not None and mine.protocol in COOPERATIVE:
        return
    held = [holding for holding in holdings(ev) if holding.client == client and holding.since.seq < joins[0].seq]
    late_ms = late_lines_ms(ev, client)
    still = [holding for holding in held if holding.until is None or elapsed_ms(joins[0], holding.until) > late_ms]
    if not held:
        raise NotReached(f"{client} held nothing")
    if still and has_no_callbacks(ev.capabilities(client)) and not _is_given_records(ev, client, joins[0], late_ms):
        yield claim.ok("Its application was told later, and was given nothing in between.", joins[0])
    elif still:
        # A client that reads on owns them. For one that does not, an event is missing, by the client's fault or its shim's.
        reads = bool(ev.requests(Api.FETCH, client, joins[0].seq, _next_assignment(ev, client, joins[0]))) or _is_given_records(ev, client, joins[0])
        sentence = "It joined again with its partitions still in hand." if reads else "It joined again, and no partitions_revoked came first."
        finding = claim.failed(sentence, joins[0], detail=str(sorted(holding.partition for holding in still)), proof=Proof.LIVENESS)
        yield replace(finding, line="partitions_revoked")
    else:
        yield claim.ok("It gave them up first.", joins[0])


def _is_given_records(ev: Evidence, client: str, since: Observation, late_ms: float = 0.0) -> bool:
    """Return whether a client delivers records between an instant, plus the tolerated delay of an event, and its next assignment."""
    return any(elapsed_ms(since, obs) > late_ms for obs in ev.events("records_consumed", client, since.seq, _next_assignment(ev, client, since)))


def _next_assignment(ev: Evidence, client: str, since: Observation) -> int:
    assigned = next(iter(ev.responses(Api.SYNC_GROUP, client, since.seq)), None)
    return ev.closing if assigned is None else assigned.seq


@checker
def reports_no_revocation(
    ev: Evidence, client: str, *, after: str, before: str | None = None, requirement: str, is_severe: bool = False
) -> Iterator[Finding]:
    """Judge that the application gets no callback for revoked or lost partitions between two instants (`is_severe`: FAILED, else NON_STRICT)."""
    claim = Claim(requirement=requirement, expected="The client keeps its partitions.")
    last = ev.closing if before is None else before
    revocations = [obs for name in _TAKES for obs in ev.events(name, client, after, last) if partitions_of(obs)]
    if not revocations:
        yield claim.ok("No partition was taken from the application.")
        return
    severity = Verdict.FAILED if is_severe else Verdict.NON_STRICT
    ended = _session_end(ev, client, after, revocations[0])
    if ended is None:
        yield claim.found(severity, "Partitions were taken from the application.", revocations[0], proof=Proof.LIVENESS)
    else:
        beats = ev.requests(Api.HEARTBEAT, client, before=ended.seq)
        silent = f"no Heartbeat for {elapsed_ms(beats[-1], ended):.0f} ms" if beats else "no Heartbeat at all"
        sentence = "Its session ended, and its partitions were taken from the application."
        yield claim.found(severity, sentence, ended, proof=Proof.TIMING, detail=silent)  # a starved process is silent too


def _session_end(ev: Evidence, client: str, after: str, before: Observation) -> Observation | None:
    """Return the transition by which the coordinator removed the silent client between an instant and an observation, or None."""
    ids = ev.member_ids(client, before=before.seq)
    ends = (obs for obs in ev.select("transition", after=after, before=before.seq) if (obs.rule or "").startswith("SessionEnd/"))
    return next((obs for obs in ends if any(id in (obs.detail or "") for id in ids)), None)


@checker
def keeps_partitions(ev: Evidence, client: str, count: int, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that of the partitions that `client` owned at `after`, at least `count` were never taken until the close (KIP-429)."""
    claim = Claim(requirement=requirement, expected=f"At least {count} of the client's partitions stay in its hands through the rebalance.")
    since = ev.at(after)
    owned = [holding for holding in holdings(ev) if holding.client == client and holding.since.seq < since and _lasts(holding, since)]
    kept = [holding for holding in owned if holding.until is None or holding.until.seq > ev.closing]
    if not owned:
        raise NotReached(f"{client} owned nothing")
    sentence = "Partitions that stay with the client were taken from it."
    yield claim.ok("They did.") if len(kept) >= count else claim.tolerated(sentence, proof=Proof.LIVENESS)


def _lasts(holding: Holding, seq: int) -> bool:
    return holding.until is None or holding.until.seq > seq


@checker
def names_owned_partitions(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that a cooperative member's next JoinGroup names exactly what it still owns. The leader assigns partitions that it does not name to
    others.

    Naming fewer than it owns allows two owners. Having revoked everything before is safe, but costs the others a rebalance.
    """
    claim = Claim(requirement=requirement, expected="The next JoinGroup's subscription names the partitions that the client owns.")
    joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
    if not joins:
        raise NotReached(f"{client} did not join again")
    subscription = subscription_of(joins[0])
    if subscription is None or subscription.version < 1 or subscription.ends_before == "owned partitions":
        raise NotReached(f"{client} sends a subscription that can't name owned partitions")
    late_ms = late_lines_ms(ev, client)
    mine = [holding for holding in holdings(ev) if holding.client == client]
    before = {holding.partition for holding in mine if holding.since.seq < joins[0].seq and _lasts(holding, ev.at(after))}
    holds = {
        holding.partition
        for holding in mine
        if holding.since.seq < joins[0].seq and (holding.until is None or elapsed_ms(joins[0], holding.until) > late_ms)
    }
    named = set(subscription.owned)
    if holds - named:
        yield claim.failed("It named fewer partitions than it holds.", joins[0], detail=str(sorted(holds - named)), proof=Proof.LIVENESS)
    elif before - named:
        yield claim.tolerated("It had given its partitions up.", joins[0], detail=str(sorted(before - named)), proof=Proof.LIVENESS)
    else:
        yield claim.ok("It did.", joins[0])


@checker
def claims_nothing(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that a member that was removed names no owned partitions when it comes back: others may own them by now.

    It is only NON_STRICT, because a leader detects an old claim by the generation (KIP-792) or by a second claim.
    """
    claim = Claim(requirement=requirement, expected="The JoinGroup of a member that was put out names no owned partitions.")
    joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
    if not joins:
        raise NotReached(f"{client} did not join again")
    subscription = subscription_of(joins[0])
    owned = () if subscription is None else subscription.owned
    yield claim.tolerated("It named some.", joins[0]) if owned else claim.ok("It named none.", joins[0])
