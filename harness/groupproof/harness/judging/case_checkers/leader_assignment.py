"""Judges of a leader's assignment for cases that know topics and members; and that a follower assigns nothing.

`generation_assignment.py` finds what is illegal in any trace.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from groupproof.harness.judging.case_checkers.trace_queries import accepted, origin, synced
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import MembershipGrant, assignments_of, knew, members_of, partitions_of, subscriptions_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.trace import Observation, Partitions
from groupproof.protocol.vocabulary import COOPERATIVE, Api

__all__ = [
    "assigns_at_once", "assigns_everyone", "assigns_everything", "assigns_exactly",
    "follower_assigns_nothing", "holds_only", "holds_partitions", "takes_what_it_was_given",
]  # fmt: skip


def _leading(ev: Evidence, client: str) -> Iterator[tuple[Observation, MembershipGrant]]:
    """Yield the SyncGroups that `client` sent as leader, with the JoinGroup responses that made it leader."""
    for sync in ev.requests(Api.SYNC_GROUP, client):
        join = origin(ev, client, sync)
        if join is not None and join.is_leader and not join.skip_assignment:
            yield sync, join


def _led(ev: Evidence, client: str, after: str | None) -> list[tuple[Observation, MembershipGrant]]:
    """Return the SyncGroups that `client` sent as leader and that were accepted. Raise `NotReached` for none."""
    leading = [(sync, join) for sync, join in _leading(ev, client) if sync.seq > ev.at(after) and accepted(ev, sync)]
    if not leading:
        raise NotReached(f"{client} never led a generation")
    return leading


def _unassigned(sync: Observation, join: MembershipGrant, topics: Mapping[str, int]) -> Partitions:
    """Return the unassigned partitions of the subscribed `topics`.

    A cooperative leader may withhold a partition on its way from one member to another, so for it the result is empty.
    """
    wanted = {topic for subscription in subscriptions_of(join.answer).values() for topic in subscription.topics}
    due = {(topic, number) for topic, count in topics.items() if topic in wanted for number in range(count)}
    assigned = {partition for partitions in assignments_of(sync).values() for partition in partitions}
    return () if join.protocol in COOPERATIVE else tuple(sorted(due - assigned))


@checker
def assigns_everything(
    ev: Evidence, client: str, topics: Mapping[str, int], *, requirement: str = "ASSIGN-09", after: str | None = None
) -> Iterator[Finding]:
    """Judge that the newest assignment of `client` as leader assigns every partition of the subscribed `topics`."""
    claim = Claim(requirement=requirement, expected="The leader assigns every partition of every subscribed topic.")
    sync, join = _led(ev, client, after)[-1]
    missing = _unassigned(sync, join, topics)
    if missing:
        never = "The leader left partitions of a subscribed topic to nobody."
        yield claim.failed(never, sync, detail=str(missing), proof=Proof.LIVENESS)
    else:
        yield claim.ok("Every partition was assigned.", sync)


@checker
def assigns_at_once(ev: Evidence, client: str, topics: Mapping[str, int], *, after: str, requirement: str = "ASSIGN-10") -> Iterator[Finding]:
    """Judge that `client` assigns everything in one generation. A leader asks for the metadata of a new topic before it assigns; otherwise all
    members must rejoin once the metadata has come."""
    claim = Claim(requirement=requirement, expected="The leader assigns every partition in the generation in which its member joined.")
    sync, join = _led(ev, client, after)[0]
    missing = _unassigned(sync, join, topics)
    another = "The leader left partitions to nobody until another rebalance."
    yield claim.tolerated(another, sync, detail=str(missing)) if missing else claim.ok("It did.", sync)


@checker
def assigns_everyone(ev: Evidence, client: str, members: int, *, requirement: str = "CLIENT-12", after: str | None = None) -> Iterator[Finding]:
    """Judge that the newest SyncGroup of `client` as leader has an entry for each of `members` members."""
    claim = Claim(requirement=requirement, expected="The leader's SyncGroup has an assignment for every member, also an empty one.")
    sync, join = _led(ev, client, after)[-1]
    listed = members_of(join.answer)
    if len(listed) < members:
        raise NotReached("the group never had all its members in one generation")
    if listed - set(assignments_of(sync)):
        yield claim.tolerated("The leader left a member out of its SyncGroup.", sync)
    else:
        yield claim.ok("Every member had its entry.", sync)


@checker
def assigns_exactly(
    ev: Evidence, client: str, expected: Mapping[str, Partitions], *, assignor: str = "range", requirement: str, after: str | None = None
) -> Iterator[Finding]:
    """Compare the newest assignment of `client` as leader with the assignor's result. `expected` is by client id.

    One leader decides for all, so another complete assignment is safe: NON_STRICT. A group that agreed on another assignor is not judged.
    """
    claim = Claim(requirement=requirement, expected="The leader assigns what the assignor agreed upon assigns.")
    sync, join = _led(ev, client, after)[-1]
    if join.protocol != assignor:
        return
    names = {obs.member: obs.client for obs in ev.responses(Api.JOIN_GROUP) if obs.member}
    got = {names.get(member, member): sorted(partitions) for member, partitions in assignments_of(sync).items()}
    wanted = {name: sorted(partitions) for name, partitions in expected.items()}
    if got == wanted:
        yield claim.ok("The assignment is the assignor's.", sync)
    else:
        yield claim.tolerated("The assignment is another than the assignor's.", sync, detail=str(got))


@checker
def follower_assigns_nothing(ev: Evidence, client: str, *, requirement: str = "CLIENT-12", after: str | None = None) -> Iterator[Finding]:
    """Judge that `client` synced as a follower, without assignments."""
    claim = Claim(requirement=requirement, expected="As a follower the client sends SyncGroup without assignments.")
    for sync in ev.requests(Api.SYNC_GROUP, client, after, ev.closing):
        join = origin(ev, client, sync)
        if join is not None and not join.is_leader:
            carried = bool(sync.body.get("assignments"))
            yield claim.tolerated("It sent assignments.", sync) if carried else claim.ok("It sent none.", sync)
            return
    raise NotReached(f"{client} was never a follower")


@checker
def holds_partitions(
    ev: Evidence, client: str, count: int, *, requirement: str, after: str | None = None, whom: str = "The client"
) -> Iterator[Finding]:
    """Judge that the newest assignment of `client` has `count` partitions. `whom` is the name of a member that is not the subject's."""
    claim = Claim(requirement=requirement, expected=f"{whom} is assigned {count} partitions in the end.")
    failed = f"{'It' if whom == 'The client' else whom} was assigned another number of partitions."
    answers = synced(ev, client, after, ev.closing)
    if not answers:
        raise NotReached(f"{client} was assigned nothing")
    if len(answers[-1].partitions) == count:
        yield claim.ok("It was.", answers[-1])
    else:
        yield claim.failed(failed, answers[-1], detail=str(answers[-1].partitions), proof=Proof.LIVENESS)


