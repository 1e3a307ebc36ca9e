"""The invariants of a group that its trace shows at once: generations, one leader, one owner, no stale commit, one answer to each request.

They use requests, answers, and the coordinator's transitions where the trace has them. An invariant reports nothing where the coordinator may have
moved.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from groupproof.harness.judging.checkers.checker import Checker, Newest
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.classic.deadlines import AnswersCome, NobodyEvictedEarly, RebalancesEnd
from groupproof.harness.judging.checkers.frame_facts import error_of, is_begun_anew
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_state import InferredGroup, Invariant
from groupproof.harness.judging.checkers.tracking.membership import GENERATIONS_KEPT
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import VALID_PREVIOUS_STATES, Api, GroupState, TopicPartition

__all__ = ["INVARIANTS", "GroupInvariants"]

_JOIN, _SYNC, _COMMIT = Api.JOIN_GROUP.title, Api.SYNC_GROUP.title, Api.OFFSET_COMMIT.title
_STATES: Final = frozenset(GroupState)
_ANSWERS_KEPT: Final = 64


class GroupInvariants(Checker):
    """Checks every invariant against the observations of one group."""

    def __init__(self) -> None:
        self.group = InferredGroup()
        self._invariants = [make() for make in INVARIANTS]
        self._listeners: dict[tuple[str, str | None], Sequence[Invariant]] = {}

    def step(self, obs: Observation) -> Sequence[Finding]:
        group = self.group
        group.follow(obs)
        key = (obs.kind, obs.api)
        listeners: Sequence[Invariant] | None = self._invariants if obs.who == "link" else self._listeners.get(key)
        if listeners is None:
            listeners = self._listeners[key] = tuple(
                invariant for invariant in self._invariants if key in invariant.listens or (obs.kind, None) in invariant.listens
            )
        found = [finding for invariant in listeners for finding in invariant.look(obs, group)] if listeners else []
        if obs.kind == "transition":
            group.moved(obs)
        elif obs.kind == "response" and obs.api == _JOIN and not error_of(obs) and obs.generation is not None:
            group.heard(obs.generation)
        return found

    def wants(self, steady: Steady) -> Collection[int] | None:
        group = self.group
        can_absorb = group.is_steady(steady) and all(invariant.can_absorb(steady, group) for invariant in self._invariants)
        return NO_ROWS if can_absorb else ALL_ROWS

    def absorb(self, steady: Steady) -> None:
        self.group.now_ms = steady.last_ms
        for invariant in self._invariants:
            invariant.absorb(steady, self.group)

    def end(self) -> Iterator[Finding]:
        for invariant in self._invariants:
            yield from invariant.rest(self.group)


class StatesFollow(Invariant):
    """The group's states follow its state table (INV-01)."""

    listens = frozenset({("transition", None)})

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        if obs.kind != "transition" or obs.state_before is None or (obs.rule or "").startswith(f"{ClassicEvent.UNLOADED.value}/"):
            return
        claim = Claim(requirement="INV-01", expected="A group goes from state to state by the ways that there are.")
        if group.state is not None and obs.state_before != group.state:
            yield claim.failed("A transition began in another state than the one before had ended in.", obs)
        elif obs.state_after in _STATES and obs.state_before not in VALID_PREVIOUS_STATES[GroupState(obs.state_after)]:
            yield claim.failed(f"The group went from {obs.state_before} to {obs.state_after}.", obs)


class GenerationsRise(Invariant):
    """A group's generation never falls (INV-04)."""

    listens = frozenset({("transition", None), ("response", _JOIN)})

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        claim = Claim(requirement="INV-04", expected="The generation of a group never falls.")
        if obs.kind == "transition":
            is_anew = is_begun_anew(obs) or (obs.rule or "").startswith(f"{ClassicEvent.UNLOADED.value}/")
            if not is_anew and obs.generation is not None and obs.generation < group.generation:
                yield claim.failed("A transition went back to an older generation.", obs, detail=f"{obs.generation} after {group.generation}")
        elif obs.kind == "response" and obs.api == _JOIN and not error_of(obs) and obs.generation is not None:
            request = group.answered
            falls = request is not None and request.epoch == group.epoch and obs.generation < request.generation
            if falls and not group.counts_epochs:
                yield claim.failed("JoinGroup was answered with an older generation than one before it.", obs, detail=f"generation {obs.generation}")


