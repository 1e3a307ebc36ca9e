"""Commits: that the application hears the truth, that nobody commits what is not his, and nothing that was not delivered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.judging.checkers.checker import Fold, Newest, UnderWay, Waiting
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, SLACK_MS, committed_offsets, error_of, fields_of
from groupproof.harness.judging.checkers.group_tracker import LATE_LINES_MS_MAX, GroupTracker
from groupproof.harness.judging.checkers.ownership_tracker import REPORTING_MS, TOLD_BY
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["CommitsAreOwn", "CommitsAreTold", "CommitsWereDelivered"]

_OFFSETS_KEPT = 64
"""Of the offsets that were accepted for a client and a partition the newest are known; of older ones nothing is said."""

_UNTOLD_MAX = 16
_COMMIT = Api.OFFSET_COMMIT.title
_SPEAKS = frozenset(api.title for api in (*GROUP_REQUESTS, Api.FIND_COORDINATOR, Api.OFFSET_FETCH))


def _asked(seen: Observation) -> list[tuple[str, int, int]]:
    """Return the offsets that the driver tells a client to commit."""
    if seen.who != "kit" or seen.body.get("name") != "command":
        return []
    return [(topic, partition, offset) for topic, partition, offset in fields_of(seen.body).get("offsets") or ()]


def _is_told(seen: Observation, name: str) -> bool:
    return seen.kind == "event" and seen.who in TOLD_BY and seen.client is not None and seen.body.get("name") == name


class CommitsAreTold(Fold):
    """A commit that the application takes for done was accepted by the coordinator (CLIENT-69).

    What it is told may be written down before the answer that it heard, by as much as the machine is late. An application that is told of no offsets is
    told of those that the kit asked to commit. An `unknown` outcome, of a client whose commit returns nothing, claims neither success nor failure.
    """

    def __init__(self) -> None:
        self._asked: UnderWay[Observation] = UnderWay()
        self._accepted: dict[tuple[str, TopicPartition], Newest[int, int]] = {}
        self._speaks: set[str] = set()
        self._wanted: dict[str, list[tuple[str, int, int]]] = {}
        self._waiting: Waiting[tuple[Observation, set[tuple[str, int, int]]]] = Waiting(REPORTING_MS)

    def step(self, seen: Observation) -> Iterator[Finding]:
        for told, offsets in self._waiting.due(seen.at_ms):
            yield from self._judge(told, offsets)
        self._asked.closed(seen)
        if seen.client is None:
            return
        if seen.kind == "request" and seen.api in _SPEAKS:
            self._speaks.add(seen.client)
            if seen.api == _COMMIT:
                self._asked.ask(seen, seen)
        elif seen.kind == "response" and seen.api == _COMMIT:
            self._answered(self._asked.answered(seen), seen)
        elif asked := _asked(seen):
            self._wanted[seen.client] = asked
        elif _is_told(seen, "offsets_committed"):
            wanted = self._wanted.pop(seen.client, ())
            if seen.body.get("success") and seen.body.get("outcome") != "unknown":
                self._waiting.add(seen.at_ms, (seen, committed_offsets(seen) or (set() if seen.body.get("offsets") else set(wanted))))

    def _answered(self, request: Observation | None, answer: Observation) -> None:
        if request is None or request.client is None or error_of(answer):
            return
        for topic, partition, offset in request.offsets:
            known = self._accepted.setdefault((request.client, (topic, partition)), Newest(_OFFSETS_KEPT))
            if known.get(offset) is None:
                known.set(offset, request.seq)

    def _judge(self, told: Observation, offsets: set[tuple[str, int, int]]) -> Iterator[Finding]:
        client = told.client or ""
        if client in self._speaks and not all(self._is_accepted(client, told, each) for each in offsets):
            claim = Claim(requirement="CLIENT-69", expected="A commit told as done was accepted by the coordinator.")
            yield claim.failed("A commit was reported as done that the coordinator never accepted.", told)

    def _is_accepted(self, client: str, told: Observation, committed: tuple[str, int, int]) -> bool:
        topic, partition, offset = committed
        known = self._accepted.get((client, (topic, partition)))
        if known is None:
            return False
        asked = known.get(offset)
        return asked < told.seq if asked is not None else known.has_forgotten

    def end(self) -> Iterator[Finding]:
        for told, offsets in self._waiting.rest():
            yield from self._judge(told, offsets)


@dataclass(slots=True, eq=False)
class _Commit:
    """A commit that is judged when it is accepted, and what belongs to it may have been reported; `epoch` is the group's when it came."""

    request: Observation
    mine: frozenset[TopicPartition]
    epoch: int
    is_ripe: bool = False
    is_accepted: bool | None = None


