"""The assignments of the leader of a Kafka Connect group (CONNECT-04 to CONNECT-06, CONNECT-08, CONNECT-10, CONNECT-11, CONNECT-15)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from groupproof.harness.judging.case_checkers.findings import end, overdue, timed_checker
from groupproof.harness.judging.case_checkers.trace_queries import moment
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.judging.checkers.embedded.connect_frames import Jobs, LedGeneration, jobs_in_words, led_generations
from groupproof.harness.judging.checkers.embedded.led_generations import generations_of
from groupproof.harness.judging.checkers.frame_facts import SLACK_MS
from groupproof.harness.model.case import checker
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.connect_protocol import CONFIG_MISMATCH, CONNECT_PROTOCOLS

__all__ = [
    "agrees_on", "answers_mismatch", "assigns_everything", "assigns_once", "keeps_lost_jobs_back", "leaves_others_alone", "revokes", "revokes_first",
]  # fmt: skip


@checker
def agrees_on(ev: Evidence, client: str, protocol: str, *, after: str | None = None, requirement: str = "CONNECT-04") -> Iterator[Finding]:
    """Judge that the leader's assignments have the format of the agreed protocol, one for each member, and name the leader and the greatest offset."""
    version = CONNECT_PROTOCOLS.index(protocol)
    claim = Claim(
        requirement=requirement,
        expected=f"The leader sends each member an assignment for {protocol} with its id, its URL and the greatest offset.",
    )
    generations = [generation for generation in generations_of(led_generations, ev, client, after) if generation.version == version]
    if not generations:
        raise NotReached(f"{client} led no generation that agreed on {protocol}")
    for generation in generations:
        yield _well_formed(claim, generation)


def _well_formed(claim: Claim, generation: LedGeneration) -> Finding:
    if generation.assignments.keys() != generation.states.keys():
        return claim.failed(
            "It left members out, or named others.",
            generation.sync,
            detail=", ".join(sorted(generation.assignments.keys() ^ generation.states.keys())),
        )
    offset = max((state.offset for state in generation.states.values() if state is not None), default=-1)
    own = generation.states.get(generation.leader)
    for assignment in generation.assignments.values():
        if assignment is None:
            return claim.failed("It sent an assignment that cannot be read.", generation.sync)
        if min(assignment.version, 1) != min(generation.version, 1):  # 1 and 2 are alike, and until KAFKA-13763 leaders wrote 1 for both
            return claim.failed(
                "It sent an assignment of another format than was agreed.", generation.sync, detail=f"{assignment.version}, not {generation.version}"
            )
        if assignment.leader != generation.leader or (own is not None and assignment.leader_url != own.url):
            return claim.failed("Its assignment names another leader.", generation.sync, detail=f"{assignment.leader} at {assignment.leader_url}")
        if assignment.offset < offset:
            return claim.failed("Its assignment has an offset that a member is beyond.", generation.sync, detail=f"{assignment.offset} < {offset}")
    return claim.ok("It did.", generation.sync)


@checker
def assigns_once(ev: Evidence, client: str, *, requirement: str = "CONNECT-05") -> Iterator[Finding]:
    """Judge that no generation gives a connector or task to a worker while another keeps it.

    Two workers may both report that they run a job, such as a zombie that returns and its successor (KAFKA-9184). Kafka's leader revokes it from both
    (IncrementalCooperativeAssignor.duplicatedAssignments). A leader that leaves it for now has assigned nothing: it is informational.
    """
    claim = Claim(requirement=requirement, expected="No connector and no task is given to two workers.")
    for generation in generations_of(led_generations, ev, client, None):
        counts = Counter(job for member in generation.states for job in generation.result(member))
        twice = frozenset(job for job, count in counts.items() if count > 1)
        newly_given: Jobs = frozenset[TopicPartition]().union(
            *(generation.result(member) - generation.running(member) for member in generation.states)
        )
        if twice & newly_given:
            yield claim.failed("It gave connectors or tasks to two workers.", generation.sync, detail=jobs_in_words(twice & newly_given))
        elif twice:
            observed = "It left connectors or tasks to two workers that both run them."
            yield claim.found(Verdict.INFORMATIONAL, observed, generation.sync, detail=jobs_in_words(twice))
        else:
            yield claim.ok("It did not.", generation.sync)


@timed_checker
def assigns_everything(
    ev: Evidence, client: str, *jobs: TopicPartition, after: str | None, requirement: str = "CONNECT-05", within_ms: float = REACT_MS
) -> Iterator[Finding]:
    """Judge that in time after an instant the leader assigns a generation in which the workers run exactly these jobs."""
    wanted: Jobs = frozenset(jobs)
    claim = Claim(requirement=requirement, expected="Each connector and each task is given to a worker, and none that is not configured.")
    generations = generations_of(led_generations, ev, client, after)
    whole = next((generation for generation in generations if generation.results() == wanted), None)
    last = generations[-1].results()
    never = "It left connectors or tasks to nobody." if wanted - last else "It let workers run what is not configured."
    found = overdue(
        ev,
        claim,
        None if whole is None else whole.sync,
        since=moment(ev, after),
        within_ms=within_ms,
        never=never,
        late="It gave them all out late.",
    )
    yield found or claim.ok("It did.", None if whole is None else whole.sync)


