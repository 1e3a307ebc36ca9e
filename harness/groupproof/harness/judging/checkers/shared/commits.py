"""Checks commits: reports to the application are true, and a member commits only its own partitions and only delivered records."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from groupproof.harness.judging.checkers.checker import Newest, UnderWay, Waiting
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, SLACK_MS, committed_offsets, error_of, fields_of
from groupproof.harness.judging.checkers.listening_checker import WaitingChecker
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, CommittedOffsets, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import LATE_LINES_MS_MAX, TrackingChecker
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTERS, REPORTING_MS
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation, Offsets
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["CommitOutcomesReported", "CommitsAreOwn", "CommitsWereDelivered", "commanded_offsets"]

_OFFSETS_KEPT = 64
"""The number of newest accepted offsets kept for a client and a partition. Older ones are not judged."""

_UNREPORTED_MAX = 16
_COMMIT = Api.OFFSET_COMMIT.title
_SPEAKS = frozenset(api.title for api in (*GROUP_REQUESTS, Api.FIND_COORDINATOR, Api.OFFSET_FETCH))


def commanded_offsets(obs: Observation) -> list[tuple[str, int, int]]:
    """Return the offsets that the driver commands a client to commit."""
    if obs.who != "kit" or obs.body.get("name") != "command":
        return []
    return [(topic, partition, offset) for topic, partition, offset in fields_of(obs.body).get("offsets") or ()]


def _is_reported(obs: Observation, name: str) -> bool:
    return obs.kind == "event" and obs.who in REPORTERS and obs.client is not None and obs.body.get("name") == name


_Candidates = tuple[Collection[tuple[str, int, int]], ...]
"""The offsets of each commit that a report may be about. Empty for a commit of positions, which may be any."""


@dataclass(slots=True)
class _WantedCommits:
    """The commits that the kit asked of one client, until as many reports have come: two open commits may end in either order."""

    wanted: deque[list[tuple[str, int, int]]] = field(default_factory=lambda: deque(maxlen=_UNREPORTED_MAX))
    reports: int = 0

    def ask(self, offsets: list[tuple[str, int, int]]) -> None:
        self.wanted.append(offsets)

    def report(self) -> _Candidates:
        """Record a report, and return the commits that it may be about."""
        candidates = tuple(self.wanted)
        self.reports += 1
        if self.reports >= len(self.wanted):
            self.wanted.clear()
            self.reports = 0
        return candidates


class CommitOutcomesReported(WaitingChecker[tuple[Observation, _Candidates]]):
    """A commit that the application considers done was accepted by the coordinator (CLIENT-69).

    The report may be recorded before the answer, by as much as the kit is late. A report without offsets is about the offsets that the kit asked to
    commit: with several open requests, about any of them. An `unknown` outcome, of a client whose commit returns nothing, claims neither success
    nor failure.
    """

    listens = frozenset({("response", _COMMIT), *(("request", title) for title in _SPEAKS)})
    wait_ms = REPORTING_MS

    def __init__(self) -> None:
        super().__init__()
        self._asked: UnderWay[Observation] = UnderWay()
        self._accepted: dict[tuple[str, TopicPartition], Newest[int, int]] = {}
        self._speaks: set[str] = set()
        self._wanted: dict[str, _WantedCommits] = {}

    def look(self, obs: Observation) -> Iterable[Finding]:
        self._asked.closed(obs)
        if obs.client is None:
            return ()
        if obs.kind == "request" and obs.api in _SPEAKS:
            self._speaks.add(obs.client)
            if obs.api == _COMMIT:
                self._asked.ask(obs, obs)
        elif obs.kind == "response" and obs.api == _COMMIT:
            self._answered(self._asked.answered(obs), obs)
        elif obs.who == "kit" and obs.body.get("name") == "command" and obs.body.get("command") == "commit":
            self._wanted.setdefault(obs.client, _WantedCommits()).ask(commanded_offsets(obs))
        elif _is_reported(obs, "offsets_committed"):
            wanted = self._wanted.setdefault(obs.client, _WantedCommits()).report()
            if obs.body.get("success") and obs.body.get("outcome") != "unknown":
                self._waiting.add(obs.at_ms, (obs, (committed_offsets(obs),) if obs.body.get("offsets") else wanted))
        return ()

    def _answered(self, request: Observation | None, answer: Observation) -> None:
        if request is not None and request.client is not None and not error_of(answer):
            self._accept(request.client, request.offsets, request.seq)

    def _accept(self, client: str, offsets: Offsets, seq: int) -> None:
        for topic, partition, offset in offsets:
            kept = self._accepted_of(client, (topic, partition))
            if kept.get(offset) is None:
                kept.set(offset, seq)

    def _accepted_of(self, client: str, partition: TopicPartition) -> Newest[int, int]:
        kept = self._accepted.get((client, partition))
        if kept is None:
            kept = self._accepted[client, partition] = Newest(_OFFSETS_KEPT)
        return kept

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Need no commit, unless a report waits to be judged by the commits accepted meanwhile."""
        is_still = not self._waiting and self._asked.is_apart(steady)
        return NO_ROWS if steady.client in self._speaks and (is_still or _COMMIT not in steady.asked) else ALL_ROWS

    def absorb(self, steady: Steady) -> None:
        if (commits := steady.asked.get(_COMMIT)) is None:
            return
        for partition, committed in commits.committed.items():
            kept = self._accepted_of(steady.client, partition)
            if committed.is_rising and committed.offsets[0] > max(kept.entries, default=-1):
                kept.set_new(committed.offsets, committed.seqs)
            else:
                for offset, seq in zip(committed.offsets, committed.seqs, strict=True):
                    self._accept(steady.client, ((*partition, offset),), seq)

    def _judge(self, item: tuple[Observation, _Candidates]) -> Iterator[Finding]:
        event, candidates = item
        client = event.client or ""
        is_true = not candidates or any(all(self._is_accepted(client, event, offset) for offset in offsets) for offsets in candidates)
        if client in self._speaks and not is_true:
            claim = Claim(requirement="CLIENT-69", expected="A commit told as done was accepted by the coordinator.")
            yield claim.failed("A commit was reported as done that the coordinator never accepted.", event)

    def _is_accepted(self, client: str, event: Observation, committed: tuple[str, int, int]) -> bool:
        topic, partition, offset = committed
        offsets_kept = self._accepted.get((client, (topic, partition)))
        if offsets_kept is None:
            return False
        asked = offsets_kept.get(offset)
        return asked < event.seq if asked is not None else offsets_kept.has_forgotten


