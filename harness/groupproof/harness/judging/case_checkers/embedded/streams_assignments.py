"""The assignments of the leader of a Kafka Streams group (STREAMS-05, STREAMS-08, STREAMS-09, STREAMS-11, STREAMS-12, STREAMS-14, STREAMS-22)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from groupproof.harness.judging.case_checkers.findings import end, overdue, timed_checker
from groupproof.harness.judging.case_checkers.trace_queries import moment
from groupproof.harness.judging.checkers.claim import Claim, tolerated_ms, waited
from groupproof.harness.judging.checkers.embedded.led_generations import generations_of
from groupproof.harness.judging.checkers.embedded.streams_frames import LedGeneration, led_generations, tasks_in_words
from groupproof.harness.model.case import checker
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.streams_protocol import NO_ERROR, Task

__all__ = ["agrees_on_versions", "answers_error", "calls_back", "deals_everything", "deals_once", "deals_standbys", "keeps_standbys_apart"]


@checker
def agrees_on_versions(ev: Evidence, client: str, *, after: str, requirement: str = "STREAMS-05") -> Iterator[Finding]:
    """Judge the two versions in each assignment: the lowest used in a subscription, and the lowest of the newest versions that members know
    (KIP-268).

    The leader's own newest version limits both.
    """
    claim = Claim(
        requirement=requirement,
        expected="The leader assigns in the lowest version used, and names the lowest of the newest versions that members know.",
    )
    generations = [generation for generation in generations_of(led_generations, ev, client, after) if len(generation.subscriptions) > 1]
    if not generations:
        raise NotReached(f"{client} led no generation with another member")
    for generation in generations:
        yield _versioned(claim, generation)


def _versioned(claim: Claim, generation: LedGeneration) -> Finding:
    infos, own = [info for info in generation.subscriptions.values() if info is not None], generation.subscriptions.get(generation.leader)
    if own is None or len(infos) < len(generation.subscriptions):
        raise NotReached("a member's user data cannot be read")
    used = min(own.latest, *(info.version for info in infos))
    latest = min(own.latest, *(info.latest for info in infos))
    for name, item in generation.assignments.items():
        if item is None:
            return claim.failed("It sent user data that cannot be read.", generation.sync, detail=name)
        if item.info.version != used:
            return claim.failed("It assigned in another version than the lowest used.", generation.sync, detail=f"{item.info.version}, not {used}")
        if item.info.commonly != latest:
            return claim.failed("It named another version as known to all.", generation.sync, detail=f"{item.info.commonly}, not {latest}")
    return claim.ok("It does.", generation.sync)


@checker
def deals_once(ev: Evidence, client: str, *, requirement: str = "STREAMS-08") -> Iterator[Finding]:
    """Judge that no task is active on two members, and that a member's partitions are those of its tasks, in their order."""
    claim = Claim(
        requirement=requirement, expected="Each task is active at one member at most, which is given the partitions of its tasks in their order."
    )
    for generation in generations_of(led_generations, ev, client, None):
        counts = Counter(task for info in generation.infos for task in set(info.active))
        twice = [task for task, count in counts.items() if count > 1]
        misaligned = [
            name for name, item in generation.assignments.items() if item is not None and not _is_aligned(item.partitions, item.info.active)
        ]
        if twice:
            yield claim.failed("It gave a task to two members.", generation.sync, detail=tasks_in_words(twice))
        elif misaligned:
            yield claim.failed("It gave a member other partitions than those of its tasks.", generation.sync, detail=", ".join(misaligned))
        else:
            yield claim.ok("It is.", generation.sync)


def _is_aligned(partitions: tuple[TopicPartition, ...], tasks: tuple[Task, ...]) -> bool:
    """Return whether each partition is in the position of its task. A member pairs them by their sorted positions."""
    return len(partitions) == len(tasks) and all(partition[1] == task.partition for partition, task in zip(sorted(partitions), tasks, strict=True))


