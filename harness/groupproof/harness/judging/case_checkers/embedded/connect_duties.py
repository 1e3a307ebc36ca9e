"""What a Kafka Connect worker sends in JoinGroup, and how it reacts to an assignment (CONNECT-01 to CONNECT-16)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groupproof.harness.judging.case_checkers.findings import TimedJudge, overdue, timed_checker
from groupproof.harness.judging.case_checkers.reactions import keeps_membership
from groupproof.harness.judging.case_checkers.trace_queries import moment
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms
from groupproof.harness.judging.checkers.embedded.connect_frames import Jobs, ReceivedJobs, jobs_in_words, jobs_run, received_jobs, states_in
from groupproof.harness.judging.checkers.frame_facts import SLACK_MS, knew
from groupproof.harness.model.case import Judge, checker
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.embedded.connect_protocol import CONNECT_PROTOCOLS, PROTOCOL_TYPE

__all__ = [
    "describes_itself", "follows_up", "keeps_membership_in_reach", "leaves_while_behind", "names_its_jobs", "offers", "says_offset", "stays_in",
    "waits_out_the_delay",
]  # fmt: skip


@checker
def offers(ev: Evidence, client: str, *protocols: str, requirement: str = "CONNECT-01") -> Iterator[Finding]:
    """Judge the protocols that each JoinGroup offers, their order, and the protocol type."""
    claim = Claim(requirement=requirement, expected=f"The worker joins as {PROTOCOL_TYPE} and offers {', '.join(protocols)}.")
    for join in _joins(ev, client):
        names = tuple(protocol["name"] for protocol in join.body.get("protocols") or ())
        if join.body.get("protocol_type") != PROTOCOL_TYPE:
            yield claim.failed("It joined with another protocol type.", join, detail=str(join.body.get("protocol_type")))
        elif names != protocols:
            yield claim.failed("It offered other protocols, or in another order.", join, detail=", ".join(names))
        else:
            yield claim.ok("It did.", join)


@checker
def describes_itself(ev: Evidence, client: str, *, offset: int, requirement: str = "CONNECT-02") -> Iterator[Finding]:
    """Judge that each protocol's metadata can be read, has the protocol's version, and has a URL and the config offset."""
    claim = Claim(requirement=requirement, expected="The metadata of each protocol has its version, the worker's URL and its config offset.")
    for join in _joins(ev, client):
        for name, state in states_in(join).items():
            if state is None:
                yield claim.failed("The metadata cannot be read.", join, detail=name)
            elif name in CONNECT_PROTOCOLS and state.version != CONNECT_PROTOCOLS.index(name):
                yield claim.failed("The metadata has another version than its protocol.", join, detail=f"{name}: {state.version}")
            elif not state.url or state.offset != offset:
                yield claim.failed(
                    "The metadata lacks the URL, or has another offset.", join, detail=f"{state.url!r} at {state.offset}, not {offset}"
                )
            else:
                yield claim.ok("It has.", join)


@checker
def names_its_jobs(ev: Evidence, client: str, *, after: str | None = None, requirement: str = "CONNECT-03") -> Iterator[Finding]:
    """Judge that the metadata of each JoinGroup names the jobs left by the worker's assignments, in every protocol that can express it."""
    claim = Claim(requirement=requirement, expected="The metadata names the connectors and tasks that the worker runs.")
    first = ev.at(after)
    joins = [join for join in _joins(ev, client) if join.seq > first and _received(ev, client, join)]
    if not joins:
        raise NotReached(f"{client} did not join again")
    for join in joins:
        for name, state in states_in(join).items():
            if state is None:
                yield claim.failed("The metadata cannot be read.", join, detail=name)
                continue
            if state.version == 0:
                continue
            run, named = _run_at(ev, client, join), jobs_run(state)
            if named == run:
                yield claim.ok("It does.", join)
            else:
                detail = f"{name}: {jobs_in_words(named)}, not {jobs_in_words(run)}"
                yield claim.failed("It names other connectors or tasks than it was assigned.", join, detail=detail)


def _run_at(ev: Evidence, client: str, join: Observation) -> Jobs:
    """Return the jobs that a worker runs when it sends a JoinGroup, by its assignments. In version 0 the worker stops everything before."""
    run: Jobs = frozenset()
    for item in _received(ev, client, join):
        assignment = item.assignment
        run = (frozenset() if _is_eager(ev, client, item) else run - frozenset(assignment.revoked)) | frozenset(assignment.assigned)
    return run


def _received(ev: Evidence, client: str, join: Observation) -> list[ReceivedJobs]:
    """Return the assignments that a worker knew when it sent a JoinGroup. In one process a response may be recorded after the request that it
    caused."""
    asked = [ev.answer(sync) for sync in ev.requests(Api.SYNC_GROUP, client, before=join.seq)]
    received = {answer.seq for answer in asked if answer is not None and knew(answer, join)}
    return [item for item in received_jobs(ev, client) if item.answer.seq in received]


