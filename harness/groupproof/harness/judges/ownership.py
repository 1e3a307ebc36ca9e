"""Who owns a partition, by the callbacks of the members and within what the wire allows.

The kit stamps the arrival of a shim's lines; clocks of different processes are never compared. A line may be `REPORTING_MS` on its way
behind a frame, so an overlap shorter than that proves nothing. A member that the group went on without (expired, fenced) can't know that
it lost its partitions: only members of one and the same generation are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from groupproof.harness.case import Judge
from groupproof.harness.evidence import Evidence, NotReached
from groupproof.harness.judges.claim import Claim, elapsed_ms, end
from groupproof.harness.judges.reading import COOPERATIVE, instance_of, joined_generation, knew, newest, partitions_of, subscription_of
from groupproof.harness.verdicts import Finding
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = [
    "REPORTING_MS", "Holding", "claims_nothing", "holdings", "holds_at", "keeps_partitions", "names_owned_partitions", "owners_never_overlap", "records_come_to_owners_only",
    "revokes_before_joining", "tells_no_revocation",
]  # fmt: skip

REPORTING_MS = 500
"""How far the report of a callback may lag behind the frames that follow it."""

_TAKES = ("partitions_revoked", "partitions_lost")
_Partition = tuple[str, int]


@dataclass(slots=True, kw_only=True)
class Holding:
    """A partition in the hands of a client, from one callback to another (`until` None: to the end)."""

    client: str
    partition: _Partition
    since: Observation
    until: Observation | None = None


@dataclass(slots=True)
class _Hands:
    """What one client holds by its callbacks; an eager assignment replaces all, a cooperative one adds."""

    client: str
    now: dict[_Partition, Holding] = field(default_factory=dict)
    all: list[Holding] = field(default_factory=list)

    def take(self, partitions: set[_Partition], seen: Observation, *, replace: bool) -> None:
        if replace:
            self.give(set(self.now) - partitions, seen)
        for partition in partitions - set(self.now):
            self.now[partition] = Holding(client=self.client, partition=partition, since=seen)
            self.all.append(self.now[partition])

    def give(self, partitions: set[_Partition], seen: Observation) -> None:
        for partition in partitions & set(self.now):
            self.now.pop(partition).until = seen


def holdings(ev: Evidence) -> list[Holding]:
    """Return every holding that the members' callbacks tell of."""
    hands: dict[str, _Hands] = {}
    for seen in ev.trace:
        if seen.client is not None and seen.kind == "event":
            _follow(ev, hands.setdefault(seen.client, _Hands(seen.client)), seen)
    return [each for mine in hands.values() for each in mine.all]


def _follow(ev: Evidence, mine: _Hands, seen: Observation) -> None:
    name = seen.body.get("name")
    if (seen.who, name) in _ENDS:
        mine.give(set(mine.now), seen)
    elif seen.who == "shim" and name == "partitions_assigned":
        mine.take(partitions_of(seen), seen, replace=not _cooperates(ev, mine.client, seen.seq))
    elif seen.who == "shim" and name in _TAKES:
        mine.give(partitions_of(seen), seen)


_ENDS = {("shim", "shutdown_complete"), ("kit", "kill"), ("kit", "exit")}


def _cooperates(ev: Evidence, client: str, before: int) -> bool:
    known = newest(ev, client, before)
    return known is not None and known.protocol in COOPERATIVE


def owners_never_overlap(ev: Evidence) -> Iterator[Finding]:
    """Judge that no partition is in the hands of two members of one generation (ASSIGN-09, INV-09)."""
    claim = Claim(requirement="ASSIGN-09", expected="A partition is never in the hands of two members.")
    held = holdings(ev)
    for later in held:
        for earlier in (each for each in held if each.partition == later.partition and each.client != later.client):
            shared = _shared_ms(ev, earlier, later)
            if shared > REPORTING_MS and _knows_better(ev, earlier, later):
                yield claim.failed(
                    "Two members of one generation held a partition at once.", later.since, detail=f"{later.partition}, {shared:.0f} ms"
                )


def _shared_ms(ev: Evidence, earlier: Holding, later: Holding) -> float:
    if earlier.since.seq > later.since.seq:
        return 0
    over = earlier.until or end(ev)
    return elapsed_ms(later.since, min(over, later.until or over, key=lambda each: each.seq))


def _knows_better(ev: Evidence, earlier: Holding, later: Holding) -> bool:
    """Tell whether the earlier owner took part in the generation that gave its partition away, and not as a twin that was replaced."""
    generation = _generation_of(ev, later)
    twins = _instances(ev, earlier.client) & _instances(ev, later.client)
    return generation is not None and not twins and joined_generation(ev, earlier.client, generation, of=later.since)


def _instances(ev: Evidence, client: str) -> set[str | None]:
    return {instance_of(join) for join in ev.requests(Api.JOIN_GROUP, client)} - {None}


def _generation_of(ev: Evidence, holding: Holding) -> int | None:
    """Return the generation whose assignment gave this holding."""
    answers = [seen for seen in ev.responses(Api.SYNC_GROUP, holding.client) if holding.partition in seen.partitions and knew(seen, holding.since)]
    return answers[-1].generation if answers else None


