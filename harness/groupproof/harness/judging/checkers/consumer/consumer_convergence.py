"""Checks that an undisturbed consumer group comes to rest: its members reach one epoch, and it is described as stable (CGI-13). Pure.

Frames do not show why a coordinator bumps an epoch: topics grow, regular expressions match new topics, sessions end. So an epoch above all earlier
ones restarts the count, as does any change that a member asks for. Frames do not show either what a member must do that was there before the trace.
And epochs count from 1 again where a group is created again after its last member left. What remains: members that obey every answer and still stay
behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from groupproof.harness.judging.checkers.checker import Checker, UnderWay
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent, ConsumerState
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["GroupsComeToRest"]

_BEAT: Final = ConsumerEvent.HEARTBEAT.value
_DESCRIBE: Final = ConsumerEvent.DESCRIBE.value
_CLASSIC: Final = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP))

_UNREPORTED: Final[frozenset[TopicPartition]] = frozenset({("", -1)})
"""The report due from a member that was assigned before the trace: no real partition, so it stays due until the next assignment."""
ROUNDS_MIN: Final = 8
"""Enough heartbeats of each member: one for the order, one for the acknowledgement, one for the freed partitions; 4.0 and 4.1 may take one epoch at
a time.
"""

_CLAIM: Final = Claim(
    requirement="CGI-13", expected="A group whose members do as they are told comes to rest within a few heartbeats of each member."
)


@dataclass(slots=True)
class _Member:
    """A member by its answers: its epoch, its latest assignment while it is not reported, and its heartbeats since the group was last disturbed."""

    epoch: int
    rounds: int = 0
    due: frozenset[TopicPartition] | None = None


class GroupsComeToRest(Checker):
    """Counts heartbeats since the last change of the group. A group with a member of the classic protocol is not judged: that member takes its time
    to rejoin.
    """

    def __init__(self) -> None:
        self._members: dict[str, _Member] = {}
        self._asked: UnderWay[Observation] = UnderWay()
        self._newest = 0
        self._is_mixed = False
        self._is_found = False
        self._may_find: bool | None = None

    def step(self, obs: Observation) -> Iterator[Finding]:
        self._may_find = None
        self._asked.closed(obs)
        self._is_mixed = self._is_mixed or obs.api in _CLASSIC
        if obs.kind == "fault" or (obs.who == "kit" and "topics" in obs.body):
            self._disturb()
        if obs.api not in (_BEAT, _DESCRIBE):
            return
        if obs.kind == "request":
            self._asked.ask(obs, obs)
        elif obs.kind == "response" and (asked := self._asked.answered(obs)) is not None:
            yield from self._beaten(obs, asked) if obs.api == _BEAT else self._described(obs)

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Need nothing of a member that stays in its epoch, while no finding is possible."""
        if _BEAT not in steady.apis:
            return NO_ROWS
        member = self._members.get(steady.member)
        if member is None or member.epoch != steady.generation or not self._asked.is_apart(steady):
            return ALL_ROWS
        if self._may_find is None:  # the same for all members of a stretch
            self._may_find = self._is_to_rest() and bool(self._behind())
        return ALL_ROWS if self._may_find else NO_ROWS

    def absorb(self, steady: Steady) -> None:
        if (beats := steady.asked.get(_BEAT)) is not None:
            self._members[steady.member].rounds += len(beats.seqs)

    def end(self) -> Iterator[Finding]:
        return iter(())

    def _disturb(self) -> None:
        self._is_found = False
        for member in self._members.values():
            member.rounds = 0

    def _beaten(self, obs: Observation, asked: Observation) -> Iterator[Finding]:
        name = asked.member or ""
        member = self._members.get(name)
        if error_of(obs) or (asked.member_epoch or 0) <= 0 or obs.member_epoch is None or member is None:
            self._comes_or_goes(obs, name, is_join=(asked.member_epoch or 0) == 0)
            return
        if _asks_for_more(asked) or obs.member_epoch > self._newest:
            self._disturb()
        if _is_obeyed(member, asked):
            member.due = None
        if obs.body.get("assignment") is not None:
            member.due = frozenset(obs.partitions)
        self._newest, member.epoch, member.rounds = max(self._newest, obs.member_epoch), obs.member_epoch, member.rounds + 1
        if self._ought_to_rest() and (behind := self._behind()):
            yield from self._found(obs, "Members stayed behind the epoch of the others.", ", ".join(behind))

    def _comes_or_goes(self, obs: Observation, name: str, *, is_join: bool) -> None:
        """Record a join, a leave or a refusal: the member starts afresh, or is removed."""
        self._members.pop(name, None)
        if not self._members or is_join:
            # A newcomer gets the group's epoch, which never goes back (CGI-04): if it is lower, the group was created again under its name.
            self._newest = 0
        if not error_of(obs) and (obs.member_epoch or 0) > 0:
            due = frozenset(obs.partitions) if obs.body.get("assignment") is not None else None if is_join else _UNREPORTED
            self._members[name] = _Member(obs.member_epoch or 0, due=due)
            self._newest = max(self._newest, obs.member_epoch or 0)
        self._disturb()

    def _described(self, obs: Observation) -> Iterator[Finding]:
        for group in obs.body.get("groups") or ():
            members = {member["member_id"] for member in group.get("members") or ()}
            if group.get("group_state") == ConsumerState.RECONCILING.value and members == self._members.keys() and self._ought_to_rest():
                yield from self._found(obs, "A group went on reconciling though its members do as they are told.", f"epoch {group['group_epoch']}")

    def _behind(self) -> list[str]:
        return sorted(name for name, member in self._members.items() if member.epoch < self._newest)

    def _ought_to_rest(self) -> bool:
        return not self._is_mixed and all(member.rounds >= ROUNDS_MIN and member.due is None for member in self._members.values())

    def _is_to_rest(self) -> bool:
        """Return whether only heartbeats are missing until the checker would report a group that does not come to rest."""
        return not self._is_found and not self._is_mixed and all(member.due is None for member in self._members.values())

    def _found(self, obs: Observation, observed: str, detail: str) -> Iterator[Finding]:
        if not self._is_found:
            self._is_found = True
            yield _CLAIM.failed(observed, obs, detail=detail, proof=Proof.LIVENESS)


def _asks_for_more(asked: Observation) -> bool:
    """Return whether the heartbeat changes the member's subscription, assignor or rack."""
    return any(asked.body.get(name) is not None for name in ("subscribed_topic_names", "subscribed_topic_regex", "server_assignor", "rack_id"))


def _is_obeyed(member: _Member, asked: Observation) -> bool:
    """Return whether the heartbeat reports exactly the member's latest assignment."""
    return member.due is not None and asked.body.get("topic_partitions") is not None and frozenset(asked.partitions) == member.due
