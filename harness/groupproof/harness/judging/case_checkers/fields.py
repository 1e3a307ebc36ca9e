"""What a client writes into its requests: timeouts, protocols, topics, instance ids; and which offsets its application reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from groupproof.harness.judging.case_checkers.findings import end, overdue
from groupproof.harness.judging.case_checkers.trace_queries import accepted, memberships_given, moment, newest, origin, reported_end, synced
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.judging.checkers.frame_facts import error_of, instance_of, subscription_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.subscription import Subscription

__all__ = [
    "commits_carry_membership", "fetches_only_assigned", "joins_once", "joins_when_topics_grow", "joins_with_timeouts", "keeps_id_handed_out", "lists_protocols",
    "names_its_instance", "starts_at", "starts_in_generation", "subscribes_to", "syncs_after_join", "syncs_protocol_agreed", "truncation_of",
]  # fmt: skip


def _joins(ev: Evidence, client: str, after: str | None = None) -> list[Observation]:
    joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
    if not joins:
        raise NotReached(f"{client} sent no JoinGroup")
    return joins


@checker
def joins_with_timeouts(ev: Evidence, client: str, *, session_ms: int, rebalance_ms: int, requirement: str = "CLIENT-23") -> Iterator[Finding]:
    """Judge the session timeout of JoinGroup and, from v1, its rebalance timeout, which is max.poll.interval.ms."""
    claim = Claim(requirement=requirement, expected="JoinGroup carries the session timeout, and max.poll.interval.ms as rebalance timeout.")
    join = _joins(ev, client)[0]
    rebalance = join.body.get("rebalance_timeout_ms", -1)
    if join.body.get("session_timeout_ms") != session_ms:
        yield claim.tolerated("It carried another session timeout.", join, detail=str(join.body.get("session_timeout_ms")))
    elif join.version != 0 and rebalance != rebalance_ms:
        yield claim.tolerated("It carried another rebalance timeout.", join, detail=str(rebalance))
    else:
        yield claim.ok("It does.", join)


@checker
def lists_protocols(ev: Evidence, client: str, protocols: Sequence[str], *, requirement: str = "ASSIGN-13") -> Iterator[Finding]:
    """Judge that JoinGroup has the type `consumer` and lists the assignors in the order of preference, each with readable metadata.

    A client that lists only some, even only in its first JoinGroup, keeps out members that share another one (INCONSISTENT_GROUP_PROTOCOL).
    """
    claim = Claim(requirement=requirement, expected="JoinGroup lists the client's assignors in its order of preference, each with its subscription.")
    join, *later = _joins(ev, client)
    names, subscription = _protocols(join), subscription_of(join)
    if join.body.get("protocol_type") != "consumer" or subscription is None:
        yield claim.failed("It is no join of a consumer.", join)
    elif subscription.is_truncated:
        yield claim.failed(truncation_of(subscription), join)
    elif names == list(protocols):
        yield claim.ok("It does.", join)
    elif set(names) < set(protocols) and any(_protocols(obs) == list(protocols) for obs in later):
        yield claim.failed("It lists only some of them at first.", join, detail=str(names))
    else:
        verdict = Verdict.NON_STRICT if set(names) == set(protocols) else Verdict.FAILED
        yield replace(claim.found(verdict, "It lists others, or in another order.", join, detail=str(names)), setting="assignors")


def truncation_of(subscription: Subscription) -> str:
    """Return the sentence about a subscription that lacks fields of its version. ConsumerProtocol.deserializeSubscription throws a SchemaException
    for it."""
    return (
        f"Its subscription says version {subscription.version} and ends before its {subscription.ends_before}: "
        "a leader of the Java client cannot read it."
    )


def _protocols(join: Observation) -> list[str]:
    return [protocol["name"] for protocol in join.body.get("protocols") or ()]


@checker
def subscribes_to(ev: Evidence, client: str, topics: Sequence[str], *, after: str | None = None, requirement: str) -> Iterator[Finding]:
    """Judge that the next JoinGroup's subscription names exactly `topics`."""
    claim = Claim(requirement=requirement, expected="The JoinGroup's subscription names the topics that the application asked for.")
    join = _joins(ev, client, after)[-1]
    subscription = subscription_of(join)
    named = () if subscription is None else subscription.topics
    same = sorted(named) == sorted(topics)
    yield claim.ok("It does.", join) if same else claim.failed("It names others.", join, detail=str(sorted(named)))