@dataclass(slots=True, eq=False)
class _Commit:
    """A commit that is judged once it is accepted and related events may have been reported. `epoch` is the group's when it came."""

    request: Observation
    mine: frozenset[TopicPartition]
    epoch: int
    is_due: bool = False
    is_accepted: bool | None = None


class CommitsAreOwn(TrackingChecker):
    """A client commits on its own only for its partitions in the generation that it names. Otherwise it overwrites another's progress (COMMIT-27).

    A partition that a cooperative assignment takes away is still the member's until it has revoked it. A group that is created again counts its
    generations from 1 again (INV-04), so owners in an earlier generation of that number do not count. An assignment that the kit cannot read is not
    judged.
    """

    listens = frozenset({("request", _COMMIT), ("response", _COMMIT)})

    def __init__(self) -> None:
        super().__init__()
        self._assigned: dict[str, set[TopicPartition]] = {}
        self._commits: UnderWay[_Commit] = UnderWay()
        self._waiting: Waiting[_Commit] = Waiting(REPORTING_MS)

    def queues(self) -> tuple[Waiting[Any], ...]:
        return (self._waiting,)

    def due(self, at_ms: float) -> Iterator[Finding]:
        for commit in self._waiting.due(at_ms):
            commit.is_due = True
            yield from self._judge(commit)

    def look(self, obs: Observation) -> Iterator[Finding]:
        self._commits.closed(obs)
        if obs.client is None:
            return
        if obs.kind == "event":
            self._assigned.setdefault(obs.client, set()).update((topic, partition) for topic, partition, _ in commanded_offsets(obs))
        elif obs.api == _COMMIT:
            yield from self._commit(obs)

    def _commit(self, obs: Observation) -> Iterator[Finding]:
        if obs.kind == "request" and obs.member:
            self._commits.ask(obs, commit := _Commit(obs, self._assigned_to(obs.client or "", obs) or frozenset(), self._group.epoch))
            self._waiting.add(obs.at_ms, commit)
        elif obs.kind == "response" and (asked := self._commits.answered(obs)) is not None:
            asked.is_accepted = not error_of(obs)
            if asked.is_due:
                yield from self._judge(asked)

    def _judge(self, commit: _Commit) -> Iterator[Finding]:
        request, client = commit.request, commit.request.client or ""
        if not commit.is_accepted or client in self._group.unreadable:
            return
        mine = self._assigned_to(client, request)
        foreign = {(topic, partition) for topic, partition, _ in request.offsets} - self._assigned.get(client, set()) - commit.mine
        foreign -= mine or frozenset()
        if not foreign or mine is None:
            return
        others = {partition for partition in foreign if self._is_of_another(partition, commit)}
        foreign -= {partition for partition in foreign - others if self._hands_over(client, partition, request)}
        if foreign:
            claim = Claim(requirement="COMMIT-27", expected="A member commits only for partitions that its generation assigned to it.")
            verdict = Verdict.FAILED if foreign & others else Verdict.NON_STRICT
            # SyncGroup responses prove that the partition is another's. Only shim events prove when a hand-over was done.
            proof = Proof.SAFETY if verdict is Verdict.FAILED else Proof.LIVENESS
            yield claim.found(
                verdict, "It committed for a partition of another member, or of nobody.", request, detail=str(sorted(foreign)), proof=proof
            )

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Need no commit of what the generation assigned, or of what the driver asked for."""
        assigned = self._group.assigned.get(steady.client)
        assignments = None if assigned is None else assigned.by_generation.get(steady.generation)
        mine = self._assigned.get(steady.client, set()).union(*(assignment.partitions for assignment in assignments or ()))
        is_own = assignments is not None and steady.asked[_COMMIT].committed.keys() <= mine
        return NO_ROWS if is_own and self._commits.is_apart(steady) else ALL_ROWS

    def _assigned_to(self, client: str, request: Observation) -> frozenset[TopicPartition] | None:
        assigned = self._group.assigned.get(client)
        return frozenset() if assigned is None else assigned.at(request, SLACK_MS)

    def _is_of_another(self, partition: TopicPartition, commit: _Commit) -> bool:
        request = commit.request
        return commit.epoch == self._group.epoch and bool(self._group.others_in(request.generation, partition, request.client or ""))

    def _hands_over(self, client: str, partition: TopicPartition, request: Observation) -> bool:
        """Return whether the callback that revokes the partition may still run. In it Java's application commits, with the new generation
        (KIP-429). The partition was in the assignment before: a member that joined in a generation and got none in it (its SyncGroup was refused with
        27) still has the one from before.
        """
        if self._group.hands.hands_over_unreported(client):
            before = self._group.assigned[client].before(request)
            return before is not None and partition in before.partitions
        late_ms = self._group.late_ms(client)
        held = self._group.hands.of(client, partition)
        return any(holding.covers(request.at_ms, late_ms) or holding.is_handed_over_at(request, late_ms) for holding in held)

    def end(self) -> Iterator[Finding]:
        for commit in self._waiting.rest():
            yield from self._judge(commit)


@dataclass(slots=True)
class _Positions:
    """The offset up to which one client got in its partitions: delivered, fetched as a starting position, or commanded to commit."""

    has_records: bool = False
    delivered: dict[TopicPartition, int] = field(default_factory=dict)
    fetched: dict[TopicPartition, int] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    early: list[tuple[int, frozenset[tuple[str, int, int]]]] = field(default_factory=list)
    """Commits beyond what was reached, before any event about records: the number of the request, and the offsets. The first ones only."""

    def reached(self, partition: TopicPartition) -> int:
        return max(store.get(partition, 0) for store in (self.delivered, self.fetched, self.committed))

    def keep_among(self, commits: Sequence[tuple[int, frozenset[tuple[str, int, int]]]]) -> None:
        """Keep more such commits, some of which may have come before the newest that are kept."""
        first = commits[0][0]
        before = [entry for entry in self.early if entry[0] < first]
        later = [entry for entry in self.early if entry[0] > first]
        self.early = [*before, *sorted([*commits, *later])][:_UNREPORTED_MAX]


class CommitsWereDelivered(TrackingChecker):
    """A client commits on its own only what it delivered to its application. Otherwise a restart loses records (CLIENT-62).

    A delivery may be reported `REPORTING_MS` after the commit, and later where the events are late. A starting position (0, or what was fetched) is
    no loss. The checker relies on events about records, so its findings are LIVENESS.
    """

    listens = frozenset({("request", _COMMIT), ("response", Api.OFFSET_FETCH.title)})

    def __init__(self) -> None:
        super().__init__()
        self._reached: dict[str, _Positions] = {}
        self._waiting: Waiting[tuple[Observation, dict[TopicPartition, int]]] = Waiting(REPORTING_MS)
        self._late: Waiting[tuple[Observation, dict[TopicPartition, int]]] = Waiting(LATE_LINES_MS_MAX)

    def queues(self) -> tuple[Waiting[Any], ...]:
        return self._waiting, self._late

    def due(self, at_ms: float) -> Iterator[Finding]:
        for request, fetched in self._waiting.due(at_ms):
            if self._group.may_be_late(request.client or ""):
                self._late.add(request.at_ms, (request, fetched))
            else:
                yield from self._judge(request, fetched)
        for request, fetched in self._late.due(at_ms):
            yield from self._judge(request, fetched)

    def look(self, obs: Observation) -> Iterator[Finding]:
        if obs.client is None:
            return
        mine = self._reached.setdefault(obs.client, _Positions())
        if _is_reported(obs, "records_consumed"):
            yield from self._delivered(mine, obs.body.get("partitions") or ())
        elif obs.kind == "event":
            _raise(mine.committed, commanded_offsets(obs))
        elif obs.kind == "response" and obs.api == Api.OFFSET_FETCH.title:
            _raise(mine.fetched, obs.offsets)
        elif obs.kind == "request" and obs.api == _COMMIT:
            self._waiting.add(obs.at_ms, (obs, {partition: mine.fetched.get(partition, 0) for partition in _named(obs)}))

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Need no commit of what was reached. Before any event about records, need only those that may still wait when such an event comes."""
        mine, commits = self._reached.get(steady.client), steady.asked[_COMMIT]
        if mine is None:
            return ALL_ROWS
        if all(committed.highest <= mine.reached(partition) for partition, committed in commits.committed.items()):
            return NO_ROWS
        wait_ms = LATE_LINES_MS_MAX if self._group.may_be_late(steady.client) else REPORTING_MS
        was_late = wait_ms == REPORTING_MS and any(request.client == steady.client for request, _ in self._late)
        if mine.has_records or was_late:
            return ALL_ROWS
        return tuple(commits.places[bisect_left(commits.at_ms, steady.end_ms, key=lambda at_ms: at_ms + wait_ms) :])

    def conclude(self, steady: Steady, needed: Collection[int]) -> None:
        """Keep the first commits beyond what was reached, of those that were due before the stretch ended."""
        commits, mine = steady.asked[_COMMIT], self._reached.get(steady.client)
        judged = len(commits.places) - len(needed)
        if mine is None or not judged or (len(mine.early) == _UNREPORTED_MAX and mine.early[-1][0] < commits.seqs[0]):
            return
        beyond: dict[int, set[tuple[str, int, int]]] = {}
        for partition, committed in commits.committed.items():
            for seq, offset in _first_beyond(committed, mine.reached(partition)):
                beyond.setdefault(seq, set()).add((*partition, offset))
        early = [(seq, frozenset(beyond[seq])) for seq in sorted(beyond) if seq <= commits.seqs[judged - 1]]
        if early:
            mine.keep_among(early)

    def _delivered(self, mine: _Positions, partitions: Any) -> Iterator[Finding]:
        _raise(mine.delivered, [(partition["topic"], partition["partition"], partition.get("maxOffset", -1) + 1) for partition in partitions])
        if not mine.has_records:
            mine.has_records = True
            for seq, beyond in mine.early:
                yield _beyond(seq, beyond)
            mine.early.clear()

    def _judge(self, request: Observation, fetched: dict[TopicPartition, int]) -> Iterator[Finding]:
        mine = self._reached[request.client or ""]
        beyond = frozenset(
            (topic, partition, offset)
            for topic, partition, offset in request.offsets
            if offset > max(store.get((topic, partition), 0) for store in (mine.delivered, fetched, mine.committed))
        )
        if beyond and mine.has_records:
            yield _beyond(request.seq, beyond)
        elif beyond and len(mine.early) < _UNREPORTED_MAX:
            mine.early.append((request.seq, beyond))

    def end(self) -> Iterator[Finding]:
        for waiting in (self._late, self._waiting):
            for request, fetched in waiting.rest():
                yield from self._judge(request, fetched)


def _first_beyond(committed: CommittedOffsets, reached: int) -> Iterator[tuple[int, int]]:
    """Yield the offsets beyond what was reached, with the numbers of their requests, of as many requests as are kept."""
    begin = bisect_right(committed.offsets, reached) if committed.is_rising else 0
    requests, last = 0, -1
    for seq, offset in zip(committed.seqs[begin:], committed.offsets[begin:], strict=True):
        if offset > reached:
            requests, last = requests + (seq != last), seq
            if requests > _UNREPORTED_MAX:
                return
            yield seq, offset


def _named(commit: Observation) -> set[TopicPartition]:
    return {(topic, partition) for topic, partition, _ in commit.offsets}


def _raise(reached: dict[TopicPartition, int], offsets: Any) -> None:
    for topic, partition, offset in offsets:
        reached[topic, partition] = max(offset, reached.get((topic, partition), 0))


def _beyond(seq: int, beyond: Collection[tuple[str, int, int]]) -> Finding:
    claim = Claim(requirement="CLIENT-62", expected="A client commits by itself only offsets up to which it delivered the records.")
    found = claim.failed("It committed beyond what it had delivered.", detail=str(sorted(beyond)), proof=Proof.LIVENESS)
    return replace(found, seq=seq)