def records_come_to_owners_only(ev: Evidence) -> Iterator[Finding]:
    """Judge that an application is given records only of partitions that it owns (CLIENT-63)."""
    claim = Claim(requirement="CLIENT-63", expected="Records are delivered only of partitions that are assigned.")
    held = holdings(ev)
    for seen in ev.trace:
        if seen.who != "shim" or seen.body.get("name") != "records_consumed":
            continue
        for partition in partitions_of(seen):
            mine = [each for each in held if each.client == seen.client and each.partition == partition]
            if mine and not any(holds_at(each, seen) for each in mine):
                yield claim.failed("Records of a partition that was taken away were delivered.", seen, detail=str(partition))


def holds_at(holding: Holding, seen: Observation) -> bool:
    """Tell whether a holding covers `seen`; a poll that ran while the callback came may be told of just after it."""
    return elapsed_ms(holding.since, seen) >= -REPORTING_MS and (holding.until is None or elapsed_ms(holding.until, seen) <= REPORTING_MS)


def revokes_before_joining(client: str, *, after: str, requirement: str = "CLIENT-62") -> Judge:
    """Judge that an eager member hands back its partitions before it joins again: else another may get them while it still works.

    The callback's line may lag behind the frame; a member of a cooperative protocol is not judged.
    """
    claim = Claim(requirement=requirement, expected="The client gives up its partitions before it joins again.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
        if not joins:
            raise NotReached(f"{client} did not join again")
        held = [each for each in holdings(ev) if each.client == client and each.since.seq < joins[0].seq]
        still = [each for each in held if each.until is None or elapsed_ms(joins[0], each.until) > REPORTING_MS]
        if not held:
            raise NotReached(f"{client} held nothing")
        if still:
            yield claim.failed("It joined again with its partitions still in hand.", joins[0], detail=str(sorted(each.partition for each in still)))
        else:
            yield claim.ok("It gave them up first.", joins[0])

    return judge


def tells_no_revocation(client: str, *, after: str, before: str | None = None, requirement: str, gravely: bool = False) -> Judge:
    """Judge that the application is not told of revoked or lost partitions between two instants (`gravely`: FAILED, else NON_STRICT)."""
    claim = Claim(requirement=requirement, expected="The client keeps its partitions.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        last = ev.closing if before is None else before
        taken = [seen for name in _TAKES for seen in ev.events(name, client, after, last) if partitions_of(seen)]
        if not taken:
            yield claim.ok("No partition was taken from the application.")
        elif gravely:
            yield claim.failed("Partitions were taken from the application.", taken[0])
        else:
            yield claim.tolerated("Partitions were taken from the application.", taken[0])

    return judge


def keeps_partitions(client: str, count: int, *, after: str, requirement: str) -> Judge:
    """Judge that of what `client` owned at `after`, at least `count` partitions were never taken until the closing (KIP-429)."""
    claim = Claim(requirement=requirement, expected=f"At least {count} of the client's partitions stay in its hands through the rebalance.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        since = ev.at(after)
        owned = [each for each in holdings(ev) if each.client == client and each.since.seq < since and _lasts(each, since)]
        kept = [each for each in owned if each.until is None or each.until.seq > ev.closing]
        if not owned:
            raise NotReached(f"{client} owned nothing")
        yield claim.ok("They did.") if len(kept) >= count else claim.tolerated("Partitions that stay with the client were taken from it.")

    return judge


def _lasts(holding: Holding, seq: int) -> bool:
    return holding.until is None or holding.until.seq > seq


def names_owned_partitions(client: str, *, after: str, requirement: str) -> Judge:
    """Judge that a cooperative member's next JoinGroup names exactly what it still holds: what it does not name, the leader gives away.

    Naming less than it holds permits two owners; having given everything up before is safe and costs the others a rebalance.
    """
    claim = Claim(requirement=requirement, expected="The next JoinGroup's subscription names the partitions that the client owns.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
        if not joins:
            raise NotReached(f"{client} did not join again")
        subscription = subscription_of(joins[0])
        if subscription is None or subscription.version < 1:
            raise NotReached(f"{client} sends a subscription that can't name owned partitions")
        mine = [each for each in holdings(ev) if each.client == client]
        before = {each.partition for each in mine if each.since.seq < joins[0].seq and _lasts(each, ev.at(after))}
        holds = {
            each.partition
            for each in mine
            if each.since.seq < joins[0].seq and (each.until is None or elapsed_ms(joins[0], each.until) > REPORTING_MS)
        }
        named = set(subscription.owned)
        if holds - named:
            yield claim.failed("It named fewer partitions than it holds.", joins[0], detail=str(sorted(holds - named)))
        elif before - named:
            yield claim.tolerated("It had given its partitions up.", joins[0], detail=str(sorted(before - named)))
        else:
            yield claim.ok("It did.", joins[0])

    return judge


def claims_nothing(client: str, *, after: str, requirement: str) -> Judge:
    """Judge that a member that was put out names no partitions as its own when it comes back: others may own them by now.

    It is NON_STRICT only, for a leader knows by the generation (KIP-792) or by two claims that one of them is old.
    """
    claim = Claim(requirement=requirement, expected="The JoinGroup of a member that was put out names no owned partitions.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
        if not joins:
            raise NotReached(f"{client} did not join again")
        subscription = subscription_of(joins[0])
        owned = () if subscription is None else subscription.owned
        yield claim.tolerated("It named some.", joins[0]) if owned else claim.ok("It named none.", joins[0])

    return judge