class CommitsAreOwn(Fold):
    """What a client commits by itself is its own in the generation that it names: else it overwrites another's progress (COMMIT-27).

    What a cooperative assignment took away is still its own until it has handed it over. A group that is made anew counts its generations from 1 again
    (INV-04): whose a partition was in one of that number before says nothing of whose it is.
    """

    def __init__(self) -> None:
        self._group = GroupTracker()
        self._told: dict[str, set[TopicPartition]] = {}
        self._commits: UnderWay[_Commit] = UnderWay()
        self._waiting: Waiting[_Commit] = Waiting(REPORTING_MS)

    def step(self, seen: Observation) -> Iterator[Finding]:
        for commit in self._waiting.due(seen.at_ms):
            commit.is_ripe = True
            yield from self._judge(commit)
        self._group.follow(seen)
        self._commits.closed(seen)
        if seen.client is None:
            return
        if seen.kind == "event":
            self._told.setdefault(seen.client, set()).update((topic, partition) for topic, partition, _ in _asked(seen))
        elif seen.api == _COMMIT:
            yield from self._commit(seen)

    def _commit(self, seen: Observation) -> Iterator[Finding]:
        if seen.kind == "request" and seen.member:
            self._commits.ask(seen, commit := _Commit(seen, self._assigned_to(seen.client or "", seen) or frozenset(), self._group.epoch))
            self._waiting.add(seen.at_ms, commit)
        elif seen.kind == "response" and (asked := self._commits.answered(seen)) is not None:
            asked.is_accepted = not error_of(seen)
            if asked.is_ripe:
                yield from self._judge(asked)

    def _judge(self, commit: _Commit) -> Iterator[Finding]:
        request, client = commit.request, commit.request.client or ""
        if not commit.is_accepted:
            return
        mine = self._assigned_to(client, request)
        foreign = {(topic, partition) for topic, partition, _ in request.offsets} - self._told.get(client, set()) - commit.mine
        foreign -= mine or frozenset()
        if not foreign or mine is None:
            return
        others = {partition for partition in foreign if self._is_of_another(partition, commit)}
        foreign -= {partition for partition in foreign - others if self._hands_over(client, partition, request)}
        if foreign:
            claim = Claim(requirement="COMMIT-27", expected="A member commits only for partitions that its generation assigned to it.")
            verdict = Verdict.FAILED if foreign & others else Verdict.NON_STRICT
            # Another's partition is told by SyncGroup answers; when a hand-over was done, by lines.
            proof = Proof.SAFETY if verdict is Verdict.FAILED else Proof.LIVENESS
            yield claim.found(
                verdict, "It committed for a partition of another member, or of nobody.", request, detail=str(sorted(foreign)), proof=proof
            )

    def _assigned_to(self, client: str, request: Observation) -> frozenset[TopicPartition] | None:
        assigned = self._group.assigned.get(client)
        return frozenset() if assigned is None else assigned.at(request, SLACK_MS)

    def _is_of_another(self, partition: TopicPartition, commit: _Commit) -> bool:
        request = commit.request
        return commit.epoch == self._group.epoch and bool(self._group.others_in(request.generation, partition, request.client or ""))

    def _hands_over(self, client: str, partition: TopicPartition, request: Observation) -> bool:
        late_ms = self._group.late_ms(client)
        held = self._group.hands.of(client, partition)
        return any(each.covers(request.at_ms, late_ms) or each.is_handed_over_at(request, late_ms) for each in held)

    def end(self) -> Iterator[Finding]:
        for commit in self._waiting.rest():
            yield from self._judge(commit)