@checker
def holds_only(ev: Evidence, client: str, topics: Collection[str], *, requirement: str = "ASSIGN-10", after: str | None = None) -> Iterator[Finding]:
    """Judge that the newest assignment of `client` has only partitions of `topics`. Which ones and how many is the assignor's choice."""
    claim = Claim(requirement=requirement, expected="The client is assigned partitions of the topics that it subscribes to, and of no other.")
    answers = synced(ev, client, after, ev.closing)
    if not answers:
        raise NotReached(f"{client} was assigned nothing")
    foreign = [partition for partition in answers[-1].partitions if partition[0] not in topics]
    if foreign:
        yield claim.failed("It was assigned partitions of another topic.", answers[-1], detail=str(foreign), proof=Proof.LIVENESS)
    else:
        yield claim.ok("It was.", answers[-1])


@checker
def takes_what_it_was_given(ev: Evidence, client: str, *, requirement: str = "CLIENT-30") -> Iterator[Finding]:
    """Judge that the newest assignment reported to the application holds only partitions of the SyncGroup response that it comes from."""
    claim = Claim(requirement=requirement, expected="The application is told of the partitions that the client was assigned, and of no other.")
    observations = ev.events("partitions_assigned", client, before=ev.closing)
    if not observations:
        raise NotReached(f"the application of {client} was told of no assignment")
    answers = [answer for answer in synced(ev, client, before=ev.closing) if knew(answer, observations[-1])]
    others = "It was told of others."
    foreign = partitions_of(observations[-1]) - {partition for answer in answers[-1:] for partition in answer.partitions}
    yield (
        claim.failed(others, observations[-1], detail=str(sorted(foreign)), proof=Proof.LIVENESS)
        if foreign
        else claim.ok("It was.", observations[-1])
    )
