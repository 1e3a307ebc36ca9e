"""The invariants of a consumer group that its frames show: one owner of a partition, rising epochs, consistent descriptions. Pure.

They are those of the public TLA+ model of KIP-848, as far as they are observable without the coordinator's timers and log. The removal of a member
becomes known with its next answer. So two owners are reported only when the first of them is again answered as a member.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.judging.checkers.checker import Checker, UnderWay
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.consumer.consumer_convergence import GroupsComeToRest
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent, ConsumerState
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["ConsumerGroupInvariants"]

_BEAT: Final = ConsumerEvent.HEARTBEAT.value
_DESCRIBE: Final = ConsumerEvent.DESCRIBE.value


@dataclass(slots=True)
class _MemberRecord:
    """What the coordinator gave one member id. A partition is `held` until a request of the member lacks it. `answered_seq` is the newest answer."""

    epoch: int = 0
    held: set[TopicPartition] = field(default_factory=set)
    answered_seq: int = -1
    suspect: dict[TopicPartition, Observation] = field(default_factory=dict)


class ConsumerGroupInvariants(Checker):
    """Checks every invariant against the observations of one group."""

    def __init__(self) -> None:
        self._records: dict[str, _MemberRecord] = {}
        self._asked: UnderWay[Observation] = UnderWay()
        self._described: tuple[int, int] | None = None
        self._described_members: set[str] = set()
        self._rest = GroupsComeToRest()

    def step(self, obs: Observation) -> Iterator[Finding]:
        yield from self._rest.step(obs)
        self._asked.closed(obs)
        if obs.api not in (_BEAT, _DESCRIBE):
            return
        if obs.kind == "request":
            self._asked.ask(obs, obs)
            if obs.api == _BEAT:
                self._request(obs)
        elif obs.kind == "response" and (asked := self._asked.answered(obs)) is not None:
            yield from self._beaten(obs, asked) if obs.api == _BEAT else self._look(obs, asked)

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Need nothing of a member that stays in its epoch and owns no partition that was given to another."""
        if _BEAT not in steady.apis:
            return NO_ROWS
        record = self._records.get(steady.member)
        is_settled = record is not None and record.epoch == steady.generation and record.answered_seq >= 0 and not record.suspect
        return self._rest.wants(steady) if is_settled and self._asked.is_apart(steady) else ALL_ROWS

    def absorb(self, steady: Steady) -> None:
        self._rest.absorb(steady)
        if (beats := steady.asked.get(_BEAT)) is not None:
            self._records[steady.member].answered_seq = beats.answer_seqs[-1]

    def end(self) -> Iterator[Finding]:
        return iter(())

    # Heartbeats

    def _request(self, obs: Observation) -> None:
        """Record what a member releases when its request comes, because the coordinator may act on it before it answers."""
        member = obs.member or ""
        if obs.member_epoch is None or obs.member_epoch <= 0:
            self._records.pop(member, None)
            self._described_members.discard(member)  # it joins, or may come back with the same id to a group that was created again
        elif obs.body.get("topic_partitions") is not None and (record := self._records.get(member)) is not None:
            record.held &= set(obs.partitions)

    def _beaten(self, obs: Observation, asked: Observation) -> Iterator[Finding]:
        member, epoch = obs.member or "", obs.member_epoch
        if error_of(obs):
            if asked.member_epoch and asked.member_epoch > 0:
                self._records.pop(member, None)
            return
        if epoch is None or epoch < 0 or not member:
            return
        record = self._records.setdefault(member, _MemberRecord())
        is_after = asked.seq > record.answered_seq >= 0 and (asked.member_epoch or 0) > 0
        if is_after:
            yield from self._confirmed(member, record, obs, asked)
            if epoch < record.epoch:
                claim = Claim(requirement="CGI-03", expected="The epoch in the answers to a member never goes back.")
                yield claim.failed("A member was answered with an older epoch than before.", obs, detail=f"{epoch} after {record.epoch}")
        record.epoch, record.answered_seq = max(epoch, record.epoch if is_after else 0), obs.seq
        if obs.body.get("assignment") is not None:
            self._take_up(member, record, obs)

    def _take_up(self, member: str, record: _MemberRecord, obs: Observation) -> None:
        """Record what an answer gives, and which members still own some of it."""
        new = set(obs.partitions) - record.held
        if not new:
            return
        for other, theirs in self._records.items():
            if other != member:
                theirs.suspect.update(dict.fromkeys(new & theirs.held, obs))
        record.held |= new

    def _confirmed(self, member: str, record: _MemberRecord, obs: Observation, asked: Observation) -> Iterator[Finding]:
        """Yield a finding for each of this member's partitions that another member got. Its later request was answered, so it is still a member."""
        for partition, since in list(record.suspect.items()):
            if asked.seq > since.seq:
                del record.suspect[partition]
                claim = Claim(requirement="CGI-10", expected="A partition is given to a member only after its owner before has released it.")
                yield claim.failed(
                    "A partition was given to a member while another member still held it.", since,
                    detail=f"{partition}, which {member} had not released; it is a member still at {obs.seq}",
                )  # fmt: skip

    # Descriptions

    def _look(self, obs: Observation, asked: Observation) -> Iterator[Finding]:
        for group in obs.body.get("groups") or ():
            if group.get("error_code"):
                self._described = None
                continue
            yield from _true_to_itself(group, obs)
            before = self._described
            if before is not None and asked.seq > before[0] and _members(group) & self._described_members:
                was, now = before[1], group["group_epoch"]
                if now < was:
                    claim = Claim(requirement="CGI-04", expected="The epoch of a group never goes back.")
                    yield claim.failed("A group was described with an older epoch than before.", obs, detail=f"{now} after {was}")
            self._described, self._described_members = (obs.seq, group["group_epoch"]), _members(group)