@checker
def revokes_first(ev: Evidence, client: str, *, after: str, requirement: str = "CONNECT-06") -> Iterator[Finding]:
    """Judge that a job that moves is revoked in one generation and assigned in a later one, and that at least one job moved."""
    claim = Claim(
        requirement=requirement, expected="What moves to another worker is revoked first, and assigned when its former worker no longer runs it."
    )
    moved = False
    for generation in generations_of(led_generations, ev, client, after):
        for member, assignment in generation.assignments.items():
            came = frozenset() if assignment is None else frozenset(assignment.assigned)
            moved = moved or (assignment is not None and bool(assignment.revoked))
            others = frozenset[TopicPartition]().union(*(generation.running(other) for other in generation.states if other != member))
            if early := came & others:
                yield claim.failed("It assigned what another worker still runs.", generation.sync, detail=jobs_in_words(early))
                return
    if not moved:
        yield claim.tolerated(
            "It moved nothing to the worker that came.", end(ev), proof=Proof.LIVENESS, wait=waited(moment(ev, after), end(ev), tolerated_ms(0))
        )
        return
    yield claim.ok("It did.", moment(ev, after))


@timed_checker
def revokes(
    ev: Evidence, client: str, *jobs: TopicPartition, after: str, requirement: str = "CONNECT-15", within_ms: float = REACT_MS
) -> Iterator[Finding]:
    """Judge that the leader revokes these jobs from the workers that run them."""
    claim = Claim(requirement=requirement, expected="The leader revokes what is no longer configured.")
    wanted: Jobs = frozenset(jobs)
    done = next((generation for generation in generations_of(led_generations, ev, client, after) if not wanted & generation.results()), None)
    never, late = "It did not revoke it.", "It revoked it late."
    sync = None if done is None else done.sync
    yield overdue(ev, claim, sync, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It did.", sync)


@checker
def keeps_lost_jobs_back(
    ev: Evidence, client: str, max_delay_ms: int, *, after: str, counts_down: bool = False, requirement: str = "CONNECT-08"
) -> Iterator[Finding]:
    """Judge that the jobs of a worker that left wait for the delay: no worker gets them before, and each assignment has the remaining delay."""
    claim = Claim(
        requirement=requirement, expected="What was lost is given to nobody before the delay has passed, and assignments carry what is left of it."
    )
    generations = generations_of(led_generations, ev, client, after)
    before = generations_of(led_generations, ev, client, None)
    earlier = [generation for generation in before if generation.sync.seq <= generations[0].sync.seq]
    last = earlier[-2].results() if len(earlier) > 1 else frozenset()
    lost = last - frozenset[TopicPartition]().union(*(generations[0].running(member) for member in generations[0].states))
    if not lost:
        raise NotReached("the worker that left ran nothing")
    yield from _waits(claim, generations, lost, max_delay_ms, counts_down=counts_down)


def _waits(claim: Claim, generations: list[LedGeneration], lost: Jobs, max_delay_ms: int, *, counts_down: bool) -> Iterator[Finding]:
    # The delay runs from the leader's computation (IncrementalCooperativeAssignor.handleLostAssignments), between its JoinGroup response and its
    # SyncGroup.
    began, first = generations[0].join, generations[0].sync
    if not any(generation.delay_ms > 0 for generation in generations):
        yield claim.failed("It gave no delay.", first)
        return
    waiting = [generation for generation in generations if elapsed_ms(began, generation.sync) < max_delay_ms - SLACK_MS]
    for generation in waiting:
        left_ms = max_delay_ms - elapsed_ms(first, generation.join)  # it may compute at once, and send the result late
        if early := lost & generation.results():
            yield claim.failed("It assigned what was lost before the delay had passed.", generation.sync, detail=jobs_in_words(early))
            return
        if generation.delay_ms > left_ms + _CLOCK_MS:
            yield claim.failed("It prolonged the delay.", generation.sync, detail=f"{generation.delay_ms} ms, of which {left_ms:.0f} were left")
            return
    if counts_down and len(waiting) < 2:
        raise NotReached("there was no other rebalance within the delay")
    yield claim.ok("It did.", first)


_CLOCK_MS = 500.0
"""How late (ms) the JoinGroup response from which a leader computes may be recorded."""


@checker
def leaves_others_alone(ev: Evidence, client: str, *, after: str, requirement: str = "CONNECT-10") -> Iterator[Finding]:
    """Judge that workers that stayed keep their jobs: nothing is revoked from any worker after an instant."""
    claim = Claim(requirement=requirement, expected="The workers that stayed keep what they run.")
    for generation in generations_of(led_generations, ev, client, after):
        taken_away = frozenset(job for assignment in generation.assignments.values() if assignment is not None for job in assignment.revoked)
        if taken_away:
            yield claim.tolerated("It revoked something from a worker that stayed.", generation.sync, detail=jobs_in_words(taken_away))
            return
    yield claim.ok("They do.", moment(ev, after))


@checker
def answers_mismatch(ev: Evidence, client: str, offset: int, *, after: str | None = None, requirement: str = "CONNECT-11") -> Iterator[Finding]:
    """Judge that a leader behind another member's configuration answers all with CONFIG_MISMATCH, that offset, and no jobs."""
    claim = Claim(requirement=requirement, expected="The leader answers all members with CONFIG_MISMATCH, the newest offset and nothing to run.")
    generations = [
        generation
        for generation in generations_of(led_generations, ev, client, after)
        if any(state is not None and state.offset == offset for state in generation.states.values())
    ]
    if not generations:
        raise NotReached(f"{client} led no generation with a member at offset {offset}")
    for generation in generations:
        wrong = [
            item
            for item in generation.assignments.values()
            if item is None or item.error != CONFIG_MISMATCH or item.offset != offset or item.assigned
        ]
        if wrong:
            yield claim.failed("It assigned by a configuration that another member is beyond.", generation.sync)
        else:
            yield claim.ok("It did.", generation.sync)