def _is_eager(ev: Evidence, client: str, item: ReceivedJobs) -> bool:
    answers = [obs for obs in ev.responses(Api.JOIN_GROUP, client, before=item.answer.seq) if obs.body.get("protocol_name")]
    return bool(answers) and answers[-1].body["protocol_name"] == CONNECT_PROTOCOLS[0]


@timed_checker
def says_offset(ev: Evidence, client: str, offset: int, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that the worker rejoins after an instant with this config offset."""
    claim = Claim(requirement=requirement, expected="The worker joins again, with the offset up to which it has read the configuration.")
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    never = overdue(ev, claim, join, since=moment(ev, after), within_ms=within_ms, never="No JoinGroup came.", late="It joined again late.")
    if never is not None:
        yield never
    if join is not None:
        offsets = {state.offset for state in states_in(join).values() if state is not None}
        yield (
            claim.ok("It did.", join)
            if offsets == {offset}
            else claim.failed("It said another offset.", join, detail=f"{sorted(offsets)}, not {offset}")
        )


@timed_checker
def follows_up(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that the worker rejoins by itself after the assignment that a fault injected."""
    claim = Claim(requirement=requirement, expected="The worker joins again by itself.")
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    never, late = "No JoinGroup came.", "It joined again late."
    yield overdue(ev, claim, join, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It did.", join)


def waits_out_the_delay(client: str, delay_ms: int, *, after: str, requirement: str = "CONNECT-09") -> Judge:
    """Judge that the worker rejoins once the delay of the assignment is over. Earlier is a needless rebalance: NON_STRICT."""
    claim = Claim(requirement=requirement, expected="The worker joins again when the delay has passed, and not before.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        since = moment(ev, after)
        join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
        late = overdue(ev, claim, join, since=since, within_ms=delay_ms + REACT_MS, never="No JoinGroup came.", late="It joined again late.")
        if late is not None:
            yield late
        elif join is not None and elapsed_ms(since, join) < delay_ms - SLACK_MS:
            yield claim.tolerated(
                "It joined again before the delay had passed.", join, detail=f"after {elapsed_ms(since, join):.0f} ms of {delay_ms}"
            )
        else:
            yield claim.ok("It did.", join)

    return TimedJudge(judge, after, delay_ms + REACT_MS)


def leaves_while_behind(client: str, *, after: str, requirement: str = "CONNECT-13") -> Judge:
    """Judge that a worker that cannot read the configuration far enough leaves the group. Coming back too early is a needless rebalance:
    NON_STRICT."""
    claim = Claim(requirement=requirement, expected="The worker leaves the group, and stays out until it can read the configuration.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        left = next(iter(ev.requests(Api.LEAVE_GROUP, client, after, ev.closing)), None)
        late = overdue(ev, claim, left, since=moment(ev, after), within_ms=_SYNC_MS + REACT_MS, never="No LeaveGroup came.", late="It left late.")
        back = None if left is None else next(iter(ev.requests(Api.JOIN_GROUP, client, left.seq, ev.closing)), None)
        if late is not None:
            yield late
        elif back is not None:
            yield claim.tolerated("It came back though it could not read further.", back)
        else:
            yield claim.ok("It did.", left)

    return TimedJudge(judge, after, _SYNC_MS + REACT_MS)


_SYNC_MS = 3_000
"""How long (ms) a worker tries to read the configuration: worker.sync.timeout.ms by default."""


@checker
def stays_in(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that the worker does not leave the group."""
    claim = Claim(requirement=requirement, expected="The worker stays in the group.")
    left: Sequence[Observation] = ev.requests(Api.LEAVE_GROUP, client, after, ev.closing)
    yield claim.failed("It left the group.", left[0]) if left else claim.ok("It did.", moment(ev, after))


def keeps_membership_in_reach(client: str, *, after: str, requirement: str) -> Judge:
    """Judge that the worker keeps its membership, unless it was without its coordinator for a heartbeat interval.

    Then it stops its tasks and rejoins with its member id, "to avoid running tasks while not being a member" (`WorkerCoordinator.poll`,
    KAFKA-9184). On a busy computer a lookup can take that long, so this is no fault of the worker.
    """
    claim = Claim(requirement=requirement, expected="The worker keeps its membership while its coordinator is in reach.")
    kept = keeps_membership(client, after=after, requirement=requirement)

    def judge(ev: Evidence) -> Iterator[Finding]:
        join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
        gave_up = join is not None and bool(join.member) and elapsed_ms(moment(ev, after), join) >= ev.terms(client).heartbeat_ms
        for finding in kept.judge(ev):
            if gave_up and join is not None and finding.seq == join.seq and finding.verdict is Verdict.NON_STRICT:
                yield claim.ok("It was without its coordinator for a heartbeat interval, and joined again as the member it is.", join)
            else:
                yield finding

    return TimedJudge(judge, kept.after, kept.within_ms)


def _joins(ev: Evidence, client: str) -> list[Observation]:
    joins = ev.requests(Api.JOIN_GROUP, client, before=ev.closing)
    if not joins:
        raise NotReached(f"{client} sent no JoinGroup")
    return joins
