"""How a KIP-848 member hands partitions over: it stops reading, commits, runs the application's callback, then acknowledges (CGT-04 to CGT-09)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groupproof.harness.judging.case_checkers.consumer.epoch_beats import Beat, beats
from groupproof.harness.judging.case_checkers.findings import overdue
from groupproof.harness.judging.case_checkers.trace_queries import accepted, late_lines_ms
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms
from groupproof.harness.judging.checkers.frame_facts import IN_FLIGHT_MS, has_no_callbacks, partitions_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = [
    "assignment_is_reported",
    "calls_back_before",
    "commits_before",
    "keeps_reading",
    "names_only_what_goes",
    "names_only_what_is_new",
    "reads_no_more",
]  # fmt: skip

Partitions = frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class _HandOver:
    """One order to give up partitions, and the heartbeat that acknowledged it.

    A client that sends a new subscription together with fewer owned partitions waits for no order (CGR-13). `order` is then its last answer before.
    """

    order: Observation
    gone: Partitions
    kept: Partitions
    acknowledgement: Observation


def _hand_overs(ev: Evidence, client: str, after: str) -> list[_HandOver]:
    """Return the orders from an instant on that the client acknowledged. Raise `NotReached` where there is none."""
    found = list(_acknowledged(beats(ev, client, before=ev.closing), ev.at(after)))
    if not found:
        raise NotReached(f"{client} acknowledged no revocation after {after}")
    return found


def _acknowledged(sent: list[Beat], since: int) -> Iterator[_HandOver]:
    reported: Partitions = frozenset()
    ordered: tuple[Observation, Partitions] | None = None
    answered: Observation | None = None
    for beat in sent:
        if beat.is_join:
            reported, ordered = frozenset(), None
        if beat.owned is not None:
            if ordered is not None and not ordered[1] & beat.owned and ordered[0].seq > since and not beat.is_leave:
                yield _HandOver(ordered[0], ordered[1], beat.owned, beat.request)
                ordered = None
            elif ordered is None and answered is not None and beat.request.seq > since and beat.gives_up_of(reported):
                yield _HandOver(answered, reported - beat.owned, beat.owned, beat.request)
            reported = beat.owned
        answered = beat.answer if beat.is_accepted else answered
        if beat.target is not None and beat.answer is not None and (gone := reported - beat.target) and (ordered is None or ordered[1] != gone):
            ordered = (beat.answer, gone)  # a repeated order began with the first one


@checker
def calls_back_before(ev: Evidence, client: str, *, after: str, requirement: str = "CGT-06") -> Iterator[Finding]:
    """Judge that the callback has ended before the acknowledgement, because the next owner may begin right after it.

    The application's events may be late by `late_lines_ms`.
    """
    claim = Claim(requirement=requirement, expected="The application has given its partitions up before the client says so.")
    if "partitions_revoked" in ev.unreported(client):
        raise NotOffered(f"the program of {client} does not tell of its callbacks")
    late_ms = late_lines_ms(ev, client)
    for change in _hand_overs(ev, client, after):
        events = _callbacks(ev, client, change)
        ended = [done for obs in events for done in ev.events("callback_done", client, obs.seq)[:1]]
        early_ms = max((elapsed_ms(change.acknowledgement, done) for done in ended), default=0.0)
        if has_no_callbacks(ev.capabilities(client)) and (not events or early_ms > late_ms):
            yield _without_callback(ev, client, claim, change, late_ms)
        elif not events:
            yield claim.failed("The application was never told.", change.acknowledgement, proof=Proof.LIVENESS)
        elif early_ms > late_ms:
            detail = f"{early_ms:.0f} ms before the callback ended"
            yield claim.failed("The acknowledgement came before the callback had ended.", change.acknowledgement, proof=Proof.LIVENESS, detail=detail)
        else:
            yield claim.ok("It has.", events[0])


def _callbacks(ev: Evidence, client: str, change: _HandOver) -> list[Observation]:
    """Return the callbacks that took these partitions, after they were assigned. They may come before the order, for example after an unsubscribe."""
    assignments = [obs.seq for obs in ev.events("partitions_assigned", client, before=change.acknowledgement.seq) if partitions_of(obs) & change.gone]
    callbacks = ev.events("partitions_revoked", client, max(assignments, default=-1), _given_back(ev, client, change))
    return [obs for obs in callbacks if partitions_of(obs) & change.gone]


def _without_callback(ev: Evidence, client: str, claim: Claim, change: _HandOver, late_ms: float) -> Finding:
    """Judge a client without such a callback (contract): it no longer reads what it gave up."""
    last = _given_back(ev, client, change)
    fetches = (obs for obs in ev.requests(Api.FETCH, client, change.acknowledgement.seq, last) if _places(obs) & change.gone)
    records = (obs for obs in ev.events("records_consumed", client, change.acknowledgement.seq, last) if partitions_of(obs) & change.gone)
    late = next((obs for obs in fetches if elapsed_ms(change.acknowledgement, obs) > IN_FLIGHT_MS), None)
    late = late or next((obs for obs in records if elapsed_ms(change.acknowledgement, obs) > late_ms), None)
    if late is not None:
        return claim.failed("It reads on what it has given up.", late, proof=Proof.LIVENESS)
    return claim.ok("Its application was told later, and was given nothing in between.", change.acknowledgement)


@checker
def commits_before(
    ev: Evidence, client: str, *, after: str, requirement: str = "CGT-05", uncommitted: Verdict = Verdict.FAILED, meanwhile: bool = False
) -> Iterator[Finding]:
    """Judge that the consumed records of the revoked partitions are committed before the acknowledgement. Otherwise the next owner reads them
    again.

    Records up to the order count; with `meanwhile`, records up to the acknowledgement.
    """
    claim = Claim(requirement=requirement, expected="What was consumed is committed before the partitions are given up.")
    for change in _hand_overs(ev, client, after):
        consumed = _consumed(ev, client, change.acknowledgement if meanwhile else change.order)
        committed = _committed(ev, client, change.acknowledgement)
        lost = sorted(place for place in change.gone if consumed.get(place, 0) > committed.get(place, 0))
        if not any(consumed.get(place) for place in change.gone):
            raise NotReached(f"{client} had read nothing of what it gave up")
        if lost:
            detail = ", ".join(f"{topic}-{number} read to {consumed[topic, number]}" for topic, number in lost)
            yield claim.found(uncommitted, "It was not.", change.acknowledgement, detail=detail)
        else:
            yield claim.ok("It was.", change.acknowledgement)


def _consumed(ev: Evidence, client: str, until: Observation) -> dict[TopicPartition, int]:
    """Return for each partition the position after the last record that the application had by then."""
    positions: dict[TopicPartition, int] = {}
    for obs in ev.events("records_consumed", client, before=until.seq):
        for part in obs.body.get("partitions", ()):
            positions[part["topic"], part["partition"]] = int(part.get("maxOffset", -1)) + 1
    return positions


def _committed(ev: Evidence, client: str, before: Observation) -> dict[TopicPartition, int]:
    """Return the offsets committed by then. A commit that was processed before the acknowledgement arrived is in time, whenever its answer left."""
    committed: dict[TopicPartition, int] = {}
    for request in ev.requests(Api.OFFSET_COMMIT, client, before=before.seq):
        if accepted(ev, request) is not None:
            committed.update({(topic, number): offset for topic, number, offset in request.offsets})
    return committed


@checker
def reads_no_more(ev: Evidence, client: str, *, after: str, requirement: str = "CGP-14") -> Iterator[Finding]:
    """Judge that partitions are not fetched once their revocation is acknowledged. A Fetch that was already on its way is no fault."""
    claim = Claim(requirement=requirement, expected="No Fetch for a partition is sent once the client has said that it is given up.")
    for change in _hand_overs(ev, client, after):
        again = _given_back(ev, client, change)
        fetches = ev.requests(Api.FETCH, client, change.acknowledgement.seq, again)
        late = next((obs for obs in fetches if _places(obs) & change.gone and elapsed_ms(change.acknowledgement, obs) > IN_FLIGHT_MS), None)
        yield claim.ok("None was.", change.acknowledgement) if late is None else claim.failed("One was sent.", late)


def _given_back(ev: Evidence, client: str, change: _HandOver) -> int:
    """Return the `seq` of the answer by which some of these partitions come back, or of the end of the judged part."""
    later = (beat for beat in beats(ev, client, change.acknowledgement.seq - 1, ev.closing) if beat.target is not None and beat.target & change.gone)
    return next((beat.answer.seq for beat in later if beat.answer is not None), ev.closing)


def _places(fetch: Observation) -> Partitions:
    return frozenset((topic, number) for topic, number, _ in fetch.offsets or ())


@checker
def keeps_reading(ev: Evidence, client: str, *, after: str, topics: Partitions | None = None, requirement: str = "CGT-14") -> Iterator[Finding]:
    """Judge that the kept partitions are still read: records appended after the hand-over reach the application."""
    claim = Claim(requirement=requirement, expected="The client reads the partitions on that it keeps.")
    change = _hand_overs(ev, client, after)[-1]
    kept = change.kept if topics is None else topics
    if not kept:
        raise NotReached(f"{client} keeps nothing")
    read = {
        (part["topic"], part["partition"])
        for obs in ev.events("records_consumed", client, change.acknowledgement.seq)
        for part in obs.body["partitions"]
    }
    missing = sorted(kept - read)
    yield (
        claim.ok("It did.", change.acknowledgement)
        if not missing
        else claim.failed("Nothing of some of them reached the application.", change.acknowledgement, proof=Proof.LIVENESS, detail=str(missing))
    )


@checker
def names_only_what_is_new(ev: Evidence, client: str, *, requirement: str = "CGT-09") -> Iterator[Finding]:
    """Judge that `partitions_assigned` names no partition that the application already owns: it would start it again."""
    claim = Claim(requirement=requirement, expected="The application is told of the partitions that are new, and of no others.")
    mine: set[TopicPartition] = set()
    reports = 0
    for obs in ev.select("event", client=client, before=ev.closing):
        name = obs.body.get("name") if obs.who == "shim" else None
        if name == "partitions_assigned":
            reports += 1
            if twice := partitions_of(obs) & mine:
                yield claim.failed("It was told of one that it has.", obs, detail=str(sorted(twice)))
                return
            mine |= partitions_of(obs)
        elif name in ("partitions_revoked", "partitions_lost"):
            mine -= partitions_of(obs)
    if not reports:
        raise NotReached(f"the application of {client} was told of no assignment")
    yield claim.ok("It was.")


@checker
def names_only_what_goes(ev: Evidence, client: str, *, after: str, requirement: str = "CGT-14") -> Iterator[Finding]:
    """Judge that `partitions_revoked` names no partition that stays: the application would stop it and start it again."""
    claim = Claim(requirement=requirement, expected="The application is told to give up what goes, and nothing else.")
    if "partitions_revoked" in ev.unreported(client):
        raise NotOffered(f"the program of {client} does not tell of its callbacks")
    for change in _hand_overs(ev, client, after):
        callbacks = ev.events("partitions_revoked", client, change.order.seq - 1, change.acknowledgement.seq)
        stays = next((obs for obs in callbacks if partitions_of(obs) & change.kept), None)
        yield claim.ok("It was.", change.acknowledgement) if stays is None else claim.tolerated("It was told of some that it keeps.", stays)


@checker
def assignment_is_reported(ev: Evidence, client: str, *, within_ms: float = 6_000, requirement: str = "CGT-09") -> Iterator[Finding]:
    """Judge that the application learns of the partitions that the client reports as owned."""
    claim = Claim(requirement=requirement, expected="The application is told of the partitions that the client says it owns.")
    if "partitions_assigned" in ev.unreported(client):
        raise NotOffered(f"the program of {client} does not tell of its callbacks")
    owning = next((beat for beat in beats(ev, client, before=ev.closing) if beat.owned), None)
    if owning is None or owning.owned is None:
        raise NotReached(f"{client} said of nothing that it owns it")
    callback = next((obs for obs in ev.events("partitions_assigned", client) if partitions_of(obs) & owning.owned), None)
    missing = overdue(ev, claim, callback, since=owning.request, within_ms=within_ms, never="It was told of none.", late="It was told late.")
    yield missing or claim.ok("It was.", callback)
