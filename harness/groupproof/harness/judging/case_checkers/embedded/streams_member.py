"""What a Kafka Streams member sends in JoinGroup, and how it reacts to an assignment (STREAMS-01 to STREAMS-21)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from groupproof.harness.judging.case_checkers.findings import end, overdue, timed_checker
from groupproof.harness.judging.case_checkers.trace_queries import moment, report_due
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.embedded.streams_frames import (
    ThreadAssignment,
    assignments_before,
    info_in,
    newest_assignment,
    subscription_in,
    tasks_in_words,
)
from groupproof.harness.model.case import checker
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.embedded.streams_protocol import ASSIGNOR, SHUTDOWN_REQUESTED, SubscriptionInfo, Task

__all__ = [
    "asks_for_the_end", "comes_back_at_once", "commits_what_goes", "describes_itself", "differs_each_time", "ends", "is_one_process",
    "joins_in_version", "names_its_tasks", "rejoins_uncommitted", "stays_a_member", "stays_when_closed", "waits",
]  # fmt: skip


@checker
def describes_itself(ev: Evidence, client: str, *, requirement: str = "STREAMS-01") -> Iterator[Finding]:
    """Judge that each JoinGroup offers only `stream`, with user data in a version that its sender knows. The first one uses the newest version."""
    claim = Claim(
        requirement=requirement, expected=f"The member offers {ASSIGNOR} alone, with user data, at first in the newest version that it says to know."
    )
    for place, join in enumerate(_joins(ev, client)):
        names = [protocol["name"] for protocol in join.body.get("protocols") or ()]
        info = info_in(join)
        if names != [ASSIGNOR]:
            yield claim.failed("It offers other protocols.", join, detail=", ".join(names))
        elif info is None:
            yield claim.failed("Its user data cannot be read.", join)
        elif info.version > info.latest:
            yield claim.failed("It uses a version that it does not say to know.", join, detail=f"{info.version} of {info.latest}")
        elif place == 0 and info.version != info.latest:
            yield claim.failed("It begins with an older version than it knows.", join, detail=f"{info.version} of {info.latest}")
        else:
            yield claim.ok("It does.", join)


@checker
def is_one_process(ev: Evidence, client: str, *, requirement: str = "STREAMS-02") -> Iterator[Finding]:
    """Judge that a member names the same process in each JoinGroup."""
    claim = Claim(requirement=requirement, expected="The member names the same process in each JoinGroup.")
    for (_, before), (join, info) in itertools.pairwise(_infos(ev, client)):
        if info.process != before.process:
            yield claim.tolerated("It names another process.", join)
            return
    yield claim.ok("It does.", _joins(ev, client)[-1])


@checker
def differs_each_time(ev: Evidence, client: str, *, requirement: str = "STREAMS-03") -> Iterator[Finding]:
    """Judge that no JoinGroup of a member repeats the user data of the one before: a coordinator would not rebalance for it (KAFKA-10455)."""
    claim = Claim(requirement=requirement, expected="The user data of each JoinGroup differs from that of the one before.")
    sent = [(join, subscription.user_data) for join in _joins(ev, client) if (subscription := subscription_in(join)) is not None]
    if len(sent) < 2:
        raise NotReached(f"{client} joined once")
    for (_, before), (join, user_data) in itertools.pairwise(sent):
        yield claim.failed("It sent the same user data again.", join) if user_data == before else claim.ok("It does.", join)


@checker
def names_its_tasks(ev: Evidence, client: str, *, after: str, has_standbys: bool = False, requirement: str = "STREAMS-04") -> Iterator[Finding]:
    """Judge that the next JoinGroup names the tasks of the member's newest assignment, and none that it never had.

    It also names earlier tasks that are still on its disk (Kafka: TaskManager.taskOffsetSums). A task that is still restored is named with its sum
    or not at all. It certainly runs once the member has committed for it.
    """
    claim = Claim(requirement=requirement, expected="The member names its tasks, with how far they are.")
    join = _next_join(ev, client, after)
    info, mine = info_in(join), newest_assignment(ev, client, join)
    if info is None:
        yield claim.failed("Its user data cannot be read.", join)
        return
    if mine is None:
        raise NotReached(f"{client} was given no tasks before")
    running, standby = _committed_tasks(ev, client, mine, join), frozenset(task for task, _ in mine.info.standby)
    if has_standbys and not standby:
        raise NotReached(f"{client} was given no standby tasks before")
    if not running:
        raise NotReached(f"{client} committed for none of its tasks before")
    named = frozenset(task for task, _ in info.offset_sums)
    dormant = _tasks_ever(ev, client, join) - set(info.active)
    if foreign := named - set(mine.info.active) - standby - dormant:
        yield claim.failed("It names tasks that it was not given.", join, detail=tasks_in_words(foreign))
    elif missing := running - named:
        yield claim.failed("It leaves out tasks that it runs.", join, detail=tasks_in_words(missing))
    elif missing := standby - named:
        yield claim.failed("It leaves out standby tasks.", join, detail=tasks_in_words(missing), proof=Proof.LIVENESS)
    elif shared := standby & set(info.active):
        yield claim.failed("It names standby tasks as running.", join, detail=tasks_in_words(shared))
    else:
        yield claim.ok("It does.", join)


def _tasks_ever(ev: Evidence, client: str, before: Observation) -> frozenset[Task]:
    """Return the tasks that assignments gave a member, active or standby."""
    infos = [item.info for item in assignments_before(ev, client, before) if item is not None]
    return frozenset(task for info in infos for task in (*info.active, *(task for task, _ in info.standby)))


def _committed_tasks(ev: Evidence, client: str, mine: ThreadAssignment, before: Observation) -> frozenset[Task]:
    commits = ev.requests(Api.OFFSET_COMMIT, client, before=before.seq)
    committed = {(topic, number) for obs in commits for topic, number, _ in obs.offsets}
    return frozenset(task for partition, task in zip(sorted(mine.partitions), mine.info.active, strict=False) if partition in committed)


@timed_checker
def joins_in_version(ev: Evidence, client: str, version: int, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that the member rejoins by itself, with user data in this version, and also names its own newest version."""
    claim = Claim(requirement=requirement, expected=f"The member joins again by itself, in version {version}, and says its own newest beside it.")
    own = max(info.latest for _, info in _infos(ev, client, before=after))
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    never = overdue(ev, claim, join, since=moment(ev, after), within_ms=within_ms, never="No JoinGroup came.", late="It joined again late.")
    if never is not None:
        yield never
    if join is None:
        return
    info = info_in(join)
    if info is None or info.version != version:
        yield claim.failed("It joined in another version.", join, detail="unreadable" if info is None else str(info.version))
    elif info.latest != own:
        yield claim.failed("It no longer says which version it knows.", join, detail=f"{info.latest}, not {own}")
    else:
        yield claim.ok("It did.", join)


