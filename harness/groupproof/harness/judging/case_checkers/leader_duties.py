"""The duties of a leader: it syncs for the members in its JoinGroup response, leaves none out, and lets a cooperative owner revoke first.

`generation_assignment.py` judges the content of a SyncGroup. This module judges whether one came, and for which members.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.judging.case_checkers.findings import end
from groupproof.harness.judging.case_checkers.trace_queries import accepted, memberships_given, origin
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.judging.checkers.classic.generation_assignment import partitions_moved_from_owners
from groupproof.harness.judging.checkers.frame_facts import MembershipGrant, assignments_of
from groupproof.harness.model.case import Judge, checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COOPERATIVE, Api

__all__ = ["hands_over_in_two_steps", "leaves_nobody_out", "or_left", "syncs_as_leader"]

SYNC_MS = 6_000
"""The time (ms) within which a leader gets missing metadata, assigns and syncs."""

REPEATS = 3
"""After so many generations that the leader left for a new JoinGroup, it is no accident."""

FOR_GOOD_MS = 1_500
"""An assignment that stood for so long (ms), until the end, was not corrected by another rebalance."""


def _led(ev: Evidence, client: str, members: int, after: str | None) -> list[MembershipGrant]:
    """Return the generations of at least so many members that `client` led. Raise `NotReached` for none."""
    since = ev.at(after)
    answers = [
        assignment
        for assignment in memberships_given(ev, client, before=ev.closing)
        if assignment.is_leader and not assignment.skip_assignment and assignment.answer.seq > since
    ]
    led = [answer for answer in answers if len(answer.answer.body.get("members") or ()) >= members]
    if not led:
        raise NotReached(f"{client} was never told to lead {members} members")
    return led


def _syncs(ev: Evidence, client: str, after: str | None) -> Iterator[tuple[Observation, MembershipGrant]]:
    """Yield each SyncGroup that `client` sent as leader, with the JoinGroup response that it follows."""
    for sync in ev.requests(Api.SYNC_GROUP, client, after, ev.closing):
        join = origin(ev, client, sync)
        if join is not None and join.is_leader and not join.skip_assignment:
            yield sync, join


@checker
def syncs_as_leader(ev: Evidence, client: str, *, members: int, after: str | None = None, requirement: str = "CLIENT-36") -> Iterator[Finding]:
    """Judge that a client that leads at least `members` members sends SyncGroup for them. Until then the whole group has no partition.

    A leader that cannot read the subscription of a peer rejoins again and again, or waits (sarama up to 1.38.1), or leaves the group and lets
    another lead (segmentio/kafka-go#1128).
    """
    claim = Claim(requirement=requirement, expected="The leader sends SyncGroup for the generation that it leads.")
    led = _led(ev, client, members, after)
    syncs = {join.answer.seq: sync for sync, join in _syncs(ev, client, after)}
    synced = next((syncs[assignment.answer.seq] for assignment in reversed(led) if assignment.answer.seq in syncs), None)
    if synced is not None:
        yield claim.ok("It does.", synced)
    elif len(led) < REPEATS and (left := _left_instead(ev, client, led[-1])) is not None:
        yield claim.tolerated("The leader left the group instead of syncing, which costs the group another rebalance.", left)
    elif len(led) >= REPEATS or elapsed_ms(led[-1].answer, end(ev)) > tolerated_ms(SYNC_MS * ev.stretch):
        detail = f"it was told {len(led)} times that it leads"
        wait = None if len(led) >= REPEATS else waited(led[-1].answer, end(ev), SYNC_MS * ev.stretch)
        yield claim.failed("The leader never sent its SyncGroup.", led[-1].answer, proof=Proof.LIVENESS, detail=detail, wait=wait)
    else:
        raise NotReached(f"the run ended before {client} had to send SyncGroup as leader")


def _left_instead(ev: Evidence, client: str, led: MembershipGrant) -> Observation | None:
    """Return the accepted LeaveGroup by which a leader gave up the generation that it had to assign."""
    leaves = ev.requests(Api.LEAVE_GROUP, client, led.answer.seq, ev.closing)
    return next((obs for obs in leaves if accepted(ev, obs) is not None), None)


def or_left(client: str, members: int, judge: Judge, *, after: str | None = None) -> Judge:
    """Return a judge of an assignment that is skipped where the leader left the group instead of assigning. `syncs_as_leader` reports that."""

    def judged(ev: Evidence) -> Iterator[Finding]:
        try:
            yield from judge(ev)
        except NotReached:
            if _left_instead(ev, client, _led(ev, client, members, after)[-1]) is None:
                raise

    return judged


@checker
def leaves_nobody_out(
    ev: Evidence, client: str, *, members: int, partitions: int, after: str | None = None, requirement: str = "CLIENT-12"
) -> Iterator[Finding]:
    """Judge that the last assignment of `client` as leader has an entry for each member, if there are `partitions` enough for all.

    A member without an entry makes no progress as long as the generation lasts. If the next rebalance corrects that, it only costs that time.
    """
    claim = Claim(requirement=requirement, expected="The leader gives each member its assignment.")
    _led(ev, client, members, after)
    assigned = [(sync, join) for sync, join in _syncs(ev, client, after) if accepted(ev, sync) and len(_listed(join)) >= members]
    if not assigned:
        raise NotReached(f"no assignment of {client} for {members} members was accepted")
    left_out = [(sync, missing) for sync, join in assigned if (missing := _listed(join) - set(assignments_of(sync)))]
    last = assigned[-1][0]
    if not left_out:
        yield claim.ok("It does.", last)
    elif left_out[-1][0] is last and partitions >= members and elapsed_ms(last, end(ev)) >= FOR_GOOD_MS:
        yield claim.failed("The leader left a member out for good.", last, proof=Proof.LIVENESS, detail=str(sorted(left_out[-1][1])))
    else:
        yield claim.tolerated("The leader left a member out of an assignment.", left_out[-1][0], detail=str(sorted(left_out[-1][1])))


def _listed(join: MembershipGrant) -> set[str]:
    return {member["member_id"] for member in join.answer.body.get("members") or ()}


@checker
def hands_over_in_two_steps(ev: Evidence, client: str, *, requirement: str = "ASSIGN-09") -> Iterator[Finding]:
    """Judge that `client`, as leader of a cooperative group, gives no member a partition that another still owns: the owner revokes it first
    (KIP-429).

    A claim from an older generation, or by two members, does not count (KIP-792, AbstractStickyAssignor).
    """
    claim = Claim(requirement=requirement, expected="A partition goes to its next owner only after its owner has handed it back.")
    syncs = [(sync, join) for sync, join in _syncs(ev, client, None) if join.protocol in COOPERATIVE and accepted(ev, sync)]
    moved = [(sync, partitions) for sync, join in syncs if (partitions := partitions_moved_from_owners(sync, join))]
    if moved:
        sync, partitions = moved[0]
        yield claim.failed("The leader gave a partition away that its owner still held.", sync, detail=str(partitions))
    elif any(len(_listed(join)) > 1 for _, join in syncs):
        yield claim.ok("It does.", syncs[-1][0])
    else:
        raise NotReached(f"{client} never led a cooperative group of two")
