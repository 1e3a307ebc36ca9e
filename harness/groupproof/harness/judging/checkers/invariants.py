"""The laws of a group that its trace shows at once: generations, one leader, one owner, no stale commit, one answer to each request.

What is told counts: requests, answers, and the coordinator's transitions where the trace has them. A law is silent where a coordinator may have moved.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from groupproof.harness.judging.checkers.checker import Fold, Newest
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.deadlines import AnswersCome, NobodyEvictedEarly, RebalancesEnd
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.judging.checkers.group_state import Law, Standing
from groupproof.harness.judging.checkers.membership import GENERATIONS_KEPT
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.rules.classic.classic_terms import On
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import VALID_PREVIOUS_STATES, Api, GroupState, TopicPartition

__all__ = ["LAWS", "GroupLaws"]

_JOIN, _SYNC, _COMMIT = Api.JOIN_GROUP.title, Api.SYNC_GROUP.title, Api.OFFSET_COMMIT.title
_STATES: Final = frozenset(GroupState)
_ANSWERS_KEPT: Final = 64


class GroupLaws(Fold):
    """Holds every law against the observations of one group."""

    def __init__(self) -> None:
        self.standing = Standing()
        self._laws = [law() for law in LAWS]

    def step(self, seen: Observation) -> Iterator[Finding]:
        standing = self.standing
        standing.follow(seen)
        for law in self._laws:
            yield from law.look(seen, standing)
        if seen.kind == "transition":
            standing.moved(seen)
        elif seen.kind == "response" and seen.api == _JOIN and not error_of(seen) and seen.generation is not None:
            standing.told(seen.generation)

    def end(self) -> Iterator[Finding]:
        for law in self._laws:
            yield from law.rest(self.standing)


class StatesFollow(Law):
    """The states follow one another as the table of the group has it (INV-01)."""

    def look(self, seen: Observation, standing: Standing) -> Iterator[Finding]:
        if seen.kind != "transition" or seen.state_before is None or (seen.rule or "").startswith(f"{On.UNLOADED.value}/"):
            return
        claim = Claim(requirement="INV-01", expected="A group goes from state to state by the ways that there are.")
        if standing.state is not None and seen.state_before != standing.state:
            yield claim.failed("A transition began in another state than the one before had ended in.", seen)
        elif seen.state_after in _STATES and seen.state_before not in VALID_PREVIOUS_STATES[GroupState(seen.state_after)]:
            yield claim.failed(f"The group went from {seen.state_before} to {seen.state_after}.", seen)


class GenerationsRise(Law):
    """A group's generation never falls (INV-04)."""

    def look(self, seen: Observation, standing: Standing) -> Iterator[Finding]:
        claim = Claim(requirement="INV-04", expected="The generation of a group never falls.")
        if seen.kind == "transition":
            is_anew = seen.state_before is None or (seen.rule or "").startswith(f"{On.UNLOADED.value}/")
            if not is_anew and seen.generation is not None and seen.generation < standing.generation:
                yield claim.failed("A transition went back to an older generation.", seen, detail=f"{seen.generation} after {standing.generation}")
        elif seen.kind == "response" and seen.api == _JOIN and not error_of(seen) and seen.generation is not None:
            asked = standing.answered
            falls = asked is not None and asked.epoch == standing.epoch and seen.generation < asked.generation
            if falls and (standing.tells or seen.generation != 1):
                yield claim.failed(
                    "JoinGroup was answered with an older generation than one before it.", seen, detail=f"generation {seen.generation}"
                )


class OneLeader(Law):
    """Everyone in a generation is told one and the same leader and protocol (JOIN-13)."""

    def __init__(self) -> None:
        self._told: Newest[tuple[int, int], tuple[str, str | None]] = Newest(GENERATIONS_KEPT)

    def look(self, seen: Observation, standing: Standing) -> Iterator[Finding]:
        if seen.kind != "response" or seen.api != _JOIN or error_of(seen) or seen.generation is None or standing.answered is None:
            return
        anew = not standing.tells and seen.generation == 1 < standing.generation
        key = (standing.epoch + anew, seen.generation)
        leader, protocol = standing.identity(seen.body.get("leader") or ""), seen.body.get("protocol_name")
        before = self._told.get(key)
        if before is None:
            self._told.set(key, (leader, protocol))
        elif standing.answered.epoch == standing.epoch and (standing.identity(before[0]), before[1]) != (leader, protocol):
            claim = Claim(requirement="JOIN-13", expected="All members of a generation are told one leader and one protocol.")
            yield claim.failed("One generation was told two leaders or two protocols.", seen, detail=f"generation {seen.generation}")


class OneOwner(Law):
    """Within a generation a partition is given to one member (ASSIGN-09)."""

    def __init__(self) -> None:
        self._owners: Newest[tuple[int, int], dict[TopicPartition, str]] = Newest(4)

    def look(self, seen: Observation, standing: Standing) -> Iterator[Finding]:
        if seen.kind != "response" or seen.api != _SYNC or error_of(seen) or seen.generation is None or standing.answered is None:
            return
        key = (standing.epoch, seen.generation)
        owners = self._owners.get(key)
        if owners is None:
            self._owners.set(key, owners := {})
        me = standing.identity(seen.member or "")
        twice = [partition for partition in seen.partitions if standing.identity(owners.setdefault(partition, me)) != me]
        if twice:
            claim = Claim(requirement="ASSIGN-09", expected="In one generation each partition is given to one member.")
            yield claim.failed("One generation gave a partition to two members.", seen, detail=str(sorted(twice)))


class NoStaleCommit(Law):
    """No commit of an older generation than the group's is taken (COMMIT-06): a zombie's would overwrite the progress of the new owner.

    One of no offsets overwrites nothing; its answer has no place for an error.
    """

    def look(self, seen: Observation, standing: Standing) -> Iterator[Finding]:
        asked = standing.answered
        if seen.kind != "response" or seen.api != _COMMIT or error_of(seen) or asked is None:
            return
        named = asked.request.generation
        if asked.request.offsets and named is not None and 0 <= named < asked.generation and asked.epoch == standing.epoch:
            claim = Claim(requirement="COMMIT-06", expected="A commit is taken only in the generation that the group is in.")
            yield claim.failed("A commit of an older generation was taken.", seen, detail=f"{named}, where the group was in {asked.generation}")


class AnsweredOnce(Law):
    """No request is answered twice (INV-08)."""

    def __init__(self) -> None:
        self._answered: dict[int | None, deque[int | None]] = {}

    def look(self, seen: Observation, standing: Standing) -> Iterator[Finding]:
        if seen.who == "link" and seen.body.get("name") == "closed":
            self._answered.pop(seen.connection, None)
        elif seen.kind == "response" and seen.connection is not None:
            answered = self._answered.setdefault(seen.connection, deque(maxlen=_ANSWERS_KEPT))
            if standing.answered is None and seen.correlation in answered:
                claim = Claim(requirement="INV-08", expected="Every request is answered once.")
                yield claim.failed(f"{seen.api} was answered twice.", seen)
            answered.append(seen.correlation)


LAWS: Final[tuple[Callable[[], Law], ...]] = (
    StatesFollow, GenerationsRise, OneLeader, OneOwner, NoStaleCommit, AnsweredOnce, AnswersCome, RebalancesEnd, NobodyEvictedEarly,
)  # fmt: skip