@timed_checker
def comes_back_at_once(ev: Evidence, client: str, *, after: str, requirement: str = "STREAMS-10", within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that the member rejoins by itself after the assignment that a fault injected."""
    claim = Claim(requirement=requirement, expected="The member joins again by itself when the time of the next rebalance has come.")
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    never, late = "No JoinGroup came.", "It joined again late."
    yield overdue(ev, claim, join, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It did.", join)


@checker
def waits(ev: Evidence, client: str, *, after: str, requirement: str = "STREAMS-20") -> Iterator[Finding]:
    """Judge that the member does not rejoin before the time of its next rebalance, which is far off. That would be needless."""
    claim = Claim(requirement=requirement, expected="The member does not join again before the time of the next rebalance.")
    joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
    yield claim.tolerated("It joined again without need.", joins[0]) if joins else claim.ok("It did not.", moment(ev, after))


@timed_checker
def ends(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that the member ends: its application gets the error, and the member neither rejoins nor goes on with heartbeats."""
    claim = Claim(requirement=requirement, expected="The member ends and tells its application.")
    report = report_due(ev, client, after)
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    if report is not None and (again := _goes_on(ev, client, report)) is not None:
        yield claim.failed("It told its application, and goes on as a member.", again)
    elif report is None and join is not None:
        yield claim.failed("It joined again.", join)
    else:
        never, late = "Its application was never told.", "Its application was told late."
        yield overdue(ev, claim, report, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It did.", report)


_ENDING_MS = 2_000.0
"""How long (ms) a thread may take to end once its application knows: it closes its tasks first."""


def _goes_on(ev: Evidence, client: str, report: Observation) -> Observation | None:
    requests = (*ev.requests(Api.JOIN_GROUP, client, report.seq, ev.closing), *ev.requests(Api.HEARTBEAT, client, report.seq, ev.closing))
    return next((request for request in requests if request.at_ms - report.at_ms > _ENDING_MS), None)


@timed_checker
def asks_for_the_end(ev: Evidence, client: str, *, after: str, requirement: str = "STREAMS-21", within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that a thread of the application, the member's or a new one, informs the leader that the whole application must end (KIP-671)."""
    claim = Claim(requirement=requirement, expected="A thread of the application joins with SHUTDOWN_REQUESTED in its user data.")
    own = [join for join in ev.requests(Api.JOIN_GROUP, None, after, ev.closing) if (join.client or "").partition("-")[0] == client]
    asking = next((join for join in own if (info := info_in(join)) is not None and info.error == SHUTDOWN_REQUESTED), None)
    never, late = "It told the group nothing of it.", "It said so late."
    missed = overdue(ev, claim, asking, since=moment(ev, after), within_ms=within_ms, never=never, late=late, severity=Verdict.NON_STRICT)
    yield missed or claim.ok("It does.", asking)


@timed_checker
def stays_a_member(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that the member goes on: it sends heartbeats, and its application gets no error."""
    claim = Claim(requirement=requirement, expected="The member goes on as one.")
    report = report_due(ev, client, after)
    if report is not None:
        yield claim.tolerated("It told its application of an error.", report)
        return
    beat = next(iter(ev.requests(Api.HEARTBEAT, client, after, ev.closing)), None)
    never, late = "No Heartbeat came.", "Its Heartbeat came late."
    yield overdue(ev, claim, beat, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It does.", beat)


@checker
def stays_when_closed(ev: Evidence, client: str, *, after: str, requirement: str = "STREAMS-18") -> Iterator[Finding]:
    """Judge that a closed member sends no LeaveGroup: its tasks wait for it until its session ends."""
    claim = Claim(requirement=requirement, expected="A member that is closed sends no LeaveGroup.")
    if not ev.events("shutdown_complete", client, after):
        raise NotReached(f"{client} was not closed")
    left = ev.requests(Api.LEAVE_GROUP, client, after)
    yield claim.tolerated("It left the group.", left[0]) if left else claim.ok("It did not.", end(ev, whole=True))


@checker
def commits_what_goes(ev: Evidence, client: str, *partitions: TopicPartition, after: str, requirement: str = "STREAMS-17") -> Iterator[Finding]:
    """Judge that consumed records of the partitions that the member loses are committed before it rejoins. Their next owner goes on from there.

    A thread processes everything from one poll before it polls again; tasks are lost only in a poll.
    """
    claim = Claim(requirement=requirement, expected="The member commits what it processed of the tasks that it gives up, before it joins again.")
    join = _next_join(ev, client, after)
    reached: dict[TopicPartition, int] = {}
    for event in ev.events("records_consumed", client, before=after):
        reached.update({(item["topic"], item["partition"]): item["maxOffset"] + 1 for item in event.body.get("partitions") or ()})
    if not set(partitions) <= reached.keys():
        raise NotReached(f"{client} was given no records of what it lost")
    committed: dict[TopicPartition, int] = {}
    for obs in ev.requests(Api.OFFSET_COMMIT, client, before=join.seq):
        committed.update({(topic, number): offset for topic, number, offset in obs.offsets})
    behind = [f"{topic}-{number}" for topic, number in partitions if committed.get((topic, number), 0) < reached[topic, number]]
    yield claim.failed("It gave tasks up that it had not committed.", join, detail=", ".join(behind)) if behind else claim.ok("It did.", join)


@timed_checker
def rejoins_uncommitted(ev: Evidence, client: str, *, after: str, requirement: str = "STREAMS-19", within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that a member whose commit was refused for its member id or generation rejoins, and commits nothing before that."""
    claim = Claim(requirement=requirement, expected="The member gives its tasks up without a commit, and joins again.")
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    never = overdue(ev, claim, join, since=moment(ev, after), within_ms=within_ms, never="No JoinGroup came.", late="It joined again late.")
    if never is not None:
        yield never
    if join is None:
        return
    commits = ev.requests(Api.OFFSET_COMMIT, client, after, join.seq)
    yield claim.failed("It committed again before it joined.", commits[0]) if commits else claim.ok("It did.", join)


def _joins(ev: Evidence, client: str) -> list[Observation]:
    joins = ev.requests(Api.JOIN_GROUP, client, before=ev.closing)
    if not joins:
        raise NotReached(f"{client} sent no JoinGroup")
    return joins


def _next_join(ev: Evidence, client: str, after: str) -> Observation:
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    if join is None:
        raise NotReached(f"{client} did not join again")
    return join


def _infos(ev: Evidence, client: str, before: str | None = None) -> list[tuple[Observation, SubscriptionInfo]]:
    joins = ev.requests(Api.JOIN_GROUP, client, before=ev.closing if before is None else before)
    infos = [(join, info) for join in joins if (info := info_in(join)) is not None]
    if not infos:
        raise NotReached(f"{client} sent no user data that can be read")
    return infos