@timed_checker
def deals_everything(
    ev: Evidence, client: str, tasks: int, *, after: str, requirement: str = "STREAMS-08", within_ms: float = REACT_MS
) -> Iterator[Finding]:
    """Judge that in time after an instant the leader assigns a generation in which so many tasks are active."""
    claim = Claim(requirement=requirement, expected="Each task is given to a member.")
    whole = next((generation.sync for generation in generations_of(led_generations, ev, client, after) if len(generation.active()) == tasks), None)
    never, late = "It left tasks to nobody.", "It gave them all out late."
    yield overdue(ev, claim, whole, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It is.", whole)


@checker
def calls_back(ev: Evidence, client: str, *, after: str, requirement: str = "STREAMS-09") -> Iterator[Finding]:
    """Judge that a moving task is withheld while its owner has it, that a member is then asked to rejoin at once, and that at least one task moved."""
    claim = Claim(
        requirement=requirement,
        expected="A task that moves is given to nobody until its owner has given it back, and a member is told to come for it at once.",
    )
    moved = False
    for generation in generations_of(led_generations, ev, client, after):
        held = frozenset[TopicPartition]().union(*generation.owned.values())
        now = frozenset(partition for item in generation.assignments.values() if item is not None for partition in item.partitions)
        early = [
            partition
            for name, item in generation.assignments.items()
            if item is not None
            for partition in item.partitions
            if _is_others(generation, name, partition)
        ]
        if early:
            yield claim.failed("It gave away what another member owns.", generation.sync, detail=str(early))
            return
        if held - now:
            moved = True
            if not any(info.next_rebalance_ms == 0 for info in generation.infos):
                yield claim.failed("It told nobody to come again at once.", generation.sync)
                return
    if moved:
        yield claim.ok("It did.", moment(ev, after))
    else:
        late = waited(moment(ev, after), end(ev), tolerated_ms(0))
        yield claim.tolerated("It moved nothing to the member that came.", end(ev), proof=Proof.LIVENESS, wait=late)


def _is_others(generation: LedGeneration, name: str, partition: TopicPartition) -> bool:
    return any(partition in owned for other, owned in generation.owned.items() if other != name)


@timed_checker
def deals_standbys(
    ev: Evidence, client: str, tasks: int, *, after: str, requirement: str = "STREAMS-11", within_ms: float = REACT_MS
) -> Iterator[Finding]:
    """Judge that so many tasks get a standby on a member that does not run them."""
    claim = Claim(requirement=requirement, expected="Each stateful task has a standby at a member that does not run it.")
    for generation in generations_of(led_generations, ev, client, after):
        if both := [task for info in generation.infos for task, _ in info.standby if task in info.active]:
            yield claim.failed("It gave a member a standby of a task that it runs.", generation.sync, detail=tasks_in_words(both))
            return
    whole = next(
        (
            generation.sync
            for generation in generations_of(led_generations, ev, client, after)
            if len({task for info in generation.infos for task, _ in info.standby}) == tasks
        ),
        None,
    )
    never, late = "Tasks are without a standby.", "They got one late."
    yield overdue(ev, claim, whole, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It has.", whole)


@checker
def keeps_standbys_apart(ev: Evidence, client: str, *, after: str, requirement: str = "STREAMS-22") -> Iterator[Finding]:
    """Judge that no thread of a process gets a standby of a task that runs in it. Threads of a process name the same process in their user data."""
    claim = Claim(requirement=requirement, expected="A task has no standby in the process that runs it.")
    generations = [generation for generation in generations_of(led_generations, ev, client, after) if _threads_of_one(generation)]
    if not generations:
        raise NotReached("no process with two threads was given tasks")
    for generation in generations:
        active, standby = _by_process(generation, "active"), _by_process(generation, "standby")
        both = sorted(task for process, tasks in standby.items() for task in tasks & active.get(process, set()))
        if both:
            yield claim.failed("It gave a process a standby of a task that it runs.", generation.sync, detail=tasks_in_words(both))
            return
    yield claim.ok("It has none.", generations[-1].sync)


def _threads_of_one(generation: LedGeneration) -> bool:
    """Return whether the group has two members of one process, of which one gets a task."""
    counts = Counter(info.process for info in generation.subscriptions.values() if info is not None)
    return any(counts[process] > 1 for process in _by_process(generation, "active"))


def _by_process(generation: LedGeneration, role: str) -> dict[str, set[Task]]:
    """Return the `active` or `standby` tasks that each process gets."""
    tasks: dict[str, set[Task]] = {}
    for name, item in generation.assignments.items():
        info = generation.subscriptions.get(name)
        if item is not None and info is not None:
            tasks.setdefault(info.process, set()).update(item.info.active if role == "active" else (task for task, _ in item.info.standby))
    return {process: held for process, held in tasks.items() if held}


@checker
def answers_error(ev: Evidence, client: str, error: int, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that the leader answers all members with this error and no tasks."""
    claim = Claim(requirement=requirement, expected=f"The leader answers all members with error {error} and no tasks.")
    generation = generations_of(led_generations, ev, client, after)[-1]
    if generation.assignments.keys() != generation.subscriptions.keys():
        yield claim.failed("It left members out.", generation.sync)
    elif any(item is None or item.info.error == NO_ERROR or item.partitions for item in generation.assignments.values()):
        yield claim.failed("It dealt tasks out.", generation.sync)
    elif any(info.error != error for info in generation.infos):
        yield claim.failed("It answered with another error.", generation.sync, detail=str(sorted(info.error for info in generation.infos)))
    else:
        yield claim.ok("It does.", generation.sync)