@checker
def keeps_id_handed_out(ev: Evidence, client: str, *, requirement: str = "CLIENT-18") -> Iterator[Finding]:
    """Judge that after error 79 the client comes back with the id that it got (KIP-394). A JoinGroup before v4 never gets 79.

    A client that asks once more without an id and joins with the next one leaves a pending id until its session ends, as librdkafka does
    (librdkafka#5569).
    """
    claim = Claim(requirement=requirement, expected="After MEMBER_ID_REQUIRED the next JoinGroup carries the id that was handed out.")
    asked = [obs for obs in ev.responses(Api.JOIN_GROUP, client, before=ev.closing) if error_of(obs) == ErrorCode.MEMBER_ID_REQUIRED]
    if not asked and all((join.version or 0) < 4 or instance_of(join) for join in _joins(ev, client)):
        yield claim.ok("It joins in a version, or as an instance, that is not asked for an id.")
        return
    if not asked:
        raise NotReached("the coordinator never asked for a member id")
    back = next(iter(ev.requests(Api.JOIN_GROUP, client, asked[0].seq, ev.closing)), None)
    until_the_end = waited(asked[0], end(ev), tolerated_ms(0))
    if back is None:
        yield claim.failed("It never came back.", asked[0], proof=Proof.LIVENESS, wait=until_the_end)
    elif back.member == asked[0].body.get("member_id"):
        yield claim.ok("It does.", back)
    elif _gets_in_as_one_of(ev, client, {obs.body.get("member_id") for obs in asked}):
        yield claim.tolerated("It left an id behind that it was handed.", asked[0], proof=Proof.LIVENESS)
    else:
        yield claim.failed("It came back with another id, or none.", back, proof=Proof.LIVENESS, wait=until_the_end)


def _gets_in_as_one_of(ev: Evidence, client: str, ids: set[str | None]) -> bool:
    """Return whether any JoinGroup named one of these ids and was answered without an error."""
    return any(join.member in ids and accepted(ev, join) is not None for join in ev.requests(Api.JOIN_GROUP, client, before=ev.closing))


@checker
def syncs_after_join(ev: Evidence, client: str, session_ms: float, *, after: str | None = None, requirement: str = "CLIENT-36") -> Iterator[Finding]:
    """Judge that every JoinGroup answered without an error is followed by SyncGroup (or a new JoinGroup) within the session timeout."""
    claim = Claim(requirement=requirement, expected="SyncGroup follows the JoinGroup answer within the session timeout.")
    answers = [obs for obs in ev.responses(Api.JOIN_GROUP, client, after, ev.closing) if error_of(obs) == 0]
    if not answers:
        raise NotReached(f"{client} was never let in")
    for answer in answers:
        later = (*ev.requests(Api.SYNC_GROUP, client, answer.seq), *ev.requests(Api.JOIN_GROUP, client, answer.seq))
        until = min(later, key=lambda request: request.seq, default=end(ev))
        if elapsed_ms(answer, until) > tolerated_ms(session_ms):
            yield claim.failed("No SyncGroup came in that time.", answer, proof=Proof.TIMING)
            return
    yield claim.ok("It does.", answers[-1])


@checker
def syncs_protocol_agreed(ev: Evidence, client: str, protocol: str, *, requirement: str = "ASSIGN-01") -> Iterator[Finding]:
    """Judge that the client uses the protocol that the group agreed on. Before SyncGroup v5 it is not named."""
    claim = Claim(requirement=requirement, expected="The client goes on with the assignor that the group agreed on.")
    sync = _newest_sync_under(ev, client, protocol)
    if sync.body.get("protocol_name") not in (None, "", protocol):
        yield claim.failed("Its SyncGroup names another.", sync)
    elif not accepted(ev, sync):
        yield claim.failed("Its SyncGroup was refused.", sync)
    else:
        yield claim.ok("It does.", sync)


def _newest_sync_under(ev: Evidence, client: str, protocol: str) -> Observation:
    """Return the newest SyncGroup in a generation that agreed on `protocol`. One that was refused because the membership was lost does not count."""
    agreed = [grant.protocol for grant in memberships_given(ev, client, before=ev.closing) if grant.protocol]
    if not agreed:
        raise NotReached(f"{client} was never let in")
    if protocol not in agreed:
        raise NotReached(f"the group agreed on {agreed[-1]}, and never on {protocol}")
    syncs = [
        sync
        for sync in ev.requests(Api.SYNC_GROUP, client, before=ev.closing)
        if (grant := origin(ev, client, sync)) is not None and grant.protocol == protocol and not _was_lost(ev.answer(sync))
    ]
    if not syncs:
        raise NotReached(f"{client} lost its membership before it had gone on with {protocol}")
    return syncs[-1]