class OneLeader(Invariant):
    """Every member of a generation gets the same leader and protocol (JOIN-13)."""

    listens = frozenset({("response", _JOIN)})

    def __init__(self) -> None:
        self._leaders: Newest[tuple[int, int], tuple[str, str | None]] = Newest(GENERATIONS_KEPT)

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        if obs.kind != "response" or obs.api != _JOIN or error_of(obs) or obs.generation is None or group.answered is None or group.counts_epochs:
            return
        key = (group.epoch, obs.generation)
        leader, protocol = group.identity(obs.body.get("leader") or ""), obs.body.get("protocol_name")
        before = self._leaders.get(key)
        if before is None:
            self._leaders.set(key, (leader, protocol))
        elif group.answered.epoch == group.epoch and (group.identity(before[0]), before[1]) != (leader, protocol):
            claim = Claim(requirement="JOIN-13", expected="All members of a generation are told one leader and one protocol.")
            yield claim.failed("One generation was told two leaders or two protocols.", obs, detail=f"generation {obs.generation}")


class OneOwner(Invariant):
    """Within a generation a partition is assigned to one member (ASSIGN-09)."""

    listens = frozenset({("response", _SYNC)})

    def __init__(self) -> None:
        self._owners: Newest[tuple[int, int], dict[TopicPartition, str]] = Newest(4)

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        if obs.kind != "response" or obs.api != _SYNC or error_of(obs) or obs.generation is None or group.answered is None:
            return
        if group.answered.epoch != group.epoch:
            return  # it was on its way when the group was created again
        key = (group.epoch, obs.generation)
        owners = self._owners.get(key)
        if owners is None:
            self._owners.set(key, owners := {})
        me = group.identity(obs.member or "")
        twice = [partition for partition in obs.partitions if group.identity(owners.setdefault(partition, me)) != me]
        if twice:
            claim = Claim(requirement="ASSIGN-09", expected="In one generation each partition is given to one member.")
            yield claim.failed("One generation gave a partition to two members.", obs, detail=str(sorted(twice)))


class NoStaleCommit(Invariant):
    """No commit of an older generation than the group's is accepted (COMMIT-06): a zombie would overwrite the progress of the new owner.

    A commit without offsets overwrites nothing, and its answer has no field for an error.
    """

    listens = frozenset({("response", _COMMIT)})

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        request = group.answered
        if obs.kind != "response" or obs.api != _COMMIT or error_of(obs) or request is None or group.counts_epochs:
            return
        named = request.request.generation
        if request.request.offsets and named is not None and 0 <= named < request.generation and request.epoch == group.epoch:
            claim = Claim(requirement="COMMIT-06", expected="A commit is taken only in the generation that the group is in.")
            yield claim.failed("A commit of an older generation was taken.", obs, detail=f"{named}, where the group was in {request.generation}")

    def can_absorb(self, steady: Steady, group: InferredGroup) -> bool:
        return _COMMIT not in steady.apis or steady.generation >= group.generation or group.counts_epochs


class AnsweredOnce(Invariant):
    """No request is answered twice (INV-08)."""

    listens = frozenset({("response", None)})

    def __init__(self) -> None:
        self._answered: dict[int | None, deque[int | None]] = {}

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        if obs.who == "link" and obs.body.get("name") == "closed":
            self._answered.pop(obs.connection, None)
        elif obs.kind == "response" and obs.connection is not None:
            answered = self._answered.setdefault(obs.connection, deque(maxlen=_ANSWERS_KEPT))
            if group.answered is None and obs.correlation in answered:
                claim = Claim(requirement="INV-08", expected="Every request is answered once.")
                yield claim.failed(f"{obs.api} was answered twice.", obs)
            answered.append(obs.correlation)

    def can_absorb(self, steady: Steady, group: InferredGroup) -> bool:
        return True  # each answer has its request

    def absorb(self, steady: Steady, group: InferredGroup) -> None:
        self._answered.setdefault(steady.connection, deque(maxlen=_ANSWERS_KEPT)).extend(steady.newest_correlations(_ANSWERS_KEPT))


INVARIANTS: Final[tuple[Callable[[], Invariant], ...]] = (
    StatesFollow, GenerationsRise, OneLeader, OneOwner, NoStaleCommit, AnsweredOnce, AnswersCome, RebalancesEnd, NobodyEvictedEarly,
)  # fmt: skip