@dataclass(slots=True)
class _Reached:
    """Up to which offset one client got with its partitions: delivered, fetched as a starting position, or told to commit."""

    has_records: bool = False
    delivered: dict[TopicPartition, int] = field(default_factory=dict)
    fetched: dict[TopicPartition, int] = field(default_factory=dict)
    told: dict[TopicPartition, int] = field(default_factory=dict)
    early: list[tuple[Observation, list[tuple[str, int, int]]]] = field(default_factory=list)


class CommitsWereDelivered(Fold):
    """What a client commits by itself was delivered to its application: else a restart loses records (CLIENT-62).

    A delivery may be reported `REPORTING_MS` after the commit, and later where the lines are late; a starting position (0, or what was fetched) is no
    loss. It rests on the lines that tell of records, so it is LIVENESS.
    """

    def __init__(self) -> None:
        self._reached: dict[str, _Reached] = {}
        self._group = GroupTracker()
        self._waiting: Waiting[tuple[Observation, dict[TopicPartition, int]]] = Waiting(REPORTING_MS)
        self._late: Waiting[tuple[Observation, dict[TopicPartition, int]]] = Waiting(LATE_LINES_MS_MAX)

    def step(self, seen: Observation) -> Iterator[Finding]:
        for request, fetched in self._waiting.due(seen.at_ms):
            if self._group.may_be_late(request.client or ""):
                self._late.add(request.at_ms, (request, fetched))
            else:
                yield from self._judge(request, fetched)
        for request, fetched in self._late.due(seen.at_ms):
            yield from self._judge(request, fetched)
        self._group.follow(seen)
        if seen.client is None:
            return
        mine = self._reached.setdefault(seen.client, _Reached())
        if _is_told(seen, "records_consumed"):
            yield from self._delivered(mine, seen.body.get("partitions") or ())
        elif seen.kind == "event":
            _raise(mine.told, _asked(seen))
        elif seen.kind == "response" and seen.api == Api.OFFSET_FETCH.title:
            _raise(mine.fetched, seen.offsets)
        elif seen.kind == "request" and seen.api == _COMMIT:
            self._waiting.add(seen.at_ms, (seen, {partition: mine.fetched.get(partition, 0) for partition in _named(seen)}))

    def _delivered(self, mine: _Reached, partitions: Any) -> Iterator[Finding]:
        _raise(mine.delivered, [(each["topic"], each["partition"], each.get("maxOffset", -1) + 1) for each in partitions])
        if not mine.has_records:
            mine.has_records = True
            for request, beyond in mine.early:
                yield _beyond(request, beyond)
            mine.early.clear()

    def _judge(self, request: Observation, fetched: dict[TopicPartition, int]) -> Iterator[Finding]:
        mine = self._reached[request.client or ""]
        beyond = [
            (topic, partition, offset)
            for topic, partition, offset in set(request.offsets)
            if offset > max(store.get((topic, partition), 0) for store in (mine.delivered, fetched, mine.told))
        ]
        if beyond and mine.has_records:
            yield _beyond(request, beyond)
        elif beyond and len(mine.early) < _UNTOLD_MAX:
            mine.early.append((request, beyond))

    def end(self) -> Iterator[Finding]:
        for waiting in (self._late, self._waiting):
            for request, fetched in waiting.rest():
                yield from self._judge(request, fetched)


def _named(commit: Observation) -> set[TopicPartition]:
    return {(topic, partition) for topic, partition, _ in commit.offsets}


def _raise(reached: dict[TopicPartition, int], offsets: Any) -> None:
    for topic, partition, offset in offsets:
        reached[topic, partition] = max(offset, reached.get((topic, partition), 0))


def _beyond(request: Observation, beyond: list[tuple[str, int, int]]) -> Finding:
    claim = Claim(requirement="CLIENT-62", expected="A client commits by itself only offsets up to which it delivered the records.")
    return claim.failed("It committed beyond what it had delivered.", request, detail=str(sorted(beyond)), proof=Proof.LIVENESS)