def _was_lost(answer: Observation | None) -> bool:
    return answer is None or error_of(answer) in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS)


@checker
def joins_once(ev: Evidence, client: str, *, after: str, before: str | None = None, requirement: str) -> Iterator[Finding]:
    """Judge that while a JoinGroup is parked, or its response is held, the client sends no other on a live connection."""
    claim = Claim(requirement=requirement, expected="The client waits for the answer to its JoinGroup and sends no second.")
    last = ev.closing if before is None else before
    answer = next(iter(ev.responses(Api.JOIN_GROUP, client, after, last)), None)
    joins = ev.requests(Api.JOIN_GROUP, client, after, last if answer is None else answer.seq)
    yield claim.tolerated("It sent another.", joins[0]) if joins else claim.ok("It did.")


@checker
def joins_when_topics_grow(
    ev: Evidence, client: str, topic: str, partitions: int, *, after: str, requirement: str = "CLIENT-74", within_ms: float = 5_000
) -> Iterator[Finding]:
    """Judge that `client` rejoins once a Metadata response after an instant shows that `topic` has so many partitions.

    How often a client asks for metadata is its own choice. A client that did not ask in the run is not judged.
    """
    claim = Claim(requirement=requirement, expected="A leader that learns of new partitions joins again.")
    answers = ev.responses(Api.METADATA, client, after, ev.closing)
    report = next((obs for obs in answers if _partitions_in(obs, topic) >= partitions), None)
    if report is None:
        raise NotReached(f"{client} did not ask for metadata of {topic} in time")
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    never, late = "It did not join again.", "It joined again late."
    yield overdue(ev, claim, join, since=report, within_ms=within_ms, never=never, late=late) or claim.ok("It did.", join)


def _partitions_in(metadata: Observation, topic: str) -> int:
    """Return the number of partitions of a topic in a Metadata response, which may be about other topics. The coordinator's trace has only the
    count."""
    entries = (item.get("partitions") or 0 for item in metadata.body.get("topics") or () if item.get("name") == topic)
    return max((item if isinstance(item, int) else len(item) for item in entries), default=0)


@checker
def names_its_instance(ev: Evidence, client: str, instance: str, *, requirement: str = "STATIC-01") -> Iterator[Finding]:
    """Judge that JoinGroup has a version, v5 or later, that carries the instance id, and carries it."""
    claim = Claim(requirement=requirement, expected="A static member's JoinGroup carries its group.instance.id.")
    without = [join for join in _joins(ev, client) if instance_of(join) != instance]
    yield claim.failed("It carries none, or another.", without[0]) if without else claim.ok("It does.")


@checker
def starts_in_generation(ev: Evidence, client: str, *, of: str, requirement: str) -> Iterator[Finding]:
    """Judge that `client`, which replaces `of`, joins the current generation of the group and gets its assignment."""
    claim = Claim(requirement=requirement, expected="The returning static member takes its old place in the running generation.")
    left, back = newest(ev, of), newest(ev, client, before=ev.closing)
    if left is None or back is None or not synced(ev, client, before=ev.closing):
        raise NotReached(f"{client} never came in the place of {of}")
    if back.generation == left.generation:
        yield claim.ok("It did.", back.answer)
    else:
        yield claim.tolerated("Its return made a rebalance.", back.answer)