def _members(group: Mapping[str, Any]) -> set[str]:
    return {member["member_id"] for member in group.get("members") or ()}


def _true_to_itself(group: Mapping[str, Any], obs: Observation) -> Iterator[Finding]:
    """Yield the contradictions in one description (CGI-05, CGI-11, CGI-12)."""
    epoch, target_epoch = group["group_epoch"], group["assignment_epoch"]
    if target_epoch > epoch:
        claim = Claim(requirement="CGI-05", expected="The epoch of a target is no newer than that of its group.")
        yield claim.failed("A group was described with a target of the future.", obs, detail=f"{target_epoch} in {epoch}")
    targets: dict[tuple[str, int], str] = {}
    for member in group.get("members") or ():
        for partition in _partitions(member.get("target_assignment")):
            if (other := targets.setdefault(partition, member["member_id"])) != member["member_id"]:
                claim = Claim(requirement="CGI-11", expected="The targets of the members of a group are disjoint.")
                yield claim.failed("A partition is in the targets of two members.", obs, detail=f"{partition}: {other}, {member['member_id']}")
    if group.get("group_state") == ConsumerState.STABLE.value:
        late = [member["member_id"] for member in group.get("members") or () if member["member_epoch"] != target_epoch]
        late += [
            member["member_id"]
            for member in group.get("members") or ()
            if member["member_id"] not in late and _partitions(member.get("assignment")) != _partitions(member.get("target_assignment"))
        ]
        if late:
            claim = Claim(requirement="CGI-12", expected="In a stable group each member has the epoch of the target, and its whole target.")
            yield claim.failed("A group was described as stable that is not.", obs, detail=", ".join(late))


def _partitions(assignment: Mapping[str, Any] | None) -> set[tuple[str, int]]:
    topics = (assignment or {}).get("topic_partitions") or ()
    return {(str(topic.get("topic_id")), index) for topic in topics for index in topic.get("partitions") or ()}