@checker
def commits_carry_membership(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-66") -> Iterator[Finding]:
    """Judge that the next OffsetCommit carries member id and generation of the newest membership."""
    claim = Claim(requirement=requirement, expected="OffsetCommit carries the member's generation and id.")
    sent = ev.requests(Api.OFFSET_COMMIT, client, after, ev.closing)
    if not sent:
        raise NotReached(f"{client} sent no OffsetCommit")
    mine = newest(ev, client, before=sent[0].seq)
    same = mine is not None and (sent[0].member, sent[0].generation) == (mine.member, mine.generation)
    yield claim.ok("It does.", sent[0]) if same else claim.failed("It carries another membership, or none.", sent[0])


@checker
def fetches_only_assigned(ev: Evidence, client: str, *, requirement: str = "FETCH-06") -> Iterator[Finding]:
    """Judge that OffsetFetch asks only for assigned partitions. More is allowed, but wasteful."""
    claim = Claim(requirement=requirement, expected="The client fetches committed offsets only of partitions assigned to it.")
    sent = ev.requests(Api.OFFSET_FETCH, client, before=ev.closing)
    if not sent:
        raise NotReached(f"{client} fetched no offsets")
    for request in sent:
        mine = {partition for answer in synced(ev, client, before=request.seq) for partition in answer.partitions}
        if set(request.partitions) - mine:
            yield claim.found(Verdict.INFORMATIONAL, "It fetched others too.", request)
            return
    yield claim.ok("It does.", sent[0])


@checker
def starts_at(
    ev: Evidence,
    client: str,
    offsets: Mapping[tuple[str, int], int],
    *,
    requirement: str,
    after: str | None = None,
    within_ms: float = 8_000,
    or_not: bool = False,
    means_nothing_once: bool = False,
    ends_after: str | None = None,
) -> Iterator[Finding]:
    """Judge that each partition is first fetched, and its first records delivered, at `offsets`. A failed OffsetFetch does not mean "nothing
    committed".

    Fetch requests come first, because a shim may omit what its client reads again. A client that names topics by unknown ids is judged by its
    records. With `or_not` a client whose OffsetFetch was refused need not consume at all. With `means_nothing_once` the error is one that meant
    "nothing committed" in version 0 of OffsetFetch; a client that reads it so in any version is NON_STRICT. A client that tells its application
    that it ends need not consume after `ends_after`.
    """
    claim = Claim(requirement=requirement, expected="The client goes on at the committed offset.")
    first, fetched = _first_records(ev, client, after), _first_fetches(ev, client, after)
    by_fetch = {partition: value for partition, value in fetched.items() if value[0] != offsets.get(partition, value[0])}
    by_records = {partition: value for partition, value in first.items() if value[0] != offsets.get(partition, value[0])}
    wrong = by_fetch or by_records
    where = next((obs for _, obs in wrong.values()), None)
    detail = str({partition: offset for partition, (offset, _) in (fetched if by_fetch else first).items()})
    if wrong and means_nothing_once and all(offset == 0 for offset, _ in wrong.values()):
        yield claim.tolerated("It took the error for nothing committed, which it means in version 0 alone.", where, detail=detail)
    elif wrong and not by_records and _came_back(ev, client, {partition: offsets[partition] for partition in wrong}, first, where):
        yield claim.tolerated("It fetched elsewhere before it went to the committed offset.", where, detail=detail)
    elif wrong:
        proof = Proof.SAFETY if by_fetch else Proof.LIVENESS
        yield claim.failed("It went on elsewhere: records are read twice, or never.", where, detail=detail, proof=proof)
    elif set(offsets) <= set(first):
        yield claim.ok("It does.", first[next(iter(offsets))][1])
    elif or_not or (ends_after is not None and reported_end(ev, client, ends_after) is not None):
        yield claim.ok("It went on nowhere else.")
    elif elapsed_ms(ev.clock(moment(ev, after)), end(ev)) < within_ms * ev.stretch:
        raise NotReached("the run ended before records of every partition were due")
    else:
        wait = waited(ev.clock(moment(ev, after)), end(ev), within_ms * ev.stretch)
        yield claim.failed("It consumed nothing from some partition.", end(ev), proof=Proof.LIVENESS, wait=wait)


_First = dict[tuple[str, int], tuple[int, Observation]]


def _came_back(ev: Evidence, client: str, offsets: Mapping[tuple[str, int], int], records: _First, since: Observation | None) -> bool:
    """Return whether a client that first fetched elsewhere later fetched at `offsets`, and its application has records only from there on.

    Faust asks for committed offsets itself, beside aiokafka, seeks there, and drops what was fetched before.
    """
    later = {
        tuple(fetch) for obs in ev.requests(Api.FETCH, client, before=ev.closing) if since is None or obs.seq > since.seq for fetch in obs.offsets
    }
    return all(partition in records and (*partition, offset) in later for partition, offset in offsets.items())


def _first_records(ev: Evidence, client: str, after: str | None) -> _First:
    """Return the offset of the first record of each partition that the application reports."""
    first: _First = {}
    for obs in ev.events("records_consumed", client, after, ev.closing):
        for partition in obs.body.get("partitions") or ():
            first.setdefault((partition["topic"], partition["partition"]), (partition.get("minOffset", -1), obs))
    return first


def _first_fetches(ev: Evidence, client: str, after: str | None) -> _First:
    """Return the offset of the first Fetch of each partition after a SyncGroup response assigned it."""
    first: _First = {}
    assigned_at = {partition: answer.seq for answer in reversed(synced(ev, client, after, ev.closing)) for partition in answer.partitions}
    for obs in ev.requests(Api.FETCH, client, after, ev.closing):
        for topic, partition, offset in obs.offsets:
            if obs.seq > assigned_at.get((topic, partition), obs.seq):
                first.setdefault((topic, partition), (offset, obs))
    return first
